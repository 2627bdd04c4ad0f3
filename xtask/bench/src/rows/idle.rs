//! What a session costs the server while nothing happens in it.

use std::fs;

use anyhow::{Context, Result};
use serde_json::json;

use super::{Goal, Measured, Row};
use crate::client::Client;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "idle",
    what: "the server's memory for each of 4,000 sessions in which nothing happens; no thread each",
    unit: "KiB",
    goal: Goal::AtMost(5.0),
    measure,
};

const SESSIONS: usize = 4_000;
/// Sessions before the first look, so that what is allocated once is not counted.
const BEFORE: usize = 20;

/// What a server takes.
struct Usage {
    resident_kib: u64,
    threads: u64,
}

impl Usage {
    fn of(pid: u32) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).context("looking at the server")?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).context("a field is missing")?;
            line.split_whitespace().next().and_then(|figure| figure.parse().ok()).context("a field is no number")
        };
        Ok(Self { resident_kib: field("VmRSS:")?, threads: field("Threads:")? })
    }
}

fn measure(setup: &Setup) -> Result<Measured> {
    let limit = (SESSIONS + BEFORE).to_string();
    let mut server = setup.server(&[("SHELL", "/bin/sh"), ("SESSIOND_LIMITS__RUNNING_PER_OWNER", &limit)])?;
    start(&mut server, BEFORE)?;
    let before = Usage::of(server.pid())?;
    start(&mut server, SESSIONS)?;
    let after = Usage::of(server.pid())?;
    server.close()?;

    let growth = after.resident_kib.saturating_sub(before.resident_kib) as f64;
    let threads = format!("{} threads before, {} with {SESSIONS} more sessions", before.threads, after.threads);
    Ok(Measured {
        ours: growth / SESSIONS as f64,
        raw: None,
        ratio: None,
        sound: after.threads <= before.threads,
        notes: vec![threads, format!("{} KiB before, {} KiB after", before.resident_kib, after.resident_kib)],
    })
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
