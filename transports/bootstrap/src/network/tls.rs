//! TLS: the server's certificate, the authorities of callers, and both read again without closing a connection.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use crate::config::{ConnectSettings, NetworkSettings};
use crate::private;
use crate::problem::Problem;

/// Larger than any file of certificates, in bytes.
const LARGEST: u64 = 4 << 20;

/// The server's side of TLS. Clones are the same, a reload included.
#[derive(Clone)]
pub struct Tls(Arc<Shared>);

struct Shared {
    settings: NetworkSettings,
    alpn: Vec<Vec<u8>>,
    now: RwLock<Now>,
    /// Held by whoever reads the files again, so that the newest state is the one that stays.
    reloading: Mutex<()>,
}

/// What holds until the files are read again.
#[derive(Clone)]
struct Now {
    config: Arc<ServerConfig>,
    /// The authorities of callers, as their file has them.
    authorities: Option<Vec<u8>>,
    /// Fires when other authorities are trusted.
    trust: CancellationToken,
}

impl Tls {
    /// Reads certificate, key and authorities; `None` where no certificate is configured.
    ///
    /// # Errors
    /// A file is missing, cannot be read, is none, or does not go with the others.
    pub(super) fn load(settings: &NetworkSettings, alpn: &[&str]) -> Result<Option<Self>, Problem> {
        let missing =
            |key: &str, with: &str| Problem::new(format!("network.{key} is missing, which goes with network.{with}"));
        match (&settings.certificate_file, &settings.certificate_key_file, &settings.client_ca_file) {
            (None, None, None) => return Ok(None),
            (None, Some(_), _) => return Err(missing("certificate_file", "certificate_key_file")),
            (None, None, Some(_)) => return Err(missing("certificate_file", "client_ca_file")),
            (Some(_), None, _) => return Err(missing("certificate_key_file", "certificate_file")),
            (Some(_), Some(_), _) => {}
        }
        let alpn: Vec<_> = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let now = RwLock::new(read(settings, &alpn)?);
        Ok(Some(Self(Arc::new(Shared { settings: settings.clone(), alpn, now, reloading: Mutex::new(()) }))))
    }

    /// What holds now; a connection that has begun keeps what held then. The token fires when the authorities of callers
    /// are other ones: who has been verified against the earlier ones is to be verified anew.
    pub fn config(&self) -> (Arc<ServerConfig>, CancellationToken) {
        let now = self.0.now.read().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&now.config), now.trust.clone())
    }

    /// Reads the files again. Connections stay; certificates that callers have shown on them count no more when the
    /// authorities have changed.
    ///
    /// # Errors
    /// As at first; then everything stays as it was.
    pub fn reload(&self) -> Result<(), Problem> {
        let _alone = self.0.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = read(&self.0.settings, &self.0.alpn)?;
        let mut now = self.0.now.write().unwrap_or_else(PoisonError::into_inner);
        if new.authorities == now.authorities {
            new.trust = now.trust.clone();
        } else {
            now.trust.cancel();
        }
        *now = new;
        Ok(())
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

/// The cryptography: one for the whole server, named rather than taken from what the process has by default, which
/// nobody has set.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn read(settings: &NetworkSettings, alpn: &[Vec<u8>]) -> Result<Now, Problem> {
    let what = "the authorities (network.client_ca_file)";
    let authorities = settings.client_ca_file.as_deref();
    let authorities = authorities.map(|path| private::trusted(path, what, LARGEST)).transpose()?;
    let config = config(settings, alpn, authorities.as_deref())?;
    Ok(Now { config, authorities, trust: CancellationToken::new() })
}

fn config(
    settings: &NetworkSettings,
    alpn: &[Vec<u8>],
    authorities: Option<&[u8]>,
) -> Result<Arc<ServerConfig>, Problem> {
    let provider = provider();
    let (Some(certificate), Some(key)) = (&settings.certificate_file, &settings.certificate_key_file) else {
        return Err(Problem::new("network.certificate_file is missing"));
    };
    let versions = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Problem::new(format!("TLS cannot be had: {error}")))?;
    let versions = match (&settings.client_ca_file, authorities) {
        (Some(path), Some(pem)) => {
            let roots = Arc::new(roots(path, "the authorities (network.client_ca_file)", pem)?);
            // Who shows no certificate shows a key. One that is shown must be right: a wrong one ends the handshake.
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).allow_unauthenticated().build();
            let verifier = verifier.map_err(|error| {
                Problem::new(format!("{}: the authorities (network.client_ca_file): {error}", path.display()))
            })?;
            versions.with_client_cert_verifier(verifier)
        }
        _ => versions.with_no_client_auth(),
    };
    let chain = certificates(certificate, "the certificate (network.certificate_file)")?;
    let mut config =
        versions.with_single_cert(chain, private_key(key, "the private key (network.certificate_key_file)")?).map_err(
            |error| Problem::new(format!("{}: certificate and key cannot be used: {error}", certificate.display())),
        )?;
    config.alpn_protocols = alpn.to_vec();
    Ok(Arc::new(config))
}

fn roots(path: &Path, what: &str, pem: &[u8]) -> Result<RootCertStore, Problem> {
    let mut roots = RootCertStore::empty();
    for certificate in parsed(path, what, pem)? {
        roots.add(certificate).map_err(|error| Problem::new(format!("{}: {what}: {error}", path.display())))?;
    }
    Ok(roots)
}

/// The certificates of a PEM file, at least one.
fn certificates(path: &Path, what: &str) -> Result<Vec<CertificateDer<'static>>, Problem> {
    parsed(path, what, &pem(path, what)?)
}

/// A file that whoever connects is shown anyway: no harm is in who may read it, nor in who may write it.
fn pem(path: &Path, what: &str) -> Result<Vec<u8>, Problem> {
    let says = |why: String| Problem::new(format!("{}: {what} {why}", path.display()));
    std::fs::read(path).map_err(|error| says(format!("cannot be read: {error}").to_lowercase()))
}

/// The certificates of a file's content, at least one.
fn parsed(path: &Path, what: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(Problem::new(format!("{}: {what} is no PEM with certificates", path.display()))),
    }
}

fn private_key(path: &Path, what: &str) -> Result<PrivateKeyDer<'static>, Problem> {
    let pem = Zeroizing::new(private::text(path, what, LARGEST)?);
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| {
        Problem::new(format!("{}: {what} is no PEM with a private key that needs no passphrase", path.display()))
    })
}

/// The client's side of TLS, as PEM: for libraries that want it so. Nothing of it prints.
#[derive(Clone, Default)]
pub struct ClientTls {
    authorities: Option<Vec<u8>>,
    certificate: Option<(Vec<u8>, Zeroizing<Vec<u8>>)>,
}

impl ClientTls {
    /// The authorities to trust; else those of the system.
    pub fn authorities(&self) -> Option<&[u8]> {
        self.authorities.as_deref()
    }

    /// Our certificate and its private key.
    pub fn certificate(&self) -> Option<(&[u8], &[u8])> {
        self.certificate.as_ref().map(|(certificate, key)| (certificate.as_slice(), key.as_slice()))
    }

    /// Reads what the configuration names. Paths are absolute.
    ///
    /// # Errors
    /// A file is missing, cannot be read or is none.
    pub(super) fn load(settings: &ConnectSettings) -> Result<Self, Problem> {
        let checked = |path: &Path, what: &str, pem: Vec<u8>| parsed(path, what, &pem).map(|_| pem);
        let authorities = settings.ca_file.as_deref().map(|path| {
            let what = "the authorities (connect.ca_file)";
            checked(path, what, private::trusted(path, what, LARGEST)?)
        });
        let authorities = authorities.transpose()?;
        let certificate = match (&settings.certificate_file, &settings.certificate_key_file) {
            (None, None) => None,
            (Some(certificate), Some(key)) => {
                let what = "the private key (connect.certificate_key_file)";
                let key = Zeroizing::new(private::text(key, what, LARGEST)?.into_bytes());
                let what = "the certificate (connect.certificate_file)";
                Some((checked(certificate, what, pem(certificate, what)?)?, key))
            }
            _ => {
                return Err(Problem::new(
                    "connect.certificate_file and connect.certificate_key_file go together: set both or none",
                ));
            }
        };
        Ok(Self { authorities, certificate })
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientTls")
    }
}
