//! Agent platforms: what is asked of the service, and how its answers read.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use sessiond_core::{
    Agent, AgentAction, AgentRun, AgentSession, AgentSessionDetail, AgentSessionPage, AgentSessionQuery,
    CompleteManualTask, ControlAgentSession, DescribeAgentSession, DescribeManualTask, FinishState, Json,
    ListAgentSessions, ListAgents, ManualTask, ManualTaskSummary, Owner, ReasoningEvent, StartAgent, TaskCompletion,
    TokenCounts, TokenSummary, TokenTurn, TokenUsage,
};
use sessiond_mcp::TextStyle;

use crate::script::{Asked, Say, Stage};
use crate::support::{management, target};

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn json_text(text: &str) -> Json {
    Json::from_checked(text)
}

fn full_session() -> AgentSession {
    AgentSession {
        session_id: "s1".into(),
        status: "COMPLETE".into(),
        agent_name: some("Triage"),
        started_at: some("2026-11-30T15:00:00Z"),
        end_time: some("2026-11-30T15:01:00Z"),
        duration_ms: Some(60_000),
        total_input_tokens: Some(150),
        total_output_tokens: Some(75),
    }
}

#[tokio::test]
async fn sessions_are_listed_and_what_the_platform_does_not_say_is_null() {
    let stage = Stage::new().await;
    let bare = AgentSession { session_id: "s2".into(), ..AgentSession::default() };
    let page = AgentSessionPage { sessions: vec![full_session(), bare], next_page_token: some("2") };
    let reply = stage.answer(Say::AgentSessions(page), "get_sessions", json!({})).await;
    let expected = json!({
        "result": [
            {
                "session_id": "s1", "status": "COMPLETE", "agent_name": "Triage", "started_at": "2026-11-30T15:00:00Z",
                "end_time": "2026-11-30T15:01:00Z", "duration_ms": 60000, "total_input_tokens": 150,
                "total_output_tokens": 75,
            },
            {
                "session_id": "s2", "status": "", "agent_name": null, "started_at": null, "end_time": null,
                "duration_ms": null, "total_input_tokens": null, "total_output_tokens": null,
            },
        ],
        "next_page_token": "2",
    });
    assert_eq!((reply.is_error, reply.structured, reply.meta), (false, expected, Value::Null));
    assert_eq!(
        reply.text,
        "2 sessions, and more on the next page\n\
         session s1 COMPLETE, Triage, started 2026-11-30T15:00:00Z\n\
         session s2 without a status"
    );
    let reply = stage.answer(Say::AgentSessions(AgentSessionPage::default()), "get_sessions", json!({})).await;
    assert_eq!((reply.structured, reply.text.as_str()), (json!({"result": []}), "0 sessions"));
}

#[tokio::test]
async fn a_list_is_asked_for_as_the_caller_wants_it() {
    let stage = Stage::new().await;
    let asked = stage.asked("get_sessions", json!({})).await;
    let query = AgentSessionQuery { limit: 100, ..AgentSessionQuery::default() };
    assert_eq!(asked, Asked::AgentSessions(ListAgentSessions { target: None, query }));
    let arguments = json!({
        "agent_name": "Triage", "status": "RUNNING", "started_after": "2026-11-30T16:00:00+01:00",
        "started_before": "2026-11-30T15:00:00.5Z", "limit": 7, "page_token": "p", "client_token": "flow",
    });
    let query = AgentSessionQuery {
        agent_name: some("Triage"),
        status: some("RUNNING"),
        started_after: Some(at(1_796_050_800)),
        started_before: Some(at(1_796_050_800) + Duration::from_millis(500)),
        limit: 7,
        page_token: some("p"),
    };
    let asked = stage.asked("get_sessions", arguments).await;
    assert_eq!(asked, Asked::AgentSessions(ListAgentSessions { target: Some(target("flow")), query }));
}

#[tokio::test]
async fn a_time_is_one_time_everywhere_or_refused() {
    let stage = Stage::new().await;
    for name in ["started_after", "started_before"] {
        for time in ["yesterday", "2026-11-30", "2026-11-30T15:00:00", "1796050800", ""] {
            let mut arguments = json!({});
            arguments[name] = json!(time);
            assert_eq!(
                stage.refused("get_sessions", arguments).await,
                format!(
                    "invalid_argument: {name} is no time of RFC 3339: write it with its offset, such as \
                     2026-11-30T15:00:00Z or 2026-11-30T16:00:00+01:00"
                )
            );
        }
    }
    for limit in [0, 501] {
        let refused = stage.refused("get_sessions", json!({"limit": limit})).await;
        assert_eq!(refused, format!("invalid_argument: limit is {limit}: it must be an integer of 1 to 500"));
    }
}

fn event(text: &str) -> ReasoningEvent {
    ReasoningEvent { text: some(text), ..ReasoningEvent::default() }
}

fn summary(id: &str) -> ManualTaskSummary {
    ManualTaskSummary {
        work_item_id: id.into(),
        title: None,
        view_type: None,
        waiting_age_seconds: None,
        completion_supported: false,
    }
}

#[tokio::test]
async fn a_session_is_described_in_full() {
    let stage = Stage::new().await;
    stage.platforms([("flow", "itential")]);
    let session = AgentSessionDetail {
        session_id: "s1".into(),
        status: "COMPLETE".into(),
        agent_name: some("Triage"),
        output: some("Done."),
        started_at: some("2026-11-30T15:00:00Z"),
        end_time: some("2026-11-30T15:01:00Z"),
        duration_ms: Some(60_000),
        reasoning_events: vec![
            ReasoningEvent {
                event_id: some("e1"),
                sequence_number: Some(4),
                timestamp: some("2026-11-30T15:00:30.000Z"),
                text: some("Looking."),
            },
            event("Done."),
        ],
        pending_manual_tasks: Some(Vec::new()),
        dropped_events: 0,
    };
    let reply = stage.answer(Say::AgentSession(session), "describe_session", json!({"session_id": "s1"})).await;
    let expected = json!({
        "session_id": "s1", "status": "COMPLETE", "agent_name": "Triage", "output": "Done.",
        "started_at": "2026-11-30T15:00:00Z", "end_time": "2026-11-30T15:01:00Z", "duration_ms": 60000,
        "reasoning_events": [
            {"event_id": "e1", "sequence_number": 4, "timestamp": "2026-11-30T15:00:30.000Z", "text": "Looking."},
            {"event_id": null, "sequence_number": null, "timestamp": null, "text": "Done."},
        ],
        "pending_manual_tasks": [],
    });
    assert_eq!((reply.is_error, reply.structured), (false, expected));
    assert_eq!(reply.meta, json!({"sessiond/dialect": "itential"}));
    assert_eq!(reply.text, "session s1 COMPLETE, agent Triage; 2 completed turns\nDone.");
}

#[tokio::test]
async fn what_nobody_knows_of_a_session_is_null_and_written_out() {
    let stage = Stage::new().await;
    let session = AgentSessionDetail { session_id: "s1".into(), ..AgentSessionDetail::default() };
    let reply = stage.answer(Say::AgentSession(session), "describe_session", json!({"session_id": "s1"})).await;
    let expected = json!({
        "session_id": "s1", "status": "", "agent_name": null, "output": null, "started_at": null, "end_time": null,
        "duration_ms": null, "reasoning_events": [], "pending_manual_tasks": null,
    });
    assert_eq!((reply.is_error, reply.structured, reply.meta), (false, expected, Value::Null));
    assert_eq!(
        reply.text,
        "session s1 without a status; 0 completed turns; whether anything waits for a person could not be learnt"
    );
}

#[tokio::test]
async fn a_session_that_runs_shows_what_was_said_so_far_and_what_waits() {
    let stage = Stage::new().await;
    let task = ManualTaskSummary {
        title: some("Approve\nchange"),
        view_type: some("ViewData"),
        waiting_age_seconds: Some(120),
        completion_supported: true,
        ..summary("w1")
    };
    let session = AgentSessionDetail {
        session_id: "s1".into(),
        status: "RUNNING".into(),
        reasoning_events: vec![event("One"), ReasoningEvent::default(), event("Two\n")],
        pending_manual_tasks: Some(vec![task, summary("w2")]),
        ..AgentSessionDetail::default()
    };
    let reply = stage.answer(Say::AgentSession(session), "describe_session", json!({"session_id": "s1"})).await;
    let expected = json!([
        {
            "work_item_id": "w1", "title": "Approve\nchange", "view_type": "ViewData", "waiting_age_seconds": 120,
            "completion_supported": true,
        },
        {
            "work_item_id": "w2", "title": null, "view_type": null, "waiting_age_seconds": null,
            "completion_supported": false,
        },
    ]);
    assert_eq!(reply.structured["pending_manual_tasks"], expected);
    assert_eq!(
        reply.text,
        "session s1 RUNNING; 3 completed turns\n\
         waits for a person: w1 \"Approve change\" (ViewData, 120 s)\n\
         waits for a person: w2\n\
         One\nTwo\n"
    );
}

#[tokio::test]
async fn events_that_are_left_out_are_counted() {
    let stage = Stage::new().await;
    let session = AgentSessionDetail {
        session_id: "s1".into(),
        status: "FAILED".into(),
        output: some("x"),
        reasoning_events: vec![event("x")],
        pending_manual_tasks: Some(Vec::new()),
        dropped_events: 3,
        ..AgentSessionDetail::default()
    };
    let reply = stage.answer(Say::AgentSession(session), "describe_session", json!({"session_id": "s1"})).await;
    assert_eq!(reply.meta, json!({"sessiond/dropped_events": 3}));
    assert_eq!(reply.text, "session s1 FAILED; 1 completed turn; 3 before them are left out\nx");
}

#[tokio::test]
async fn long_output_is_not_sent_twice_unless_a_client_shows_nothing_else() {
    let session = |output: &str| AgentSessionDetail {
        session_id: "s1".into(),
        status: "COMPLETE".into(),
        output: some(output),
        pending_manual_tasks: Some((0..1000).map(|place| summary(&format!("w{place}"))).collect()),
        ..AgentSessionDetail::default()
    };
    let long = "x".repeat(1 << 20);
    let stage = Stage::new().await;
    let say = Say::AgentSession(session(&long));
    let reply = stage.answer(say, "describe_session", json!({"session_id": "s1"})).await;
    assert_eq!(reply.structured["output"], json!(long));
    assert!(reply.text.len() < 5000 && reply.text.contains("more in structuredContent"), "{}", reply.text);
    let stage = Stage::telling(management(), TextStyle::Full).await;
    let say = Say::AgentSession(session(&long));
    let reply = stage.answer(say, "describe_session", json!({"session_id": "s1"})).await;
    assert!(reply.text.ends_with(&long) && reply.text.contains("w999"));
}

#[tokio::test]
async fn what_a_platform_speaks_is_told_where_it_is_known() {
    let stage = Stage::new().await;
    let dialect = async |arguments: Value| {
        let session = AgentSessionDetail { session_id: "s1".into(), ..AgentSessionDetail::default() };
        stage.answer(Say::AgentSession(session), "describe_session", arguments).await.meta["sessiond/dialect"].clone()
    };
    stage.platforms([("flow", "itential"), ("graph", "langgraph")]);
    assert_eq!(dialect(json!({"session_id": "s1", "client_token": "graph"})).await, "langgraph");
    assert_eq!(dialect(json!({"session_id": "s1"})).await, Value::Null);
    stage.platforms([("graph", "langgraph")]);
    assert_eq!(dialect(json!({"session_id": "s1"})).await, "langgraph");
    assert_eq!(dialect(json!({"session_id": "s1", "client_token": "flow"})).await, Value::Null);
}

#[tokio::test]
async fn an_id_is_handed_on_as_it_is_and_the_platform_may_be_named() {
    let stage = Stage::new().await;
    let request =
        |named: Option<&str>, id: &str| DescribeAgentSession { target: named.map(target), session: id.into() };
    for id in ["s1", "", "../../whoami", "%2f", "a b"] {
        let asked = stage.asked("describe_session", json!({"session_id": id})).await;
        assert_eq!(asked, Asked::AgentSession(request(None, id)));
        let arguments = json!({"session_id": id, "client_token": "flow"});
        let asked = stage.asked("describe_session_token_usage", arguments).await;
        assert_eq!(asked, Asked::Usage(request(Some("flow"), id)));
    }
    let refused = stage.refused("describe_session", json!({"session_id": "s1", "client_token": ""})).await;
    assert!(refused.starts_with("invalid_argument: client_token is no name of a target: "), "{refused}");
    let scoped = Stage::of(Owner::scoped("device", target("flow"))).await;
    let refused = scoped.refused("describe_session", json!({"session_id": "s1", "client_token": ""})).await;
    assert!(refused.starts_with("not_found: "), "{refused}");
    let asked = scoped.asked("describe_session", json!({"session_id": "s1"})).await;
    assert_eq!(asked, Asked::AgentSession(request(None, "s1")));
}

#[tokio::test]
async fn what_a_session_cost_is_told_turn_by_turn() {
    let stage = Stage::new().await;
    let counts = TokenCounts { input_tokens: Some(8606), cache_read_tokens: Some(120), ..TokenCounts::default() };
    let bare = TokenTurn {
        sequence_number: None,
        timestamp: None,
        succeeded: false,
        duration_ms: None,
        token_usage: None,
        error: None,
    };
    let usage = TokenUsage {
        summary: TokenSummary {
            session_id: "s1".into(),
            turn_count: 2,
            total_duration_ms: 6747,
            total_input_tokens: 8606,
            total_output_tokens: 0,
            total_tokens: 8606,
        },
        turns: vec![
            TokenTurn {
                sequence_number: Some(2),
                timestamp: some("2026-11-30T15:00:00.000Z"),
                succeeded: true,
                duration_ms: Some(6747),
                token_usage: Some(counts),
                error: None,
            },
            TokenTurn { error: some("overloaded"), ..bare },
        ],
    };
    let reply = stage.answer(Say::Usage(usage), "describe_session_token_usage", json!({"session_id": "s1"})).await;
    let expected = json!({
        "summary": {
            "session_id": "s1", "turn_count": 2, "total_duration_ms": 6747, "total_input_tokens": 8606,
            "total_output_tokens": 0, "total_tokens": 8606,
        },
        "turns": [
            {
                "sequence_number": 2, "timestamp": "2026-11-30T15:00:00.000Z", "event_type": "succeeded",
                "duration_ms": 6747, "error": null,
                "token_usage": {
                    "input_tokens": 8606, "output_tokens": null, "cache_read_tokens": 120, "cache_creation_tokens": null,
                    "total_tokens": null,
                },
            },
            {
                "sequence_number": null, "timestamp": null, "event_type": "failed", "duration_ms": null,
                "token_usage": null, "error": "overloaded",
            },
        ],
    });
    assert_eq!((reply.is_error, reply.structured), (false, expected));
    assert_eq!(reply.text, "session s1: 8606 tokens (8606 in, 0 out) in 2 turns, 1 of them failed");
}

#[tokio::test]
async fn agents_are_listed_with_what_they_take() {
    let stage = Stage::new().await;
    assert_eq!(stage.asked("get_agents", json!({})).await, Asked::Agents(ListAgents { target: None }));
    let agents = vec![
        Agent {
            name: "Triage".into(),
            description: some("sorts\nincidents"),
            agent_id: some("a1"),
            route_name: some("triage"),
            input_schema: Some(json_text(r#"{"type":"object","properties":{"id":{"type":"string"}}}"#)),
            last_executed: some("2026-11-30T15:00:00Z"),
        },
        Agent { name: "bare".into(), ..Agent::default() },
        Agent { name: "odd".into(), input_schema: Some(json_text("true")), ..Agent::default() },
    ];
    let reply = stage.answer(Say::Agents(agents), "get_agents", json!({"client_token": "flow"})).await;
    let bare = |name: &str| {
        json!({
            "name": name, "description": null, "agent_id": null, "route_name": null, "input_schema": null,
            "last_executed": null,
        })
    };
    let expected = json!({"result": [
        {
            "name": "Triage", "description": "sorts\nincidents", "agent_id": "a1", "route_name": "triage",
            "input_schema": {"type": "object", "properties": {"id": {"type": "string"}}},
            "last_executed": "2026-11-30T15:00:00Z",
        },
        bare("bare"),
        bare("odd"),
    ]});
    assert_eq!((reply.is_error, reply.structured), (false, expected));
    assert_eq!(reply.text, "3 agents\nTriage: sorts incidents\nbare\nodd");
}

fn run(status: &str) -> AgentRun {
    AgentRun { session_id: "s1".into(), status: status.into() }
}

#[tokio::test]
async fn an_agent_is_started_with_inputs_or_without() {
    let stage = Stage::new().await;
    let request =
        |inputs: Option<&str>| StartAgent { target: None, agent: "Triage".into(), inputs: inputs.map(json_text) };
    let asked = stage.asked("start_agent", json!({"agent": "Triage"})).await;
    assert_eq!(asked, Asked::StartAgent(request(None)));
    let inputs = json!({"id": "INC 1", "deep": {"list": [1, 2.5, null, true]}, "": "é"});
    let asked = stage.asked("start_agent", json!({"agent": "Triage", "inputs": inputs})).await;
    let Asked::StartAgent(StartAgent { inputs: Some(handed_on), .. }) = asked else { panic!("{asked:?}") };
    assert_eq!(serde_json::from_str::<Value>(handed_on.as_str()).unwrap(), inputs);
    assert!(!handed_on.as_str().contains(": "), "compact: {}", handed_on.as_str());
    let reply = stage.answer(Say::StartAgent(run("RUNNING")), "start_agent", json!({"agent": "Triage"})).await;
    assert_eq!((reply.is_error, reply.structured), (false, json!({"session_id": "s1", "status": "RUNNING"})));
    assert_eq!(reply.text, "started: session s1 RUNNING");
    for inputs in [json!("{}"), json!([]), json!(1)] {
        let refused = stage.refused("start_agent", json!({"agent": "Triage", "inputs": inputs})).await;
        assert!(refused.ends_with("it must be an object"), "{refused}");
    }
}

#[tokio::test]
async fn a_session_is_steered_and_only_a_resume_takes_input() {
    let stage = Stage::new().await;
    for (name, action) in
        [("cancel", AgentAction::Cancel), ("pause", AgentAction::Pause), ("resume", AgentAction::Resume)]
    {
        let asked = stage.asked("control_session", json!({"session_id": "s1", "action": name})).await;
        let request = ControlAgentSession { target: None, session: "s1".into(), action, input: None };
        assert_eq!(asked, Asked::Steer(request));
    }
    for (input, text) in [
        (json!("yes"), r#""yes""#),
        (json!({"a": [1]}), r#"{"a":[1]}"#),
        (json!([]), "[]"),
        (json!(false), "false"),
        (json!(-1.5), "-1.5"),
    ] {
        let arguments = json!({"session_id": "s1", "action": "resume", "input": input});
        let asked = stage.asked("control_session", arguments).await;
        let (action, input) = (AgentAction::Resume, Some(json_text(text)));
        assert_eq!(asked, Asked::Steer(ControlAgentSession { target: None, session: "s1".into(), action, input }));
    }
    let refused = stage.refused("control_session", json!({"session_id": "s1", "action": "cancel", "input": 1})).await;
    assert_eq!(refused, "invalid_argument: input goes with action resume, not with cancel: leave it out");
    let refused = stage.refused("control_session", json!({"session_id": "s1", "action": "stop"})).await;
    assert_eq!(refused, "invalid_argument: action is \"stop\": it must be one of cancel, pause, resume");
    let say = Say::Steer(run("CANCELING"));
    let reply = stage.answer(say, "control_session", json!({"session_id": "s1", "action": "cancel"})).await;
    assert_eq!(reply.structured, json!({"session_id": "s1", "status": "CANCELING"}));
    assert_eq!(reply.text, "cancel: session s1 CANCELING");
}

#[tokio::test]
async fn a_manual_task_is_shown_as_a_person_would_see_it() {
    let stage = Stage::new().await;
    let asked = stage.asked("describe_manual_task", json!({"work_item_id": "w1"})).await;
    assert_eq!(asked, Asked::Task(DescribeManualTask { target: None, work_item: "w1".into() }));
    let task = ManualTask {
        work_item_id: "w1".into(),
        status: "pending".into(),
        pending: true,
        title: some("Approve change"),
        view_type: some("ViewData"),
        header: some("Change 12"),
        message: some("Restart the router?"),
        body: some("{\"router\":\"r1\"}"),
        btn_success: some("Yes"),
        btn_failure: some("No"),
        waiting_age_seconds: Some(120),
        completion_supported: true,
    };
    let reply = stage.answer(Say::Task(task), "describe_manual_task", json!({"work_item_id": "w1"})).await;
    let expected = json!({
        "work_item_id": "w1", "status": "pending", "title": "Approve change", "view_type": "ViewData",
        "header": "Change 12", "message": "Restart the router?", "body": "{\"router\":\"r1\"}", "btn_success": "Yes",
        "btn_failure": "No", "waiting_age_seconds": 120, "completion_supported": true,
    });
    assert_eq!((reply.is_error, reply.structured), (false, expected));
    assert_eq!(
        reply.text,
        "task w1 pending \"Approve change\"; success is \"Yes\"; failure is \"No\"\n\
         Change 12\nRestart the router?\n{\"router\":\"r1\"}\n"
    );
    let bare = ManualTask { work_item_id: "w2".into(), ..ManualTask::default() };
    let reply = stage.answer(Say::Task(bare), "describe_manual_task", json!({"work_item_id": "w2"})).await;
    let expected = json!({
        "work_item_id": "w2", "status": "", "title": null, "view_type": null, "header": null, "message": null,
        "body": null, "btn_success": null, "btn_failure": null, "waiting_age_seconds": null,
        "completion_supported": false,
    });
    assert_eq!(reply.structured, expected);
    assert_eq!(reply.text, "task w2 without a status; it can be completed only on the platform itself");
}

#[tokio::test]
async fn a_manual_task_is_completed_only_when_that_is_confirmed() {
    let stage = Stage::new().await;
    let request = |finish_state, confirm, variables: Option<&str>| {
        let variables = variables.map(json_text);
        Asked::Complete(CompleteManualTask { target: None, work_item: "w1".into(), finish_state, confirm, variables })
    };
    let asked = async |arguments| stage.asked("complete_manual_task", arguments).await;
    let preview = json!({"work_item_id": "w1", "finish_state": "success"});
    assert_eq!(asked(preview.clone()).await, request(FinishState::Success, false, None));
    let arguments = json!({
        "work_item_id": "w1", "finish_state": "failure", "confirm": true, "variables": {"why": "no window"},
    });
    let expected = request(FinishState::Failure, true, Some(r#"{"why":"no window"}"#));
    assert_eq!(asked(arguments.clone()).await, expected);
    for state in [json!("Yes"), json!("SUCCESS"), json!("")] {
        let refused = stage.refused("complete_manual_task", json!({"work_item_id": "w1", "finish_state": state})).await;
        assert!(refused.contains("it must be one of success, failure"), "{refused}");
    }
    let refused = stage
        .refused("complete_manual_task", json!({"work_item_id": "w1", "finish_state": "success", "confirm": "yes"}))
        .await;
    assert_eq!(refused, "invalid_argument: confirm is a string: it must be true or false");
    let outcome = |finish_state, completed, warnings: &[&str]| {
        let warnings = warnings.iter().map(|warning| (*warning).to_owned()).collect();
        Say::Complete(TaskCompletion {
            work_item_id: "w1".into(),
            title: some("Approve change"),
            finish_state,
            completed,
            warnings,
        })
    };
    let say = outcome(FinishState::Success, false, &["this cannot be undone"]);
    let reply = stage.answer(say, "complete_manual_task", preview).await;
    let expected = json!({
        "work_item_id": "w1", "title": "Approve change", "finish_state": "success", "completed": false,
        "warnings": ["this cannot be undone"],
    });
    assert_eq!((reply.is_error, reply.structured), (false, expected));
    assert_eq!(
        reply.text,
        "preview, nothing was changed: task w1 \"Approve change\" would end as success\nwarning: this cannot be undone"
    );
    let reply = stage.answer(outcome(FinishState::Failure, true, &[]), "complete_manual_task", arguments).await;
    let expected = json!({
        "work_item_id": "w1", "title": "Approve change", "finish_state": "failure", "completed": true, "warnings": [],
    });
    assert_eq!((reply.is_error, reply.structured), (false, expected));
    assert_eq!(reply.text, "completed: task w1 \"Approve change\" as failure");
}

#[tokio::test]
async fn text_of_a_platform_stays_on_its_line_and_short() {
    let stage = Stage::new().await;
    let odd = "\u{1b}[31m\r\n\0".to_owned() + &"y".repeat(100_000);
    let session = AgentSession { status: odd.clone(), agent_name: Some(odd.clone()), ..full_session() };
    let page = AgentSessionPage { sessions: vec![session; 3], next_page_token: None };
    let reply = stage.answer(Say::AgentSessions(page), "get_sessions", json!({})).await;
    assert_eq!(reply.text.lines().count(), 4, "{}", reply.text);
    assert!(reply.text.len() < 1000 && !reply.text.contains('\u{1b}'), "{}", reply.text);
    let steered = AgentRun { session_id: odd.clone(), status: odd.clone() };
    let say = Say::Steer(steered);
    let reply = stage.answer(say, "control_session", json!({"session_id": "s1", "action": "pause"})).await;
    assert!(reply.text.len() < 500 && reply.text.lines().count() == 1, "{}", reply.text);
    let task = ManualTask { title: Some(odd.clone()), btn_success: Some(odd.clone()), ..ManualTask::default() };
    let reply = stage.answer(Say::Task(task), "describe_manual_task", json!({"work_item_id": "w1"})).await;
    assert!(reply.text.len() < 500 && reply.text.lines().count() == 1, "{}", reply.text);
}
