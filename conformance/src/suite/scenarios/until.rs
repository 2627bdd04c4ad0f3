//! Waiting for something particular (EX01).

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use sessiond_core::{ErrorKind, Until, Wait};

use crate::suite::house::House;
use crate::suite::scenario::{Scenario, session};
use crate::suite::stage::{LONG, end, for_output, pattern, quiet, text, until};

pub(super) const SCENARIOS: &[Scenario] = &[
    session("EX01", "a pattern ends a wait, and the output ends with the match", |house| matched(house).boxed()),
    session("EX01", "a pattern is found across pieces, and from the cursor on", |house| across(house).boxed()),
    session("EX01", "quiet ends a wait, and counts from the last byte", |house| silence(house).boxed()),
    session("EX01", "the end ends a wait, asked for or not", |house| ended(house).boxed()),
    session("EX01", "with until, new output alone ends no wait; its time does", |house| only_until(house).boxed()),
    session("EX01", "max_bytes being full ends a wait", |house| full(house).boxed()),
    session("EX01", "any of several conditions ends a wait", |house| any(house).boxed()),
    session("EX01", "without time a condition is looked at once", |house| once(house).boxed()),
    session("EX01", "a pattern that is none, or too large, is refused", |house| refused(house).boxed()),
];

async fn matched(house: House) {
    let stage = house.open().await;
    let session = stage.start("echo one; echo exit code: 137; echo more; sleep 1000").await;
    let read = stage.read(session, 0, until(LONG, pattern(r"code: \d+"))).await;
    assert_eq!((text(&read), read.fired.as_str()), ("one\r\nexit code: 137".to_owned(), "pattern"));
    let read = stage.read(session, read.slice.next.0, until(LONG, pattern("more"))).await;
    assert_eq!(text(&read), "\r\nmore", "nothing between two matches is lost");
}

async fn across(house: House) {
    let stage = house.open().await;
    let session = stage.start("printf 'log'; sleep 0.2; printf 'in: log'; sleep 0.2; printf 'in: '; sleep 1000").await;
    let first = stage.read(session, 0, until(LONG, pattern("login: "))).await;
    assert_eq!(text(&first), "login: ");
    let second = stage.read(session, 7, until(LONG, pattern("login: $"))).await;
    assert_eq!(text(&second), "login: ", "the end of what is there is an end");
    let last = stage.read(session, 14, until(300, pattern("login: "))).await;
    assert_eq!((text(&last), last.fired.as_str()), (String::new(), "deadline"), "what lies before the cursor is past");
}

async fn silence(house: House) {
    let stage = house.open().await;
    let session = stage.start("printf a; sleep 0.3; printf b; sleep 0.3; printf c; sleep 1000").await;
    let read = stage.read(session, 0, until(LONG, quiet(900))).await;
    assert_eq!((text(&read), read.fired.as_str()), ("abc".to_owned(), "quiet"));
    let began = Instant::now();
    stage.read(session, 0, until(LONG, quiet(200))).await;
    assert!(began.elapsed() >= Duration::from_millis(200), "it counts from the call's start when that is later");
}

async fn ended(house: House) {
    let stage = house.open().await;
    let session = stage.start("printf a; sleep 0.2; printf b; exit 0").await;
    let read = stage.read(session, 0, until(LONG, end())).await;
    assert_eq!((text(&read), read.fired.as_str()), ("ab".to_owned(), "end"));
    let read = stage.read(session, 0, until(LONG, pattern("never"))).await;
    assert_eq!((text(&read), read.fired.as_str()), ("ab".to_owned(), "end"), "nothing more can come");
}

async fn only_until(house: House) {
    let stage = house.open().await;
    let session = stage.start("printf a; sleep 0.1; printf b; sleep 1000").await;
    let began = Instant::now();
    let read = stage.read(session, 0, until(600, pattern("never"))).await;
    assert!(began.elapsed() >= Duration::from_millis(600));
    assert_eq!((text(&read), read.fired.as_str()), ("ab".to_owned(), "deadline"));
}

async fn full(house: House) {
    let stage = house.open().await;
    let session = stage.start("seq 1 100; sleep 1000").await;
    let read = stage.read(session, 0, Wait { max_bytes: Some(10), ..until(LONG, pattern("99")) }).await;
    assert_eq!((text(&read), read.fired.as_str()), ("1\r\n2\r\n3\r\n4".to_owned(), "max_bytes"));
}

async fn any(house: House) {
    let stage = house.open().await;
    let all = || Until { quiet: Some(Duration::from_millis(400)), end: true, ..pattern("never") };
    let quiet = stage.start("printf a; sleep 1000").await;
    assert_eq!(stage.read(quiet, 0, until(LONG, all())).await.fired.as_str(), "quiet");
    let ends = stage.start("printf a; exit 0").await;
    assert_eq!(stage.read(ends, 0, until(LONG, all())).await.fired.as_str(), "end");
}

async fn once(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("echo ready; sleep 1000", "ready\r\n").await;
    let read = stage.read(session, 0, until(0, pattern("rea"))).await;
    assert_eq!((text(&read), read.fired.as_str()), ("rea".to_owned(), "pattern"));
    let began = Instant::now();
    let read = stage.read(session, 0, until(0, pattern("never"))).await;
    assert_eq!((text(&read), read.fired.as_str()), ("ready\r\n".to_owned(), "deadline"));
    assert!(began.elapsed() < Duration::from_millis(LONG / 2));
}

async fn refused(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("printf ready; sleep 1000", "ready").await.to_string();
    for broken in ["(", r"\w{1000}{1000}", &"x".repeat(5000)] {
        let until = serde_json::json!({ "pattern": broken });
        let arguments = serde_json::json!({ "session_id": session, "client_token": "local", "until": until });
        let result = stage.tool("session_read", arguments).await;
        assert_eq!(result.kind(), Some(ErrorKind::InvalidArgument.as_str()), "{}", result.text);
    }
    assert_eq!(text(&stage.read(session.parse().unwrap(), 0, for_output(0)).await), "ready");
}
