//! How long a line that is typed on a host takes to come back.

use anyhow::{Context, Result};

use super::{Bound, Goal, Measured, Row};
use crate::inside::{ECHO, READY};
use crate::pin::Pinned;
use crate::raw::Channel;
use crate::setup::Setup;
use crate::ssh::Server;
use crate::stats::{Pairs, median};

pub(crate) const ROW: Row = Row {
    name: "ssh-echo",
    what: "a line typed to cat on a host and read back in one call in process, against a bare channel, on one processor",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.3)),
    measure,
};

const ROUNDS: usize = 7;
const ECHOES: usize = 1_000;

fn measure(setup: &Setup) -> Result<Measured> {
    // The server starts here, and what it starts stays here too.
    let _pinned = Pinned::here()?;
    let server = Server::start(10)?;
    let inside = server.inside()?;
    let session = inside.run(|asker| async move { asker.start_until(ECHO, READY).await })?;
    let mut channel = Channel::open(server.login(), ECHO, READY)?;
    let ours = || {
        let times = inside.run(|asker| asker.echoes(session, ECHOES))?;
        median(&times).context("nothing was measured")
    };
    let pairs = Pairs::take(setup.rounds(ROUNDS), ours, || {
        let times = channel.echoes(ECHOES)?;
        median(&times).context("nothing was measured")
    })?;
    channel.close()?;
    inside.close();
    Ok(pairs.compare()?.into())
}
