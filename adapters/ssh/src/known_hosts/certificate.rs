//! What makes a host's certificate worthless although its authority is trusted (OpenSSH's `PROTOCOL.certkeys`).

use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Algorithm, Certificate, HashAlg};
use sessiond_core::shown;

use crate::wildcard;

/// Why a certificate does not vouch for a host at a time, in seconds since 1970; `None` when it does. That its
/// authority is trusted has been found out before.
pub(super) fn flaw(certificate: &Certificate, host: &str, now: u64) -> Option<String> {
    if certificate.cert_type() != CertType::Host {
        return Some("it is a certificate of a user, not of a host".to_owned());
    }
    if weak(&certificate.signature().algorithm()) {
        return Some("its authority signed it with SHA-1 or DSA, which can be forged".to_owned());
    }
    // Names nothing: valid for every host that the authority is trusted for.
    let names = certificate.valid_principals();
    if !names.is_empty() && !names.iter().any(|name| wildcard::matches(name, host)) {
        // The server's own words: cut and escaped.
        return Some(format!("it is for {}, not for {host}", shown(&names.join(", "))));
    }
    if certificate.critical_options().iter().next().is_some() {
        return Some("it has critical options, and none is known for hosts".to_owned());
    }
    if now < certificate.valid_after() {
        return Some("it is not valid yet".to_owned());
    }
    if now >= certificate.valid_before() {
        return Some("it has expired".to_owned());
    }
    let authority = certificate.signature_key().fingerprint(HashAlg::Sha256);
    certificate.validate_at(now, [&authority]).err().map(|_| "its signature is wrong".to_owned())
}

/// Signatures that OpenSSH does not take from an authority either (`CASignatureAlgorithms`).
fn weak(algorithm: &Algorithm) -> bool {
    matches!(algorithm, Algorithm::Dsa | Algorithm::Rsa { hash: None })
}
