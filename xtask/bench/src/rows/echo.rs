//! How long a typed line takes to come back.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Bound, Goal, Measured, Row};
use crate::client::Client;
use crate::inside::{ECHO, ECHOED, Inside, READY, TYPED};
use crate::pin::Pinned;
use crate::raw::OnPty;
use crate::setup::Setup;
use crate::stats::{Pairs, median, median_time};

pub(crate) const INSIDE: Row = Row {
    name: "echo",
    what: "a line typed to cat and read back in one call in process, against a raw write and read",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.2)),
    measure: measure_inside,
};

pub(crate) const STDIO: Row = Row {
    name: "echo-stdio",
    what: "a line typed to cat and read back in one session_write over stdio, against the raw round trip and a call of \
           an empty tool together",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.3)),
    measure: measure_stdio,
};

const ROUNDS: usize = 15;
const ECHOES: usize = 3_000;

fn measure_inside(setup: &Setup) -> Result<Measured> {
    let inside = Inside::pty()?;
    let session = inside.run(|asker| async move { asker.start_until(ECHO, READY).await })?;
    let raw = RawEcho::start()?;
    let ours = || {
        let times = inside.run(|asker| asker.echoes(session, ECHOES))?;
        median(&times).context("nothing was measured")
    };
    let pairs = Pairs::take(setup.rounds(ROUNDS), ours, || raw.microseconds())?;
    raw.end()?;
    inside.close();
    Ok(pairs.compare()?.into())
}

fn measure_stdio(setup: &Setup) -> Result<Measured> {
    let _pinned = Pinned::here()?;
    let mut server = setup.server(&[("SHELL", "/bin/sh")])?;
    let start = json!({
        "command": ECHO, "client_token": "local", "wait_ms": 20_000, "until": {"pattern": READY},
    });
    let started = server.result("session_start", &start)?;
    let id = started.get("session_id").context("session_start gave no id")?;
    let id = id.as_str().context("session_start gave an id that is no text")?;
    let typed = std::str::from_utf8(TYPED)?;
    let arguments = json!({"session_id": id, "client_token": "local", "input": typed, "wait_ms": 20_000}).to_string();
    let mut empty = setup.empty()?;
    let raw = RawEcho::start()?;

    let ours = || median_time(ECHOES, || echo(&mut server, id, &arguments));
    let floor = || {
        let call = median_time(ECHOES, || {
            let answer = empty.call("hello", "{}")?;
            ensure!(answer.contains(r#""text":"hi""#), "the empty tool gave {answer}");
            Ok(())
        })?;
        Ok(call + raw.microseconds()?)
    };
    let pairs = Pairs::take(setup.rounds(ROUNDS), ours, floor)?;
    raw.end()?;
    server.close()?;
    empty.close()?;
    Ok(pairs.compare()?.into())
}

/// One call; another one where the terminal hands the line over in pieces.
fn echo(server: &mut Client, id: &str, arguments: &str) -> Result<()> {
    let answer = server.call("session_write", arguments)?;
    if answer.contains(r#""output":"x\r\n""#) {
        return Ok(());
    }
    let answer: Value = serde_json::from_str(answer)?;
    let content = |name: &str| answer.pointer(&format!("/result/structuredContent/{name}")).cloned();
    let mut came = content("output").unwrap_or_default().as_str().unwrap_or_default().to_owned();
    let mut cursor = content("next_cursor");
    while came.len() < ECHOED.len() {
        let rest = json!({"session_id": id, "client_token": "local", "cursor": cursor, "wait_ms": 20_000});
        let read = server.result("session_read", &rest)?;
        came.push_str(read.get("output").and_then(Value::as_str).unwrap_or_default());
        cursor = read.get("next_cursor").cloned();
    }
    ensure!(came.as_bytes() == ECHOED, "{came:?} came back");
    Ok(())
}

/// The same program on a raw terminal.
pub(super) struct RawEcho(OnPty);

impl RawEcho {
    pub(super) fn start() -> Result<Self> {
        let shell = OnPty::spawn(&[c"/bin/sh", c"-c", &std::ffi::CString::new(ECHO)?])?;
        shell.expect(READY.as_bytes())?;
        Ok(Self(shell))
    }

    /// One round trip.
    pub(super) fn echo(&self) -> Result<()> {
        self.0.write(TYPED)?;
        Ok(self.0.expect(ECHOED)?)
    }

    fn microseconds(&self) -> Result<f64> {
        median_time(ECHOES, || self.echo())
    }

    pub(super) fn end(self) -> Result<()> {
        Ok(self.0.hang_up()?)
    }
}
