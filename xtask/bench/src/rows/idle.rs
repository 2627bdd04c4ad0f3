//! What a session costs the server while nothing happens in it.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::{Bound, Check, Goal, Measured, Row};
use crate::client::Client;
use crate::setup::Setup;
use crate::usage::Usage;

pub(crate) const ROW: Row = Row {
    name: "idle",
    what: "the server's memory for each of 4,000 sessions in which nothing happens; no thread each, no wake-up",
    unit: "KiB",
    goal: Goal::Ours(Bound::AtMost(4.0)),
    measure,
};

const SESSIONS: usize = 4_000;
/// Sessions before the first look, so that what is allocated once is not counted.
const BEFORE: usize = 20;
/// How long the server has to fall asleep after its last answer.
const SETTLE: Duration = Duration::from_secs(1);
/// How long it is left alone then.
const SILENCE: Duration = Duration::from_secs(10);

fn measure(setup: &Setup) -> Result<Measured> {
    let limit = (SESSIONS + BEFORE).to_string();
    let mut server = setup.server(&[("SHELL", "/bin/sh"), ("SESSIOND_LIMITS__RUNNING_PER_OWNER", &limit)])?;
    start(&mut server, BEFORE)?;
    let before = Usage::of(server.pid())?;
    start(&mut server, SESSIONS)?;
    std::thread::sleep(SETTLE);
    let after = Usage::of(server.pid())?;
    std::thread::sleep(SILENCE);
    let later = Usage::of(server.pid())?;
    server.close()?;

    let growth = after.resident_kib.saturating_sub(before.resident_kib) as f64;
    let mut measured = Measured::alone(growth / SESSIONS as f64);
    let threads = after.threads.saturating_sub(before.threads) as f64;
    // A thread that ends meanwhile takes its count with it.
    let wakeups = later.wakeups.saturating_sub(after.wakeups) as f64;
    measured.also.push(Check::at_most(0.0, "threads more than before", threads));
    measured.also.push(Check::at_most(0.0, format!("wake-ups in {SILENCE:?}"), wakeups));
    measured.notes.push(format!("{} KiB before, {} KiB after", before.resident_kib, after.resident_kib));
    Ok(measured)
}

/// Starts sessions that have printed something, as a shell does with its prompt, and then wait for input.
fn start(server: &mut Client, count: usize) -> Result<()> {
    let arguments = json!({
        "command": "printf '$ '; exec cat", "client_token": "local", "wait_ms": 20_000, "until": {"pattern": "[$] "},
    });
    for started in 0..count {
        server.result("session_start", &arguments).with_context(|| {
            format!("after {started} sessions (4,000 need kernel.pty.max above that and nobody else with terminals)")
        })?;
    }
    Ok(())
}
