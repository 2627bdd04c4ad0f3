//! A key that is good for some targets, against each method there is: of what its owner has elsewhere it sees nothing,
//! changes nothing, and is told the same as of what does not exist.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use prost::Message;
use sessiond_bootstrap::network::{Door, Network};
use sessiond_bootstrap::{Args, Bootstrap, Environment};
use sessiond_core::fake::{Fake, FakePlatform};
use sessiond_core::{
    Action, AgentAction, AgentSessionDetail, AgentSessionQuery, CheckCommand, CompleteManualTask, ConnectHost,
    ControlAgentSession, ControlSession, Cursor, DescribeAgentSession, DescribeManualTask, DisconnectHost, Error,
    ErrorKind, ExecuteCommand, FinishState, FixedTargets, Guarded, Handle, Invocation, KillCommand, Limits,
    ListAgentSessions, ListAgents, ListCommands, ListConnections, ListSessions, ListTargets, ReadCommand,
    ReadCommandOutput, ReadSession, Registry, RunCommand, Service, Signal, StartAgent, StopSession, Stream, TargetName,
    TaskKind, Tasks, Wait, WriteSession,
};
use sessiond_grpc::client::{Credentials, GrpcClient, Items, SessionRef, new_session};
use sessiond_grpc::server::{Listener, Server};
use sessiond_grpc::{Address, Item};
use tokio_util::sync::CancellationToken;

use crate::network::Networked;
use crate::rig::cx;

const SERVER: TaskKind = TaskKind("test.server");

/// The targets: two hosts and two platforms in use, and a host on which nobody has anything.
const HOSTS: [&str; 3] = ["fake", "idle", "other"];
const PLATFORMS: [&str; 2] = ["agents", "others"];

/// No target.
const NEVER: &str = "never";

fn name(name: &str) -> TargetName {
    TargetName::new(name).unwrap()
}

fn names<'a>(names: impl IntoIterator<Item = &'a TargetName>) -> BTreeSet<&'a str> {
    names.into_iter().map(TargetName::as_str).collect()
}

/// A server in this process, and what the owner `alice` has on it.
struct House {
    alice: GrpcClient,
    /// A key of alice's that is good for some targets.
    key: GrpcClient,
    /// Those.
    own: BTreeSet<&'static str>,
    /// Alice's sessions, by target.
    sessions: Vec<(&'static str, SessionRef)>,
    /// Alice's commands, by target.
    commands: Vec<(&'static str, Handle)>,
    others: Arc<FakePlatform>,
    ending: CancellationToken,
    tasks: Tasks,
    _place: Networked,
}

impl House {
    /// With a key of this role.
    async fn new(role: &str, own: &[&'static str]) -> Self {
        let place = Networked::new();
        let alice = place.key("alice", "role = 'full'");
        let key = place.key("key", &format!("owner = 'alice'\n{role}"));
        let args = Args { config: Some(place.path(".config/sessiond/config.toml")), log: None };
        let bootstrap = Bootstrap::load(&args, Environment::of([("HOME", place.path(""))])).unwrap();
        let tasks = Tasks::new();
        let network: Network = bootstrap.network(&["h2"], &tasks).unwrap();
        let listener = Listener::bind(&Address::Tcp(([127, 0, 0, 1], 0).into()), &network, Door::Asked).unwrap();
        let address = listener.address().unwrap();

        let (agents, others) = (FakePlatform::new(), FakePlatform::new());
        let mut targets: Vec<_> = HOSTS.map(|host| (Fake::info(name(host)), Fake::new() as _)).into();
        for (platform, backend) in PLATFORMS.into_iter().zip([&agents, &others]) {
            let detail = AgentSessionDetail { session_id: "s-1".to_owned(), ..AgentSessionDetail::default() };
            backend.put_session(detail);
            targets.push((FakePlatform::info(name(platform)), backend.clone() as _));
        }
        let registry = Registry::new(Arc::new(FixedTargets::new(targets)), Limits::default());
        let server = Server::new(Guarded::new(registry.clone())).await.unwrap();
        let server = server.with_identities(network.identities.clone());
        let ending = CancellationToken::new();
        let ends = ending.clone();
        tasks.spawn(SERVER, async move {
            server.serve(listener.incoming(), ends, async { registry.shutdown().await }).await.unwrap();
        });
        let connect = async |key: &str| {
            let credentials = Credentials::none().with_key(key).unwrap();
            GrpcClient::connect_with(&address, &credentials).await.unwrap()
        };
        let (alice, key) = (connect(alice.expose()).await, connect(key.expose()).await);

        let (mut sessions, mut commands) = (Vec::new(), Vec::new());
        for (target, command) in [("fake", "cat"), ("other", "cat"), ("agents", "echo"), ("others", "echo")] {
            let started = alice.start_session(&cx(), new_session(name(target), Invocation::new(command))).await;
            let session = SessionRef { session: started.unwrap().session, target: Some(name(target)) };
            sessions.push((target, session));
        }
        for target in ["fake", "other"] {
            let run = alice.run_command(&cx(), run(name(target), "cat; sleep 1000", Duration::ZERO)).await.unwrap();
            commands.push((target, run.command.unwrap().handle));
        }
        let own = own.iter().copied().collect();
        Self { alice, key, own, sessions, commands, others, ending, tasks, _place: place }
    }

    /// Alice's session there.
    fn session(&self, target: &str) -> &SessionRef {
        &self.sessions.iter().find(|(name, _)| *name == target).unwrap().1
    }

    /// Alice's command there.
    fn command(&self, target: &str) -> Handle {
        self.commands.iter().find(|(name, _)| *name == target).unwrap().1
    }

    /// Those of these targets that the key is good for.
    fn reached(&self, all: &[&'static str]) -> BTreeSet<&'static str> {
        all.iter().copied().filter(|name| self.own.contains(name)).collect()
    }

    /// Alice's session on the host that is not the key's, and one that never was, each as if on either host.
    fn foreign(&self) -> Vec<(SessionRef, SessionRef)> {
        let foreign = self.session("other").session;
        let never = "0".repeat(26).parse().unwrap();
        let on = |session, target| SessionRef { session, target: Some(name(target)) };
        ["other", "fake"].map(|target| (on(foreign, target), on(never, target))).into()
    }

    async fn end(self) {
        drop((self.alice, self.key));
        self.ending.cancel();
        assert!(self.tasks.shutdown(Duration::from_secs(20)).await, "the server does not end");
    }
}

fn run(target: TargetName, command: &str, wait: Duration) -> RunCommand {
    RunCommand {
        target: Some(target),
        invocation: Invocation::new(command),
        stdin: bytes::Bytes::new(),
        silence: Duration::from_secs(60),
        wait: Some(wait),
        time_limit: None,
    }
}

fn read(session: SessionRef) -> ReadSession {
    ReadSession { session: session.session, target: session.target, cursor: Cursor::START, wait: Wait::default() }
}

async fn first(items: Result<Items, Error>) -> Result<Item, Error> {
    items?.next().await.unwrap()
}

async fn attached(client: &GrpcClient, session: &SessionRef) -> Result<(), Error> {
    let (input, mut output) = client.attach(&cx(), session, Cursor::START).await?;
    // Nobody may be there to take it.
    let _ = input.write("typed\r".into()).await;
    output.next().await.map(drop)
}

/// Asks the same of what is alice's elsewhere and of what never was: the answer is one, but for the name.
macro_rules! hidden {
    ($foreign:expr, $never:expr, |$it:ident| $call:expr) => {{
        let ask = async |$it| $call.await.map(drop).unwrap_err();
        let (foreign, never): (Error, Error) = (ask($foreign).await, ask($never).await);
        assert_eq!(foreign.kind(), ErrorKind::NotFound, "{foreign}");
        let words = |error: &Error| error.message().replace("others", NEVER).replace("other", NEVER);
        assert_eq!((never.kind(), words(&never)), (foreign.kind(), words(&foreign)));
    }};
}

/// What a method must keep to itself. One without a row is a failure.
async fn keeps_to_itself(method: &str, house: &House) {
    let key = &house.key;
    let (other, never) = (|| name("other"), || name(NEVER));
    let others = || name("others");
    let on = |session: &str, target: TargetName| DescribeAgentSession { target: Some(target), session: session.into() };
    let (handle, no_handle) = (house.command("other"), Handle(99_999));
    match method {
        "ListTargets" => {
            let listed = key.list_targets(&cx(), ListTargets::default()).await.unwrap();
            assert_eq!(names(listed.iter().map(|target| &target.info.name)), house.own);
        }

        "StartSession" => {
            hidden!(other(), never(), |it| key.start_session(&cx(), new_session(it, Invocation::new("cat"))));
        }
        "ReadSession" => {
            key.read_session(&cx(), read(house.session("fake").clone())).await.unwrap();
            for (foreign, never) in house.foreign() {
                hidden!(foreign, never, |it| key.read_session(&cx(), read(it)));
            }
        }
        "WriteSession" => {
            let write = |SessionRef { session, target }| WriteSession {
                session,
                target,
                input: "typed\r".into(),
                wait: Wait::default(),
            };
            for (foreign, never) in house.foreign() {
                hidden!(foreign, never, |it| key.write_session(&cx(), write(it)));
            }
        }
        "ControlSession" => {
            let control = |SessionRef { session, target }| ControlSession {
                session,
                target,
                action: Action::Interrupt,
                wait: Wait::default(),
            };
            for (foreign, never) in house.foreign() {
                hidden!(foreign, never, |it| key.control_session(&cx(), control(it)));
            }
        }
        "StopSession" => {
            let stop = |SessionRef { session, target }| StopSession { session, target, wait: Duration::ZERO };
            for (foreign, never) in house.foreign() {
                hidden!(foreign, never, |it| key.stop_session(&cx(), stop(it)));
            }
        }
        "ListSessions" => {
            let listed = key.list_sessions(&cx(), ListSessions::default()).await.unwrap().sessions;
            let there = house.reached(&["fake", "other", "agents", "others"]);
            assert_eq!(
                (names(listed.iter().map(|session| &session.target)), listed.len()),
                (there.clone(), there.len())
            );
            let on = |target| ListSessions { target: Some(target), ..ListSessions::default() };
            hidden!(other(), never(), |it| key.list_sessions(&cx(), on(it)));
        }
        "FollowSession" => {
            for (foreign, never) in house.foreign() {
                hidden!(foreign, never, |it| first(key.follow_session(&cx(), &it, Cursor::START).await));
            }
        }
        "AttachSession" => {
            for (foreign, never) in house.foreign() {
                hidden!(foreign, never, |it| attached(key, &it));
            }
        }

        "ExecuteCommand" => {
            let execute = |target| ExecuteCommand {
                target: Some(target),
                client_id: None,
                invocation: Invocation::new("true"),
                stdin: bytes::Bytes::new(),
                time_limit: None,
            };
            key.execute_command(&cx(), execute(name("fake"))).await.unwrap();
            hidden!(other(), never(), |it| key.execute_command(&cx(), execute(it)));
        }
        "RunCommand" => {
            hidden!(other(), never(), |it| key.run_command(&cx(), run(it, "true", Duration::ZERO)));
        }
        "CheckCommand" => {
            let check = |handle| CheckCommand { handle, wait: Duration::ZERO };
            assert!(key.check_command(&cx(), check(house.command("fake"))).await.unwrap().is_some());
            for hidden in [handle, no_handle] {
                assert_eq!(key.check_command(&cx(), check(hidden)).await, Ok(None));
            }
        }
        "ReadCommand" => {
            let read = |handle| ReadCommand { handle, stream: Stream::Stdout, lines: None, start_line: None };
            hidden!(handle, no_handle, |it| key.read_command(&cx(), read(it)));
        }
        "ReadCommandOutput" => {
            let (stream, cursor) = (Stream::Stdout, Cursor::START);
            let read = |handle| ReadCommandOutput { handle, stream, cursor, wait: Wait::default() };
            hidden!(handle, no_handle, |it| key.read_command_output(&cx(), read(it)));
        }
        "FollowCommand" => {
            let follow =
                async |handle| first(key.follow_command(&cx(), handle, Stream::Stdout, Cursor::START).await).await;
            hidden!(handle, no_handle, |it| follow(it));
        }
        "KillCommand" => {
            let kill = |handle| KillCommand { handle, signal: Signal::Kill, force: true, wait: Duration::ZERO };
            hidden!(handle, no_handle, |it| key.kill_command(&cx(), kill(it)));
        }
        "ListCommands" => {
            let all = |target| ListCommands { target, limit: None, reverse: false, pattern: None, output_lines: None };
            let listed = key.list_commands(&cx(), all(None)).await.unwrap();
            assert_eq!(names(listed.iter().map(|command| &command.info.target)), house.reached(&["fake", "other"]));
            hidden!(other(), never(), |it| key.list_commands(&cx(), all(Some(it))));
        }
        "ClearCommands" => {
            for target in ["fake", "other"] {
                let ended = run(name(target), "true", Duration::from_secs(20));
                house.alice.run_command(&cx(), ended).await.unwrap();
            }
            assert_eq!((key.clear_commands(&cx()).await, house.alice.clear_commands(&cx()).await), (Ok(1), Ok(1)));
        }

        "ListHosts" => {
            let listed = key.list_hosts(&cx()).await.unwrap().hosts;
            assert_eq!(names(listed.iter().map(|host| &host.name)), house.reached(&HOSTS));
        }
        "ConnectHost" => {
            hidden!(other(), never(), |it| key.connect_host(&cx(), ConnectHost { target: Some(it) }));
        }
        "ListConnections" => {
            let listed = key.list_connections(&cx(), ListConnections::default()).await.unwrap();
            assert_eq!(names(listed.iter().map(|connection| &connection.target)), house.reached(&["fake", "other"]));
            hidden!(other(), never(), |it| key.list_connections(&cx(), ListConnections { target: Some(it) }));
        }
        "DisconnectHost" => {
            hidden!(other(), never(), |it| key.disconnect_host(&cx(), DisconnectHost { target: Some(it) }));
            // Without a name it is for whatever the key is good for.
            let closed = key.disconnect_host(&cx(), DisconnectHost::default()).await.unwrap();
            assert!(closed.was_connected, "{closed:?}");
        }

        "ListPlatforms" => {
            let listed = key.list_platforms(&cx()).await.unwrap().platforms;
            assert_eq!(names(listed.iter().map(|platform| &platform.name)), house.reached(&PLATFORMS));
        }
        "ListAgentSessions" => {
            let page = |target| ListAgentSessions {
                target: Some(target),
                query: AgentSessionQuery { limit: 10, ..AgentSessionQuery::default() },
            };
            hidden!(others(), never(), |it| key.list_agent_sessions(&cx(), page(it)));
        }
        "DescribeAgentSession" => {
            // By the platform's id, and by alice's session that follows a run there.
            let run = house.session("others").session.to_string();
            for session in ["s-1", &run] {
                hidden!(others(), never(), |it| key.describe_agent_session(&cx(), on(session, it)));
            }
        }
        "AgentTokenUsage" => {
            hidden!(others(), never(), |it| key.agent_token_usage(&cx(), on("s-1", it)));
        }
        "ListAgents" => {
            hidden!(others(), never(), |it| key.list_agents(&cx(), ListAgents { target: Some(it) }));
        }
        "StartAgent" => {
            let start = |target| StartAgent { target: Some(target), agent: "echo".to_owned(), inputs: None };
            hidden!(others(), never(), |it| key.start_agent(&cx(), start(it)));
        }
        "ControlAgentSession" => {
            let (session, action) = ("s-1".to_owned(), AgentAction::Cancel);
            let control =
                |target| ControlAgentSession { target: Some(target), session: session.clone(), action, input: None };
            hidden!(others(), never(), |it| key.control_agent_session(&cx(), control(it)));
        }
        "DescribeManualTask" => {
            let task = |target| DescribeManualTask { target: Some(target), work_item: "task-1".to_owned() };
            hidden!(others(), never(), |it| key.describe_manual_task(&cx(), task(it)));
        }
        "CompleteManualTask" => {
            let task = |target| CompleteManualTask {
                target: Some(target),
                work_item: "task-1".to_owned(),
                finish_state: FinishState::Success,
                confirm: true,
                variables: None,
            };
            hidden!(others(), never(), |it| key.complete_manual_task(&cx(), task(it)));
        }
        forgotten => panic!("{forgotten} has no row: what does it keep from a key that is good for some targets?"),
    }
}

/// Every method of the package.
fn methods() -> Vec<String> {
    let files = prost_types::FileDescriptorSet::decode(sessiond_grpc::proto::DESCRIPTORS).unwrap().file;
    let own = files.into_iter().filter(|file| file.package() == "sessiond.v1");
    let services = own.flat_map(|file| file.service);
    services.flat_map(|service| service.method).map(|method| method.name().to_owned()).collect()
}

async fn every_method_keeps_to_itself(house: House) {
    let asked = house.others.asked();
    let mut methods = methods();
    assert!(methods.len() > 30, "{methods:?}");
    // Last: what the key has itself ends with its connection.
    methods.sort_by_key(|method| method == "DisconnectHost");
    for method in &methods {
        keeps_to_itself(method, &house).await;
    }
    // Nothing of all that has reached what is not the key's.
    assert_eq!(house.others.asked(), asked);
    let there = house.alice.read_session(&cx(), read(house.session("other").clone())).await.unwrap().slice;
    assert_eq!((&there.bytes[..], there.ended), (&b""[..], None));
    let check = CheckCommand { handle: house.command("other"), wait: Duration::ZERO };
    let command = house.alice.check_command(&cx(), check).await.unwrap().unwrap();
    assert_eq!(command.end, None);
    let listed = house.alice.list_connections(&cx(), ListConnections { target: Some(name("other")) }).await.unwrap();
    assert!(listed[0].status.connected, "{listed:?}");
    house.end().await;
}

#[tokio::test]
async fn a_key_for_one_target_sees_no_other_by_any_method() {
    every_method_keeps_to_itself(House::new("target = 'fake'", &["fake"]).await).await;
}

#[tokio::test]
async fn a_key_for_several_targets_sees_no_other_by_any_method() {
    let role = "targets = ['fake', 'idle', 'agents']";
    every_method_keeps_to_itself(House::new(role, &["fake", "idle", "agents"]).await).await;
}

#[tokio::test]
async fn a_key_with_nothing_to_clear_is_not_told_that_its_owner_has_something_elsewhere() {
    let house = House::new("target = 'idle'", &["idle"]).await;
    let nothing = house.key.clear_commands(&cx()).await.unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::FailedPrecondition);
    assert!(nothing.message().starts_with("there is nothing to clear"), "{nothing}");
    house.end().await;
}
