//! What a connected host costs the server while nothing happens on it.

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{Bound, Check, Goal, Measured, Row};
use crate::client::Client;
use crate::setup::Setup;
use crate::ssh::Server;
use crate::usage::Usage;

pub(crate) const ROW: Row = Row {
    name: "ssh-idle",
    what: "the server's memory for each of 100 connected hosts; no thread each",
    unit: "KiB",
    goal: Goal::Ours(Bound::AtMost(256.0)),
    measure,
};

const HOSTS: usize = 100;
/// Hosts before the first look, so that what is allocated once is not counted.
const BEFORE: usize = 3;

fn measure(setup: &Setup) -> Result<Measured> {
    let server = Server::start(10)?;
    (0..BEFORE + HOSTS).try_for_each(|number| server.name(&host(number)))?;
    let config = server.config();
    let config = config.to_str().context("the path of the client configuration is no text")?;
    let mut sessiond = setup.server(&[("SHELL", "/bin/sh"), ("SESSIOND_SSH__CONFIG", config)])?;
    connect(&mut sessiond, 0..BEFORE)?;
    let before = Usage::of(sessiond.pid())?;
    connect(&mut sessiond, BEFORE..BEFORE + HOSTS)?;
    let after = Usage::of(sessiond.pid())?;
    let status = sessiond.result("ssh_conn_status", &json!({}))?;
    let connected = status.to_string().matches(r#""connected":true"#).count();
    ensure!(connected == BEFORE + HOSTS, "{connected} hosts are connected: {status}");
    sessiond.close()?;

    let growth = after.resident_kib.saturating_sub(before.resident_kib) as f64;
    let mut measured = Measured::alone(growth / HOSTS as f64);
    let threads = after.threads.saturating_sub(before.threads) as f64;
    measured.also.push(Check::at_most(0.0, "threads more than before", threads));
    measured.notes.push(format!("{} KiB before, {} KiB after", before.resident_kib, after.resident_kib));
    Ok(measured)
}

fn connect(sessiond: &mut Client, numbers: std::ops::Range<usize>) -> Result<()> {
    for number in numbers {
        sessiond.result("ssh_conn_connect", &json!({"host_name": host(number)}))?;
    }
    Ok(())
}

fn host(number: usize) -> String {
    format!("host-{number}")
}
