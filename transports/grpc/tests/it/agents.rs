//! Agent platforms over the wire: their records, what may not reach them, and runs that are sessions.

use futures_util::StreamExt;
use sessiond_core::{
    Agent, AgentAction, AgentRun, AgentSessionDetail, AgentSessionQuery, Call, Cause, CompleteManualTask,
    ControlAgentSession, Cursor, DescribeAgentSession, DescribeManualTask, End, ErrorKind, Exit, FinishState,
    InputState, Invocation, Json, Launch, ListAgentSessions, ListAgents, ListSessions, ManualTask, ManualTaskSummary,
    NativeId, PlatformList, ReasoningEvent, Service, StartAgent, StartSession, TaskCompletion, TokenSummary,
    TokenUsage,
};
use sessiond_grpc::Item;
use sessiond_grpc::client::{SessionRef, new_session};

use crate::place::{Place, stderr, stdout};
use crate::rig::{Rig, cx, owner, platform};

fn describe(session: &str) -> DescribeAgentSession {
    DescribeAgentSession { target: Some(platform()), session: session.to_owned() }
}

fn start(inputs: &str) -> StartAgent {
    let inputs = Some(Json::from_checked(inputs));
    StartAgent { target: Some(platform()), agent: "echo".to_owned(), inputs }
}

fn said(text: &str) -> ReasoningEvent {
    ReasoningEvent { text: Some(text.to_owned()), ..ReasoningEvent::default() }
}

#[tokio::test]
async fn the_records_of_a_platform_come_as_it_has_them() {
    let rig = Rig::new().await;
    let waits = ManualTaskSummary {
        work_item_id: "task-1".to_owned(),
        title: Some("approve".to_owned()),
        view_type: Some("ViewData".to_owned()),
        waiting_age_seconds: Some(7),
        completion_supported: true,
    };
    let detail = AgentSessionDetail {
        session_id: "s-1".to_owned(),
        status: "RUNNING".to_owned(),
        reasoning_events: vec![said("hello \u{e9}")],
        pending_manual_tasks: Some(vec![waits]),
        ..AgentSessionDetail::default()
    };
    let summary = TokenSummary { session_id: "s-1".to_owned(), turn_count: 1, total_tokens: 5, ..Default::default() };
    let usage = TokenUsage { summary, turns: Vec::new() };
    let input_schema = Some(Json::from_checked("{\"type\": \"object\"}"));
    let reporter = Agent { name: "reporter".to_owned(), input_schema, ..Agent::default() };
    rig.platform.put_session(detail.clone());
    rig.platform.put_usage(usage.clone());
    rig.platform.put_agent(reporter.clone());

    let (client, registry) = (&rig.client, &rig.registry);
    let platforms = client.list_platforms(&cx()).await.unwrap();
    assert_eq!(platforms, PlatformList { platforms: vec![sessiond_core::fake::FakePlatform::info(platform())] });
    assert_eq!(client.list_targets(&cx(), Default::default()).await.unwrap()[1].info, platforms.platforms[0]);
    let page = || {
        let query = AgentSessionQuery { limit: 1, page_token: Some("0".to_owned()), ..AgentSessionQuery::default() };
        ListAgentSessions { target: None, query }
    };
    let listed = client.list_agent_sessions(&cx(), page()).await.unwrap();
    assert_eq!(listed.sessions[0].session_id, "s-1");
    assert_eq!(listed, registry.list_agent_sessions(&cx(), page()).await.unwrap());
    assert_eq!(client.describe_agent_session(&cx(), describe("s-1")).await, Ok(detail));
    assert_eq!(client.agent_token_usage(&cx(), describe("s-1")).await, Ok(usage));
    let agents = client.list_agents(&cx(), ListAgents { target: None }).await.unwrap();
    assert_eq!(agents[1], reporter);
}

#[tokio::test]
async fn an_agent_is_started_and_steered_with_what_the_caller_gave() {
    let rig = Rig::new().await;
    let run = |status: &str| AgentRun { session_id: "run-1".to_owned(), status: status.to_owned() };
    assert_eq!(rig.client.start_agent(&cx(), start("{\"a\": [1]}")).await, Ok(run("RUNNING")));
    let control = |action, input: Option<&str>| ControlAgentSession {
        target: None,
        session: "run-1".to_owned(),
        action,
        input: input.map(Json::from_checked),
    };
    let steered = [
        (control(AgentAction::Pause, None), "PAUSED"),
        (control(AgentAction::Resume, Some("\"yes\"")), "RUNNING"),
        (control(AgentAction::Cancel, None), "CANCELED"),
    ];
    for (request, status) in steered {
        assert_eq!(rig.client.control_agent_session(&cx(), request).await, Ok(run(status)));
    }
    let asked = rig.platform.asked();
    let expected =
        ["start echo {\"a\": [1]}", "control run-1 pause", "control run-1 resume \"yes\"", "control run-1 cancel"];
    assert_eq!(asked, expected);
}

#[tokio::test]
async fn a_task_is_looked_at_then_completed() {
    let rig = Rig::new().await;
    let task = ManualTask {
        work_item_id: "task-1".to_owned(),
        status: "pending".to_owned(),
        pending: true,
        title: Some("approve".to_owned()),
        view_type: Some("ViewData".to_owned()),
        btn_success: Some("Yes".to_owned()),
        completion_supported: true,
        ..ManualTask::default()
    };
    rig.platform.put_task(task.clone());
    let request = DescribeManualTask { target: None, work_item: "task-1".to_owned() };
    assert_eq!(rig.client.describe_manual_task(&cx(), request).await, Ok(task));
    let complete = |finish_state, confirm| CompleteManualTask {
        target: None,
        work_item: "task-1".to_owned(),
        finish_state,
        confirm,
        variables: Some(Json::from_checked("{\"note\": \"ok\"}")),
    };
    let (client, registry) = (&rig.client, &rig.registry);
    let refused = client.complete_manual_task(&cx(), complete(FinishState::Failure, true)).await;
    assert_eq!(refused.as_ref().unwrap_err().kind(), ErrorKind::FailedPrecondition);
    assert_eq!(refused, registry.complete_manual_task(&cx(), complete(FinishState::Failure, true)).await);
    let previewed = client.complete_manual_task(&cx(), complete(FinishState::Success, false)).await.unwrap();
    assert_eq!(
        Ok(previewed.clone()),
        registry.complete_manual_task(&cx(), complete(FinishState::Success, false)).await
    );
    assert!(!previewed.completed && !previewed.warnings.is_empty(), "{previewed:?}");
    let done = client.complete_manual_task(&cx(), complete(FinishState::Success, true)).await.unwrap();
    assert_eq!(
        TaskCompletion { completed: true, warnings: Vec::new(), ..previewed },
        TaskCompletion { warnings: Vec::new(), ..done }
    );
    assert_eq!(rig.platform.asked().last().unwrap(), "finish task-1 success {\"note\": \"ok\"}");
}

#[tokio::test]
async fn what_cannot_be_is_refused_before_the_platform_is_asked() {
    let rig = Rig::new().await;
    let kind = |refused: sessiond_core::Result<AgentRun>| refused.unwrap_err().kind();
    for inputs in ["[]", "{", "", "{\"a\": 1e999}"] {
        assert_eq!(kind(rig.client.start_agent(&cx(), start(inputs)).await), ErrorKind::InvalidArgument, "{inputs}");
    }
    for id in ["", "..", "../../whoami", "a%2fb", "a\nb", &"x".repeat(10_000)] {
        let refused = rig.client.describe_agent_session(&cx(), describe(id)).await;
        assert_eq!(refused.as_ref().unwrap_err().kind(), ErrorKind::InvalidArgument, "{id}");
        assert_eq!(refused, rig.registry.describe_agent_session(&cx(), describe(id)).await);
    }
    assert!(rig.platform.asked().is_empty(), "{:?}", rig.platform.asked());
    let unknown = rig.client.describe_agent_session(&cx(), describe("s-9")).await;
    assert_eq!(unknown.as_ref().unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(unknown, rig.registry.describe_agent_session(&cx(), describe("s-9")).await);
}

#[tokio::test]
async fn a_description_and_inputs_of_mebibytes_pass() {
    let rig = Rig::new().await;
    // As much as a description may hold, in the fewest and in very many turns, and more than that.
    let sizes = [("one", 1, sessiond_core::MAX_EVENTS - 100), ("many", 20_000, 1), ("more", 5, 1 << 20)];
    for (id, turns, size) in sizes {
        let reasoning_events = vec![said(&"x".repeat(size)); turns];
        let output = Some("y".repeat(4 << 20));
        let session_id = id.to_owned();
        rig.platform.put_session(AgentSessionDetail { session_id, reasoning_events, output, ..Default::default() });
        let described = rig.client.describe_agent_session(&cx(), describe(id)).await.unwrap();
        assert_eq!(Ok(described.clone()), rig.registry.describe_agent_session(&cx(), describe(id)).await);
        assert_eq!(described.reasoning_events.len() as u64 + described.dropped_events, turns as u64);
    }
    let inputs = format!("{{\"text\": \"{}\"}}", "z".repeat(5 << 20));
    let started = rig.client.start_agent(&cx(), start(&inputs)).await.unwrap();
    assert_eq!(started.session_id, "run-1");
}

/// A session that follows a run of the platform.
async fn follow_run(rig: &Rig, what: Launch) -> SessionRef {
    let request = StartSession { what, ..new_session(platform(), Invocation::new("")) };
    let started = rig.client.start_session(&cx(), request).await.unwrap();
    SessionRef { session: started.session, target: Some(platform()) }
}

#[tokio::test]
async fn a_run_is_followed_to_its_end_like_any_session() {
    let rig = Rig::new().await;
    let session = follow_run(&rig, Launch::Start(Invocation::new("echo {\"a\": 1}"))).await;
    let mut items = rig.client.follow_session(&cx(), &session, Cursor::START).await.unwrap();
    rig.platform.turn("run-1", "one");
    let first = Item::Chunk { start: Cursor(0), bytes: "one\n".into() };
    assert_eq!(items.next().await.unwrap(), Ok(first));
    rig.platform.input("run-1", Some(InputState { waiting: true, evidence: "approve waits".to_owned() }));
    let listed = rig.client.list_sessions(&cx(), ListSessions::default()).await.unwrap();
    let own = Call::new(owner());
    assert_eq!(Ok(&listed), rig.registry.list_sessions(&own, ListSessions::default()).await.as_ref());
    let evidence = "approve waits".to_owned();
    assert_eq!(listed.sessions[0].input_state, Some(InputState { waiting: true, evidence }));
    assert_eq!(listed.sessions[0].native_id, Some(NativeId("run-1".to_owned())));
    rig.platform.end("run-1", Exit::Canceled);
    assert_eq!(items.next().await.unwrap(), Ok(Item::End(End { exit: Exit::Canceled, cause: Cause::Own })));
    let described = rig.client.describe_agent_session(&cx(), describe(&session.session.to_string())).await.unwrap();
    assert_eq!(described.session_id, "run-1");
}

/// Runs the binary against the rig's server, on another thread: the server is on this one.
async fn run(rig: &Rig, args: &[&str]) -> std::process::Output {
    let mut args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    args.extend(["--connect".to_owned(), rig.address.to_string()]);
    let run = move || Place::new().run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test]
async fn a_person_lists_runs_and_watches_one() {
    let rig = Rig::new().await;
    rig.platform.put_session(AgentSessionDetail { session_id: "s-7".to_owned(), ..Default::default() });
    let started = follow_run(&rig, Launch::Start(Invocation::new("echo {}"))).await;
    let attached = follow_run(&rig, Launch::Attach(NativeId("s-7".to_owned()))).await;
    rig.platform.input("s-7", Some(InputState { waiting: true, evidence: "approve waits".to_owned() }));
    let listed = run(&rig, &["list"]).await;
    let row = |session: &SessionRef| {
        let row = stdout(&listed).lines().find(|row| row.starts_with(&session.session.to_string())).unwrap();
        row.split_whitespace()
            .skip(1)
            .filter(|word| !word.ends_with('s') || *word == "agents")
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(row(&started), "running agents echo {} [run-1]");
    assert_eq!(row(&attached), "waiting agents [s-7]");

    let id = started.session.to_string();
    let watch = ["tail", &id[..8]];
    let (tail, ()) = tokio::join!(run(&rig, &watch), async {
        while !rig.platform.is_wanted("run-1") {
            tokio::task::yield_now().await;
        }
        rig.platform.turn("run-1", "one");
        rig.platform.turn("run-1", "two\n");
        rig.platform.end("run-1", Exit::Canceled);
    });
    let told = format!("session {id}: canceled\n");
    assert_eq!((tail.status.code(), stdout(&tail), stderr(&tail)), (Some(1), "one\ntwo\n", told.as_str()));
    let failed = "the model said no\u{1b}[2J";
    rig.platform.end("s-7", Exit::Failed(failed.to_owned()));
    let listed = run(&rig, &["list"]).await;
    assert!(stdout(&listed).contains("failed ") && stdout(&listed).contains("canceled "), "{}", stdout(&listed));
}
