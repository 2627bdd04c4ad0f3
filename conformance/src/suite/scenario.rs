//! A scenario: one function that proves one requirement, or a part of it.

use futures_util::future::BoxFuture;
use sessiond_core::Capability;

use super::house::House;

/// What a scenario needs beside a sessiond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The backend can do this.
    Backend(Capability),
    /// The caller reaches every target, and names the one it means.
    Management,
    /// The transport lets other owners in, so that a scenario can be several.
    Owners,
    /// The transport asks for a key.
    Keys,
    /// The server is a process of its own, which can be looked at and ended.
    Process,
    /// Messages are lines of the server's standard output.
    Lines,
    /// Sessions whose command is a line of a shell: an agent's run takes a name and inputs instead.
    CommandLine,
    /// A real shell, here or on a host.
    Shell,
    /// A terminal that stays open when its leader has gone. An SSH server closes its own with the leader, and nothing in
    /// the protocol keeps it.
    Terminal,
    /// A real server over a real network.
    Network,
    /// The scripted backend, which can do what no shell can.
    Scripted,
}

impl Need {
    /// The name in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Backend(capability) => capability.as_str(),
            Self::Management => "management access",
            Self::Owners => "several owners",
            Self::Keys => "keys",
            Self::Process => "a process of its own",
            Self::Lines => "messages on standard output",
            Self::CommandLine => "a command line",
            Self::Shell => "a real shell",
            Self::Terminal => "a terminal that outlives its leader",
            Self::Network => "a real network",
            Self::Scripted => "a script",
        }
    }
}

/// One proof.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// The requirement that it proves.
    pub id: &'static str,
    /// What happens, as a sentence.
    pub title: &'static str,
    /// Without these it does not apply.
    pub needs: &'static [Need],
    /// It fails by panicking.
    pub run: fn(House) -> BoxFuture<'static, ()>,
}

/// A scenario with the usual needs: sessions that can be started by a line of a shell.
pub(super) const fn session(
    id: &'static str,
    title: &'static str,
    run: fn(House) -> BoxFuture<'static, ()>,
) -> Scenario {
    Scenario { id, title, needs: &[Need::Backend(Capability::Sessions), Need::CommandLine], run }
}

/// A scenario that needs commands.
pub(super) const fn command(
    id: &'static str,
    title: &'static str,
    run: fn(House) -> BoxFuture<'static, ()>,
) -> Scenario {
    Scenario { id, title, needs: &[Need::Backend(Capability::Commands)], run }
}

/// A scenario that needs a host: a target that is reached over a connection.
pub(super) const fn host(id: &'static str, title: &'static str, run: fn(House) -> BoxFuture<'static, ()>) -> Scenario {
    Scenario { id, title, needs: &[Need::Backend(Capability::Connections)], run }
}

/// A scenario that needs an agent platform.
pub(super) const fn agent(id: &'static str, title: &'static str, run: fn(House) -> BoxFuture<'static, ()>) -> Scenario {
    Scenario { id, title, needs: &[Need::Backend(Capability::Agents)], run }
}

impl Scenario {
    /// The same with these needs instead.
    pub(super) const fn needing(self, needs: &'static [Need]) -> Self {
        Self { needs, ..self }
    }
}
