//! Whether a hundred stops at once cost more than one, on a machine full of processes.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Bound, Check, Goal, Measured, Row};
use crate::client::Client;
use crate::raw::Crowd;
use crate::setup::Setup;
use crate::stats::Pairs;
use crate::usage::processes;

pub(crate) const ROW: Row = Row {
    name: "stops",
    what: "100 session_stops at once over stdio, ten processes each, 4,000 on the machine, against one such stop",
    unit: "ms",
    goal: Goal::Ratio(Bound::AtMost(3.0)),
    measure,
};

const ROUNDS: usize = 3;
const AT_ONCE: usize = 100;
/// Processes of each session, its shell included.
const EACH: usize = 10;
const ON_THE_MACHINE: usize = 4_000;
/// So many more, since others on the machine may end meanwhile.
const SPARE: usize = 100;

fn measure(setup: &Setup) -> Result<Measured> {
    let limit = (AT_ONCE + 1).to_string();
    let mut server = setup.server(&[("SHELL", "/bin/sh"), ("SESSIOND_LIMITS__RUNNING_PER_OWNER", &limit)])?;
    let crowd = Crowd::gather((ON_THE_MACHINE + SPARE).saturating_sub(AT_ONCE * EACH + processes()?))?;
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    let mut unconfirmed = 0;
    for _ in 0..setup.rounds(ROUNDS) {
        let mut sessions = (0..=AT_ONCE).map(|_| start(&mut server)).collect::<Result<Vec<_>>>()?;
        let there = processes()?;
        ensure!(there >= ON_THE_MACHINE, "there are {there} processes on the machine");
        let one = sessions.pop().into_iter().collect::<Vec<_>>();
        for (sessions, times) in [(one, &mut raw), (sessions, &mut ours)] {
            let (time, left) = stop(&mut server, &sessions)?;
            times.push(time);
            unconfirmed += left;
        }
    }
    server.close()?;
    drop(crowd);
    let mut measured = Measured::from(Pairs::of(ours, raw).compare()?);
    measured.also.push(Check::at_most(0.0, "stops that were not confirmed", unconfirmed as f64));
    Ok(measured)
}

/// Starts a session of ten processes and returns the arguments of its stop.
fn start(server: &mut Client) -> Result<Value> {
    let command = format!("for i in $(seq {}); do sleep 600 & done; echo ready; wait", EACH - 1);
    let arguments = json!({
        "command": command, "client_token": "local", "wait_ms": 20_000, "until": {"pattern": "ready\r\n"},
    });
    let started = server.result("session_start", &arguments)?;
    let id = started.get("session_id").context("session_start gave no id")?;
    Ok(json!({"session_id": id, "client_token": "local", "wait_ms": 20_000}))
}

/// The milliseconds until the last of these is stopped, and how many of them are not confirmed.
fn stop(server: &mut Client, sessions: &[Value]) -> Result<(f64, usize)> {
    let begin = Instant::now();
    let outcomes = server.results_at_once("session_stop", sessions)?;
    let time = begin.elapsed().as_secs_f64() * 1e3;
    let unconfirmed = outcomes.iter().filter(|outcome| outcome.get("status") != Some(&json!("stopped"))).count();
    Ok((time, unconfirmed))
}
