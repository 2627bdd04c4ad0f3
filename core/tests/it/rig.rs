//! A registry over scripted targets, and short words for what tests do with it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sessiond_core::fake::Fake;
use sessiond_core::{
    Action, Call, CheckCommand, CommandInfo, CommandResult, CommandRun, ControlOutcome, ControlSession, Cursor,
    DEFAULT_SILENCE, Error, ExecuteCommand, FixedTargets, Handle, Invocation, KillCommand, KillOutcome, Launch, Limits,
    ListCommands, ListSessions, Owner, Pattern, Read, ReadCommand, ReadSession, Registry, Result, RunCommand, Service,
    SessionId, SessionPage, Signal, StartSession, StopOutcome, StopSession, Stream, TargetName, Until, Wait,
    WindowSize, WriteOutcome, WriteSession,
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

/// Commands under a handle.
impl Rig {
    pub(crate) fn run(command: &str) -> RunCommand {
        RunCommand {
            target: Some(target("local")),
            invocation: Invocation::new(command),
            stdin: Bytes::new(),
            silence: DEFAULT_SILENCE,
            wait: None,
            time_limit: None,
        }
    }

    /// Runs a command to whatever ends the waiting.
    pub(crate) async fn ran(&self, request: RunCommand) -> CommandRun {
        self.registry.run_command(&me(), request).await.unwrap()
    }

    /// Starts a command and does not wait for it.
    pub(crate) async fn launch(&self, command: &str) -> Handle {
        let run = self.ran(RunCommand { wait: Some(ms(0)), ..Self::run(command) }).await;
        run.command.unwrap().handle
    }

    pub(crate) async fn check(&self, handle: Handle, wait: u64) -> Option<CommandInfo> {
        self.registry.check_command(&me(), CheckCommand { handle, wait: ms(wait) }).await.unwrap()
    }

    /// Lines of stdout as text, with the number of the first.
    pub(crate) async fn lines(&self, handle: Handle, start: Option<u64>, lines: Option<u64>) -> Result<(u64, String)> {
        let request = ReadCommand { handle, stream: Stream::Stdout, lines, start_line: start };
        let read = self.registry.read_command(&me(), request).await?;
        let lines: Vec<_> = read.lines.iter().map(|line| sessiond_core::decode(line)).collect();
        Ok((read.first, lines.join("|")))
    }

    pub(crate) async fn kill(&self, request: KillCommand) -> KillOutcome {
        self.registry.kill_command(&me(), request).await.unwrap()
    }

    /// The handles of the commands that are listed.
    pub(crate) async fn history(&self, request: ListCommands) -> Vec<Handle> {
        let listed = self.registry.list_commands(&me(), request).await.unwrap();
        listed.iter().map(|summary| summary.info.handle).collect()
    }
}

/// A kill as it is asked for when nothing is said.
pub(crate) fn kill(handle: Handle) -> KillCommand {
    KillCommand { handle, signal: Signal::Term, force: true, wait: ms(1000) }
}

/// An error as people see it.
pub(crate) fn said(error: Error) -> String {
    format!("{}: {error}", error.kind())
}

/// A read as a short transcript: its text, where to go on, and why it ended.
pub(crate) fn shown(read: &Read) -> (String, u64, &'static str) {
    (sessiond_core::decode(&read.slice.bytes), read.slice.next.0, read.fired.as_str())
}
