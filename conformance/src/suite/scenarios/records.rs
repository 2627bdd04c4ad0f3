//! The records, agents and manual tasks of agent platforms (DF01).

use std::time::{Duration, UNIX_EPOCH};

use futures_util::FutureExt;
use serde_json::json;
use sessiond_agent_peer::{Agent, Route, Script, Task, Times};
use sessiond_core::{
    AgentAction, AgentSessionQuery, DescribeAgentSession, ErrorKind, FinishState, ListAgents, TargetName, TokenCounts,
};

use super::everywhere::refused;
use super::tools::fit;
use crate::suite::house::{BackendKind, House, Settings};
use crate::suite::scenario::{Need, Scenario, agent};
use crate::suite::stage::agents::all_sessions;
use crate::suite::stage::{Stage, named};

pub(super) const SCENARIOS: &[Scenario] = &[
    agent("DF01", "sessions are listed by agent, status and time, page by page", |house| listed(house).boxed()),
    agent("DF01", "what a session cost is told turn by turn", |house| usage(house).boxed()),
    agent("DF01", "an agent is started by its name, its route or its id", |house| started(house).boxed()),
    agent("DF01", "a session is paused, resumed and cancelled, whoever started it", |house| steered(house).boxed()),
    agent("DF01", "a manual task is looked at, previewed and completed, once", |house| completed(house).boxed()),
    agent("DF01", "a manual task that cannot end so is refused and left alone", |house| not_completed(house).boxed()),
    agent("DF01", "of several platforms one must be named", |house| several(house).boxed())
        .needing(&[Need::Backend(sessiond_core::Capability::Agents), Need::Management]),
    agent("SR05", "results of agent platforms fit their schema", |house| fits(house).boxed()),
    agent("AL03", "errors of agent platforms are of the closed set", |house| errors(house).boxed()),
];

async fn ids(stage: &Stage, query: AgentSessionQuery) -> Vec<String> {
    let page = stage.agent_sessions(query).await.unwrap();
    page.sessions.into_iter().map(|session| session.session_id).collect()
}

async fn listed(house: House) {
    let stage = house.open().await;
    let peer = stage.peer();
    let at = |second: u64| 1_748_779_200_000 + second * 1000;
    for (id, agent, status, second) in
        [("a", "Planner", "COMPLETE", 1), ("b", "planner", "RUNNING", 2), ("c", "Planner", "RUNNING", 3)]
    {
        let started = Times::IsoMillis.write(at(second));
        let record = json!({
            "sessionId": id, "status": status, "agentSnapshot": { "name": agent }, "startedAt": started,
            "totalInputTokens": 150, "totalOutputTokens": 75,
        });
        peer.put_session(id, &record);
    }
    let by_name = AgentSessionQuery { agent_name: Some("Planner".to_owned()), ..all_sessions() };
    let mut found = ids(&stage, by_name.clone()).await;
    found.sort_unstable();
    assert_eq!(found, ["a", "c"], "the name is exact");
    let both = AgentSessionQuery { status: Some("RUNNING".to_owned()), ..by_name };
    assert_eq!(ids(&stage, both).await, ["c"]);
    let time = |second| UNIX_EPOCH + Duration::from_millis(at(second));
    let between = AgentSessionQuery { started_after: Some(time(2)), started_before: Some(time(2)), ..all_sessions() };
    assert_eq!(ids(&stage, between).await, ["b"], "both ends are inside");
    let mut query = AgentSessionQuery { limit: 1, ..all_sessions() };
    let mut chained = Vec::new();
    loop {
        let page = stage.agent_sessions(query.clone()).await.unwrap();
        assert!(page.sessions.len() <= 1);
        chained.extend(page.sessions.into_iter().map(|session| (session.session_id, session.total_input_tokens)));
        match page.next_page_token {
            Some(token) => query.page_token = Some(token),
            None => break,
        }
    }
    chained.sort_unstable();
    assert_eq!(chained, ["a", "b", "c"].map(|id| (id.to_owned(), Some(150))));
    let lost = AgentSessionQuery { page_token: Some("a page of ours".to_owned()), ..all_sessions() };
    assert_eq!(stage.agent_sessions(lost).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

async fn usage(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    peer.turn_stopping(&run, "look", "tool_use");
    peer.tool(&run, "ping");
    peer.turn(&run, "seen");
    peer.failed_turn(&run, "the model is busy");
    let told = stage.token_usage(&run).await.unwrap();
    let summary = &told.summary;
    assert_eq!(
        (summary.turn_count, summary.total_duration_ms, summary.total_input_tokens, summary.total_output_tokens),
        (3, 2700, 300, 150)
    );
    assert_eq!((summary.session_id.as_str(), summary.total_tokens), (run.as_str(), 450));
    let counts = TokenCounts {
        input_tokens: Some(150),
        output_tokens: Some(75),
        cache_read_tokens: Some(120),
        cache_creation_tokens: Some(40),
        total_tokens: Some(225),
    };
    let turns: Vec<_> =
        told.turns.iter().map(|turn| (turn.succeeded, turn.token_usage, turn.error.as_deref())).collect();
    assert_eq!(
        turns,
        [(true, Some(counts), None), (true, Some(counts), None), (false, None, Some("the model is busy"))]
    );
}

async fn started(house: House) {
    let stage = house.open().await;
    let peer = stage.peer();
    peer.agent(Agent::new("Change Planner"));
    let agents = stage.service.list_agents(&stage.call(), ListAgents::default()).await.unwrap();
    let script = agents.iter().find(|agent| agent.name == "script").unwrap();
    assert_eq!(
        (script.agent_id.as_deref(), script.route_name.as_deref(), script.last_executed.as_deref()),
        (Some("agent-script"), Some("script"), Some("2025-06-01T12:00:03.123Z"))
    );
    assert!(script.input_schema.as_ref().is_some_and(|schema| schema.as_str().contains("steps")));
    let inputs = Script::new().say("done").complete().inputs().to_string();
    for name in ["Change Planner", "Change_Planner", "agent-Change-Planner", "unrouted", "agent-unrouted"] {
        let run = stage.start_agent(name, Some(&inputs)).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(stage.describe(&run.session_id).await.output.as_deref(), Some("done"), "{name}");
    }
    assert_eq!(stage.start_agent("puppet", None).await.unwrap().status, "RUNNING");
    let error = stage.start_agent("nobody", None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("get_agents"), "{error}");
    assert_eq!(peer.sessions().len(), 6, "nothing else was started");
}

async fn steered(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    for (action, status) in
        [(AgentAction::Pause, "PAUSED"), (AgentAction::Resume, "RUNNING"), (AgentAction::Cancel, "CANCELED")]
    {
        let told = stage.steer(&run, action).await.unwrap();
        assert_eq!((told.session_id.as_str(), told.status.as_str()), (run.as_str(), status));
        assert_eq!(peer.status(&run).as_deref(), Some(status));
    }
    assert_eq!(stage.steer(&run, AgentAction::Cancel).await.unwrap_err().kind(), ErrorKind::FailedPrecondition);
    assert_eq!(stage.steer("nobody", AgentAction::Cancel).await.unwrap_err().kind(), ErrorKind::NotFound);
}

async fn completed(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    let item = peer.ask(&run, &Task::new("Approve change"));
    let task = stage.manual_task(&item).await.unwrap();
    assert_eq!(
        (task.title.as_deref(), task.header.as_deref(), task.message.as_deref(), task.body.as_deref()),
        (
            Some("Approve change"),
            Some("Approve change?"),
            Some("Somebody has to look at this."),
            Some("It concerns one router.")
        )
    );
    assert_eq!(
        (task.btn_success.as_deref(), task.btn_failure.as_deref(), task.pending, task.completion_supported),
        (Some("Approve"), Some("Reject"), true, true)
    );
    let preview = stage.complete_task(&item, FinishState::Failure, false).await.unwrap();
    assert_eq!(
        (preview.completed, preview.finish_state, preview.warnings.is_empty()),
        (false, FinishState::Failure, false)
    );
    assert_eq!((peer.count(Route::Complete), peer.task(&item).unwrap()["status"].clone()), (0, json!("pending")));
    let done = stage.complete_task(&item, FinishState::Failure, true).await.unwrap();
    assert_eq!((done.completed, done.title.as_deref()), (true, Some("Approve change")));
    let record = peer.task(&item).unwrap();
    assert_eq!((&record["status"], &record["finishState"]), (&json!("completed"), &json!("failure")));
    let again = stage.complete_task(&item, FinishState::Success, true).await.unwrap_err();
    assert_eq!((again.kind(), peer.count(Route::Complete)), (ErrorKind::FailedPrecondition, 1));
}

async fn not_completed(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    let one_button = peer.ask(&run, &Task::new("Confirm").cannot_fail());
    let form = peer.ask(&run, &Task::new("Fill in").view("RenderJsonSchema"));
    for (item, state, kind) in [
        (one_button.as_str(), FinishState::Failure, ErrorKind::FailedPrecondition),
        (form.as_str(), FinishState::Success, ErrorKind::Unsupported),
        ("nothing", FinishState::Success, ErrorKind::NotFound),
        ("../../whoami", FinishState::Success, ErrorKind::InvalidArgument),
    ] {
        for confirm in [false, true] {
            let error = stage.complete_task(item, state, confirm).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{item}: {error}");
        }
    }
    assert_eq!(peer.count(Route::Complete), 0, "none of it was sent");
}

async fn several(house: House) {
    let more = vec![("other", BackendKind::AgentPlatform)];
    let stage = house.open_with(Settings { more, ..Settings::default() }).await;
    let run = stage.peer_of("other").session("PAUSED");
    let error = stage.try_describe(&run).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FailedPrecondition);
    assert!(error.message().contains("local") && error.message().contains("other"), "it names them: {error}");
    let on = |target: TargetName| DescribeAgentSession { target: Some(target), session: run.clone() };
    let told = stage.service.describe_agent_session(&stage.call(), on(named("other"))).await.unwrap();
    assert_eq!(told.status, "PAUSED");
    let there = stage.service.describe_agent_session(&stage.call(), on(named("local"))).await.unwrap_err();
    assert_eq!(there.kind(), ErrorKind::NotFound, "{there}");
    let platforms = stage.service.list_platforms(&stage.call()).await.unwrap().platforms;
    let mut names: Vec<String> = platforms.iter().map(|info| info.name.to_string()).collect();
    names.sort_unstable();
    assert_eq!(names, ["local", "other"]);
}

async fn fits(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    peer.fill(&run, 8);
    peer.failed_turn(&run, "busy");
    let item = peer.ask(&run, &Task::new("Approve"));
    let bare = "bare";
    peer.put_session(bare, &json!({ "sessionId": bare }));
    let on = json!({ "session_id": run });
    for (name, arguments) in [
        ("list_clients", json!({})),
        ("get_sessions", json!({})),
        ("get_sessions", json!({ "limit": 1 })),
        ("describe_session", on.clone()),
        ("describe_session", json!({ "session_id": bare })),
        ("describe_session_token_usage", on.clone()),
        ("get_agents", json!({})),
        ("start_agent", json!({ "agent": "puppet", "inputs": { "a": [1] } })),
        ("describe_manual_task", json!({ "work_item_id": item })),
        ("complete_manual_task", json!({ "work_item_id": item, "finish_state": "success" })),
        ("complete_manual_task", json!({ "work_item_id": item, "finish_state": "success", "confirm": true })),
        ("describe_manual_task", json!({ "work_item_id": item })),
        ("control_session", json!({ "session_id": run, "action": "cancel" })),
        ("describe_session", on),
        ("session_start", json!({ "command": "puppet", "client_token": "local", "wait_ms": 1 })),
        ("session_list", json!({})),
    ] {
        fit(&stage, name, arguments).await;
    }
}

async fn errors(house: House) {
    let stage = house.open().await;
    let run = stage.peer().session("COMPLETE");
    for (name, arguments, kind) in [
        ("get_sessions", json!({ "limit": 501 }), ErrorKind::InvalidArgument),
        ("get_sessions", json!({ "started_after": "yesterday" }), ErrorKind::InvalidArgument),
        ("get_sessions", json!({ "client_token": "nowhere" }), ErrorKind::NotFound),
        ("describe_session", json!({}), ErrorKind::InvalidArgument),
        ("describe_session", json!({ "session_id": "nobody" }), ErrorKind::NotFound),
        ("describe_session", json!({ "session_id": run, "sesion": 1 }), ErrorKind::InvalidArgument),
        ("start_agent", json!({ "agent": "nobody" }), ErrorKind::NotFound),
        ("control_session", json!({ "session_id": run, "action": "dance" }), ErrorKind::InvalidArgument),
        ("control_session", json!({ "session_id": run, "action": "pause" }), ErrorKind::FailedPrecondition),
        ("describe_manual_task", json!({ "work_item_id": "nothing" }), ErrorKind::NotFound),
        ("session_start", json!({ "command": "nobody", "client_token": "local" }), ErrorKind::NotFound),
        ("session_start", json!({ "command": "puppet {", "client_token": "local" }), ErrorKind::InvalidArgument),
        (
            "session_start",
            json!({ "command": "puppet", "cwd": "/", "client_token": "local" }),
            ErrorKind::InvalidArgument,
        ),
        ("session_start", json!({ "native_id": "nobody", "client_token": "local" }), ErrorKind::NotFound),
        ("execute_command", json!({ "command": "puppet", "client_token": "local" }), ErrorKind::Unsupported),
    ] {
        refused(&stage, name, arguments, kind).await;
    }
}
