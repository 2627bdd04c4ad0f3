//! Every request and answer comes back from the wire as it went: with every field set, and with none.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use prost::Message;
use sessiond_core::*;

use super::{Decode, Encode, Follows};
use crate::{Item, proto};

/// Through bytes and back.
fn sent<M: Message + Default>(message: &M) -> M {
    M::decode(message.encode_to_vec().as_slice()).unwrap()
}

/// Checks that each of these comes back as it went.
macro_rules! returns {
    ($($value:expr),* $(,)?) => {
        $(
            let value = $value;
            assert_eq!(sent(&value.clone().encode()).decode(), Ok(value));
        )*
    };
}

fn target() -> TargetName {
    TargetName::new("box é").unwrap()
}

fn platform() -> TargetInfo {
    let platform = Some(PlatformInfo { dialect: "itential".to_owned() });
    TargetInfo { platform, ..TargetInfo::new(target(), "agent-platform") }
}

fn session() -> SessionId {
    "48prpksppxwsnfn8fy6s3wye6j".parse().unwrap()
}

fn invocation() -> Invocation {
    let env = vec![("A".to_owned(), "1".to_owned()), ("A".to_owned(), String::new())];
    Invocation { command: "echo é\ntrue".to_owned(), cwd: Some("~/x".to_owned()), env }
}

fn wait() -> Wait {
    let pattern = Some(Pattern::new("a+").unwrap());
    let until = Some(Until { pattern, quiet: Some(Duration::from_millis(7)), end: true });
    Wait { time: Duration::new(20, 1), until, max_bytes: Some(4) }
}

fn moment() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::new(1_790_000_000, 123_456_789)
}

/// Every way to end, for every reason.
fn ends() -> Vec<End> {
    let limit = Duration::from_millis(1500);
    let exits = [
        Exit::Exited(0),
        Exit::Exited(-1),
        Exit::Signaled("TERM".to_owned()),
        Exit::Failed("why".to_owned()),
        Exit::Lost(String::new()),
        Exit::Canceled,
    ];
    let causes = [
        Cause::Own,
        Cause::TimeLimit { limit, confirmed: true },
        Cause::TimeLimit { limit, confirmed: false },
        Cause::Stop { confirmed: true },
        Cause::Stop { confirmed: false },
        Cause::Shutdown { confirmed: true },
        Cause::Shutdown { confirmed: false },
    ];
    exits.iter().flat_map(|exit| causes.iter().map(|cause| End { exit: exit.clone(), cause: cause.clone() })).collect()
}

fn end() -> End {
    End { exit: Exit::Signaled("KILL".to_owned()), cause: Cause::Stop { confirmed: true } }
}

fn read(fired: Fired) -> Read {
    let bytes = Bytes::from_static(b"\xffA\0");
    let slice = Slice { start: Cursor(2), next: Cursor(5), end: Cursor(6), lost: 1, bytes, ended: Some(end()) };
    Read { slice, fired }
}

fn info(status: CommandStatus) -> CommandInfo {
    CommandInfo {
        handle: Handle(u64::MAX),
        target: target(),
        command: "true".into(),
        cwd: Some("/".into()),
        status,
        end: Some(end()),
        pid: Some(u32::MAX),
        started_at: moment(),
        ended_at: Some(moment()),
        stdout: LineFacts { total: 9, dropped: 1 },
        stderr: LineFacts { total: 8, dropped: 2 },
    }
}

fn bare(status: CommandStatus) -> CommandInfo {
    let none = LineFacts::default();
    CommandInfo { cwd: None, end: None, pid: None, ended_at: None, stdout: none, stderr: none, ..info(status) }
}

#[test]
fn output_comes_back_as_it_went() {
    for end in ends() {
        returns![end];
    }
    let fired = [Fired::Output, Fired::Pattern, Fired::Quiet, Fired::End, Fired::Full, Fired::Deadline];
    for fired in fired {
        returns![read(fired)];
    }
    returns![wait(), Wait::default(), Wait { until: Some(Until::default()), ..Wait::default() }];
    returns![invocation(), Invocation::new("x")];
    for stream in [Stream::Stdout, Stream::Stderr] {
        assert_eq!(stream.encode().decode(), Ok(stream));
    }
}

#[test]
fn followed_output_comes_back_as_it_went_in_every_stream_that_carries_it() {
    let chunk = Item::Chunk { start: Cursor(3), bytes: Bytes::from_static(b"\xff\0") };
    let gap = Item::Gap { start: Cursor(u64::MAX), bytes: u64::MAX };
    for item in [chunk, gap].into_iter().chain(ends().into_iter().map(Item::End)) {
        let back = (
            sent(&proto::FollowSessionResponse::of(item.clone())).item(),
            sent(&proto::FollowCommandResponse::of(item.clone())).item(),
            sent(&proto::AttachSessionResponse::of(item.clone())).item(),
        );
        assert_eq!(back, (Ok(Some(item.clone())), Ok(Some(item.clone())), Ok(Some(item))));
    }
}

#[test]
fn targets_come_back_as_they_went() {
    let host = HostInfo { description: Some("builds".to_owned()), source: "configuration".to_owned() };
    let machine = Machine {
        os: Some("linux".to_owned()),
        arch: Some("x86_64".to_owned()),
        hostname: Some("vm".to_owned()),
        shell: Some("/bin/sh".to_owned()),
    };
    let listed = |availability| {
        let info = TargetInfo { host: Some(host.clone()), ..TargetInfo::new(target(), "ssh") };
        let status = TargetStatus { availability, detail: Some("why".to_owned()), machine: Some(machine.clone()) };
        Target { info, status }
    };
    let all = [Availability::Online, Availability::Offline, Availability::Unknown].map(listed).to_vec();
    let plain = TargetStatus { availability: Availability::Online, detail: None, machine: None };
    returns![
        ListTargets { target: Some(target()), wait: Duration::from_secs(20) },
        ListTargets::default(),
        all,
        vec![Target { info: TargetInfo::new(target(), "pty"), status: plain.clone() }],
        vec![Target { info: platform(), status: plain }],
        Vec::<Target>::new(),
    ];
}

#[test]
fn session_requests_come_back_as_they_went() {
    let start = StartSession {
        target: Some(target()),
        client_id: Some("c".to_owned()),
        what: Launch::Start(invocation()),
        time_limit: Some(Duration::from_secs(86_400)),
        size: WindowSize::new(1000, 1).unwrap(),
        label: Some(String::new()),
        login: true,
        wait: wait(),
    };
    returns![
        start.clone(),
        StartSession { what: Launch::Attach(NativeId("n".to_owned())), login: false, ..start.clone() },
        StartSession { target: None, client_id: None, time_limit: None, label: None, wait: Wait::default(), ..start },
        ReadSession { session: session(), target: Some(target()), cursor: Cursor(u64::MAX), wait: wait() },
        ReadSession { session: session(), target: None, cursor: Cursor::START, wait: Wait::default() },
        WriteSession {
            session: session(),
            target: None,
            input: Bytes::from_static(b"\xff\0\r"),
            wait: Wait::default()
        },
        StopSession { session: session(), target: None, wait: Duration::from_millis(1) },
    ];
    let actions = [
        Action::Interrupt,
        Action::Eof,
        Action::Stop,
        Action::Resize(WindowSize::default()),
        Action::Keys(vec!["ctrl-c".parse().unwrap(), "up".parse().unwrap()]),
        Action::Keys(Vec::new()),
    ];
    let signals = Signal::ALL.iter().map(|signal| Action::Signal(*signal));
    for action in actions.into_iter().chain(signals) {
        returns![ControlSession { session: session(), target: Some(target()), action, wait: wait() }];
    }
    returns![ListSessions::default()];
    for status in [Status::Running, Status::Stopping, Status::Finished, Status::Lost] {
        returns![ListSessions {
            target: Some(target()),
            client_id: Some("c".to_owned()),
            status: Some(status),
            limit: Some(500),
            page_token: Some("p".to_owned()),
        }];
    }
}

#[test]
fn session_answers_come_back_as_they_went() {
    let summary = SessionSummary {
        session: session(),
        target: target(),
        backend: "pty",
        label: Some("l".into()),
        command: "true".into(),
        started_at: moment(),
        ended_at: Some(moment()),
        status: Status::Lost,
        end: Some(end()),
        output_start: Cursor(1),
        output_end: Cursor(2),
        descendants: 3,
        native_id: Some(NativeId("n".to_owned())),
        input_state: Some(InputState { waiting: true, evidence: "a work item waits".to_owned() }),
    };
    let running = SessionSummary {
        label: None,
        ended_at: None,
        status: Status::Running,
        end: None,
        native_id: None,
        input_state: None,
        ..summary.clone()
    };
    returns![
        Started { session: session(), read: Some(read(Fired::Quiet)) },
        Started { session: session(), read: None },
        WriteOutcome { bytes: 1, stalled: Some("why".to_owned()), read: Some(read(Fired::End)) },
        WriteOutcome { bytes: 0, stalled: None, read: None },
        ControlOutcome { accepted: true, detail: Some("d".to_owned()), read: Some(read(Fired::Full)) },
        ControlOutcome { accepted: false, detail: None, read: None },
        SessionPage { sessions: vec![summary, running], next_page_token: Some("p".to_owned()) },
        SessionPage::default(),
    ];
    for status in [StopStatus::Stopping, StopStatus::Stopped, StopStatus::Finished] {
        let outcome =
            StopOutcome { accepted: true, already_done: false, status, end: Some(end()), survivors: vec![1, 2] };
        let bare = StopOutcome { accepted: false, already_done: true, end: None, survivors: vec![], ..outcome.clone() };
        returns![outcome, bare];
    }
}

#[test]
fn command_requests_come_back_as_they_went() {
    let execute = ExecuteCommand {
        target: Some(target()),
        client_id: Some("c".to_owned()),
        invocation: invocation(),
        stdin: Bytes::from_static(b"\xff"),
        time_limit: Some(Duration::from_millis(1)),
    };
    let run = RunCommand {
        target: Some(target()),
        invocation: invocation(),
        stdin: Bytes::from_static(b"in"),
        silence: Duration::ZERO,
        wait: Some(Duration::from_secs(50)),
        time_limit: Some(Duration::from_secs(1)),
    };
    let list = ListCommands {
        target: Some(target()),
        limit: Some(0),
        reverse: true,
        pattern: Some(Pattern::new("^x").unwrap()),
        output_lines: Some(0),
    };
    returns![
        execute.clone(),
        ExecuteCommand { target: None, client_id: None, stdin: Bytes::new(), time_limit: None, ..execute },
        run.clone(),
        RunCommand { target: None, wait: None, time_limit: None, ..run },
        CheckCommand { handle: Handle(1), wait: Duration::from_secs(50) },
        ReadCommand { handle: Handle(1), stream: Stream::Stderr, lines: Some(0), start_line: Some(0) },
        ReadCommand { handle: Handle(1), stream: Stream::Stdout, lines: None, start_line: None },
        ReadCommandOutput { handle: Handle(1), stream: Stream::Stderr, cursor: Cursor(9), wait: wait() },
        KillCommand { handle: Handle(1), signal: Signal::Usr2, force: true, wait: Duration::from_secs(1) },
        list,
        ListCommands::default(),
    ];
}

#[test]
fn command_answers_come_back_as_they_went() {
    let result = CommandResult {
        stdout: Bytes::from_static(b"\xff"),
        stderr: Bytes::from_static(b"e"),
        truncated: true,
        end: end(),
        descendants: vec![1],
    };
    let tail = Tail { bytes: Bytes::from_static(b"t\n"), first_line: 2, truncated: true };
    let run = |status| CommandRun {
        status,
        target: target(),
        command: Some(info(CommandStatus::Running)),
        stdout: tail.clone(),
        stderr: Tail::default(),
        descendants: vec![7],
        error: Some("why".to_owned()),
    };
    for status in [
        RunStatus::Success,
        RunStatus::CommandFailed,
        RunStatus::IoTimeout,
        RunStatus::WaitTimeout { capped: true },
        RunStatus::WaitTimeout { capped: false },
        RunStatus::RuntimeTimeout,
        RunStatus::CwdNotFound,
        RunStatus::Error,
    ] {
        returns![run(status), CommandRun { command: None, error: None, descendants: vec![], ..run(status) }];
    }
    let statuses = [CommandStatus::Running, CommandStatus::Completed, CommandStatus::Killed, CommandStatus::Lost];
    for status in statuses {
        returns![Some(info(status)), Some(bare(status))];
    }
    let output = RecentOutput {
        stdout: vec![Bytes::from_static(b"a"), Bytes::new()],
        stderr: vec![Bytes::from_static(b"\xff")],
    };
    let summary = |output| CommandSummary { info: info(CommandStatus::Killed), output };
    returns![
        result,
        None::<CommandInfo>,
        CommandLines { first: 3, lines: vec![Bytes::new(), Bytes::from_static(b"\xff")] },
        CommandLines::default(),
        vec![summary(Some(output)), summary(Some(RecentOutput::default())), summary(None)],
        5usize,
    ];
    let kills = [KillResult::Killed, KillResult::AlreadyExited, KillResult::NotRunning, KillResult::FailedToKill];
    for result in kills {
        let outcome = KillOutcome {
            handle: Handle(1),
            pid: Some(2),
            result,
            signal: Signal::Hup,
            force_used: true,
            survivors: vec![3],
        };
        returns![outcome.clone(), KillOutcome { pid: None, force_used: false, survivors: vec![], ..outcome }];
    }
}

#[test]
fn hosts_come_back_as_they_went() {
    let host = HostInfo { description: None, source: "configuration".to_owned() };
    let facts = ConnectionFacts {
        host: "h".to_owned(),
        user: "u".to_owned(),
        port: u16::MAX,
        os: Some("linux".to_owned()),
        server_version: "SSH-2.0-x".to_owned(),
        host_key: HostKey { kind: "k".to_owned(), fingerprint: "f".to_owned(), verified_by: "v".to_owned() },
        auth_method: "publickey".to_owned(),
        hops: vec!["a".to_owned(), "b".to_owned()],
    };
    let status = ConnectionStatus {
        host: "h".to_owned(),
        user: Some("u".to_owned()),
        port: Some(22),
        connected: true,
        since: Some(moment()),
        channels: 4,
        last_error: Some("why".to_owned()),
    };
    let unknown =
        ConnectionStatus { user: None, port: None, connected: false, since: None, last_error: None, ..status.clone() };
    returns![
        HostList { hosts: vec![TargetInfo { host: Some(host), ..TargetInfo::new(target(), "ssh") }] },
        ConnectHost { target: Some(target()) },
        ConnectHost { target: None },
        HostConnected { target: target(), was_connected: true, facts },
        ListConnections { target: Some(target()) },
        vec![Connection { target: target(), status }, Connection { target: target(), status: unknown }],
        DisconnectHost { target: Some(target()) },
        HostDisconnected { target: Some(target()), was_connected: true, stopped: 2, survivors: vec![3] },
        HostDisconnected { target: None, was_connected: false, stopped: 0, survivors: vec![] },
    ];
}

/// Texts, numbers and lists as a platform may send them, or leave them out.
mod some {
    use proptest::prelude::*;
    use sessiond_core::*;

    fn text() -> impl Strategy<Value = Option<String>> {
        proptest::option::of(".{0,8}")
    }

    prop_compose! {
        pub(super) fn session()(
            session_id in ".{0,8}", status in ".{0,8}", agent_name in text(), started_at in text(), end_time in text(),
            duration_ms in any::<Option<i64>>(), total_input_tokens in any::<Option<u64>>(),
            total_output_tokens in any::<Option<u64>>(),
        ) -> AgentSession {
            AgentSession {
                session_id, status, agent_name, started_at, end_time, duration_ms, total_input_tokens,
                total_output_tokens,
            }
        }
    }

    prop_compose! {
        fn event()(
            event_id in text(), sequence_number in any::<Option<i64>>(), timestamp in text(), text in text(),
        ) -> ReasoningEvent {
            ReasoningEvent { event_id, sequence_number, timestamp, text }
        }
    }

    prop_compose! {
        fn pending()(
            work_item_id in ".{0,8}", title in text(), view_type in text(),
            waiting_age_seconds in any::<Option<u64>>(), completion_supported in any::<bool>(),
        ) -> ManualTaskSummary {
            ManualTaskSummary { work_item_id, title, view_type, waiting_age_seconds, completion_supported }
        }
    }

    prop_compose! {
        pub(super) fn detail()(
            session in session(), output in text(), dropped_events in any::<u64>(),
            reasoning_events in proptest::collection::vec(event(), 0..3),
            pending_manual_tasks in proptest::option::of(proptest::collection::vec(pending(), 0..3)),
        ) -> AgentSessionDetail {
            AgentSessionDetail {
                session_id: session.session_id, status: session.status, agent_name: session.agent_name, output,
                started_at: session.started_at, end_time: session.end_time, duration_ms: session.duration_ms,
                reasoning_events, pending_manual_tasks, dropped_events,
            }
        }
    }

    prop_compose! {
        fn counts()(
            input_tokens in any::<Option<u64>>(), output_tokens in any::<Option<u64>>(),
            cache_read_tokens in any::<Option<u64>>(), cache_creation_tokens in any::<Option<u64>>(),
            total_tokens in any::<Option<u64>>(),
        ) -> TokenCounts {
            TokenCounts { input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, total_tokens }
        }
    }

    prop_compose! {
        fn turn()(
            sequence_number in any::<Option<i64>>(), timestamp in text(), succeeded in any::<bool>(),
            duration_ms in any::<Option<u64>>(), token_usage in proptest::option::of(counts()), error in text(),
        ) -> TokenTurn {
            TokenTurn { sequence_number, timestamp, succeeded, duration_ms, token_usage, error }
        }
    }

    prop_compose! {
        pub(super) fn usage()(
            session_id in ".{0,8}", turn_count in any::<u64>(), total_duration_ms in any::<u64>(),
            total_input_tokens in any::<u64>(), total_output_tokens in any::<u64>(), total_tokens in any::<u64>(),
            turns in proptest::collection::vec(turn(), 0..3),
        ) -> TokenUsage {
            let summary = TokenSummary {
                session_id, turn_count, total_duration_ms, total_input_tokens, total_output_tokens, total_tokens,
            };
            TokenUsage { summary, turns }
        }
    }

    prop_compose! {
        pub(super) fn agent()(
            name in ".{0,8}", description in text(), agent_id in text(), route_name in text(),
            schema in any::<Option<bool>>(), last_executed in text(),
        ) -> Agent {
            let input_schema = schema.map(|kept| Json::from_checked(format!("{{\"type\": \"object\", \"x\": {kept}}}")));
            Agent { name, description, agent_id, route_name, input_schema, last_executed }
        }
    }

    prop_compose! {
        pub(super) fn task()(
            pending in pending(), status in ".{0,8}", is_pending in any::<bool>(), header in text(), message in text(),
            body in text(), btn_success in text(), btn_failure in text(),
        ) -> ManualTask {
            ManualTask {
                work_item_id: pending.work_item_id, status, pending: is_pending, title: pending.title,
                view_type: pending.view_type, header, message, body, btn_success, btn_failure,
                waiting_age_seconds: pending.waiting_age_seconds,
                completion_supported: pending.completion_supported,
            }
        }
    }
}

proptest::proptest! {
    #[test]
    fn records_of_platforms_come_back_as_they_went(
        session in some::session(), detail in some::detail(), usage in some::usage(), agent in some::agent(),
        task in some::task(),
    ) {
        returns![
            AgentSessionPage { sessions: vec![session], next_page_token: Some("p".to_owned()) },
            AgentSessionPage::default(),
            detail,
            usage,
            vec![agent],
            task,
        ];
    }
}

#[test]
fn an_unknown_list_of_tasks_is_none_of_the_empty_ones() {
    for tasks in [None, Some(Vec::new())] {
        let detail = AgentSessionDetail { pending_manual_tasks: tasks, ..AgentSessionDetail::default() };
        returns![detail];
    }
}

#[test]
fn requests_to_platforms_come_back_as_they_went() {
    let json = |text: &str| Some(Json::from_checked(text));
    let query = AgentSessionQuery {
        agent_name: Some("a".to_owned()),
        status: Some("RUNNING".to_owned()),
        started_after: Some(moment()),
        started_before: Some(moment()),
        limit: 500,
        page_token: Some("p".to_owned()),
    };
    let describe = DescribeAgentSession { target: Some(target()), session: "s".to_owned() };
    let control = |action| ControlAgentSession {
        target: Some(target()),
        session: "s".to_owned(),
        action,
        input: json("[\"yes\"]"),
    };
    let complete = |finish_state| CompleteManualTask {
        target: Some(target()),
        work_item: "w".to_owned(),
        finish_state,
        confirm: true,
        variables: json("{ \"a\": 1 }"),
    };
    returns![
        PlatformList { platforms: vec![platform()] },
        PlatformList::default(),
        ListAgentSessions { target: Some(target()), query },
        ListAgentSessions { target: None, query: AgentSessionQuery { limit: 1, ..AgentSessionQuery::default() } },
        describe.clone(),
        ListAgents { target: Some(target()) },
        ListAgents::default(),
        Vec::<Agent>::new(),
        StartAgent { target: Some(target()), agent: "a".to_owned(), inputs: json("{}") },
        StartAgent { target: None, agent: String::new(), inputs: None },
        AgentRun { session_id: "s".to_owned(), status: "PENDING".to_owned() },
        DescribeManualTask { target: Some(target()), work_item: "w".to_owned() },
        ControlAgentSession { target: None, input: None, ..control(AgentAction::Pause) },
        CompleteManualTask { target: None, confirm: false, variables: None, ..complete(FinishState::Success) },
    ];
    for action in [AgentAction::Cancel, AgentAction::Pause, AgentAction::Resume] {
        returns![control(action)];
    }
    for finish_state in [FinishState::Success, FinishState::Failure] {
        let (work_item_id, warnings) = ("w".to_owned(), vec!["it is the last one".to_owned()]);
        let done =
            TaskCompletion { work_item_id, title: Some("t".to_owned()), finish_state, completed: true, warnings };
        let bare = TaskCompletion { title: None, completed: false, warnings: Vec::new(), ..done.clone() };
        returns![complete(finish_state), done, bare];
    }
    let asked = proto::AgentTokenUsageRequest::from(describe.clone().encode());
    assert_eq!(sent(&asked).decode(), Ok(describe));
    let unsaid = proto::ListAgentSessionsRequest::default().decode().unwrap();
    assert_eq!(unsaid.query, AgentSessionQuery { limit: DEFAULT_AGENT_PAGE, ..AgentSessionQuery::default() });
}

#[test]
fn what_a_message_lacks_is_named() {
    let missing = |refused: Result<()>| refused.unwrap_err().message().to_owned();
    let session = Some(proto::SessionRef { session_id: session().to_string(), target: None });
    assert_eq!(missing(proto::StartSessionRequest::default().decode().map(drop)), "start is missing");
    assert_eq!(missing(proto::ReadSessionRequest::default().decode().map(drop)), "session is missing");
    assert_eq!(missing(proto::ExecuteCommandRequest::default().decode().map(drop)), "invocation is missing");
    let control = proto::ControlSessionRequest { session, ..Default::default() };
    assert_eq!(missing(control.decode().map(drop)), "action is missing");
    let read = proto::ReadCommandRequest { stream: 9, ..Default::default() };
    assert_eq!(missing(read.decode().map(drop)), "stream is 9, which this server does not know");
    let control = proto::ControlAgentSessionRequest::default();
    assert_eq!(missing(control.clone().decode().map(drop)), "action is missing");
    let control = proto::ControlAgentSessionRequest { action: 7, ..control };
    assert_eq!(missing(control.decode().map(drop)), "action is 7, which this server does not know");
    let complete = proto::CompleteManualTaskRequest::default();
    assert_eq!(missing(complete.decode().map(drop)), "finish_state is missing");
    let (no_object, no_json) = (Some("[]".to_owned()), Some("{\"a\": tru}".to_owned()));
    let start = proto::StartAgentRequest { inputs_json: no_object.clone(), ..Default::default() };
    let object = "must be a JSON object, like {\"name\": \"value\"}";
    assert_eq!(missing(start.decode().map(drop)), format!("inputs_json {object}"));
    let finish_state = proto::FinishState::Success.into();
    let complete = proto::CompleteManualTaskRequest { finish_state, variables_json: no_object, ..Default::default() };
    assert_eq!(missing(complete.decode().map(drop)), format!("variables_json {object}"));
    let action = proto::AgentAction::Resume.into();
    let control = proto::ControlAgentSessionRequest { action, input_json: no_json, ..Default::default() };
    assert_eq!(missing(control.decode().map(drop)), "input_json is no JSON value: see line 1, column 10");
    let negative = prost_types::Duration { seconds: -1, nanos: 0 };
    assert_eq!(missing(negative.decode().map(drop)), "a duration is negative: it must be 0 or more");
}

#[test]
fn a_session_id_that_is_none_is_not_found() {
    let session = Some(proto::SessionRef { session_id: "x".to_owned(), target: None });
    let read = proto::ReadSessionRequest { session, ..Default::default() };
    assert_eq!(read.decode(), Err(not_found()));
}
