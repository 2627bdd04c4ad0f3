//! An agent's run as a session (DF02): its life, and what section A and all tools ask of it.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use serde_json::{Value, json};
use sessiond_agent_peer::{Fault, Route, Script};
use sessiond_core::{Action, Cause, ErrorKind, Limits, SessionId, StartSession, Status, StopStatus, Wait};

use crate::suite::client::ToolResult;
use crate::suite::house::{House, Settings};
use crate::suite::scenario::{Scenario, agent};
use crate::suite::stage::agents::playing;
use crate::suite::stage::{LONG, Stage, facts, for_output, pattern, said, text, until};

pub(super) const SCENARIOS: &[Scenario] = &[
    agent("DF02", "a run is started, read to its end, and described by either id", |house| life(house).boxed()),
    agent("DF02", "a run that fails or is cancelled by others ends so", |house| ends(house).boxed()),
    agent("DF02", "a stop cancels the run, and waits for the platform's word", |house| stopped(house).boxed()),
    agent("DF02", "a run that was started elsewhere is followed from its first word", |house| attached(house).boxed()),
    agent("DF02", "a run that waits for a person says so in the list", |house| waits(house).boxed()),
    agent("DF02", "a platform that fails for a while loses no word and no run", |house| bridged(house).boxed()),
    agent("DF02", "a run that is gone is lost", |house| lost(house).boxed()),
    agent("SR53", "a run's exit code is 0 or -1", |house| ends(house).boxed()),
    agent("SR54", "a time limit on a run is told when the platform confirms it", |house| limited(house).boxed()),
    agent("SR55", "a run that completes has no error", |house| life(house).boxed()),
    agent("SR60", "the record of a run expires, the run's own stays", |house| expiry(house).boxed()),
    agent("SR61", "another life of the server knows no run by its id", |house| restart(house).boxed()),
    agent("SF03", "a run is stopped once", |house| stopped_twice(house).boxed()),
    agent("SF05", "runs are listed with their platform's id", |house| listed(house).boxed()),
    agent("SF06", "at most so many runs are followed", |house| limit(house).boxed()),
    agent("SF07", "a start reads what came of it", |house| start_reads(house).boxed()),
    agent("AL01", "the life of a run reads the same on every transport", |house| transcript(house).boxed()),
    agent("AL03", "what a run cannot take is unsupported", |house| unsupported(house).boxed()),
    agent("AL05", "the server's end cancels its own runs and leaves others alone", |house| ended(house).boxed()),
];

/// A run that says this at once and is complete.
pub(super) fn saying(texts: &[&str]) -> Script {
    texts.iter().fold(Script::new(), |script, text| script.say(text)).complete()
}

async fn life(house: House) {
    let stage = house.open().await;
    let script = Script::new().think("I shall look.").tool("ping").say("one").pause(300).say("two\n").say("three");
    let session = stage.play(&script.complete()).await;
    let (output, ended) = stage.to_end(session).await;
    assert_eq!(output, "one\ntwo\nthree\n", "completed turns, each ended by a newline, and nothing else");
    assert_eq!(facts(&ended), (0, false, false, None));
    let native = stage.native(session).await;
    let by_native = stage.describe(&native).await;
    assert_eq!(stage.describe(&session.to_string()).await, by_native);
    assert_eq!((by_native.session_id.as_str(), by_native.output.as_deref()), (native.as_str(), Some("three")));
    assert_eq!(stage.peer().sessions(), [native], "one run was started");
}

async fn ends(house: House) {
    let stage = house.open().await;
    let broken = stage.play(&Script::new().say("a").fail("the model is gone")).await;
    let (output, ended) = stage.to_end(broken).await;
    assert_eq!(output, "a\n");
    assert_eq!(facts(&ended), (-1, false, false, Some("the model is gone".to_owned())));
    let cancelled = stage.play(&Script::new().say("b").cancel()).await;
    let (output, ended) = stage.to_end(cancelled).await;
    assert_eq!((output.as_str(), facts(&ended)), ("b\n", (-1, false, true, None)));
    let complete = stage.play(&saying(&["c"])).await;
    assert_eq!(facts(&stage.to_end(complete).await.1), (0, false, false, None));
}

async fn stopped(house: House) {
    let stage = house.open().await;
    stage.peer().forms(|forms| forms.cancel_takes_ms = 300);
    let session = stage.play(&Script::new().say("ready")).await;
    stage.shows(session, "ready").await;
    let native = stage.native(session).await;
    let outcome = stage.stop(session, LONG).await;
    assert_eq!(outcome.status, StopStatus::Stopped);
    assert_eq!(stage.peer().status(&native).as_deref(), Some("CANCELED"), "the platform says so itself");
    let (code, timed_out, canceled, _) = facts(&stage.to_end(session).await.1);
    assert_eq!((code, timed_out, canceled), (-1, false, true));
}

async fn attached(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    peer.turn(&run, "before");
    let session = stage.attach(&run).await.unwrap();
    stage.shows(session, "before\n").await;
    peer.turn(&run, "after");
    peer.complete(&run);
    let (output, ended) = stage.to_end(session).await;
    assert_eq!((output.as_str(), ended.exit_code()), ("before\nafter\n", 0));
    let late = stage.attach(&run).await.unwrap();
    assert_eq!(stage.to_end(late).await.0, "before\nafter\n", "one that is over gives its text and its end");
    let other = peer.run();
    let stopped = stage.attach(&other).await.unwrap();
    stage.stop(stopped, LONG).await;
    assert_eq!(peer.status(&other).as_deref(), Some("CANCELED"), "a stop cancels it, whoever started it");
    let error = stage.attach("nobody").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = stage.attach("../../whoami").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

async fn waits(house: House) {
    let stage = house.open().await;
    let session = stage.play(&Script::new().say("please").ask("Approve change").say("thanks").complete()).await;
    stage.shows(session, "please").await;
    let began = Instant::now();
    let evidence = loop {
        let state = stage.listed(session).await.input_state;
        if let Some(state) = state.filter(|state| state.waiting) {
            break state.evidence;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "it is seen to wait");
        // What waits for a person is known for a moment before it is asked for again.
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(evidence.contains("Approve change"), "{evidence:?}");
    let native = stage.native(session).await;
    let item = stage.describe(&native).await.pending_manual_tasks.unwrap().remove(0).work_item_id;
    stage.peer().complete_task(&item);
    assert_eq!(stage.to_end(session).await.0, "please\nthanks\n");
}

async fn bridged(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    let session = stage.attach(&run).await.unwrap();
    peer.turn(&run, "one");
    stage.shows(session, "one\n").await;
    for (route, fault) in
        [(Route::Session, Fault::Status(500)), (Route::Messages, Fault::Truncated), (Route::Any, Fault::Status(503))]
    {
        peer.fault_times(route, 2, fault);
    }
    peer.turn(&run, "two");
    peer.complete(&run);
    let (output, ended) = stage.to_end(session).await;
    assert_eq!((output.as_str(), ended.exit_code()), ("one\ntwo\n", 0));
}

async fn lost(house: House) {
    let stage = house.open().await;
    let session = stage.play(&Script::new().say("so far").pause(500).vanish()).await;
    let (output, ended) = stage.to_end(session).await;
    let (code, timed_out, canceled, error) = facts(&ended);
    assert_eq!((output.as_str(), code, timed_out, canceled), ("so far\n", -1, false, false));
    assert!(error.is_some_and(|error| error.starts_with("lost: ")));
}

async fn limited(house: House) {
    let stage = house.open().await;
    let request = StartSession { time_limit: Some(Duration::from_millis(500)), ..playing(&Script::new().say("ready")) };
    let session = stage.try_start(request).await.unwrap();
    let (code, timed_out, canceled, error) = facts(&stage.to_end(session).await.1);
    assert_eq!((code, timed_out, canceled), (-1, true, false), "{error:?}");
    assert!(error.is_some_and(|error| error.contains("its time limit of 500 ms was reached")));
    assert_eq!(stage.peer().status(&stage.native(session).await).as_deref(), Some("CANCELED"));
}

async fn expiry(house: House) {
    let limits = Limits { finished_ttl: Duration::from_secs(1), ..Limits::default() };
    let stage = house.open_with(Settings { limits, ..Settings::default() }).await;
    let session = stage.play(&saying(&["over"])).await;
    let native = stage.native(session).await;
    let began = Instant::now();
    stage.to_end(session).await;
    while stage.try_read(session, 0, for_output(0)).await.is_ok() {
        assert!(began.elapsed() < Duration::from_secs(20), "it goes");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(stage.describe(&native).await.output.as_deref(), Some("over"), "the platform keeps its own record");
}

async fn restart(house: House) {
    let mut stage = house.open().await;
    let session = stage.play(&saying(&["over"])).await;
    stage.to_end(session).await;
    let again = house.open().await;
    let error = again.try_read(session, 0, for_output(0)).await.unwrap_err();
    let unknown = again.try_read(SessionId::random().unwrap(), 0, for_output(0)).await.unwrap_err();
    assert_eq!(said(error), said(unknown), "not found, as if it had never been");
    stage.close().await;
}

async fn stopped_twice(house: House) {
    let stage = house.open().await;
    let session = stage.play(&Script::new().say("ready")).await;
    let first = stage.stop(session, LONG).await;
    assert_eq!((first.accepted, first.already_done, first.status), (true, false, StopStatus::Stopped));
    let cancels = stage.peer().count(Route::Control);
    let second = stage.stop(session, LONG).await;
    assert_eq!((second.accepted, second.already_done, second.status), (false, true, StopStatus::Stopped));
    assert_eq!(stage.peer().count(Route::Control), cancels, "the platform is not asked again");
    let over = stage.play(&saying(&["over"])).await;
    stage.to_end(over).await;
    let late = stage.stop(over, LONG).await;
    assert_eq!((late.accepted, late.already_done, late.status), (false, true, StopStatus::Finished));
}

async fn listed(house: House) {
    let stage = house.open().await;
    let script = Script::new().say("ready");
    let request = StartSession { label: Some("planning".into()), ..playing(&script) };
    let session = stage.try_start(request).await.unwrap();
    let summary = stage.listed(session).await;
    let seen = (summary.backend, summary.status, summary.label.as_deref(), &*summary.command);
    assert_eq!(seen, ("agent-platform", Status::Running, Some("planning"), script.command().as_str()));
    assert_eq!(summary.native_id.map(|native| native.0), stage.peer().sessions().pop());
    let clients = stage.tool("list_clients", json!({})).await;
    let seen: Vec<Value> = clients.each("clients", |client| json!([client["backend"], client["status"]]));
    assert_eq!(seen, [json!(["agent-platform", "online"])]);
}

async fn limit(house: House) {
    let limits = Limits { running_per_owner: 2, ..Limits::default() };
    let stage = house.open_with(Settings { limits, ..Settings::default() }).await;
    let script = Script::new().say("ready");
    let first = stage.play(&script).await;
    stage.play(&script).await;
    let error = stage.try_start(playing(&script)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.message().contains('2'), "{error}");
    assert_eq!(stage.peer().sessions().len(), 2, "what is refused is not started");
    stage.stop(first, LONG).await;
    stage.play(&script).await;
}

async fn start_reads(house: House) {
    let stage = house.open().await;
    let request = StartSession { wait: until(LONG, pattern("two\n")), ..playing(&saying(&["one", "two"])) };
    let started = stage.service.start_session(&stage.call(), request).await.unwrap();
    assert_eq!(text(&started.read.unwrap()), "one\ntwo\n");
}

/// One life of a run, as its results and nothing of the moment.
async fn told(stage: &Stage) -> Vec<String> {
    let session = stage.play(&saying(&["one", "two"])).await;
    stage.to_end(session).await;
    let native = stage.native(session).await;
    let on = |more: Value| {
        let mut all = json!({ "session_id": session.to_string(), "client_token": "local" });
        if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
            all.extend(more);
        }
        all
    };
    let calls = [
        ("session_read", on(json!({ "max_bytes": 4 }))),
        ("session_read", on(json!({ "cursor": 4, "until": { "pattern": "two" } }))),
        ("session_write", on(json!({ "input": "late" }))),
        ("session_stop", on(json!({}))),
        ("describe_session_token_usage", json!({ "session_id": native })),
        ("get_agents", json!({})),
        ("describe_session", json!({ "session_id": "nobody" })),
        ("session_start", json!({ "command": "", "client_token": "local" })),
    ];
    let mut said = Vec::new();
    for (name, arguments) in calls {
        let ToolResult { structured, text, is_error, meta } = stage.tool(name, arguments).await;
        let mut structured = structured.unwrap_or_default();
        for turn in structured["turns"].as_array_mut().into_iter().flatten() {
            turn["timestamp"] = json!("MOMENT");
        }
        let told = format!("{structured} {text} {is_error} {meta:?}");
        said.push(told.replace(&session.to_string(), "SESSION").replace(&native, "NATIVE"));
    }
    said
}

async fn transcript(house: House) {
    let stage = house.open().await;
    let expected = told(&house.in_process().open().await).await;
    assert_eq!(told(&stage).await, expected);
}

async fn unsupported(house: House) {
    let stage = house.open().await;
    let session = stage.play(&Script::new().say("ready")).await;
    let refused = [
        stage.write(session, "x", Wait::default()).await.map(drop),
        stage.control(session, Action::Eof, Wait::default()).await.map(drop),
        stage.control(session, Action::Resize(Default::default()), Wait::default()).await.map(drop),
        stage.control(session, Action::Signal(sessiond_core::Signal::Usr1), Wait::default()).await.map(drop),
    ];
    for refused in refused {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

async fn ended(house: House) {
    let mut stage = house.open().await;
    let own = stage.play(&Script::new().say("ready")).await;
    let others = stage.peer().run();
    let followed = stage.attach(&others).await.unwrap();
    stage.shows(own, "ready").await;
    let native = stage.native(own).await;
    let code = stage.close().await;
    assert_eq!(stage.peer().status(&native).as_deref(), Some("CANCELED"), "what it started is cancelled");
    assert_eq!(stage.peer().status(&others).as_deref(), Some("RUNNING"), "what it only followed goes on");
    match stage.pid() {
        Some(_) => assert_eq!(code, Some(0), "a clean end"),
        None => {
            assert_eq!(stage.to_end(own).await.1.cause, Cause::Shutdown { confirmed: true });
            let (code, _, canceled, error) = facts(&stage.to_end(followed).await.1);
            assert_eq!((code, canceled), (-1, false));
            assert!(error.is_some_and(|error| error.contains("lost")), "nobody follows it any more");
        }
    }
}
