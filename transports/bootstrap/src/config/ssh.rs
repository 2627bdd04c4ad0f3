//! What is configured of SSH hosts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::HostKeys;

/// What holds for all hosts: `[ssh]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshSettings {
    /// Whether there are SSH hosts at all.
    pub enabled: bool,
    /// The OpenSSH client configuration whose `Host` entries are targets; else that of the server's user.
    pub config: Option<PathBuf>,
    /// The OpenSSH client; else `ssh` in `PATH`.
    pub program: Option<PathBuf>,
    /// Whether a name that stands in no configuration is a host to connect to.
    pub any_host: bool,
    /// Which host keys are accepted where nothing else is said.
    pub host_keys: HostKeys,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How often a silent connection is asked whether it lives; `None` never asks.
    pub keepalive: Option<Duration>,
    /// Connections to one host, for each caller.
    pub max_connections: usize,
    /// How long to read on after a leader's exit while others hold its terminal or pipes (SR56).
    pub linger: Duration,
    /// How long a write waits for a host that takes nothing (SF02).
    pub write_stall: Duration,
}

/// The settings of the backend `ssh`: one host. What is left out is the client configuration's to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SshHostSettings {
    /// What the host is for.
    pub description: Option<String>,
    /// The address to dial.
    pub host: Option<String>,
    /// The port.
    pub port: Option<u16>,
    /// The account on the host.
    pub user: Option<String>,
    /// Private keys to offer.
    pub identity_files: Vec<PathBuf>,
    /// Certificates of these keys.
    pub certificate_files: Vec<PathBuf>,
    /// Whether only these keys are offered.
    pub identities_only: Option<bool>,
    /// The socket of the key agent.
    pub agent_socket: Option<PathBuf>,
    /// Where the password is.
    pub password: Option<SecretSetting>,
    /// Where the passphrase of the private keys is.
    pub passphrase: Option<SecretSetting>,
    /// Which keys of the host are accepted.
    pub host_keys: Option<HostKeys>,
    /// The known_hosts files.
    pub known_hosts_files: Vec<PathBuf>,
    /// The name under which the host's key stands there.
    pub host_key_alias: Option<String>,
    /// Hosts to go through.
    pub proxy_jump: Option<String>,
    /// How long a connection may take.
    pub connect_timeout: Option<Duration>,
    /// How often a silent connection is asked whether it lives.
    pub keepalive: Option<Duration>,
}

/// Where a secret is: never the secret itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSetting {
    /// The first line of a file.
    File(PathBuf),
    /// The value of a variable of the server's environment.
    Variable(String),
    /// The first line that a command prints.
    Command(String),
}

impl SecretSetting {
    /// The file, where it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Variable(_) | Self::Command(_) => None,
        }
    }

    /// The variable, where it is one.
    pub(crate) fn variable(&self) -> Option<&str> {
        match self {
            Self::Variable(name) => Some(name),
            Self::File(_) | Self::Command(_) => None,
        }
    }

    /// The command, where it is one.
    pub(crate) fn command(&self) -> Option<&str> {
        match self {
            Self::Command(command) => Some(command),
            Self::File(_) | Self::Variable(_) => None,
        }
    }
}

impl Default for SshSettings {
    fn default() -> Self {
        let adapter = sessiond_ssh::Config::default();
        Self {
            enabled: true,
            config: None,
            program: None,
            any_host: adapter.any_host,
            host_keys: HostKeys::Strict,
            connect_timeout: adapter.connect_timeout,
            keepalive: adapter.keepalive,
            max_connections: adapter.max_connections,
            linger: adapter.linger,
            write_stall: adapter.write_stall,
        }
    }
}
