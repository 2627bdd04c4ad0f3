//! What is configured of agent platforms.

use std::path::PathBuf;
use std::time::Duration;

use sessiond_agent_platform::{DialectName, PlatformConfig};

use super::{PlatformAuth, SecretSetting};

/// The settings of the backend `agent-platform`: one platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformSettings {
    /// Where it is; nothing works without.
    pub url: Option<String>,
    /// What it speaks; nothing works without.
    pub dialect: Option<DialectName>,
    /// How to log in.
    pub auth: PlatformAuth,
    /// The account, where a login takes one.
    pub user: Option<String>,
    /// Where the account's password is.
    pub password: Option<SecretSetting>,
    /// Where the token is.
    pub token: Option<SecretSetting>,
    /// The header that carries the token as it is; `None` is `Authorization: Bearer`.
    pub token_header: Option<String>,
    /// Where the id of the OAuth client is.
    pub client_id: Option<SecretSetting>,
    /// Where the secret of the OAuth client is.
    pub client_secret: Option<SecretSetting>,
    /// The certificates that vouch for the platform, in place of the system's.
    pub ca_file: Option<PathBuf>,
    /// Our certificate.
    pub client_cert_file: Option<PathBuf>,
    /// Its private key.
    pub client_key_file: Option<PathBuf>,
    /// How long one call may take.
    pub timeout: Duration,
    /// How often a platform in use is asked whether it is there; `None` never asks.
    pub keepalive: Option<Duration>,
    /// The most requests a second; 0 is no limit.
    pub requests_per_second: u32,
    /// How long a platform may be away before a followed run counts as lost.
    pub lost_after: Duration,
}

impl PlatformSettings {
    /// Every secret that is set.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &SecretSetting> {
        [&self.password, &self.token, &self.client_id, &self.client_secret].into_iter().flatten()
    }
}

impl Default for PlatformSettings {
    fn default() -> Self {
        let adapter = PlatformConfig::new("", DialectName::Itential);
        Self {
            url: None,
            dialect: None,
            auth: PlatformAuth::None,
            user: None,
            password: None,
            token: None,
            token_header: None,
            client_id: None,
            client_secret: None,
            ca_file: None,
            client_cert_file: None,
            client_key_file: None,
            timeout: adapter.timeout,
            keepalive: adapter.keepalive,
            requests_per_second: adapter.requests_per_second,
            lost_after: adapter.lost_after,
        }
    }
}
