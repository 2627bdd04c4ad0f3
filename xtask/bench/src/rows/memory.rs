//! What the server takes while a program prints what is hard to keep small.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Bound, Goal, Measured, Row};
use crate::setup::Setup;
use crate::text::Text;
use crate::usage::{Usage, forget_peak};

pub(crate) const ONE_LINE: Row = Row {
    name: "one-line",
    what: "the server's peak above idle while 100 MB come on one line and a client reads along",
    unit: "MiB",
    goal: Goal::Ours(Bound::AtMost(8.0)),
    measure: |setup| measure(setup, &Text::one_line()?),
};

pub(crate) const ESCAPES: Row = Row {
    name: "escapes",
    what: "the server's peak above idle while 100 MB of escape sequences come and a client reads along",
    unit: "MiB",
    goal: Goal::Ours(Bound::AtMost(8.0)),
    measure: |setup| measure(setup, &Text::escapes()?),
};

fn measure(setup: &Setup, text: &Text) -> Result<Measured> {
    let mut server = setup.server(&[("SHELL", "/bin/sh")])?;
    let first = json!({"command": "echo hi", "client_token": "local", "wait_ms": 20_000, "until": {"end": true}});
    server.result("session_start", &first)?;
    let idle = Usage::of(server.pid())?;
    forget_peak(server.pid())?;

    let start = json!({"command": format!("exec cat {}", text.word()), "client_token": "local"});
    let started = server.result("session_start", &start)?;
    let id = started.get("session_id").context("session_start gave no id")?;
    // As a client reads that knows nothing of sizes: whatever is there, again and again.
    let mut cursor = 0;
    let mut reads = 0;
    let last = loop {
        let request = json!({"session_id": id, "client_token": "local", "cursor": cursor, "wait_ms": 20_000});
        let read = server.result("session_read", &request)?;
        cursor = read.get("next_cursor").and_then(Value::as_u64).context("session_read gave no cursor")?;
        reads += 1;
        if read.get("done") == Some(&json!(true)) {
            break read;
        }
    };
    ensure!(cursor == text.printed, "{cursor} bytes came of {}", text.printed);
    ensure!(last.get("exit_code") == Some(&json!(0)), "cat ended with {last}");
    let most = Usage::of(server.pid())?;
    server.close()?;
    let mut measured = Measured::alone(most.peak_kib.saturating_sub(idle.resident_kib) as f64 / 1024.0);
    measured.notes.push(format!("{} KiB idle, {} KiB at the most; {reads} reads", idle.resident_kib, most.peak_kib));
    Ok(measured)
}
