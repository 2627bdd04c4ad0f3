//! The text of an agent's run, read and waited for as any session's (SR20 to SR52, EX01).

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::json;
use sessiond_agent_peer::Script;
use sessiond_core::{ErrorKind, ListSessions, SessionId, Wait};

use super::runs::saying;
use crate::suite::client::ToolResult;
use crate::suite::house::House;
use crate::suite::scenario::{Scenario, agent};
use crate::suite::stage::{LONG, Stage, end, for_output, pattern, quiet, text, until};

pub(super) const SCENARIOS: &[Scenario] = &[
    agent("SR20", "a chain of small reads of a run is its text", |house| chain(house).boxed()),
    agent("SR21", "the same read of a run gives the same again", |house| repeat(house).boxed()),
    agent("SR22", "a cursor past the end of a run is refused", |house| past_end(house).boxed()),
    agent("SR23", "a character of a run is never cut", |house| characters(house).boxed()),
    agent("SR30", "the newest MiB of a run is kept", |house| newest(house).boxed()),
    agent("SR31", "a dropped cursor of a run is told", |house| newest(house).boxed()),
    agent("SR32", "exactly the limit of a run's text drops nothing", |house| exactly(house).boxed()),
    agent("SR40", "a wait for a run ends with its next turn within a second, or with its time", |house| {
        waited(house).boxed()
    }),
    agent("SR41", "a wait for a run delays nobody", |house| undelayed(house).boxed()),
    agent("SR50", "a run's terminal fields are there when it is done", |house| fields(house).boxed()),
    agent("SR51", "a read that stops before a run's last byte is not done", |house| not_done_yet(house).boxed()),
    agent("SR52", "every word of a run is there before its end is", |house| last_word(house).boxed()),
    agent("EX01", "a wait for a run ends by pattern, quiet or end", |house| conditions(house).boxed()),
];

/// Reads from 0 to the end in pieces of at most `max` bytes.
async fn in_pieces(stage: &Stage, session: SessionId, max: usize) -> (String, u64) {
    let (mut joined, mut cursor) = (String::new(), 0);
    loop {
        let read = stage.read(session, cursor, Wait { max_bytes: Some(max), ..for_output(LONG) }).await;
        joined.push_str(&text(&read));
        cursor = read.slice.next.0;
        if read.slice.ended.is_some() {
            return (joined, cursor);
        }
    }
}

async fn chain(house: House) {
    let stage = house.open().await;
    let session = stage.play(&Script::new().say_times("line {n}", 60, 0).say("a€b😀").complete()).await;
    let (whole, _) = stage.to_end(session).await;
    let (joined, cursor) = in_pieces(&stage, session, 7).await;
    assert_eq!((joined.as_str(), cursor), (whole.as_str(), whole.len() as u64));
    assert!(whole.starts_with("line 1\nline 2\n") && whole.ends_with("line 60\na€b😀\n"), "{whole:?}");
}

async fn repeat(house: House) {
    let stage = house.open().await;
    let session = stage.play(&Script::new().say("one").say("two")).await;
    stage.shows(session, "two\n").await;
    let first = stage.read(session, 0, for_output(0)).await;
    let later = stage.read(session, 4, for_output(0)).await;
    let again = stage.read(session, 0, for_output(0)).await;
    assert_eq!((text(&first), text(&later)), ("one\ntwo\n".to_owned(), "two\n".to_owned()));
    assert_eq!(first.slice, again.slice, "nothing was consumed");
}

async fn past_end(house: House) {
    let stage = house.open().await;
    let session = stage.play(&Script::new().say("abc")).await;
    stage.shows(session, "abc\n").await;
    let error = stage.try_read(session, 5, for_output(LONG)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("which is 4"), "the message names the end: {error}");
    assert_eq!(stage.read(session, 4, for_output(0)).await.slice.next.0, 4);
}

async fn characters(house: House) {
    let stage = house.open().await;
    let session = stage.play(&saying(&["äß€語😀", "x€y😀z"])).await;
    stage.read(session, 0, until(LONG, end())).await;
    for max in 4..=9 {
        assert_eq!(in_pieces(&stage, session, max).await.0, "äß€語😀\nx€y😀z\n", "in pieces of {max} bytes");
    }
}

async fn newest(house: House) {
    const KEPT: usize = 1_048_576;
    let stage = house.open().await;
    let line = "x".repeat(65_535);
    let session = stage.play(&Script::new().say_times(&line, 20, 0).complete()).await;
    let read = stage.read(session, 0, until(LONG, end())).await;
    assert_eq!((text(&read).len(), read.slice.next.0), (KEPT, 20 * 65_536), "the newest MiB");
    assert!(read.slice.lost > 0, "and that says that it is not all");
    let kept = stage.read(session, 4 * 65_536, for_output(0)).await;
    assert_eq!((text(&kept).len(), kept.slice.lost), (KEPT, 0), "a cursor at the first kept byte has lost nothing");
}

async fn exactly(house: House) {
    let stage = house.open().await;
    let line = "x".repeat(65_535);
    for (more, lost) in [("", 0), ("y", 2)] {
        let script = Script::new().say_times(&line, 16, 0);
        let script = if more.is_empty() { script } else { script.say(more) };
        let session = stage.play(&script.complete()).await;
        let ended = stage.read(session, 0, until(LONG, end())).await;
        assert_eq!((ended.slice.lost, text(&ended).len()), (lost, 16 * 65_536), "{more:?}");
    }
}

async fn waited(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    let session = stage.attach(&run).await.unwrap();
    peer.turn(&run, "one");
    stage.shows(session, "one\n").await;
    let empty = stage.read(session, 4, for_output(300)).await;
    assert_eq!(
        (text(&empty), empty.slice.next.0, empty.slice.ended),
        (String::new(), 4, None),
        "its expiry is a success"
    );
    let mut cursor = 4;
    let mut fastest = Duration::MAX;
    for text_of_turn in ["two", "three", "four"] {
        let waiting = stage.read(session, cursor, for_output(LONG));
        let turn = async {
            // The reader is there before the turn is.
            tokio::time::sleep(Duration::from_millis(700)).await;
            peer.turn(&run, text_of_turn);
            Instant::now()
        };
        let ((read, seen), said) = tokio::join!(async { (waiting.await, Instant::now()) }, turn);
        assert_eq!(text(&read), format!("{text_of_turn}\n"));
        fastest = fastest.min(seen.saturating_duration_since(said));
        cursor = read.slice.next.0;
    }
    // Other rows of the suite run beside this one and may delay a turn, but not each.
    assert!(fastest < Duration::from_secs(1), "{fastest:?}");
}

async fn undelayed(house: House) {
    let stage = house.open().await;
    let session = stage.attach(&stage.peer().run()).await.unwrap();
    let began = Instant::now();
    let waiting = stage.read(session, 0, for_output(8000));
    let others = async {
        for _ in 0..10 {
            stage.list(ListSessions::default()).await.unwrap();
        }
        began.elapsed()
    };
    let (_, took) = tokio::join!(waiting, others);
    assert!(took < Duration::from_secs(7), "{took:?}");
    let call = stage.call();
    let request = sessiond_core::ReadSession {
        session,
        target: Some(crate::suite::stage::target()),
        cursor: sessiond_core::Cursor(0),
        wait: for_output(LONG),
    };
    let cancelled = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        call.cancel.cancel();
    };
    let began = Instant::now();
    let _ = tokio::join!(stage.service.read_session(&call, request), cancelled);
    assert!(began.elapsed() < Duration::from_secs(10), "a cancelled wait ends");
}

/// The names of the terminal fields that stand in a result.
const TERMINAL: [&str; 4] = ["exit_code", "timed_out", "canceled", "error"];

async fn fields(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    let session = stage.attach(&run).await.unwrap();
    let present = |result: &ToolResult| TERMINAL.map(|name| !result.get(name).is_null());
    let arguments = json!({ "session_id": session.to_string(), "client_token": "local" });
    let running = stage.tool("session_read", arguments.clone()).await;
    assert_eq!((running.get("done"), present(&running)), (&json!(false), [false; 4]));
    peer.fail(&run, "it broke");
    stage.to_end(session).await;
    let done = stage.tool("session_read", arguments).await;
    assert_eq!((done.get("done"), present(&done)), (&json!(true), [true; 4]));
    assert_eq!(TERMINAL.map(|name| done.get(name).clone()), [json!(-1), json!(false), json!(false), json!("it broke")]);
}

async fn not_done_yet(house: House) {
    let stage = house.open().await;
    let session = stage.play(&saying(&["012345678"])).await;
    stage.to_end(session).await;
    let piece = |cursor, max| stage.read(session, cursor, Wait { max_bytes: Some(max), ..for_output(LONG) });
    let first = piece(0, 6).await;
    assert_eq!((text(&first), first.slice.ended), ("012345".to_owned(), None));
    let last = piece(6, 6).await;
    assert_eq!((text(&last), last.slice.ended.unwrap().exit_code()), ("678\n".to_owned(), 0));
}

async fn last_word(house: House) {
    let stage = house.open().await;
    let scripts =
        (0..6).map(|number| Script::new().say_times("line {n}", 40, 5).say(&format!("last {number}")).complete());
    let runs = scripts.enumerate().map(async |(number, script)| {
        let session = stage.play(&script).await;
        let (whole, _) = in_pieces(&stage, session, 1_000_000).await;
        assert!(
            whole.ends_with(&format!("line 40\nlast {number}\n")),
            "who stops at done has seen everything: {whole:?}"
        );
    });
    join_all(runs).await;
}

async fn conditions(house: House) {
    let stage = house.open().await;
    let script = Script::new().say("one").pause(200).say("code: 137").pause(200).say("more").pause(1500).complete();
    let session = stage.play(&script).await;
    let read = stage.read(session, 0, until(LONG, pattern(r"code: \d+"))).await;
    assert_eq!((text(&read), read.fired.as_str()), ("one\ncode: 137".to_owned(), "pattern"));
    let read = stage.read(session, 0, until(LONG, quiet(900))).await;
    assert!(text(&read).starts_with("one\ncode: 137\n"), "{read:?}");
    let read = stage.read(session, 0, until(LONG, end())).await;
    assert_eq!((text(&read), read.fired.as_str()), ("one\ncode: 137\nmore\n".to_owned(), "end"));
}
