//! What the bridge adds to a call.

use anyhow::Result;

use super::call::{read, something_to_read};
use super::grpc::{empty_call, pair};
use super::{Bound, Goal, Measured, Row};
use crate::pin::Pinned;
use crate::setup::Setup;
use crate::stats::Pairs;

pub(crate) const ROW: Row = Row {
    name: "grpc-bridge",
    what: "a session_read through the bridge that returns at once, against one without a bridge and 1.2 empty tonic \
           calls together, all on one processor",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.0)),
    measure,
};

const ROUNDS: usize = 15;
/// What a call upstream may cost, in empty ones.
const UPSTREAM: f64 = 1.2;

fn measure(setup: &Setup) -> Result<Measured> {
    let _pinned = Pinned::here()?;
    let (upstream, empty) = pair(setup, 1 << 20)?;
    let mut bridge = setup.bridge(&upstream.address())?;
    let mut direct = setup.server(&[("SHELL", "/bin/sh")])?;
    let (bridged, own) = (something_to_read(&mut bridge)?, something_to_read(&mut direct)?);
    let pairs = Pairs::take(
        setup.rounds(ROUNDS),
        || read(&mut bridge, &bridged),
        || Ok(read(&mut direct, &own)? + UPSTREAM * empty_call(&empty)?),
    )?;
    bridge.close()?;
    direct.close()?;
    Ok(pairs.compare()?.into())
}
