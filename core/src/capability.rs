//! What a backend can do, as data: the registry refuses by it, and the conformance suite selects tests by it.

use std::fmt;

use crate::error::{Error, Result};

/// One thing that a backend may or may not be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Capability {
    /// Start sessions.
    Sessions,
    /// Run one-shot commands with separate stdout and stderr.
    Commands,
    /// Attach to what already runs on the target.
    Attach,
    /// Write input to a session.
    Write,
    /// Tell a session that its input has ended.
    Eof,
    /// Sessions have a terminal whose size can be changed.
    Resize,
    /// Send named signals.
    Signals,
    /// The target is a host: it is reached over connections that callers can see, make and close.
    Connections,
    /// The target is an agent platform: it has agents, and records of their sessions.
    Agents,
}

impl Capability {
    /// Every capability.
    pub const ALL: [Self; 9] = [
        Self::Sessions,
        Self::Commands,
        Self::Attach,
        Self::Write,
        Self::Eof,
        Self::Resize,
        Self::Signals,
        Self::Connections,
        Self::Agents,
    ];

    /// The name in messages and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Commands => "commands",
            Self::Attach => "attach",
            Self::Write => "write",
            Self::Eof => "eof",
            Self::Resize => "resize",
            Self::Signals => "signals",
            Self::Connections => "connections",
            Self::Agents => "agents",
        }
    }
}

/// What a caller reads who asks for what a target cannot do.
fn refusal(capability: Capability) -> String {
    let (lack, instead) = match capability {
        Capability::Sessions => ("has no sessions", "run a command with execute_command, or name another target"),
        Capability::Commands => ("has no one-shot commands", "start a session instead, or name another target"),
        Capability::Attach => ("cannot attach to what runs already", "give command instead of native_id"),
        Capability::Write => ("takes no input", "start another session with all that it needs in its command"),
        Capability::Eof => ("cannot tell a program that its input has ended", "stop the session instead"),
        Capability::Resize => ("has no terminals whose size can be changed", "go on with the size as it is"),
        Capability::Signals => ("takes no signals", "stop the session instead"),
        Capability::Connections => ("is no host", "execute_command and session_start take it"),
        Capability::Agents => ("is no agent platform", "list_clients shows which targets are"),
    };
    format!("this target {lack}: {instead}")
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The set of what a backend can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u32);

impl Capabilities {
    /// The set of exactly these.
    pub const fn of(capabilities: &[Capability]) -> Self {
        let mut bits = 0;
        let mut rest = capabilities;
        while let [first, others @ ..] = rest {
            bits |= 1 << *first as u8;
            rest = others;
        }
        Self(bits)
    }

    /// Whether the backend can do it.
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & 1 << capability as u8 != 0
    }

    /// Lets the call go on only when the backend can do it.
    ///
    /// # Errors
    /// `unsupported`, saying what to do instead.
    pub fn require(self, capability: Capability) -> Result<()> {
        if self.has(capability) { Ok(()) } else { Err(Error::unsupported(refusal(capability))) }
    }
}
