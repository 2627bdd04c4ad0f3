//! Everything that is needed to reach one host, resolved: plain data.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::HostKeyPolicy;
use crate::secret::SecretSource;
use crate::surroundings::Surroundings;

/// How one host is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The host's name, as the agent says it.
    pub(crate) name: String,
    /// The address to dial: a name, an IPv4 address, or an IPv6 address without brackets.
    pub(crate) host: String,
    /// The port.
    pub(crate) port: u16,
    /// The user on the host.
    pub(crate) user: String,
    /// The name under which the host's key is known, in place of its address (`HostKeyAlias`).
    pub(crate) key_alias: Option<String>,
    /// The known_hosts files: the user's, then those of the machine.
    pub(crate) known_hosts: Vec<PathBuf>,
    /// A file with keys that must not be used, of this host or any (`RevokedHostKeys`).
    pub(crate) revoked_keys: Option<PathBuf>,
    /// The file that a new key is written into; `None` keeps it nowhere.
    pub(crate) learn_into: Option<PathBuf>,
    /// Whether a key that is learnt is written with its host hashed (`HashKnownHosts`).
    pub(crate) hash_known_hosts: bool,
    /// Whether the host's address must not be known with another key either (`CheckHostIP`).
    pub(crate) check_address: bool,
    /// Which host keys are accepted.
    pub(crate) policy: HostKeyPolicy,
    /// Private keys to offer, in order; files that exist, or that somebody named.
    pub(crate) identities: Vec<PathBuf>,
    /// Certificates of these keys, besides `KEY-cert.pub` next to each.
    pub(crate) certificates: Vec<PathBuf>,
    /// Whether only these keys are offered, also of those that the agent has.
    pub(crate) identities_only: bool,
    /// The socket of the agent; `None` asks no agent.
    pub(crate) agent: Option<PathBuf>,
    /// Where the password is read from.
    pub(crate) password: Option<SecretSource>,
    /// Where the passphrase of the private keys is read from.
    pub(crate) passphrase: Option<SecretSource>,
    /// What carries the connection.
    pub(crate) via: Via,
    /// How long the connection may take, with all its hops and the authentication.
    pub(crate) connect_timeout: Duration,
    /// How often a silent connection is asked whether it lives; `None` never asks.
    pub(crate) keepalive: Option<Duration>,
    /// After how many unanswered questions the connection is lost.
    pub(crate) keepalive_max: u32,
    /// What programs find that are run on the way.
    pub(crate) surroundings: Surroundings,
}

/// What carries a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// TCP from here.
    Direct,
    /// Through other hosts, in this order, each of which is checked and authenticated. The first may itself be
    /// reached through a command; all others are [`Via::Direct`].
    Jump(Vec<Route>),
    /// Through the standard input and output of a command of this machine (`ProxyCommand`), ready for the user's shell.
    Command(String),
}
