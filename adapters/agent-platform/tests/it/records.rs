//! What a platform's records become: descriptions, lists, token counts, agents, manual tasks.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use sessiond_agent_peer::{Agent, Envelope, Fault, Route, Snapshot, Task, Times};
use sessiond_core::{
    AgentAction, AgentRun, AgentSession, AgentSessionQuery, Error, ErrorKind, FinishState, Json, ManualTask,
    ManualTaskSummary, ReasoningEvent, TokenCounts, TokenSummary, TokenTurn,
};

use crate::support::{Stage, call, id};

fn texts(events: &[ReasoningEvent]) -> Vec<&str> {
    events.iter().map(|event| event.text.as_deref().unwrap_or("(null)")).collect()
}

/// A completed turn as the platform sends it, with fields put over it.
fn turn(event: &str, over: Value) -> Value {
    let mut message = json!({
        "eventId": event, "type": "inference-succeeded", "category": "AGENT_REASONING", "text": event,
        "timestamp": 1_748_779_203_123_u64, "sequenceNumber": null, "data": { "stopReason": "end_turn" },
    });
    message.as_object_mut().unwrap().extend(over.as_object().cloned().unwrap_or_default());
    message
}

#[tokio::test]
async fn a_session_is_described_with_every_field_that_the_platform_has() {
    let stage = Stage::new();
    stage.peer.put_session(
        "s1",
        &json!({
            "sessionId": "s1", "status": "COMPLETE", "agentSnapshot": { "name": "planner" },
            "startedAt": "2025-06-01T10:00:00Z", "endTime": "2025-06-01T10:01:00.500Z", "durationMs": 60000,
        }),
    );
    stage.peer.put_message("s1", turn("e1", json!({ "sequenceNumber": 4, "text": "done" })));
    let described = stage.describe("s1").await.unwrap();
    assert_eq!(
        described,
        sessiond_core::AgentSessionDetail {
            session_id: "s1".into(),
            status: "COMPLETE".into(),
            agent_name: Some("planner".into()),
            output: Some("done".into()),
            started_at: Some("2025-06-01T10:00:00Z".into()),
            end_time: Some("2025-06-01T10:01:00.500Z".into()),
            duration_ms: Some(60000),
            reasoning_events: vec![ReasoningEvent {
                event_id: Some("e1".into()),
                sequence_number: Some(4),
                timestamp: Some("2025-06-01T12:00:03.123Z".into()),
                text: Some("done".into()),
            }],
            pending_manual_tasks: Some(Vec::new()),
            dropped_events: 0,
        }
    );
}

#[tokio::test]
async fn ds10_only_completed_turns_of_the_model_are_kept() {
    let stage = Stage::new();
    let run = stage.peer.run();
    stage.peer.turn(&run, "kept 1");
    stage.peer.turn_stopping(&run, "wants a tool", "tool_use");
    stage.peer.turn_stopping(&run, "was cut", "max_tokens");
    stage.peer.tool(&run, "show_interface");
    stage.peer.failed_turn(&run, "overloaded");
    for (over, why) in [
        (json!({ "data": null }), "null data"),
        (json!({ "data": "end_turn" }), "data that is no object"),
        (json!({ "data": ["end_turn"] }), "a list as data"),
        (json!({ "data": {} }), "no stop reason"),
        (json!({ "data": { "stopReason": "END_TURN" } }), "another stop reason"),
        (json!({ "data": { "stopReason": ["end_turn"] } }), "a list as stop reason"),
        (json!({ "category": "TOOL_CALLED" }), "another category"),
        (json!({ "category": "AGENT_STATUS" }), "a status"),
        (json!({ "category": null }), "no category"),
    ] {
        stage.peer.put_message(&run, turn(why, over));
    }
    for odd in [json!(null), json!(7), json!("event"), json!([turn("in a list", json!({}))])] {
        stage.peer.put_message(&run, odd);
    }
    stage.peer.turn(&run, "kept 2");
    let described = stage.describe(&run).await.unwrap();
    assert_eq!(texts(&described.reasoning_events), ["kept 1", "kept 2"]);
}

#[tokio::test]
async fn ds11_events_are_in_order_by_sequence_number_when_each_has_one_and_else_by_time() {
    let stage = Stage::new();
    let (numbered, timed) = (stage.peer.run(), stage.peer.run());
    for (event, number, time) in [("e1", 3, 1), ("e2", 1, 2), ("e3", 2, 3)] {
        let over = json!({ "sequenceNumber": number, "timestamp": time });
        stage.peer.put_message(&numbered, turn(event, over));
    }
    for (event, number, time) in [
        ("e1", json!(1), json!(3000)),
        ("e2", json!(null), json!("unreadable")),
        ("e3", json!(0), json!(1000)),
        ("e4", json!("2"), json!(2.0)),
    ] {
        stage.peer.put_message(&timed, turn(event, json!({ "sequenceNumber": number, "timestamp": time })));
    }
    let described = stage.describe(&numbered).await.unwrap();
    assert_eq!(texts(&described.reasoning_events), ["e2", "e3", "e1"]);
    let described = stage.describe(&timed).await.unwrap();
    assert_eq!(texts(&described.reasoning_events), ["e3", "e4", "e1", "e2"]);
}

#[tokio::test]
async fn ds12_the_output_is_the_last_turn_once_the_session_is_over() {
    let stage = Stage::new();
    for status in ["PENDING", "RUNNING", "PAUSING", "PAUSED", "CANCELING", "SOMETHING", ""] {
        let run = stage.peer.session(status);
        stage.peer.turn(&run, "so far");
        let described = stage.describe(&run).await.unwrap();
        assert_eq!((described.status.as_str(), described.output), (status, None));
        assert_eq!(texts(&described.reasoning_events), ["so far"]);
    }
    for status in ["COMPLETE", "FAILED", "CANCELED"] {
        let run = stage.peer.session(status);
        assert_eq!(stage.describe(&run).await.unwrap().output, None);
        stage.peer.turn(&run, "first");
        stage.peer.turn(&run, "last");
        stage.peer.turn_stopping(&run, "cut", "max_tokens");
        assert_eq!(stage.describe(&run).await.unwrap().output.as_deref(), Some("last"));
        stage.peer.put_message(&run, turn("e9", json!({ "sequenceNumber": 9, "text": null })));
        let described = stage.describe(&run).await.unwrap();
        assert_eq!((described.output, texts(&described.reasoning_events).len()), (None, 3));
    }
}

#[tokio::test]
async fn ds20_times_of_every_form_are_iso_8601() {
    let stage = Stage::new();
    for (said, read) in [
        (json!("2025-06-01T12:00:03+02:00"), Some("2025-06-01T12:00:03+02:00")),
        (json!(1_748_779_203_123_u64), Some("2025-06-01T12:00:03.123Z")),
        (json!(1_748_779_203_123.0), Some("2025-06-01T12:00:03.123Z")),
        (json!(1_748_779_203.5), Some("2025-06-01T12:00:03.500Z")),
        (json!("yesterday"), None),
        (json!(true), None),
        (json!({ "$date": 7 }), None),
        (json!(1e300), None),
        (json!(null), None),
    ] {
        let record = json!({ "sessionId": "s", "status": "COMPLETE", "startedAt": said, "endTime": said });
        stage.peer.put_session("s", &record);
        stage.peer.put_message("s", turn("e", json!({ "timestamp": said })));
        let described = stage.describe("s").await.unwrap();
        let read = read.map(str::to_owned);
        assert_eq!((described.started_at, described.end_time), (read.clone(), read.clone()), "{said}");
        assert_eq!((described.duration_ms, described.reasoning_events[0].timestamp.clone()), (None, read), "{said}");
        assert_eq!(described.output.as_deref(), Some("e"));
    }
}

#[tokio::test]
async fn odd_records_lose_the_odd_fields_only() {
    let stage = Stage::new();
    stage.peer.put_session(
        "s",
        &json!({
            "sessionId": 7, "status": ["RUNNING"], "agentSnapshot": "planner", "startedAt": {}, "durationMs": "60000",
            "totalInputTokens": -1, "totalOutputTokens": 1.5,
        }),
    );
    let odd = json!({ "eventId": {}, "sequenceNumber": 1.5, "timestamp": [], "text": { "a": 1 } });
    stage.peer.put_message("s", turn("odd", odd));
    let described = stage.describe("s").await.unwrap();
    assert_eq!((described.session_id.as_str(), described.status.as_str()), ("7", ""));
    assert_eq!((described.agent_name, described.started_at, described.duration_ms), (None, None, None));
    assert_eq!(described.reasoning_events, [ReasoningEvent::default()]);
    stage.peer.put_session("bare", &json!({}));
    assert_eq!(stage.describe("bare").await.unwrap().session_id, "bare");
    for snapshot in [Snapshot::Null, Snapshot::Absent] {
        stage.peer.forms(|forms| forms.snapshot = snapshot);
        let run = stage.peer.run();
        assert_eq!(stage.describe(&run).await.unwrap().agent_name, None);
    }
    stage.peer.forms(|forms| forms.times = Times::Unreadable);
    let run = stage.peer.run();
    stage.peer.turn(&run, "said");
    assert_eq!(texts(&stage.describe(&run).await.unwrap().reasoning_events), ["said"]);
}

#[tokio::test]
async fn ds30_manual_tasks_are_looked_up_while_the_session_runs_only() {
    let stage = Stage::new();
    for status in ["PENDING", "PAUSING", "PAUSED", "COMPLETE", "FAILED", "CANCELING", "CANCELED", "running", ""] {
        let run = stage.peer.session(status);
        stage.peer.ask(&run, &Task::new("Approve"));
        assert_eq!(stage.describe(&run).await.unwrap().pending_manual_tasks, Some(Vec::new()), "{status}");
    }
    assert_eq!(stage.peer.count(Route::Items), 0);
    let run = stage.peer.run();
    assert_eq!(stage.describe(&run).await.unwrap().pending_manual_tasks, Some(Vec::new()));
    stage.peer.forms(|forms| forms.no_tasks_is_404 = true);
    assert_eq!(stage.describe(&run).await.unwrap().pending_manual_tasks, Some(Vec::new()));
    assert_eq!(stage.peer.count(Route::Items), 2);
}

#[tokio::test]
async fn ds30_a_lookup_that_fails_is_null_and_the_rest_is_intact() {
    let stage = Stage::new();
    let run = stage.peer.run();
    stage.peer.turn(&run, "said");
    stage.peer.ask(&run, &Task::new("Approve"));
    for fault in [
        Fault::Status(401),
        Fault::Status(403),
        Fault::Status(429),
        Fault::Status(500),
        Fault::Status(503),
        Fault::RetryAfter(429, "3600".into()),
        Fault::Truncated,
        Fault::Garbage,
        Fault::Empty,
        Fault::Other("{\"found\": []}"),
        Fault::Other("7"),
        Fault::Redirect("http://127.0.0.1:9/".into()),
    ] {
        stage.peer.fault_once(Route::Items, fault.clone());
        let described = stage.describe(&run).await.unwrap();
        assert_eq!(described.pending_manual_tasks, None, "{fault:?}");
        assert_eq!((described.status.as_str(), texts(&described.reasoning_events)), ("RUNNING", vec!["said"]));
    }
    assert_eq!(stage.describe(&run).await.unwrap().pending_manual_tasks.map(|tasks| tasks.len()), Some(1));
}

#[tokio::test]
async fn ds30_the_lookup_takes_half_of_the_time_that_is_left() {
    let stage = Stage::new();
    let run = stage.peer.run();
    stage.peer.fault(Route::Items, Fault::Never);
    let began = std::time::Instant::now();
    let cx = crate::support::within(Duration::from_secs(2));
    let described = stage.agents().describe(&cx, &id(&run)).await.unwrap();
    assert_eq!((described.status.as_str(), described.pending_manual_tasks), ("RUNNING", None));
    assert!(began.elapsed() < Duration::from_millis(1900), "{:?}", began.elapsed());
}

#[tokio::test]
async fn ds31_pending_tasks_of_the_session_itself_are_named() {
    let stage = Stage::new();
    let run = stage.peer.run();
    let peer = &stage.peer;
    let data = peer.ask(&run, &Task::new(" Approve\tchange ").waiting(61_050));
    let html = peer.ask(&run, &Task::new("Look").view("ViewHTML").with("createdAt", json!("yesterday")));
    let form = peer.ask(&run, &Task::new("Fill").view("RenderJsonSchema").with("createdAt", json!(4e12)));
    let bare = peer
        .ask(&run, &Task::new("x").with("summary", json!(null)).with("name", json!("ShowIt")).with("view", json!(7)));
    peer.ask(&run, &Task::new("of a child").on("another"));
    peer.ask(&run, &Task::new("done").with("status", json!("completed")));
    peer.ask(&run, &Task::new("without an id").with("id", json!(null)));
    let other = peer.run();
    peer.ask(&other, &Task::new("of another session"));
    let summary = |item: &str, title: &str, view: &str, age, completion_supported| ManualTaskSummary {
        work_item_id: item.to_owned(),
        title: Some(title.to_owned()),
        view_type: Some(view.to_owned()),
        waiting_age_seconds: age,
        completion_supported,
    };
    assert_eq!(
        stage.describe(&run).await.unwrap().pending_manual_tasks,
        Some(vec![
            summary(&data, " Approve\tchange ", "ViewData", Some(61), true),
            summary(&html, "Look", "ViewHTML", None, true),
            summary(&form, "Fill", "RenderJsonSchema", Some(0), false),
            summary(&bare, "ShowIt", "ShowIt", Some(0), false),
        ])
    );
}

#[tokio::test]
async fn ds40_every_page_of_messages_is_fetched() {
    for (messages, largest_page) in [(0, 500), (3, 500), (501, 500), (1000, 500), (1203, 500), (210, 25), (100, 100)] {
        for envelope in [Envelope::Bare, Envelope::Data, Envelope::EmptyObject] {
            let stage = Stage::new();
            stage.peer.forms(|forms| (forms.largest_page, forms.messages) = (largest_page, envelope));
            let run = stage.peer.session("COMPLETE");
            stage.peer.fill(&run, messages);
            let described = stage.describe(&run).await.unwrap();
            let numbers: Vec<_> = described.reasoning_events.iter().map(|event| event.text.clone().unwrap()).collect();
            let expected: Vec<_> = (0..messages)
                .filter(|number| number % 4 == 3)
                .map(|number| format!("Turn {number}: interface GigabitEthernet0/{number} of router r1 is up."))
                .collect();
            assert_eq!(numbers, expected, "{messages} messages in pages of {largest_page}, {envelope:?}");
            assert_eq!(described.output.as_ref(), expected.last());
        }
    }
}

#[tokio::test]
async fn ds40_a_platform_that_ignores_paging_is_not_asked_on_and_on() {
    let stage = Stage::new();
    stage.peer.forms(|forms| forms.ignores_paging = true);
    let run = stage.peer.run();
    stage.peer.fill(&run, 700);
    let described = stage.describe(&run).await.unwrap();
    assert_eq!(described.reasoning_events.len(), 175);
    // The page behind the second one may have been asked for before that was seen to be the first one again.
    let asked = stage.peer.count(Route::Messages);
    assert!((2..=3).contains(&asked), "{asked}");
}

#[tokio::test]
async fn ds44_every_status_is_passed_through() {
    let stage = Stage::new();
    for status in ["PENDING", "RUNNING", "PAUSING", "PAUSED", "COMPLETE", "FAILED", "CANCELING", "CANCELED", "Other"] {
        let run = stage.peer.session(status);
        assert_eq!(stage.describe(&run).await.unwrap().status, status);
    }
}

#[tokio::test]
async fn sessions_are_listed_from_all_pages() {
    let stage = Stage::new();
    let expected: Vec<String> = (0..205)
        .map(|number| {
            let run = stage.peer.run();
            stage.peer.set(&run, "createdAt", json!(1_000_000_000_000_u64 + number));
            run
        })
        .rev()
        .collect();
    for total in [true, false] {
        for largest_page in [500, 50] {
            stage.peer.forms(|forms| (forms.total, forms.largest_page) = (total, largest_page));
            let mut found = Vec::new();
            let mut query = AgentSessionQuery { limit: 60, ..AgentSessionQuery::default() };
            loop {
                let page = stage.agents().sessions(&call(), &query).await.unwrap();
                assert!(page.sessions.len() <= 60);
                found.extend(page.sessions.into_iter().map(|session| session.session_id));
                query.page_token = page.next_page_token;
                if query.page_token.is_none() {
                    break;
                }
            }
            assert_eq!(found, expected, "total {total}, pages of {largest_page}");
        }
    }
}

#[tokio::test]
async fn sessions_are_listed_by_agent_status_and_start() {
    let stage = Stage::new();
    let peer = &stage.peer;
    let put = |id: &str, agent: Value, status: &str, started: Value| {
        let record = json!({
            "sessionId": id, "agentSnapshot": agent, "status": status, "startedAt": started, "createdAt": id,
            "totalInputTokens": 150, "totalOutputTokens": 75, "durationMs": 60000,
        });
        peer.put_session(id, &record);
    };
    put("s1", json!({ "name": "planner" }), "COMPLETE", json!("2025-06-01T10:00:00Z"));
    put("s2", json!({ "name": "Planner" }), "COMPLETE", json!(1_748_779_203_123_u64));
    put("s3", json!(null), "RUNNING", json!("2025-06-02T00:00:00+02:00"));
    put("s4", json!({ "name": "planner" }), "RUNNING", json!(null));
    let list = async |query: AgentSessionQuery| {
        let page = stage.agents().sessions(&call(), &AgentSessionQuery { limit: 100, ..query }).await.unwrap();
        assert_eq!(page.next_page_token, None);
        page.sessions.into_iter().map(|session| session.session_id).collect::<Vec<_>>()
    };
    let all = AgentSessionQuery::default;
    let at = |millis| Some(SystemTime::UNIX_EPOCH + Duration::from_millis(millis));
    assert_eq!(list(all()).await, ["s4", "s3", "s2", "s1"]);
    assert_eq!(list(AgentSessionQuery { agent_name: Some("planner".into()), ..all() }).await, ["s4", "s1"]);
    assert_eq!(list(AgentSessionQuery { status: Some("RUNNING".into()), ..all() }).await, ["s4", "s3"]);
    let after = |millis| AgentSessionQuery { started_after: at(millis), ..all() };
    let before = |millis| AgentSessionQuery { started_before: at(millis), ..all() };
    assert_eq!(list(after(1_748_779_203_123)).await, ["s3", "s2"]);
    assert_eq!(list(after(1_748_779_203_124)).await, ["s3"]);
    assert_eq!(list(before(1_748_779_203_123)).await, ["s2", "s1"]);
    let none = AgentSessionQuery { agent_name: Some("nobody".into()), ..all() };
    assert_eq!(list(none).await, [""; 0]);
    let page = stage.agents().sessions(&call(), &AgentSessionQuery { limit: 2, ..all() }).await.unwrap();
    assert_eq!(page.sessions[1].session_id, "s3");
    let rest = AgentSessionQuery { limit: 1, page_token: page.next_page_token, ..all() };
    assert_eq!(
        stage.agents().sessions(&call(), &rest).await.unwrap().sessions,
        [AgentSession {
            session_id: "s2".into(),
            status: "COMPLETE".into(),
            agent_name: Some("Planner".into()),
            started_at: Some("2025-06-01T12:00:03.123Z".into()),
            end_time: None,
            duration_ms: Some(60000),
            total_input_tokens: Some(150),
            total_output_tokens: Some(75),
        }]
    );
    let foreign = AgentSessionQuery { page_token: Some("2".into()), limit: 1, ..all() };
    let refused = stage.agents().sessions(&call(), &foreign).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
}

#[tokio::test]
async fn a_list_of_sessions_that_is_always_the_same_page_ends() {
    let rows: Vec<_> =
        (0..25).map(|number| json!({ "sessionId": format!("s{number}"), "status": "RUNNING" })).collect();
    let stage = Stage::new();
    for (answer, requests) in [
        (json!({ "data": rows }), 2),
        (json!({ "data": rows, "total": 0 }), 2),
        (json!({ "data": rows, "total": 99 }), 2),
        (json!({ "data": rows, "total": 25 }), 1),
        (json!(rows), 2),
    ] {
        stage.peer.heal();
        stage.peer.forget_requests();
        stage.peer.fault(Route::Sessions, Fault::Other(answer.to_string().leak()));
        let query = AgentSessionQuery { limit: 100, ..AgentSessionQuery::default() };
        let page = stage.agents().sessions(&call(), &query).await.unwrap();
        assert_eq!((page.sessions.len(), page.next_page_token), (25, None), "{answer}");
        assert_eq!(stage.peer.count(Route::Sessions), requests, "{answer}");
    }
}

#[tokio::test]
async fn a_session_says_what_its_turns_cost() {
    let stage = Stage::new();
    let run = stage.peer.run();
    let put = |event: &str, over: Value| stage.peer.put_message(&run, turn(event, over));
    stage.peer.tool(&run, "show");
    put(
        "e1",
        json!({ "sequenceNumber": 1, "data": { "durationMs": 6747, "stopReason": "tool_use", "tokenUsage": {
        "inputTokens": 8606, "outputTokens": 296, "cacheReadTokens": 120, "cacheCreationTokens": 40 } } }),
    );
    put("e2", json!({ "sequenceNumber": 2, "data": { "tokenUsage": { "promptTokens": 10, "completion_tokens": 5 } } }));
    put("e3", json!({ "sequenceNumber": 3, "data": { "tokenUsage": { "input_tokens": 1, "total_tokens": 9 } } }));
    put(
        "e4",
        json!({ "sequenceNumber": 4, "type": "inference-failed", "data": { "durationMs": 3 }, "text": "overloaded" }),
    );
    put("e5", json!({ "sequenceNumber": 5, "data": { "tokenUsage": {} }, "timestamp": null }));
    put("e6", json!({ "sequenceNumber": 6, "data": { "tokenUsage": { "inputTokens": "many" } } }));
    put("e7", json!({ "type": "inference-pending" }));
    let usage = stage.agents().token_usage(&call(), &id(&run)).await.unwrap();
    let counts = |input_tokens, output_tokens, total_tokens| TokenCounts {
        input_tokens,
        output_tokens,
        total_tokens,
        ..TokenCounts::default()
    };
    let turn = |number, duration_ms, token_usage| TokenTurn {
        sequence_number: Some(number),
        timestamp: Some("2025-06-01T12:00:03.123Z".into()),
        succeeded: true,
        duration_ms,
        token_usage,
        error: None,
    };
    assert_eq!(
        usage.turns,
        [
            turn(
                1,
                Some(6747),
                Some(TokenCounts {
                    cache_read_tokens: Some(120),
                    cache_creation_tokens: Some(40),
                    ..counts(Some(8606), Some(296), Some(8902))
                })
            ),
            turn(2, None, Some(counts(Some(10), Some(5), Some(15)))),
            turn(3, None, Some(counts(Some(1), None, Some(9)))),
            TokenTurn { succeeded: false, error: Some("overloaded".into()), ..turn(4, Some(3), None) },
            TokenTurn { timestamp: None, ..turn(5, None, None) },
            turn(6, None, Some(TokenCounts::default())),
        ]
    );
    assert_eq!(
        usage.summary,
        TokenSummary {
            session_id: run,
            turn_count: 6,
            total_duration_ms: 6750,
            total_input_tokens: 8617,
            total_output_tokens: 301,
            total_tokens: 8926,
        }
    );
    let quiet = stage.peer.run();
    assert_eq!(stage.agents().token_usage(&call(), &id(&quiet)).await.unwrap().summary.turn_count, 0);
}

#[tokio::test]
async fn agents_are_listed_with_the_route_that_starts_them() {
    let stage = Stage::new();
    for number in 0..150 {
        stage.peer.agent(Agent::new(&format!("agent {number}")));
    }
    for (total, largest_page) in [(true, 500), (false, 500), (false, 40)] {
        stage.peer.forms(|forms| (forms.total, forms.largest_page) = (total, largest_page));
        let agents = stage.agents().agents(&call()).await.unwrap();
        assert_eq!(agents.len(), 153);
        assert_eq!(
            agents[0],
            sessiond_core::Agent {
                name: "script".into(),
                description: Some("Does what its inputs say".into()),
                agent_id: Some("agent-script".into()),
                route_name: Some("script".into()),
                input_schema: agents[0].input_schema.clone(),
                last_executed: Some("2025-06-01T12:00:03.123Z".into()),
            }
        );
        let schema: Value = serde_json::from_str(agents[0].input_schema.as_ref().unwrap().as_str()).unwrap();
        assert_eq!(schema, json!({ "type": "object", "properties": { "steps": { "type": "array" } } }));
        assert_eq!((agents[2].name.as_str(), &agents[2].route_name), ("unrouted", &None));
        assert_eq!(agents[152].route_name.as_deref(), Some("agent_149"));
    }
}

#[tokio::test]
async fn an_agent_is_started_by_name_id_or_route() {
    let stage = Stage::new();
    stage.peer.agent(Agent::new("plan routes"));
    let inputs = Json::from_checked(r#"{"device": "r1"}"#);
    let started = async |agent: &str| {
        stage.peer.forget_requests();
        let run = stage.agents().start(&call(), agent, Some(&inputs)).await?;
        let asked = stage.peer.requests().into_iter().rfind(|seen| seen.method == "POST").unwrap();
        assert_eq!(stage.peer.status(&run.session_id).as_deref(), Some("RUNNING"));
        assert_eq!(run.status, "RUNNING");
        Ok::<_, Error>((asked.path, asked.body))
    };
    let by_route = ("/operations-manager/triggers/endpoint/plan_routes".to_owned(), r#"{"device": "r1"}"#.to_owned());
    for agent in ["plan routes", "agent-plan-routes", "plan_routes"] {
        assert_eq!(started(agent).await, Ok(by_route.clone()), "{agent}");
    }
    stage.peer.forms(|forms| forms.trigger = Envelope::Bare);
    assert_eq!(started("plan routes").await, Ok(by_route));
    let body = r#"{"agentDefinitionId":"agent-unrouted","inputs":{"device": "r1"}}"#.to_owned();
    assert_eq!(started("unrouted").await, Ok(("/agent-session-manager/sessions".to_owned(), body)));
    for nobody in ["nobody", "", "..", "../../whoami"] {
        let refused = stage.agents().start(&call(), nobody, None).await.unwrap_err();
        let message = format!("there is no agent \"{nobody}\" on this platform: get_agents lists those that it has");
        assert_eq!(refused, Error::not_found(message));
    }
    stage.peer.agent(Agent { id: "other".into(), ..Agent::new("plan routes") });
    assert_eq!(started("plan routes").await.unwrap_err().kind(), ErrorKind::FailedPrecondition);
}

#[tokio::test]
async fn what_is_started_and_is_no_session_says_so() {
    let stage = Stage::new();
    stage.peer.fault_once(Route::Trigger, Fault::Other(r#"{"data": {"_id": "job", "status": "running"}}"#));
    let refused = stage.agents().start(&call(), "puppet", None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::FailedPrecondition);
}

#[tokio::test]
async fn a_session_is_cancelled_paused_and_resumed() {
    let stage = Stage::new();
    let run = stage.peer.run();
    let control = async |action, input: Option<&Json>| stage.agents().control(&call(), &id(&run), action, input).await;
    let stands = |status: &str| Ok(AgentRun { session_id: run.clone(), status: status.to_owned() });
    assert_eq!(control(AgentAction::Pause, None).await, stands("PAUSED"));
    assert_eq!(control(AgentAction::Resume, None).await, stands("RUNNING"));
    let input = Json::from_checked("{}");
    assert_eq!(control(AgentAction::Resume, Some(&input)).await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(control(AgentAction::Cancel, None).await, stands("CANCELED"));
    assert_eq!(control(AgentAction::Cancel, None).await.unwrap_err().kind(), ErrorKind::FailedPrecondition);
    let unknown = stage.agents().control(&call(), &id("nowhere"), AgentAction::Cancel, None).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_manual_task_is_described_and_completed() {
    let stage = Stage::new();
    let run = stage.peer.run();
    let item =
        stage.peer.ask(&run, &Task { body: json!({ "rows": [1] }), ..Task::new("Approve change").waiting(3_050) });
    let described = stage.agents().manual_task(&call(), &id(&item)).await.unwrap();
    assert_eq!(
        described,
        ManualTask {
            work_item_id: item.clone(),
            status: "pending".into(),
            pending: true,
            title: Some("Approve change".into()),
            view_type: Some("ViewData".into()),
            header: Some("Approve change?".into()),
            message: Some("Somebody has to look at this.".into()),
            body: Some(r#"{"rows":[1]}"#.into()),
            btn_success: Some("Approve".into()),
            btn_failure: Some("Reject".into()),
            waiting_age_seconds: Some(3),
            completion_supported: true,
        }
    );
    let variables = Json::from_checked(r#"{"comment": "fine"}"#);
    let finish =
        async |variables| stage.agents().finish_task(&call(), &id(&item), FinishState::Failure, variables).await;
    assert_eq!(finish(Some(&variables)).await, Ok(()));
    let asked = stage.peer.requests().into_iter().next_back().unwrap();
    assert_eq!((asked.method.as_str(), asked.route), ("PATCH", Route::Complete));
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    assert_eq!(body, json!({ "finishState": "failure", "variables": { "comment": "fine" } }));
    assert_eq!(finish(None).await.unwrap_err().kind(), ErrorKind::FailedPrecondition);
    let described = stage.agents().manual_task(&call(), &id(&item)).await.unwrap();
    assert_eq!((described.status.as_str(), described.pending), ("completed", false));
    let unknown = stage.agents().manual_task(&call(), &id("nothing")).await.unwrap_err();
    let message = "there is no manual task \"nothing\" on this platform: describe_session lists those of a session";
    assert_eq!(unknown, Error::not_found(message));
}
