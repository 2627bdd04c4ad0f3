//! What it costs to start something, see its output and know its exit code; how surely; and with how much behind it.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Bound, Check, Goal, Measured, Row};
use crate::client::Client;
use crate::raw::OnPty;
use crate::setup::Setup;
use crate::stats::{Pairs, median_time};
use crate::usage::Usage;

pub(crate) const ROW: Row = Row {
    name: "start",
    what: "session_start of `echo hi` with output and exit code in one call over stdio, against a raw open, spawn, \
           read and wait",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.7)),
    measure,
};

const ROUNDS: usize = 15;
const STARTS: usize = 100;
/// How many starts must all have their output and exit code.
const ALL: usize = 10_000;
/// Finished sessions, each with as much output as is kept of one.
const FULL: usize = 512;
const FULL_BYTES: usize = 1 << 20;
const KEPT: usize = FULL * FULL_BYTES;
/// What is still "as fast" where two medians are compared.
const AS_FAST: f64 = 1.1;

fn measure(setup: &Setup) -> Result<Measured> {
    let mut server = setup.server(&[("SHELL", "/bin/sh")])?;
    let pairs = Pairs::take(setup.rounds(ROUNDS), || sessions(&mut server), raw_starts).context("starting")?;
    let mut measured = Measured::from(pairs.compare()?);

    let lost = (0..ALL).map(|_| Ok(usize::from(!start(&mut server)?))).sum::<Result<usize>>()?;
    measured.also.push(Check::at_most(0.0, format!("of {ALL} starts without output or exit code"), lost as f64));

    let mut loaded = setup
        .server(&[("SHELL", "/bin/sh"), ("SESSIOND_LIMITS__FINISHED_BYTES_PER_OWNER", &(2 * KEPT).to_string())])?;
    fill(&mut loaded)?;
    let resident = Usage::of(loaded.pid())?.resident_kib;
    ensure!(resident as usize >= KEPT >> 10, "the server has {resident} KiB: not all output was kept");
    let pairs = Pairs::take(setup.rounds(ROUNDS), || sessions(&mut loaded), || sessions(&mut server))?.compare()?;
    let what = format!("with {} MiB of kept output, as a multiple of without", KEPT >> 20);
    measured.also.push(Check::at_most(AS_FAST, what, pairs.ratio));
    loaded.close()?;
    server.close()?;
    Ok(measured)
}

fn sessions(server: &mut Client) -> Result<f64> {
    median_time(STARTS, || {
        ensure!(start(server)?, "a session_start came back without output or exit code");
        Ok(())
    })
}

/// Whether a start gave the whole output and the exit code.
fn start(server: &mut Client) -> Result<bool> {
    let arguments = r#"{"command":"echo hi","client_token":"local","wait_ms":20000,"until":{"end":true}}"#;
    let answer: Value = serde_json::from_str(server.call("session_start", arguments)?)?;
    let field = |name: &str| answer.pointer(&format!("/result/structuredContent/{name}"));
    Ok(field("output") == Some(&json!("hi\r\n")) && field("exit_code") == Some(&json!(0)))
}

fn raw_starts() -> Result<f64> {
    let mut buffer = [0; 4096];
    median_time(STARTS, || {
        let (bytes, code) = OnPty::spawn(&[c"/bin/sh", c"-c", c"echo hi"])?.drain(&mut buffer)?;
        ensure!((bytes, code) == (4, 0), "raw: {bytes} bytes, exit code {code}");
        Ok(())
    })
}

/// Leaves finished sessions with much output behind.
fn fill(server: &mut Client) -> Result<()> {
    let arguments = json!({
        "command": format!("head -c {FULL_BYTES} /dev/zero | tr '\\0' x"), "client_token": "local",
        "wait_ms": 20_000, "until": {"end": true},
    });
    for _ in 0..FULL {
        let answer = server.call("session_start", &arguments.to_string())?;
        ensure!(
            answer.len() > FULL_BYTES && answer.contains(r#""done":true"#),
            "a long output was not read to its end"
        );
    }
    Ok(())
}
