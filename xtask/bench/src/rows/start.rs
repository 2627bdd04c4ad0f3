//! What it costs to start something, see its output and know its exit code.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Goal, Measured, Row};
use crate::client::Client;
use crate::raw::OnPty;
use crate::setup::Setup;
use crate::stats::{Pairs, median};

pub(crate) const ROW: Row = Row {
    name: "start",
    what: "session_start of `echo hi` with output and exit code in one call over stdio, against a raw open, spawn, read and wait",
    unit: "us",
    goal: Goal::AtMost(1.8),
    measure,
};

const ROUNDS: usize = 15;
const STARTS: usize = 100;

fn measure(setup: &Setup) -> Result<Measured> {
    let mut server = setup.server(&[("SHELL", "/bin/sh")])?;
    let arguments =
        json!({"command": "echo hi", "client_token": "local", "wait_ms": 20_000, "until": {"end": true}}).to_string();
    let pairs =
        Pairs::take(setup.rounds(ROUNDS), || sessions(&mut server, &arguments), raw_starts).context("starting")?;
    server.close()?;
    Ok(pairs.compare()?.into())
}

fn sessions(server: &mut Client, arguments: &str) -> Result<f64> {
    let mut times = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let begin = Instant::now();
        let answer = server.call("session_start", arguments)?;
        times.push(begin.elapsed().as_secs_f64() * 1e6);
        let answer: Value = serde_json::from_str(answer)?;
        let field = |name: &str| answer.pointer(&format!("/result/structuredContent/{name}"));
        let whole = field("output") == Some(&json!("hi\r\n")) && field("exit_code") == Some(&json!(0));
        ensure!(whole, "session_start gave {answer}");
    }
    median(&times).context("nothing was measured")
}

fn raw_starts() -> Result<f64> {
    let mut times = Vec::with_capacity(STARTS);
    let mut buffer = [0; 4096];
    for _ in 0..STARTS {
        let begin = Instant::now();
        let (bytes, code) = OnPty::spawn(&[c"/bin/sh", c"-c", c"echo hi"])?.drain(&mut buffer)?;
        times.push(begin.elapsed().as_secs_f64() * 1e6);
        ensure!((bytes, code) == (4, 0), "raw: {bytes} bytes, exit code {code}");
    }
    median(&times).context("nothing was measured")
}
