//! What an operator may set.

use std::path::PathBuf;
use std::time::Duration;

use crate::secret::SecretSource;
use crate::surroundings::Surroundings;

/// What an operator may set for all hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Hosts with settings of their own; each is a target by its name.
    pub hosts: Vec<HostConfig>,
    /// The OpenSSH client configuration whose literal `Host` entries are targets.
    pub client_config: ClientConfig,
    /// Whether a name that stands in neither configuration is a host name to connect to. False by default.
    pub any_host: bool,
    /// The OpenSSH client, which is asked what its configuration says of a host (`ssh -G`): a path, or a name to be
    /// looked up in `PATH`. Where there is none, or with `None`, the files are read by rules of ours, which know no
    /// `Match`.
    pub ssh_program: Option<PathBuf>,
    /// Which host keys are accepted where the client configuration leaves it at its default, which is to ask.
    /// [`HostKeyPolicy::Strict`] by default.
    pub host_keys: HostKeyPolicy,
    /// How long a connection may take, with all its hops and the authentication, where nothing else is said.
    /// 30 s by default.
    pub connect_timeout: Duration,
    /// How often a silent connection is asked whether it lives, where nothing else is said; `None` never asks.
    /// 15 s by default; after three unanswered questions the connection is lost.
    pub keepalive: Option<Duration>,
    /// How many connections to one host an owner may have at once: another is made when a host takes no more channels
    /// on those that stand (`MaxSessions`). 16 by default.
    pub max_connections: usize,
    /// How long the end of a process waits for others that keep its terminal or pipes open (SR56). 2 s by default.
    pub linger: Duration,
    /// How long a write waits for a host that takes nothing (SF02). 5 s by default.
    pub write_stall: Duration,
    /// The environment: `HOME`, `USER`, `SSH_AUTH_SOCK` and `PATH` are used, and programs that are run on the way to a
    /// host get all of it. Whoever makes it leaves the server's secrets out.
    pub surroundings: Surroundings,
}

impl Default for Config {
    /// The client configuration of this server's user, and nothing else.
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            client_config: ClientConfig::OpenSsh,
            any_host: false,
            ssh_program: Some("ssh".into()),
            host_keys: HostKeyPolicy::Strict,
            connect_timeout: Duration::from_secs(30),
            keepalive: Some(Duration::from_secs(15)),
            max_connections: 16,
            linger: Duration::from_secs(2),
            write_stall: Duration::from_secs(5),
            surroundings: Surroundings::default(),
        }
    }
}

/// Which files are the OpenSSH client configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientConfig {
    /// What the OpenSSH client itself reads: `~/.ssh/config`, whose `Host` entries are targets, and after it
    /// `/etc/ssh/ssh_config`.
    OpenSsh,
    /// This file alone, as `ssh -F` reads it.
    File(PathBuf),
    /// None.
    Nothing,
}

/// A host with settings of its own. What it leaves out is taken from the client configuration's entry of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostConfig {
    /// The target's name.
    pub name: String,
    /// What it is for, as lists of hosts show it.
    pub description: Option<String>,
    /// The address to dial: a name, an IPv4 address or an IPv6 address without brackets.
    pub host: Option<String>,
    /// The port.
    pub port: Option<u16>,
    /// The user on the host.
    pub user: Option<String>,
    /// Private keys to offer, besides those of the agent.
    pub identities: Vec<PathBuf>,
    /// Certificates of these keys.
    pub certificates: Vec<PathBuf>,
    /// Whether only the keys named here are offered, also of those that the agent has.
    pub identities_only: Option<bool>,
    /// The socket of the agent; the default is `SSH_AUTH_SOCK`.
    pub agent: Option<PathBuf>,
    /// Where the password is read from.
    pub password: Option<SecretSource>,
    /// Where the passphrase of the private keys is read from.
    pub passphrase: Option<SecretSource>,
    /// Which host keys are accepted.
    pub host_keys: Option<HostKeyPolicy>,
    /// The known_hosts files, in place of those of the client configuration.
    pub known_hosts: Vec<PathBuf>,
    /// The name under which the host's key stands in those files, whatever its address and port.
    pub key_alias: Option<String>,
    /// Hosts to go through, as `ProxyJump` takes them: `user@host:port`, several with commas between them; `none` goes
    /// straight to the host whatever the client configuration says.
    pub jump: Option<String>,
    /// How long a connection may take.
    pub connect_timeout: Option<Duration>,
    /// How often a silent connection is asked whether it lives.
    pub keepalive: Option<Duration>,
}

/// Which host keys are accepted. A key other than the known one is refused in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HostKeyPolicy {
    /// Only keys that are known.
    #[default]
    Strict,
    /// Also the first key of a host of which none is known; it is learnt.
    AcceptNew,
}
