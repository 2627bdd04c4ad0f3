//! Which algorithms are offered to a host, in which order, and the rest of what the protocol is told.

use std::borrow::Cow;
use std::time::Duration;

use russh::client::Config;
use russh::keys::{Algorithm, EcdsaCurve, HashAlg};
use russh::{Limits, Preferred, SshId, cipher, compression, kex, mac};

use crate::known_hosts::HostKeys;
use crate::route::Route;

/// How this server introduces itself to a host.
const OWN_ID: &str = concat!("SSH-2.0-sessiond_", env!("CARGO_PKG_VERSION"));

/// How much a host may send on one channel before it hears that it was taken, in bytes: what OpenSSH's client grants.
/// More would only stand in buffers between us, and delay the other channels of the connection.
const WINDOW: u32 = 2 * 1024 * 1024;
/// The largest packet that is taken, in bytes: each costs a step of the protocol's task.
const PACKET: u32 = 64 * 1024 - 1;
/// How many packets of one channel may wait to be taken out; the window is what bounds them.
const QUEUE: usize = 64;

/// After how many bytes one way we ask for new keys. OpenSSH does so after 2^32 blocks, 64 GiB of AES, and hosts ask
/// themselves where they want it earlier. It is rare because whatever a host has under way when we ask counts against
/// a bound that is small where many channels flood at once.
const REKEY_BYTES: usize = 32 << 30;
/// Time alone does not call for new keys, as with OpenSSH.
const REKEY_TIME: Duration = Duration::from_secs(365 * 24 * 3600);

/// As OpenSSH orders them, which leaves signatures with SHA-1 out.
const HOST_KEYS: &[Algorithm] = &[
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
    Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
];

/// As OpenSSH orders them, less what is missing.
const EXCHANGES: &[kex::Name] = &[
    kex::MLKEM768X25519_SHA256,
    kex::CURVE25519,
    kex::CURVE25519_PRE_RFC_8731,
    kex::ECDH_SHA2_NISTP256,
    kex::ECDH_SHA2_NISTP384,
    kex::ECDH_SHA2_NISTP521,
    kex::DH_GEX_SHA256,
    kex::DH_G16_SHA512,
    kex::DH_G18_SHA512,
    kex::DH_G14_SHA256,
    kex::EXTENSION_SUPPORT_AS_CLIENT,
    kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT,
];

const MACS: &[mac::Name] = &[mac::HMAC_SHA256_ETM, mac::HMAC_SHA512_ETM, mac::HMAC_SHA256, mac::HMAC_SHA512];

/// Where the processor has instructions for AES.
const CIPHERS_FAST_AES: &[cipher::Name] = &[
    cipher::AES_128_GCM,
    cipher::AES_256_GCM,
    cipher::CHACHA20_POLY1305,
    cipher::AES_128_CTR,
    cipher::AES_192_CTR,
    cipher::AES_256_CTR,
];

const CIPHERS_SLOW_AES: &[cipher::Name] = &[
    cipher::CHACHA20_POLY1305,
    cipher::AES_128_GCM,
    cipher::AES_256_GCM,
    cipher::AES_128_CTR,
    cipher::AES_192_CTR,
    cipher::AES_256_CTR,
];

/// What the protocol is told for a connection along a route to a host with these keys.
pub(crate) fn config(route: &Route, host_keys: &HostKeys) -> Config {
    let keys = host_keys.order(HOST_KEYS);
    let certificates = if host_keys.has_authority() { keys.clone() } else { Vec::new() };
    Config {
        client_id: SshId::Standard(Cow::Borrowed(OWN_ID)),
        limits: Limits { rekey_write_limit: REKEY_BYTES, rekey_read_limit: REKEY_BYTES, rekey_time_limit: REKEY_TIME },
        window_size: WINDOW,
        maximum_packet_size: PACKET,
        channel_buffer_size: QUEUE,
        preferred: Preferred {
            kex: Cow::Borrowed(EXCHANGES),
            key: Cow::Owned(keys),
            host_key_certificates: Cow::Owned(certificates),
            cipher: Cow::Borrowed(if aes_is_fast() { CIPHERS_FAST_AES } else { CIPHERS_SLOW_AES }),
            mac: Cow::Borrowed(MACS),
            // Output is mostly short or compressed already, and networks are faster than compressors.
            compression: Cow::Borrowed(&[compression::NONE]),
        },
        keepalive_interval: route.keepalive,
        keepalive_max: usize::try_from(route.keepalive_max).unwrap_or(usize::MAX),
        nodelay: true,
        ..Config::default()
    }
}

/// How long a host may take nothing of what is sent before the connection counts as lost: as long as it may be silent.
pub(crate) fn stall(route: &Route) -> Option<Duration> {
    route.keepalive.map(|interval| interval.saturating_mul(route.keepalive_max.saturating_add(1)))
}

fn aes_is_fast() -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq")
    }
    #[cfg(target_arch = "aarch64")]
    {
        std::arch::is_aarch64_feature_detected!("aes")
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    {
        false
    }
}
