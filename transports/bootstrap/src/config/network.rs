//! What is configured of the network: who is let in, TLS, limits, and the way to another server.

use std::path::PathBuf;
use std::time::Duration;

use super::SecretSetting;

/// What holds for every transport that listens on a network: `[network]` and `[jwt]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkSettings {
    /// Who there is.
    pub keys_file: Option<PathBuf>,
    /// The server's certificate and those of its issuers, in PEM.
    pub certificate_file: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    pub certificate_key_file: Option<PathBuf>,
    /// The authorities whose certificates callers may show, in PEM.
    pub client_ca_file: Option<PathBuf>,
    /// Connections at one time, of one transport.
    pub max_connections: usize,
    /// Connections at one time from one address; those from this machine do not count.
    pub max_connections_per_address: usize,
    /// How long a TLS handshake may take.
    pub handshake_timeout: Duration,
    /// How long the head of a request may take, and a new connection to say anything.
    pub header_timeout: Duration,
    /// The identity provider.
    pub jwt: JwtSettings,
}

/// The identity provider whose tokens are taken: `[jwt]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtSettings {
    /// Who signs, as tokens say it (`iss`).
    pub issuer: Option<String>,
    /// The provider's name in those of owners; else [`NAME`](Self::NAME).
    pub name: Option<String>,
    /// This server, as tokens say it (`aud`): one of these.
    pub audience: Vec<String>,
    /// The provider's keys in a file.
    pub jwks_file: Option<PathBuf>,
    /// The provider's keys where it publishes them.
    pub jwks_url: Option<String>,
    /// The authorities of that place, in PEM; else those of the system.
    pub ca_file: Option<PathBuf>,
    /// The algorithms that are taken.
    pub algorithms: Vec<String>,
    /// How far the clocks may differ.
    pub leeway: Duration,
}

impl JwtSettings {
    /// The provider's name where none is configured.
    pub const NAME: &str = "jwt";

    /// Whether there is to be a provider.
    pub(crate) fn is_there(&self) -> bool {
        self.issuer.is_some() || self.jwks_file.is_some() || self.jwks_url.is_some() || !self.audience.is_empty()
    }
}

/// How to reach another server, where a binary works in its sessions: `[connect]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectSettings {
    /// Where our key for that server is.
    pub key: Option<SecretSetting>,
    /// The authorities of that server's certificate, in PEM; else those of the system.
    pub ca_file: Option<PathBuf>,
    /// Our certificate, in PEM.
    pub certificate_file: Option<PathBuf>,
    /// Its private key, in PEM.
    pub certificate_key_file: Option<PathBuf>,
}

impl Default for NetworkSettings {
    fn default() -> Self {
        Self {
            keys_file: None,
            certificate_file: None,
            certificate_key_file: None,
            client_ca_file: None,
            max_connections: 16_384,
            max_connections_per_address: 512,
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(10),
            jwt: JwtSettings::default(),
        }
    }
}

impl Default for JwtSettings {
    fn default() -> Self {
        Self {
            issuer: None,
            name: None,
            audience: Vec::new(),
            jwks_file: None,
            jwks_url: None,
            ca_file: None,
            algorithms: ["RS256", "PS256", "ES256", "EdDSA"].map(str::to_owned).to_vec(),
            leeway: Duration::from_secs(30),
        }
    }
}
