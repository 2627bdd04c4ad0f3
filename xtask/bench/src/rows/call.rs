//! What a call costs that has nothing to wait for.

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{Bound, Goal, Measured, Row};
use crate::client::Client;
use crate::pin::Pinned;
use crate::setup::Setup;
use crate::stats::{Pairs, median_time};

pub(crate) const ROW: Row = Row {
    name: "call",
    what: "a session_read that returns at once against an empty tool, both over stdio on one processor",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.1)),
    measure,
};

const ROUNDS: usize = 15;
const CALLS: usize = 2_000;

fn measure(setup: &Setup) -> Result<Measured> {
    let _pinned = Pinned::here()?;
    let mut server = setup.server(&[("SHELL", "/bin/sh")])?;
    let arguments = something_to_read(&mut server)?;
    let mut empty = setup.empty()?;
    let pairs = Pairs::take(
        setup.rounds(ROUNDS),
        || read(&mut server, &arguments),
        || microseconds(&mut empty, "hello", "{}", r#""text":"hi""#),
    )?;
    server.close()?;
    empty.close()?;
    Ok(pairs.compare()?.into())
}

/// Starts a session that has printed something, and returns the arguments of a read of it.
pub(super) fn something_to_read(server: &mut Client) -> Result<String> {
    let start = json!({
        "command": "echo ready; exec cat", "client_token": "local", "wait_ms": 20_000, "until": {"pattern": "ready\r\n"},
    });
    let started = server.result("session_start", &start)?;
    let id = started.get("session_id").and_then(|id| id.as_str()).context("session_start gave no id")?;
    let arguments = json!({"session_id": id, "client_token": "local"});
    let read = server.result("session_read", &arguments)?;
    ensure!(read.get("output") == Some(&json!("ready\r\n")), "session_read gave {read}");
    Ok(arguments.to_string())
}

/// Microseconds for such a read.
pub(super) fn read(server: &mut Client, arguments: &str) -> Result<f64> {
    microseconds(server, "session_read", arguments, r#""next_cursor":7"#)
}

/// The median of many calls, each of whose answers must hold `mark`.
fn microseconds(client: &mut Client, tool: &str, arguments: &str, mark: &str) -> Result<f64> {
    median_time(CALLS, || {
        let answer = client.call(tool, arguments)?;
        ensure!(answer.contains(mark), "{tool} gave {answer}");
        Ok(())
    })
}
