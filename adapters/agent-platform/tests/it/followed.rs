//! A run that is followed as a session, as a test reads along.

use std::sync::Arc;

use sessiond_agent_platform::Platform;
use sessiond_core::{
    Backend, Cursor, End, Exit, Invocation, LogKind, NativeId, OutputLog, OutputSink, Pattern, PlatformId, Result,
    Retention, Session, SessionSpec, Stopped, Stream, Until, Wait, WindowSize, decode,
};

use crate::support::{AMPLE, call};

/// A followed run and its log.
pub(crate) struct Followed {
    pub(crate) session: Box<dyn Session>,
    pub(crate) log: Arc<OutputLog>,
}

/// A session with this command.
pub(crate) fn spec(command: &str) -> SessionSpec {
    SessionSpec { invocation: Invocation::new(command), size: WindowSize::default(), login: false }
}

pub(crate) fn log() -> (Arc<OutputLog>, OutputSink) {
    let log = OutputLog::new(LogKind::Session(WindowSize::default()), Retention::Newest(1 << 20));
    (log.clone(), OutputSink::new(log))
}

impl Followed {
    /// Starts an agent: its name, and perhaps its inputs.
    pub(crate) async fn start(platform: &Platform, command: &str) -> Result<Self> {
        let (log, out) = log();
        Ok(Self { session: platform.start_session(&call(), spec(command), out).await?, log })
    }

    /// Follows a run that somebody else started.
    pub(crate) async fn attach(platform: &Platform, id: &str) -> Result<Self> {
        let (log, out) = log();
        Ok(Self { session: platform.attach_session(&call(), &NativeId(id.to_owned()), out).await?, log })
    }

    /// The platform's id of the run.
    pub(crate) fn id(&self) -> PlatformId {
        PlatformId::new("session_id", self.session.facts().native_id.unwrap().0).unwrap()
    }

    /// Waits, as a reader does, until this is in the output; returns the output up to it.
    pub(crate) async fn shows(&self, pattern: &str) -> String {
        let pattern = Some(Pattern::new(pattern).unwrap());
        self.read(Until { pattern, ..Until::default() }).await
    }

    /// Waits, as a reader does, for the end; returns all that was said, and how it ended.
    pub(crate) async fn to_end(&self) -> (String, Exit) {
        let text = self.read(Until { end: true, ..Until::default() }).await;
        (text, self.log.end().expect("the run has not ended in time").exit)
    }

    async fn read(&self, until: Until) -> String {
        let wait = Wait { time: AMPLE, until: Some(until), max_bytes: None };
        let read = self.log.read_when(&call(), Stream::Stdout, Cursor::START, &wait).await.unwrap();
        decode(&read.slice.bytes)
    }

    /// All that is in the log now. Whoever looks like this does not wait for anything.
    pub(crate) fn text(&self) -> String {
        decode(&self.log.read(Stream::Stdout, Cursor::START, usize::MAX, None).unwrap().bytes)
    }

    /// The end, without anybody who waits for output.
    pub(crate) async fn ended(&self) -> End {
        tokio::time::timeout(AMPLE, self.log.ended()).await.expect("the run has not ended in time")
    }

    /// Whether the run waits for a person, and what says so.
    pub(crate) async fn input_state(&self) -> (bool, String) {
        let state = self.session.input_state(&call()).await.unwrap();
        (state.waiting, state.evidence)
    }

    pub(crate) async fn stop(&self) -> Result<Stopped> {
        self.session.stop(std::time::Duration::from_secs(2)).await
    }
}
