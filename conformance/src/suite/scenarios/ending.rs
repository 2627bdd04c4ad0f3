//! How a session ends and how that is told (SR50 to SR56).

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use serde_json::json;
use sessiond_core::{ListSessions, StartSession, Wait};

use crate::suite::house::{House, Settings};
use crate::suite::scenario::{Need, Scenario, session};
use crate::suite::stage::{LONG, Stage, facts, for_output, text};

pub(super) const SCENARIOS: &[Scenario] = &[
    session("SR50", "the terminal fields are there when done, and only then", |house| fields(house).boxed()),
    session("SR51", "a read that stops before the last byte is not done", |house| not_done_yet(house).boxed()),
    session("SR52", "every byte is there before the end is", |house| last_byte(house).boxed()),
    session("SR53", "an exit code is the process's own, a signal is -1 by name", |house| codes(house).boxed()),
    session("SR54", "a time limit and a stop are told when they are confirmed", |house| confirmed(house).boxed()),
    session("SR54", "a process that exits by itself while it is stopped keeps its code", |house| {
        own_code(house).boxed()
    }),
    session("SR54", "a lost session is neither canceled nor a success", |house| lost(house).boxed())
        .needing(&[Need::Backend(sessiond_core::Capability::Sessions), Need::Scripted]),
    session("SR55", "a clean end has no error", |house| no_error(house).boxed()),
    session("SR56", "a child that keeps the terminal open delays the end by the grace", |house| linger(house).boxed())
        .needing(&[Need::Terminal]),
    session("SR56", "whoever lives on is counted, and ended by a stop", |house| left_behind(house).boxed())
        .needing(&[Need::Shell]),
];

/// The names of the terminal fields that stand in a result.
const TERMINAL: [&str; 4] = ["exit_code", "timed_out", "canceled", "error"];

async fn fields(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("printf ready; read line; exit 3", "ready").await.to_string();
    let read = |cursor: u64| {
        let arguments = json!({ "session_id": session, "client_token": "local", "cursor": cursor });
        async { stage.tool("session_read", arguments).await }
    };
    let present = |result: &crate::suite::client::ToolResult| TERMINAL.map(|name| !result.get(name).is_null());
    let running = read(0).await;
    assert_eq!((running.get("done"), present(&running)), (&json!(false), [false; 4]));
    let id = session.parse().unwrap();
    stage.write(id, "\r", Wait::default()).await.unwrap();
    stage.to_end(id).await;
    let done = read(0).await;
    assert_eq!((done.get("done"), present(&done)), (&json!(true), [true, true, true, false]));
    let values = ["exit_code", "timed_out", "canceled"].map(|name| done.get(name).clone());
    assert_eq!(values, [json!(3), json!(false), json!(false)]);
    assert!(done.structured.as_ref().unwrap().get("error").is_none(), "left out, not null");
}

async fn not_done_yet(house: House) {
    let stage = house.open().await;
    let session = stage.start("printf 0123456789; exit 3").await;
    stage.to_end(session).await;
    let piece = |cursor, max| stage.read(session, cursor, Wait { max_bytes: Some(max), ..for_output(LONG) });
    let first = piece(0, 6).await;
    assert_eq!((text(&first), first.slice.ended), ("012345".to_owned(), None));
    let last = piece(6, 6).await;
    assert_eq!((text(&last), last.slice.ended.unwrap().exit_code()), ("6789".to_owned(), 3));
    let exactly = piece(0, 10).await;
    assert_eq!(exactly.slice.ended.unwrap().exit_code(), 3, "a read that takes just the last byte is done");
    let behind = piece(10, 6).await;
    assert_eq!((text(&behind), behind.slice.ended.unwrap().exit_code()), (String::new(), 3));
}

async fn last_byte(house: House) {
    let stage = house.open().await;
    for _ in 0..20 {
        let session = stage.start("seq 1 200; printf last; exit 9").await;
        let mut cursor = 0;
        let mut whole = String::new();
        loop {
            let read = stage.read(session, cursor, for_output(LONG)).await;
            whole.push_str(&text(&read));
            cursor = read.slice.next.0;
            if let Some(ended) = read.slice.ended {
                assert_eq!(ended.exit_code(), 9);
                break;
            }
        }
        assert!(whole.ends_with("200\r\nlast"), "who stops at done has seen everything: {whole:?}");
    }
}

async fn codes(house: House) {
    let stage = house.open().await;
    for (script, expected) in [
        ("exit 0", (0, false, false, None)),
        ("exit 255", (255, false, false, None)),
        ("no-such-program-anywhere", (127, false, false, None)),
        ("kill -KILL $$", (-1, false, false, Some("ended by signal KILL".to_owned()))),
        ("kill -USR1 $$", (-1, false, false, Some("ended by signal USR1".to_owned()))),
    ] {
        let session = stage.start(script).await;
        assert_eq!(facts(&stage.to_end(session).await.1), expected, "{script}");
    }
}

async fn confirmed(house: House) {
    let stage = house.open().await;
    let limited = StartSession { time_limit: Some(Duration::from_millis(300)), ..Stage::request("sleep 1000") };
    let session = stage.try_start(limited).await.unwrap();
    let (code, timed_out, canceled, error) = facts(&stage.to_end(session).await.1);
    assert_eq!((code, timed_out, canceled), (-1, true, false));
    assert!(error.is_some_and(|error| error.contains("its time limit of 300 ms was reached")));

    let session = stage.start_until("echo ready; sleep 1000", "ready").await;
    let outcome = stage.stop(session, LONG).await;
    let (code, timed_out, canceled, error) = facts(&outcome.end.unwrap());
    assert_eq!((code, timed_out, canceled), (-1, false, true));
    assert!(error.is_some_and(|error| error.starts_with("ended by signal ")));
    assert!(facts(&stage.to_end(session).await.1).2, "the read says the same");
}

async fn own_code(house: House) {
    let stage = house.open().await;
    // `read` ends with the input, and then the shell exits as it wants to.
    let session = stage.start_until("trap '' HUP; trap '' TERM; echo ready; sleep 0.5; exit 7", "ready").await;
    let outcome = stage.stop(session, LONG).await;
    let ended = outcome.end.unwrap();
    assert_eq!((ended.exit_code(), ended.canceled(), ended.error()), (7, true, None));
}

async fn lost(house: House) {
    let stage = house.open().await;
    let session = stage.start("printf 'so far'; :lost the connection broke").await;
    let (output, ended) = stage.to_end(session).await;
    assert_eq!(output, "so far");
    assert_eq!(facts(&ended), (-1, false, false, Some("lost: the connection broke".to_owned())));
}

async fn no_error(house: House) {
    let stage = house.open().await;
    for script in ["true", "exit 1"] {
        let session = stage.start(script).await;
        assert_eq!(stage.to_end(session).await.1.error(), None, "{script}: a code is no error");
    }
}

async fn linger(house: House) {
    let linger = Duration::from_millis(500);
    let stage = house.open_with(Settings { linger, ..Settings::default() }).await;
    let began = Instant::now();
    let session = stage.start("trap '' HUP; (sleep 0.1; echo late; sleep 1000) & exit 5").await;
    let (output, ended) = stage.to_end(session).await;
    assert_eq!((output.as_str(), ended.exit_code()), ("late\r\n", 5), "what came within the grace is there");
    assert!(began.elapsed() >= linger, "the grace was given");
}

async fn left_behind(house: House) {
    let stage = house.open().await;
    let began = Instant::now();
    let session = stage.start("trap '' HUP; sleep 1000 & exit 5").await;
    assert_eq!(stage.to_end(session).await.1.exit_code(), 5);
    assert!(began.elapsed() < Duration::from_secs(10), "the end waits no longer than the grace");
    let listed = stage.list(ListSessions::default()).await.unwrap().sessions.remove(0);
    assert!(listed.descendants >= 1, "whoever lives on is counted");
    stage.stop(session, LONG).await;
    let listed = stage.list(ListSessions::default()).await.unwrap().sessions.remove(0);
    assert_eq!(listed.descendants, 0, "a stop ends it");
}
