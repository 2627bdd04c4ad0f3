//! The typed configuration that the rest of the server reads.

mod http;
mod network;
mod platform;
mod ssh;
mod telemetry;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use sessiond_core::{Limits, TargetName};

pub use self::http::HttpSettings;
pub use self::network::{ConnectSettings, JwtSettings, NetworkSettings};
pub use self::platform::PlatformSettings;
pub use self::ssh::{SecretSetting, SshHostSettings, SshSettings};
pub use self::telemetry::TelemetrySettings;
use crate::key_path::KeyPath;
use crate::problem::Origin;
use crate::settings::{TARGET, of_server};

/// The name of the target that is there without any configuration: this machine.
pub(crate) const LOCAL: &str = "local";

/// Everything that can be configured, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The registry's limits: `[limits]`.
    pub limits: Limits,
    /// The targets by name, the disabled ones included: `[targets.NAME]`.
    pub targets: BTreeMap<TargetName, TargetSettings>,
    /// What holds for all SSH hosts: `[ssh]`.
    pub ssh: SshSettings,
    /// Where the gRPC server listens, unless a flag says otherwise: `grpc.listen`.
    pub grpc_listen: Option<String>,
    /// Who is let in on a network, and how: `[network]` and `[jwt]`.
    pub network: NetworkSettings,
    /// How MCP is served over HTTP: `[http]`.
    pub http: HttpSettings,
    /// How to reach another server: `[connect]`.
    pub connect: ConnectSettings,
    /// Where traces of calls go: `[telemetry]`.
    pub telemetry: TelemetrySettings,
    /// How MCP results read: `mcp.text`.
    pub text: TextStyle,
    /// From which level on to log: `log.level`.
    pub log_level: LogLevel,
    /// How log lines look: `log.format`.
    pub log_format: LogFormat,
    pub(crate) origins: BTreeMap<KeyPath, Origin>,
}

/// One target's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetSettings {
    /// Whether it is there at all.
    pub enabled: bool,
    /// The kind of backend, with its own settings.
    pub backend: BackendSettings,
}

/// The settings of one kind of backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendSettings {
    /// This machine: sessions on pseudo-terminals, commands on pipes.
    Pty(PtySettings),
    /// A host that is reached over SSH.
    Ssh(Box<SshHostSettings>),
    /// An agent platform.
    AgentPlatform(Box<PlatformSettings>),
    /// The scripted backend, for tests of whole servers.
    #[cfg(feature = "fake")]
    Fake,
}

impl BackendSettings {
    /// The word for the backend.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pty(_) => "pty",
            Self::Ssh(_) => "ssh",
            Self::AgentPlatform(_) => "agent-platform",
            #[cfg(feature = "fake")]
            Self::Fake => "fake",
        }
    }
}

/// The settings of the backend `pty`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtySettings {
    /// The shell that runs commands; else `$SHELL`, else `/bin/sh`.
    pub shell: Option<PathBuf>,
    /// Where commands run that name no directory; else where the server runs.
    pub cwd: Option<PathBuf>,
    /// Variables for every child, over the server's own.
    pub env: BTreeMap<String, String>,
    /// How long to read on after a leader's exit while others hold its terminal or pipes (SR56).
    pub linger: Duration,
    /// How long a write waits for a program that takes nothing (SF02).
    pub write_stall: Duration,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
        pub enum $name {
            $($(#[$variant_doc])* $variant),*
        }

        impl $name {
            /// The words that the configuration takes.
            pub(crate) const WORDS: &'static [&'static str] = &[$($word),*];

            /// The word for this.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            /// What a word stands for.
            pub(crate) fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// How much output the text beside a structured result repeats.
    TextStyle {
        /// Little output as a whole; of more only where it stands.
        Short = "short",
        /// All of it, for clients that show their model the text alone.
        Full = "full",
    }
}

words! {
    /// Which host keys are accepted. A key other than the known one is refused in any case.
    HostKeys {
        /// Only keys that are known.
        Strict = "strict",
        /// Also the first key of a host of which none is known; it is learnt.
        AcceptNew = "accept-new",
    }
}

words! {
    /// How to log in to a platform.
    PlatformAuth {
        /// Not at all.
        None = "none",
        /// With a token that never changes.
        Token = "token",
        /// With HTTP basic authentication.
        Basic = "basic",
        /// With a login that gives a cookie.
        Login = "login",
        /// With OAuth client credentials.
        OAuth = "oauth",
    }
}

words! {
    /// From which level on to log.
    LogLevel {
        /// Nothing.
        Off = "off",
        /// What the server could not do.
        Error = "error",
        /// What somebody should look at.
        Warn = "warn",
        /// Starts and ends: of the server, and of sessions by calls.
        Info = "info",
        /// Each call: which tool, how it went, how long it took.
        Debug = "debug",
        /// Everything; what libraries say here is not in a release, where this is the same as `debug`.
        Trace = "trace",
    }
}

words! {
    /// How log lines look.
    LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
}

impl Default for PtySettings {
    fn default() -> Self {
        let adapter = sessiond_pty::Config::default();
        Self { shell: None, cwd: None, env: BTreeMap::new(), linger: adapter.linger, write_stall: adapter.write_stall }
    }
}

impl Default for TargetSettings {
    fn default() -> Self {
        Self { enabled: true, backend: BackendSettings::Pty(PtySettings::default()) }
    }
}

impl Default for Configuration {
    /// What holds without a file and without variables: one target, this machine.
    fn default() -> Self {
        let local = TargetName::new(LOCAL).map(|name| (name, TargetSettings::default()));
        Self {
            limits: Limits::default(),
            targets: local.into_iter().collect(),
            ssh: SshSettings::default(),
            grpc_listen: None,
            network: NetworkSettings::default(),
            http: HttpSettings::default(),
            connect: ConnectSettings::default(),
            telemetry: TelemetrySettings::default(),
            text: TextStyle::Short,
            log_level: LogLevel::Warn,
            log_format: LogFormat::Text,
            origins: BTreeMap::new(),
        }
    }
}

/// One key as it stands in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The key's full path.
    pub key: String,
    /// Its value as TOML; `None` where nothing is set. Of a table of variables the names alone.
    pub value: Option<String>,
    /// Who set it; `None` for a default.
    pub origin: Option<Origin>,
    /// What it is for, in one line.
    pub about: &'static str,
}

impl Configuration {
    /// Every key, in the order of the documentation, with its value and who set it.
    pub fn shown(&self) -> Vec<Shown> {
        let mut shown: Vec<_> =
            of_server().map(|own| self.row(KeyPath::of(own.name), own.about, own.show(self))).collect();
        for (name, target) in &self.targets {
            let path = |key| KeyPath::of_target(name.as_str(), key);
            shown.extend(TARGET.iter().map(|own| self.row(path(own.name), own.about, own.show(target))));
            shown.extend(target.backend.rows().into_iter().map(|own| self.row(path(own.name), own.about, own.value)));
        }
        shown
    }

    fn row(&self, path: KeyPath, about: &'static str, value: Option<String>) -> Shown {
        // A table of variables has as many origins as variables; the first one found stands for all.
        let of_table = |(at, _): &(&KeyPath, &Origin)| at.0.starts_with(&path.0);
        let origin = self.origins.iter().find(of_table).map(|(_, origin)| origin.clone());
        Shown { key: path.to_string(), value, origin, about }
    }
}
