//! What a session of an agent platform is described as (DS01 to DS31).

use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};
use sessiond_agent_peer::{Envelope, Fault, Route, Snapshot, Task, Times};
use sessiond_core::{AgentSessionDetail, ReasoningEvent};

use super::tools::tool;
use crate::suite::house::{House, Settings};
use crate::suite::published;
use crate::suite::scenario::{Scenario, agent};

pub(super) const SCENARIOS: &[Scenario] = &[
    agent("DS01", "describe_session is what was published, and writes its nulls out", |house| {
        as_published(house).boxed()
    }),
    agent("DS10", "completed turns are kept, and nothing else is", |house| kept(house).boxed()),
    agent("DS11", "sequence numbers order events when every one has one, times otherwise", |house| {
        ordered(house).boxed()
    }),
    agent("DS12", "output is the last kept text of a session that is over", |house| output(house).boxed()),
    agent("DS20", "every form of a time reads alike, and an unreadable one is null", |house| times(house).boxed()),
    agent("DS30", "tasks are looked up while a session runs, and a failure is null", |house| lookup(house).boxed()),
    agent("DS31", "pending tasks of the session itself are listed", |house| tasks(house).boxed()),
];

/// What the events of a description say.
pub(super) fn texts(detail: &AgentSessionDetail) -> Vec<Option<&str>> {
    detail.reasoning_events.iter().map(|event| event.text.as_deref()).collect()
}

async fn as_published(house: House) {
    let stage = house.open().await;
    let mut listed = tool(&stage, "describe_session").await;
    let published = published::describe_session();
    published::strip(&mut listed, &["client_token"]);
    let mut theirs = published.clone();
    published::strip(&mut theirs, &[]);
    assert_eq!(listed["title"], published["title"]);
    for (name, value) in published["annotations"].as_object().unwrap() {
        assert_eq!(listed["annotations"][name], *value, "{name}");
    }
    for part in ["inputSchema", "outputSchema"] {
        assert_eq!(listed[part], theirs[part], "{part}");
    }
    let run = stage.peer().run();
    let told = stage.tool("describe_session", json!({ "session_id": run })).await.whole();
    for name in ["output", "end_time", "duration_ms"] {
        assert_eq!(told.get(name), Some(&Value::Null), "{name} is written out in {told}");
    }
}

/// A message with these parts.
fn message(event: &str, category: &str, data: Value, text: Value) -> Value {
    json!({
        "eventId": event, "timestamp": 1_748_779_203_123_u64, "type": "inference-succeeded", "category": category,
        "sequenceNumber": 1, "text": text, "data": data,
    })
}

async fn kept(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    let end = || json!({ "stopReason": "end_turn", "durationMs": 5 });
    let reasoning = "AGENT_REASONING";
    for (event, category, data, text) in [
        ("a", reasoning, end(), json!("kept")),
        ("b", reasoning, json!({ "stopReason": "tool_use" }), json!("wants a tool")),
        ("c", reasoning, json!({ "stopReason": "max_tokens" }), json!("is cut")),
        ("d", reasoning, Value::Null, json!("has no data")),
        ("e", reasoning, json!("end_turn"), json!("has a word for data")),
        ("f", reasoning, json!(["end_turn"]), json!("has a list for data")),
        ("g", "TOOL_CALLED", end(), json!("is a tool")),
        ("h", "AGENT_STATUS", end(), json!("is a status")),
        ("i", "AGENT_DREAMING", end(), json!("is something else")),
        ("j", reasoning, end(), Value::Null),
        ("k", reasoning, json!({ "stopReason": "END_TURN" }), json!("is written otherwise")),
    ] {
        peer.put_message(&run, message(event, category, data, text));
    }
    peer.put_message(&run, json!({ "eventId": "l", "category": reasoning, "text": "has not even data" }));
    peer.put_message(&run, json!("no message at all"));
    let time = Some("2025-06-01T12:00:03.123Z".to_owned());
    let event = |id: &str, text: Option<&str>| ReasoningEvent {
        event_id: Some(id.to_owned()),
        sequence_number: Some(1),
        timestamp: time.clone(),
        text: text.map(str::to_owned),
    };
    let expected = [event("a", Some("kept")), event("j", None)];
    assert_eq!(stage.describe(&run).await.reasoning_events, expected);
    for envelope in [Envelope::Data, Envelope::EmptyObject] {
        peer.forms(|forms| forms.messages = envelope);
        assert_eq!(stage.describe(&run).await.reasoning_events, expected, "{envelope:?}");
    }
    let silent = peer.run();
    assert_eq!(stage.describe(&silent).await.reasoning_events, [], "a list of nothing may be an empty object");
}

async fn ordered(house: House) {
    let stage = house.open().await;
    let peer = stage.peer();
    let run = |events: &[(&str, Value, Value)]| {
        let run = peer.run();
        for (event, sequence, time) in events {
            let mut told = message(event, "AGENT_REASONING", json!({ "stopReason": "end_turn" }), json!(event));
            (told["sequenceNumber"], told["timestamp"]) = (sequence.clone(), time.clone());
            peer.put_message(&run, told);
        }
        run
    };
    let at = |second: u64| json!(1_748_779_200_000 + second * 1000);
    let numbered = run(&[("a", json!(3), at(1)), ("b", json!(1), at(2)), ("c", json!(2), at(3))]);
    assert_eq!(texts(&stage.describe(&numbered).await), [Some("b"), Some("c"), Some("a")]);
    let timed = run(&[
        ("a", json!(1), at(9)),
        ("b", Value::Null, json!("some day")),
        ("c", json!(2), at(4)),
        ("d", json!(3), at(4)),
    ]);
    assert_eq!(
        texts(&stage.describe(&timed).await),
        [Some("c"), Some("d"), Some("a"), Some("b")],
        "who has no time stays behind its predecessor, and equals keep their order"
    );
}

async fn output(house: House) {
    let stage = house.open().await;
    let peer = stage.peer();
    for (status, output) in [
        ("RUNNING", None),
        ("PAUSED", None),
        ("CANCELING", None),
        ("COMPLETE", Some("last")),
        ("FAILED", Some("last")),
        ("CANCELED", Some("last")),
    ] {
        let run = peer.run();
        peer.turn(&run, "first");
        peer.turn(&run, "last");
        peer.turn_stopping(&run, "not this", "tool_use");
        peer.set_status(&run, status);
        let told = stage.describe(&run).await;
        assert_eq!((told.output.as_deref(), texts(&told)), (output, vec![Some("first"), Some("last")]), "{status}");
    }
    let mute = peer.run();
    peer.turn(&mute, "first");
    peer.put_message(
        &mute,
        message("event-99999999", "AGENT_REASONING", json!({ "stopReason": "end_turn" }), Value::Null),
    );
    peer.complete(&mute);
    assert_eq!(stage.describe(&mute).await.output, None, "the last kept event says nothing");
    let empty = peer.session("COMPLETE");
    assert_eq!(stage.describe(&empty).await.output, None);
}

async fn times(house: House) {
    const AT: u64 = 1_748_779_203_123;
    let stage = house.open().await;
    let peer = stage.peer();
    for (form, expected) in [
        (Times::IsoMillis, Some("2025-06-01T12:00:03.123Z")),
        (Times::Iso, Some("2025-06-01T12:00:03Z")),
        (Times::Millis, Some("2025-06-01T12:00:03.123Z")),
        (Times::FloatMillis, Some("2025-06-01T12:00:03.123Z")),
        (Times::FloatSeconds, Some("2025-06-01T12:00:03.123Z")),
        (Times::Unreadable, None),
    ] {
        let time = form.write(AT);
        let record = json!({ "sessionId": "timed", "status": "COMPLETE", "startedAt": time, "endTime": time });
        peer.put_session("timed", &record);
        let mut told = message("a", "AGENT_REASONING", json!({ "stopReason": "end_turn" }), json!("said"));
        told["timestamp"] = time;
        peer.put_message("timed", told);
        let told = stage.describe("timed").await;
        let event = told.reasoning_events.first().and_then(|event| event.timestamp.as_deref());
        assert_eq!(
            (told.started_at.as_deref(), told.end_time.as_deref(), event),
            (expected, expected, expected),
            "{form:?}"
        );
        assert_eq!((told.duration_ms, told.output.as_deref()), (None, Some("said")), "nothing is computed or spoilt");
    }
    let run = peer.run();
    let running = stage.describe(&run).await;
    assert_eq!((running.end_time, running.duration_ms), (None, None));
    peer.set(&run, "durationMs", json!(60_000));
    assert_eq!(stage.describe(&run).await.duration_ms, Some(60_000));
    for snapshot in [Snapshot::Null, Snapshot::Absent] {
        peer.forms(|forms| forms.snapshot = snapshot);
        assert_eq!(stage.describe(&peer.run()).await.agent_name, None, "{snapshot:?}");
    }
}

async fn lookup(house: House) {
    let settings = Settings { platform_timeout: Duration::from_secs(6), ..Settings::default() };
    let stage = house.open_with(settings).await;
    let peer = stage.peer();
    for status in ["PENDING", "PAUSED", "COMPLETE", "FAILED", "CANCELED"] {
        let run = peer.session(status);
        peer.ask(&run, &Task::new("Approve"));
        assert_eq!(stage.describe(&run).await.pending_manual_tasks, Some(Vec::new()), "{status}");
    }
    assert_eq!(peer.count(Route::Items), 0, "nothing was asked");
    let run = peer.run();
    peer.turn(&run, "said");
    assert_eq!(stage.describe(&run).await.pending_manual_tasks, Some(Vec::new()));
    peer.forms(|forms| forms.no_tasks_is_404 = true);
    assert_eq!(stage.describe(&run).await.pending_manual_tasks, Some(Vec::new()), "not found is none");
    peer.ask(&run, &Task::new("Approve"));
    let patience = |status| Fault::RetryAfter(status, "3600".to_owned());
    for fault in [
        Fault::Status(401),
        Fault::Status(403),
        Fault::Status(500),
        patience(429),
        patience(503),
        Fault::Garbage,
        Fault::Other("{\"items\": 7}"),
        Fault::Truncated,
        Fault::Never,
    ] {
        peer.fault(Route::Items, fault.clone());
        let told = stage.describe(&run).await;
        assert_eq!((told.pending_manual_tasks.clone(), texts(&told)), (None, vec![Some("said")]), "{fault:?}");
        peer.heal();
    }
    assert_eq!(stage.describe(&run).await.pending_manual_tasks.unwrap().len(), 1, "and it is there again");
}

async fn tasks(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    let old = peer.ask(&run, &Task::new("Approve change").waiting(90_000));
    let form = peer.ask(&run, &Task::new("Fill in").view("RenderJsonSchema"));
    let html = peer.ask(&run, &Task::new("Look").view("ViewHTML").with("createdAt", json!("some day")));
    let early =
        peer.ask(&run, &Task::new("Decide").view("InteractiveHTML").with("createdAt", json!(4_102_444_800_000_u64)));
    peer.ask(&run, &Task::new("Another's").on("another-execution"));
    let done = peer.ask(&run, &Task::new("Done"));
    peer.complete_task(&done);
    let tasks = stage.describe(&run).await.pending_manual_tasks.unwrap();
    let seen: Vec<_> = tasks
        .iter()
        .map(|task| {
            (task.work_item_id.as_str(), task.title.as_deref(), task.view_type.as_deref(), task.completion_supported)
        })
        .collect();
    assert_eq!(
        seen,
        [
            (old.as_str(), Some("Approve change"), Some("ViewData"), true),
            (form.as_str(), Some("Fill in"), Some("RenderJsonSchema"), false),
            (html.as_str(), Some("Look"), Some("ViewHTML"), true),
            (early.as_str(), Some("Decide"), Some("InteractiveHTML"), true),
        ]
    );
    let ages: Vec<Option<u64>> = tasks.iter().map(|task| task.waiting_age_seconds).collect();
    assert!(ages[0].is_some_and(|age| (90..150).contains(&age)), "{ages:?}");
    assert_eq!((ages[2], ages[3]), (None, Some(0)), "unknown is null, and none is negative");
}
