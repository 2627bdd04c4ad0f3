//! A target that never answers what a process has left behind keeps nobody for long.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sessiond_core::fake::Fake;
use sessiond_core::{
    Backend, Call, Capabilities, Command, CommandSpec, Connections, Facts, FixedTargets, Limits, OutputSink, Process,
    Registry, Result, RunStatus, Service, Session, SessionSpec, Signal, SignalTarget, Stopped, TargetStatus,
};
use tokio::time::Instant;

use crate::rig::{Rig, me, ms, target};

/// The fake, with commands that never tell.
struct Mute(Arc<Fake>);

struct MuteCommand(Box<dyn Command>);

#[async_trait]
impl Backend for Mute {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn status(&self, cx: &Call) -> TargetStatus {
        Backend::status(&*self.0, cx).await
    }

    async fn start_session(&self, cx: &Call, spec: SessionSpec, out: OutputSink) -> Result<Box<dyn Session>> {
        self.0.start_session(cx, spec, out).await
    }

    async fn run_command(&self, cx: &Call, spec: CommandSpec, out: OutputSink) -> Result<Box<dyn Command>> {
        Ok(Box::new(MuteCommand(self.0.run_command(cx, spec, out).await?)))
    }

    fn connections(&self) -> Option<&dyn Connections> {
        self.0.connections()
    }

    async fn shutdown(&self, grace: Duration) {
        self.0.shutdown(grace).await;
    }
}

#[async_trait]
impl Process for MuteCommand {
    fn facts(&self) -> Facts {
        self.0.facts()
    }

    async fn signal(&self, cx: &Call, signal: Signal, to: SignalTarget) -> Result<()> {
        self.0.signal(cx, signal, to).await
    }

    async fn stop(&self, grace: Duration) -> Result<Stopped> {
        self.0.stop(grace).await
    }

    async fn descendants(&self) -> Vec<u32> {
        std::future::pending().await
    }
}

impl Command for MuteCommand {}

#[tokio::test(start_paused = true)]
async fn an_answer_waits_two_seconds_at_most_for_what_was_left_behind() {
    let fake = Fake::new();
    let targets = FixedTargets::new(vec![(Fake::info(target("local")), Arc::new(Mute(fake.clone())))]);
    let rig = Rig { registry: Registry::new(Arc::new(targets), Limits::default()), local: fake };
    let begun = Instant::now();
    let run = rig.ran(Rig::run("exit 3")).await;
    assert_eq!((run.status, run.descendants, begun.elapsed()), (RunStatus::CommandFailed, vec![], ms(2000)));
    let begun = Instant::now();
    let result = rig.execute("exit 3").await;
    assert_eq!((result.end.exit_code(), result.descendants, begun.elapsed()), (3, vec![], ms(2000)));
    let begun = Instant::now();
    let hurried = Call { deadline: begun + ms(300), ..me() };
    let result = rig.registry.execute_command(&hurried, Rig::command("exit 3")).await.unwrap();
    assert_eq!((result.end.exit_code(), begun.elapsed()), (3, ms(300)), "nor longer than the call has");
}
