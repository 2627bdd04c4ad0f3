//! Whether a flood in one session delays another.

use anyhow::{Context, Result};

use super::echo::RawEcho;
use super::{Bound, Goal, Measured, Row};
use crate::inside::{ECHO, Inside, READY};
use crate::raw::Flood;
use crate::setup::Setup;
use crate::stats::{Pairs, median, percentile_99, times};

pub(crate) const ROW: Row = Row {
    name: "flood",
    what: "the slowest hundredth of echoes in process while `yes` floods another session, against raw loops in separate \
           processes",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.5)),
    measure,
};

const ROUNDS: usize = 21;
const ECHOES: usize = 2_000;

fn measure(setup: &Setup) -> Result<Measured> {
    let inside = Inside::pty()?;
    let session = inside.run(|asker| async move {
        // It stands still while the runtime does, in the rounds of the other side.
        asker.start("exec yes".to_owned()).await?;
        asker.start_until(ECHO, READY).await
    })?;
    let raw = RawEcho::start()?;
    let (mut our_medians, mut raw_medians) = (Vec::new(), Vec::new());
    let ours = || slowest(&inside.run(|asker| asker.echoes(session, ECHOES))?, &mut our_medians);
    let alone = || {
        let flood = Flood::start()?;
        let times = times(ECHOES, || raw.echo())?;
        drop(flood);
        slowest(&times, &mut raw_medians)
    };
    let pairs = Pairs::take(setup.rounds(ROUNDS), ours, alone)?;
    raw.end()?;
    inside.close();
    let mut measured = Measured::from(pairs.compare()?);
    let middle = Pairs::of(our_medians, raw_medians).compare()?;
    measured.notes.push(format!("the median echo takes {:.1} us, raw {:.1} us", middle.ours, middle.raw));
    Ok(measured)
}

/// The slowest hundredth; the median is noted beside.
fn slowest(times: &[f64], medians: &mut Vec<f64>) -> Result<f64> {
    medians.push(median(times).context("nothing was measured")?);
    percentile_99(times).context("nothing was measured")
}
