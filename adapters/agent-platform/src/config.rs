//! What an operator may set for a platform.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sessiond_core::Result;
use zeroize::Zeroizing;

/// What an operator may set for one platform.
#[derive(Clone, Debug)]
pub struct PlatformConfig {
    /// Where it is: `https://host`, with a path where it lives below one. Credentials in it are refused.
    pub url: String,
    /// What it speaks.
    pub dialect: DialectName,
    /// How to log in.
    pub auth: Auth,
    /// The header that carries the token of [`Auth::Token`] as it is, such as `X-Api-Key`; `None` is
    /// `Authorization: Bearer`.
    pub token_header: Option<String>,
    /// Whom to trust, and who we are, where it is reached over TLS.
    pub tls: Tls,
    /// How long one call may take, whatever it needs: connecting, logging in, repeating, every page. 30 s by default.
    pub timeout: Duration,
    /// How often a platform in use that nobody has asked anything is asked whether it is there, so that neither its
    /// login nor the way to it expires; `None` never asks. 300 s by default.
    pub keepalive: Option<Duration>,
    /// The most requests a second to it, all callers and followed runs together; 0 is no limit. 100 by default.
    pub requests_per_second: u32,
    /// How long a followed run whose platform does not answer is asked for again before it counts as lost.
    /// 300 s by default.
    pub lost_after: Duration,
}

impl PlatformConfig {
    /// The platform at this address, with everything else at its default and no login.
    pub fn new(url: impl Into<String>, dialect: DialectName) -> Self {
        Self {
            url: url.into(),
            dialect,
            auth: Auth::None,
            token_header: None,
            tls: Tls::default(),
            timeout: Duration::from_secs(30),
            keepalive: Some(Duration::from_secs(300)),
            requests_per_second: 100,
            lost_after: Duration::from_secs(300),
        }
    }
}

/// The protocols that platforms speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DialectName {
    /// Itential Platform's agent sessions and work centre.
    Itential,
    /// LangGraph Server (Agent Server API).
    Langgraph,
}

impl DialectName {
    /// Every dialect's name, as the configuration takes it.
    pub const WORDS: &'static [&'static str] = &["itential", "langgraph"];

    /// The name in the configuration and in lists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Itential => "itential",
            Self::Langgraph => "langgraph",
        }
    }

    /// The dialect of this name.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Itential, Self::Langgraph].into_iter().find(|name| name.as_str() == word)
    }
}

/// How to log in. Secrets are read when they are needed first, and again when the platform refuses what was read.
#[derive(Clone, Debug)]
pub enum Auth {
    /// Not at all.
    None,
    /// With a token that never changes: `Authorization: Bearer`, or [`PlatformConfig::token_header`].
    Token(Arc<dyn SecretSource>),
    /// With HTTP basic authentication (RFC 7617).
    Basic {
        /// The account.
        user: String,
        /// Its password.
        password: Arc<dyn SecretSource>,
    },
    /// With a login that answers with a cookie.
    Login {
        /// The account.
        user: String,
        /// Its password.
        password: Arc<dyn SecretSource>,
    },
    /// With OAuth 2.0 client credentials (RFC 6749 section 4.4).
    OAuth {
        /// The client's id.
        client_id: Arc<dyn SecretSource>,
        /// The client's secret.
        client_secret: Arc<dyn SecretSource>,
    },
}

/// Whom to trust, and who we are. All files are PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// The certificates that vouch for the platform, in place of the system's.
    pub ca_file: Option<PathBuf>,
    /// Our certificate, with those between it and its authority.
    pub client_cert_file: Option<PathBuf>,
    /// Its private key.
    pub client_key_file: Option<PathBuf>,
}

/// A secret that neither prints nor stays in memory once it has been dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Keeps a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(Zeroizing::new(secret.into()))
    }

    /// The secret itself, for whoever hands it to the one place that it is meant for.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Where a secret comes from. The environment, files and commands are the business of whoever assembles the server.
#[async_trait]
pub trait SecretSource: Send + Sync + fmt::Debug {
    /// The secret as it is now.
    ///
    /// # Errors
    /// Whatever keeps it from being read; the message names the source and never quotes it.
    async fn read(&self) -> Result<Secret>;
}

/// A secret that is known already.
#[async_trait]
impl SecretSource for Secret {
    async fn read(&self) -> Result<Secret> {
        Ok(self.clone())
    }
}
