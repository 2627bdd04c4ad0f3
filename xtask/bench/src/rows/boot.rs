//! How long a client waits for a server that it has just started.

use anyhow::{Context, Result, ensure};
use std::time::Instant;

use super::{Bound, Goal, Measured, Row};
use crate::client::Client;
use crate::setup::Setup;
use crate::stats::{Pairs, median};

pub(crate) const ROW: Row = Row {
    name: "boot",
    what: "from the start of the stdio binary until tools/list is answered, against an empty server",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.5)),
    measure,
};

const ROUNDS: usize = 15;
const BOOTS: usize = 20;

fn measure(setup: &Setup) -> Result<Measured> {
    let pairs = Pairs::take(
        setup.rounds(ROUNDS),
        || microseconds(|| setup.server(&[]), r#""name":"session_start""#),
        || microseconds(|| setup.empty(), r#""name":"hello""#),
    )?;
    Ok(pairs.compare()?.into())
}

/// The median of several starts; the ends do not count.
fn microseconds(start: impl Fn() -> Result<Client>, tool: &str) -> Result<f64> {
    let mut times = Vec::with_capacity(BOOTS);
    for _ in 0..BOOTS {
        let begin = Instant::now();
        let mut server = start()?;
        let answer = server.list_tools()?;
        times.push(begin.elapsed().as_secs_f64() * 1e6);
        ensure!(answer.contains(tool), "tools/list gave {answer}");
        server.close()?;
    }
    median(&times).context("nothing was measured")
}
