//! MCP over HTTP against an empty rmcp tool on the same stack: a call that returns at once, and a thousand that wait.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures_util::future::join_all;
use serde_json::json;

use super::{Bound, Check, Goal, Measured, Row};
use crate::http::{Ask, Http, Line};
use crate::pin::Pinned;
use crate::setup::Setup;
use crate::stats::{Pairs, median};

pub(crate) const READ: Row = Row {
    name: "http-read",
    what: "a session_read over MCP's HTTP that returns at once, against an empty rmcp tool, both on one processor",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.2)),
    measure: measure_read,
};

pub(crate) const WAITS: Row = Row {
    name: "http-waits",
    what: "the server's memory for each of 1,000 clients that wait 20 s, against as many that wait in an empty rmcp tool",
    unit: "KiB",
    goal: Goal::More(Bound::AtMost(4.0)),
    measure: measure_waits,
};

const ROUNDS: usize = 15;
const CALLS: usize = 2_000;
const CLIENTS: usize = 1_000;
/// Rounds of what needs fresh servers each time.
const FRESH: usize = 5;
/// How long after the output the last of the waiting clients may be answered, in milliseconds.
const ANSWERED: f64 = 50.0;
/// How long a server has to take all calls and fall asleep.
const SETTLE: Duration = Duration::from_secs(1);

/// What stands in the answers.
pub(super) const READ_MARK: &str = r#""next_cursor":7"#;
const HELLO_MARK: &str = r#""text":"hi""#;

/// Starts a session that says `ready` and then does this; its id.
///
/// # Errors
/// The server refuses.
pub(super) async fn session(line: &mut Line, then: &str) -> Result<String> {
    let start = json!({
        "command": format!("echo ready; {then}"), "client_token": "local", "wait_ms": 20_000,
        "until": {"pattern": "ready\r\n"},
    });
    let started = line.result(&Ask::new("session_start", &start)).await?;
    Ok(started.get("session_id").and_then(|id| id.as_str()).context("session_start gave no id")?.to_owned())
}

fn measure_read(setup: &Setup) -> Result<Measured> {
    let _pinned = Pinned::here()?;
    let (ours, empty) = (Http::sessiond(setup)?, Http::empty(setup)?);
    let (mut our_line, mut empty_line) = (ours.run(ours.open())?, empty.run(empty.open())?);
    let arguments = ours.run(async {
        let id = session(&mut our_line, "exec cat").await?;
        Ok(json!({"session_id": id, "client_token": "local"}))
    })?;
    let (read, hello) = (Ask::new("session_read", &arguments), Ask::new("hello", &json!({})));
    let pairs = Pairs::take(
        setup.rounds(ROUNDS),
        || ours.run(microseconds(&mut our_line, &read, READ_MARK)),
        || empty.run(microseconds(&mut empty_line, &hello, HELLO_MARK)),
    )?;
    let mut measured = Measured::from(pairs.compare()?);

    let our_session = ours.run(our_line.begin())?;
    let read = Ask::in_session(our_session, "session_read", &arguments);
    let empty_session = empty.run(empty_line.begin())?;
    let hello = Ask::in_session(empty_session, "hello", &json!({}));
    let pairs = Pairs::take(
        setup.rounds(ROUNDS),
        || ours.run(microseconds(&mut our_line, &read, READ_MARK)),
        || empty.run(microseconds(&mut empty_line, &hello, HELLO_MARK)),
    )?;
    let before = pairs.compare()?;
    measured.notes.push(format!(
        "with sessions (revision 2025-11-25): {:.2} us, raw {:.2} us, ratio {:.3}",
        before.ours, before.raw, before.ratio
    ));
    Ok(measured)
}

/// The median of many calls.
async fn microseconds(line: &mut Line, ask: &Ask, mark: &str) -> Result<f64> {
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let begin = Instant::now();
        line.call(ask, mark).await?;
        times.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    median(&times).context("nothing was measured")
}

fn measure_waits(setup: &Setup) -> Result<Measured> {
    let (mut ours, mut raw, mut last, mut burst) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..setup.rounds(FRESH) {
        let server = Http::sessiond(setup)?;
        let id = server.run(async { session(&mut server.open().await?, "exec cat").await })?;
        let wait = json!({"session_id": id, "client_token": "local", "cursor": 7, "wait_ms": 20_000});
        // The terminal shows what is typed at once.
        let type_line = json!({"session_id": id, "client_token": "local", "input": "go\r"});
        let wait = (Ask::new("session_read", &wait), r#""output":"go"#);
        let (memory, answered) = server.run(waits(&server, wait, Ask::new("session_write", &type_line)))?;
        ours.push(memory);
        last.push(answered);
        let empty = Http::empty(setup)?;
        let wait = (Ask::new("wait", &json!({})), HELLO_MARK);
        let (memory, answered) = empty.run(waits(&empty, wait, Ask::new("go", &json!({}))))?;
        raw.push(memory);
        burst.push(answered);
    }
    let mut measured = Measured::from(Pairs::of(ours, raw).compare()?);
    let middle = |figures: &[f64]| median(figures).context("nothing was measured");
    measured.also.push(Check::at_most(ANSWERED, "milliseconds until the last is answered", middle(&last)?));
    measured.notes.push(format!("the last empty call: {:.2} ms", middle(&burst)?));
    Ok(measured)
}

/// KiB for each of many clients that wait, their connections included, and the milliseconds from just before what ends
/// the waits until the last of them is answered.
async fn waits(server: &Http, (wait, mark): (Ask, &str), end: Ask) -> Result<(f64, f64)> {
    let before = server.usage()?.resident_kib;
    let mut other = server.open().await?;
    let mut lines = Vec::with_capacity(CLIENTS);
    for _ in 0..CLIENTS {
        lines.push(server.open().await?);
    }
    let call = async |line: &mut Line| line.call(&wait, mark).await.map(|()| Instant::now());
    let calls = join_all(lines.iter_mut().map(call));
    tokio::pin!(calls);
    tokio::select! {
        biased;
        answers = &mut calls => bail!("the calls did not wait: {:?}", answers.into_iter().find(Result::is_err)),
        () = tokio::time::sleep(SETTLE) => {}
    }
    let growth = server.usage()?.resident_kib.saturating_sub(before);
    let begin = Instant::now();
    let (answers, ended) = tokio::join!(calls, other.call(&end, ""));
    ended?;
    let mut last = begin;
    for answer in answers {
        last = last.max(answer?);
    }
    Ok((growth as f64 / CLIENTS as f64, last.duration_since(begin).as_secs_f64() * 1e3))
}
