//! A registry over scripted targets, and short words for what tests do with it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sessiond_core::fake::Fake;
use sessiond_core::{
    Action, Call, CommandResult, ControlOutcome, ControlSession, Cursor, Error, ExecuteCommand, FixedTargets,
    Invocation, Launch, Limits, ListSessions, Owner, Pattern, Read, ReadSession, Registry, Result, Service, SessionId,
    SessionPage, StartSession, StopOutcome, StopSession, TargetName, Until, Wait, WindowSize, WriteOutcome,
    WriteSession,
};

/// A registry with the targets `local` and `other`, and the backends behind them.
pub(crate) struct Rig {
    pub(crate) registry: Arc<Registry>,
    pub(crate) local: Arc<Fake>,
}

/// The owner that most tests act as.
pub(crate) fn me() -> Call {
    Call::new(Owner::management("me"))
}

pub(crate) fn target(name: &str) -> TargetName {
    TargetName::new(name).unwrap()
}

pub(crate) fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

/// Waits for any output.
pub(crate) fn for_output(time: u64) -> Wait {
    Wait { time: ms(time), ..Wait::default() }
}

/// Waits for a condition.
pub(crate) fn until(time: u64, until: Until) -> Wait {
    Wait { time: ms(time), until: Some(until), max_bytes: None }
}

pub(crate) fn pattern(pattern: &str) -> Until {
    Until { pattern: Some(Pattern::new(pattern).unwrap()), ..Until::default() }
}

pub(crate) fn end() -> Until {
    Until { end: true, ..Until::default() }
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let local = Fake::new();
        let targets = FixedTargets::new(vec![
            (Fake::info(target("local")), local.clone()),
            (Fake::info(target("other")), Fake::new()),
        ]);
        Self { registry: Registry::new(Arc::new(targets), limits), local }
    }

    pub(crate) fn request(command: &str) -> StartSession {
        StartSession {
            target: Some(target("local")),
            client_id: None,
            what: Launch::Start(Invocation::new(command)),
            time_limit: None,
            size: WindowSize::default(),
            label: None,
            login: false,
            wait: Wait::default(),
        }
    }

    pub(crate) async fn start(&self, command: &str) -> SessionId {
        self.try_start(command).await.unwrap()
    }

    pub(crate) async fn try_start(&self, command: &str) -> Result<SessionId> {
        Ok(self.registry.start_session(&me(), Self::request(command)).await?.session)
    }

    pub(crate) async fn read(&self, session: SessionId, cursor: u64, wait: Wait) -> Result<Read> {
        let request = ReadSession { session, target: Some(target("local")), cursor: Cursor(cursor), wait };
        self.registry.read_session(&me(), request).await
    }

    /// All output up to the end.
    pub(crate) async fn to_end(&self, session: SessionId) -> Read {
        self.read(session, 0, until(20_000, end())).await.unwrap()
    }

    pub(crate) async fn write(&self, session: SessionId, input: &str, wait: Wait) -> Result<WriteOutcome> {
        let input = Bytes::copy_from_slice(input.as_bytes());
        let request = WriteSession { session, target: Some(target("local")), input, wait };
        self.registry.write_session(&me(), request).await
    }

    pub(crate) async fn control(&self, session: SessionId, action: Action) -> Result<ControlOutcome> {
        let request = ControlSession { session, target: Some(target("local")), action, wait: Wait::default() };
        self.registry.control_session(&me(), request).await
    }

    pub(crate) async fn stop(&self, session: SessionId, wait: u64) -> StopOutcome {
        let request = StopSession { session, target: Some(target("local")), wait: ms(wait) };
        self.registry.stop_session(&me(), request).await.unwrap()
    }

    pub(crate) async fn list(&self, request: ListSessions) -> Result<SessionPage> {
        self.registry.list_sessions(&me(), request).await
    }

    pub(crate) fn command(command: &str) -> ExecuteCommand {
        ExecuteCommand {
            target: Some(target("local")),
            client_id: None,
            invocation: Invocation::new(command),
            stdin: Bytes::new(),
            time_limit: None,
        }
    }

    pub(crate) async fn execute(&self, command: &str) -> CommandResult {
        self.registry.execute_command(&me(), Self::command(command)).await.unwrap()
    }
}

/// An error as people see it.
pub(crate) fn said(error: Error) -> String {
    format!("{}: {error}", error.kind())
}

/// A read as a short transcript: its text, where to go on, and why it ended.
pub(crate) fn shown(read: &Read) -> (String, u64, &'static str) {
    (sessiond_core::decode(&read.slice.bytes), read.slice.next.0, read.fired.as_str())
}
