//! A stage: one sessiond with the target `local`, and short words for what scenarios do with it.
//!
//! - `hosts`: the words for hosts and for commands under a handle
//! - `agents`: the words for agent platforms

pub mod agents;
pub mod hosts;

use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sessiond_core::{
    Action, Call, CommandResult, ControlOutcome, ControlSession, Cursor, End, Error, ExecuteCommand, Invocation,
    Launch, ListSessions, Owner, Pattern, Read, ReadSession, Registry, Result, Service, SessionId, SessionPage,
    StartSession, StopOutcome, StopSession, TargetName, Until, Wait, WindowSize, WriteOutcome, WriteSession, decode,
};
use sessiond_mcp::Family;
use tokio::process::Child;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::client::http::{Endpoint, Reception};
use super::client::{Client, ToolResult};
use super::house::{Peers, connect};
use super::mutant::Fault;

/// The owner that a stage acts as in process.
pub(crate) const OWNER: &str = "stdio";

/// Somebody else, where there is one.
pub(crate) const STRANGER: &str = "somebody-else";

/// How long scenarios wait for what must come: the longest wait there is.
pub const LONG: u64 = 20_000;

/// How long the end of a server may take.
const END: Duration = Duration::from_secs(30);

/// The target of every stage.
pub fn target() -> TargetName {
    named("local")
}

/// The target of this name.
pub fn named(name: &str) -> TargetName {
    TargetName::new(name).unwrap_or_else(|error| panic!("{error}"))
}

/// What keeps a stage's sessiond going.
pub(crate) enum Hold {
    InProcess {
        registry: Option<Arc<Registry>>,
        families: Vec<Family>,
        closing: CancellationToken,
        serving: JoinHandle<std::io::Result<()>>,
        /// What is asked once the transport has ended, where that cannot answer any more.
        after: Option<Arc<dyn Service>>,
        /// What is wrong with what its clients hear.
        fault: Option<Box<Fault>>,
    },
    Process {
        server: Server,
        /// Clients of every owner that is let in, where owners are told apart.
        others: Vec<(Owner, Client)>,
    },
}

/// What ends a server.
#[derive(Clone, Copy)]
enum EndsBy {
    Input,
    Signal,
}

/// A server that is a process of its own.
#[derive(Clone)]
pub(crate) struct Server {
    pid: Option<u32>,
    child: Arc<Mutex<Option<Child>>>,
    ends_by: EndsBy,
}

impl Server {
    /// A server that ends when its input does.
    pub(crate) fn until_its_input_ends(child: Child) -> Self {
        Self::new(child, EndsBy::Input)
    }

    /// A server that ends when it is told to.
    pub(crate) fn until_a_signal(child: Child) -> Self {
        Self::new(child, EndsBy::Signal)
    }

    fn new(child: Child, ends_by: EndsBy) -> Self {
        Self { pid: child.id(), child: Arc::new(Mutex::new(Some(child))), ends_by }
    }

    /// Tells it to end where its input does not, and waits until it has, the first time; its exit code.
    pub(crate) async fn end(&self) -> Option<i32> {
        let mut child = self.child.lock().await.take()?;
        if let (EndsBy::Signal, Some(pid)) = (self.ends_by, child.id().and_then(|pid| Pid::from_raw(pid as i32))) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::TERM);
        }
        let ended = tokio::time::timeout(END, child.wait()).await;
        ended.unwrap_or_else(|_| panic!("the server ends")).ok()?.code()
    }
}

/// A running sessiond.
pub struct Stage {
    /// Its verbs, as the transport carries them.
    pub service: Arc<dyn Service>,
    /// Its messages, for requirements that speak of them.
    pub client: Client,
    hold: Hold,
    peers: Peers,
    owner: Owner,
    endpoint: Option<Endpoint>,
}

/// Waits for any output, for so many milliseconds at most.
pub fn for_output(time: u64) -> Wait {
    Wait { time: Duration::from_millis(time), ..Wait::default() }
}

/// Waits for a condition, for so many milliseconds at most.
pub fn until(time: u64, until: Until) -> Wait {
    Wait { until: Some(until), ..for_output(time) }
}

/// The condition that a pattern matches.
pub fn pattern(pattern: &str) -> Until {
    Until { pattern: Some(Pattern::new(pattern).unwrap_or_else(|error| panic!("{error}"))), ..Until::default() }
}

/// The condition that the process has ended.
pub fn end() -> Until {
    Until { end: true, ..Until::default() }
}

/// The condition that nothing comes for so many milliseconds.
pub fn quiet(time: u64) -> Until {
    Until { quiet: Some(Duration::from_millis(time)), ..Until::default() }
}

/// The text of a read.
pub fn text(read: &Read) -> String {
    decode(&read.slice.bytes)
}

/// The four facts of an end that every transport carries: exit code, timed out, canceled, error.
pub fn facts(end: &End) -> (i32, bool, bool, Option<String>) {
    (end.exit_code(), end.timed_out(), end.canceled(), end.error())
}

/// An error as people see it.
pub fn said(error: Error) -> String {
    format!("{}: {error}", error.kind())
}

impl Stage {
    pub(crate) fn new(service: Arc<dyn Service>, client: Client, hold: Hold) -> Self {
        Self { service, client, hold, peers: Vec::new(), owner: Owner::management(OWNER), endpoint: None }
    }

    /// The same, with these agent platforms behind its targets.
    pub(crate) fn on(self, peers: Peers) -> Self {
        Self { peers, ..self }
    }

    /// The same, acted on as this owner.
    pub(crate) fn owned_by(self, owner: Owner) -> Self {
        Self { owner, ..self }
    }

    /// The same, with this endpoint.
    pub(crate) fn at(self, endpoint: Endpoint) -> Self {
        Self { endpoint: Some(endpoint), ..self }
    }

    /// A call of this stage's owner.
    pub fn call(&self) -> Call {
        Call::new(self.owner.clone())
    }

    /// A call of somebody else who may reach the same.
    pub fn stranger(&self) -> Call {
        Call::new(Owner::new(STRANGER, self.owner.access().clone()))
    }

    /// A client of any owner of the same sessiond, where owners are told apart.
    pub async fn client_as(&self, owner: Owner) -> Client {
        match &self.hold {
            Hold::InProcess { families, closing, fault, .. } => {
                connect(self.service.clone(), owner, families, fault.as_deref().copied(), closing.clone()).await.0
            }
            Hold::Process { others, .. } => {
                let found = others.iter().find(|(known, _)| *known == owner);
                found.map_or_else(|| panic!("{owner:?} is not let in"), |(_, client)| client.clone())
            }
        }
    }

    /// How somebody with this key is received, or with none, where keys are asked for.
    pub async fn received(&self, key: Option<&str>) -> Reception {
        let endpoint = self.endpoint.as_ref().unwrap_or_else(|| panic!("nobody is asked for a key"));
        endpoint.with(key.map(str::to_owned)).knock().await
    }

    /// The server's process, where it is one of its own.
    pub fn pid(&self) -> Option<u32> {
        match &self.hold {
            Hold::InProcess { .. } => None,
            Hold::Process { server, .. } => server.pid,
        }
    }

    /// A request to start a session, to be changed where it differs from the defaults.
    pub fn request(command: &str) -> StartSession {
        StartSession {
            target: Some(target()),
            client_id: None,
            what: Launch::Start(Invocation::new(command)),
            time_limit: None,
            size: WindowSize::default(),
            label: None,
            login: false,
            wait: Wait::default(),
        }
    }

    /// Starts a session.
    pub async fn start(&self, command: &str) -> SessionId {
        self.try_start(Self::request(command)).await.unwrap_or_else(|error| panic!("{}", said(error)))
    }

    /// Starts a session as requested.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn try_start(&self, request: StartSession) -> Result<SessionId> {
        Ok(self.service.start_session(&self.call(), request).await?.session)
    }

    /// Starts a session and waits until its output matches.
    pub async fn start_until(&self, command: &str, shows: &str) -> SessionId {
        let session = self.start(command).await;
        self.shows(session, shows).await;
        session
    }

    /// Waits until the output of a session matches; its text up to there.
    pub async fn shows(&self, session: SessionId, shows: &str) -> String {
        let read = self.read(session, 0, until(LONG, pattern(shows))).await;
        assert_eq!(read.fired.as_str(), "pattern", "{shows:?} comes, not {:?}", text(&read));
        text(&read)
    }

    /// Reads a session.
    pub async fn read(&self, session: SessionId, cursor: u64, wait: Wait) -> Read {
        self.try_read(session, cursor, wait).await.unwrap_or_else(|error| panic!("{}", said(error)))
    }

    /// Reads a session.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn try_read(&self, session: SessionId, cursor: u64, wait: Wait) -> Result<Read> {
        let request = ReadSession { session, target: Some(target()), cursor: Cursor(cursor), wait };
        self.service.read_session(&self.call(), request).await
    }

    /// All that is kept of a session's output, and how it ended, once it has.
    pub async fn to_end(&self, session: SessionId) -> (String, End) {
        let read = self.read(session, 0, until(LONG, end())).await;
        let ended = read.slice.ended.clone();
        (text(&read), ended.unwrap_or_else(|| panic!("the session ends, and does not just say {:?}", text(&read))))
    }

    /// Writes to a session.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn write(&self, session: SessionId, input: &str, wait: Wait) -> Result<WriteOutcome> {
        let input = bytes::Bytes::copy_from_slice(input.as_bytes());
        self.service.write_session(&self.call(), WriteSession { session, target: Some(target()), input, wait }).await
    }

    /// Steers a session.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn control(&self, session: SessionId, action: Action, wait: Wait) -> Result<ControlOutcome> {
        self.service
            .control_session(&self.call(), ControlSession { session, target: Some(target()), action, wait })
            .await
    }

    /// Stops a session, waiting so many milliseconds at most.
    pub async fn stop(&self, session: SessionId, wait: u64) -> StopOutcome {
        let request = StopSession { session, target: Some(target()), wait: Duration::from_millis(wait) };
        self.service.stop_session(&self.call(), request).await.unwrap_or_else(|error| panic!("{}", said(error)))
    }

    /// Lists sessions.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn list(&self, request: ListSessions) -> Result<SessionPage> {
        self.service.list_sessions(&self.call(), request).await
    }

    /// A request to run a command, to be changed where it differs from the defaults.
    pub fn command(command: &str) -> ExecuteCommand {
        ExecuteCommand {
            target: Some(target()),
            client_id: None,
            invocation: Invocation::new(command),
            stdin: bytes::Bytes::new(),
            time_limit: None,
        }
    }

    /// Runs a command.
    pub async fn execute(&self, command: &str) -> CommandResult {
        let result = self.service.execute_command(&self.call(), Self::command(command)).await;
        result.unwrap_or_else(|error| panic!("{}", said(error)))
    }

    /// Calls a tool with arguments as they are.
    pub async fn tool(&self, name: &str, arguments: Value) -> ToolResult {
        self.client.call(name, arguments).await.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Ends the sessiond as its transport ends it, and waits until it has; the exit code of its process.
    pub async fn close(&mut self) -> Option<i32> {
        self.client.close().await;
        match &mut self.hold {
            Hold::InProcess { registry, closing, serving, after, .. } => {
                closing.cancel();
                let _ = tokio::time::timeout(END, serving).await;
                if let Some(registry) = registry {
                    registry.shutdown().await;
                }
                if let Some(after) = after.take() {
                    self.service = after;
                }
                None
            }
            Hold::Process { server, .. } => server.end().await,
        }
    }
}
