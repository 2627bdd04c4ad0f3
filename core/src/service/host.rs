//! Requests and answers of hosts and the connections to them.

use crate::backend::{ConnectionFacts, ConnectionStatus, TargetInfo};
use crate::id::TargetName;

/// The hosts there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostList {
    /// The hosts; each has [`TargetInfo::host`].
    pub hosts: Vec<TargetInfo>,
}

/// Connect to a host, or see that it is connected.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectHost {
    /// Which; may be left out by an owner who has one target only.
    pub target: Option<TargetName>,
}

/// A host that is connected.
#[derive(Clone, Debug, PartialEq)]
pub struct HostConnected {
    /// Its name.
    pub target: TargetName,
    /// Whether it had been connected before.
    pub was_connected: bool,
    /// What is known of the connection.
    pub facts: ConnectionFacts,
}

/// Which connections to list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListConnections {
    /// Only that of this host.
    pub target: Option<TargetName>,
}

/// A host's connection as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// The host.
    pub target: TargetName,
    /// How it stands.
    pub status: ConnectionStatus,
}

/// Let go of a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DisconnectHost {
    /// Which; may be left out while exactly one is connected.
    pub target: Option<TargetName>,
}

/// A host that has been let go of.
#[derive(Clone, Debug, PartialEq)]
pub struct HostDisconnected {
    /// Which; `None` when none was named and none was connected.
    pub target: Option<TargetName>,
    /// Whether it was connected.
    pub was_connected: bool,
    /// How many sessions and commands were stopped for it.
    pub stopped: usize,
    /// Processes of theirs that are known to live, or not known to be gone.
    pub survivors: Vec<u32>,
}
