//! A command: the handle to a process on pipes of a host.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sessiond_core::{Call, Command, Facts, Process, Result, Signal, SignalTarget, Stopped};

use crate::process::Running;
use crate::shell::signal::Whom;
use crate::stop;

/// A one-shot command on a host.
pub(crate) struct SshCommand {
    running: Arc<Running>,
}

impl SshCommand {
    pub(crate) fn new(running: Arc<Running>) -> Self {
        Self { running }
    }
}

#[async_trait]
impl Process for SshCommand {
    fn facts(&self) -> Facts {
        self.running.facts()
    }

    async fn signal(&self, cx: &Call, which: Signal, to: SignalTarget) -> Result<()> {
        let whom = match to {
            SignalTarget::Leader => Whom::Leader,
            SignalTarget::Foreground => Whom::Group,
        };
        self.running.signal(cx, which, whom).await
    }

    async fn stop(&self, grace: Duration) -> Result<Stopped> {
        stop::process(&self.running, grace).await
    }

    /// Nobody is looked for where a command ended by itself and its pipes with it, as nearly all do: what it may have
    /// left in the background holds up no answer (SF04), and a look takes longer than a short command.
    async fn descendants(&self) -> Vec<u32> {
        if self.running.ended_quietly() {
            return Vec::new();
        }
        stop::descendants(&self.running).await
    }
}

#[async_trait]
impl Command for SshCommand {}
