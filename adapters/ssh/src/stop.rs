//! The verified stop: a script on the host climbs the ladder, over everything that a process has started, and tells
//! who is left. See `shell/stop.sh`.

use std::sync::Arc;
use std::time::Duration;

use sessiond_core::{Mark, Result, Stopped};
use tokio::time::Instant;

use crate::pool::Pool;
use crate::process::Running;
use crate::shell::{Group, Ladder, Reach, members};
use crate::{ask, error};

/// What a script may take beyond its own clock: the way there and back, and looking at very many processes.
const MARGIN: Duration = Duration::from_secs(10);

/// How long a look at what has outlived a process may take.
const LOOK: Duration = Duration::from_secs(2);

/// Stops a process and everything it has started.
///
/// # Errors
/// `unavailable` when the host cannot be asked.
pub(crate) async fn process(running: &Arc<Running>, grace: Duration) -> Result<Stopped> {
    running.stopped();
    let stopped = climb(running.pool(), Reach::One(running.mark()), &[running.group()], grace).await?;
    if stopped == Stopped::Confirmed {
        running.left_alone();
    }
    Ok(stopped)
}

/// Stops everything that a pool has ever started.
///
/// # Errors
/// As for [`process`].
pub(crate) async fn family(pool: &Arc<Pool>, groups: Vec<Group>, grace: Duration) -> Result<Stopped> {
    climb(pool, pool.reach(), &groups, grace).await
}

/// Stops at once whatever has a mark; where the host cannot be asked, the next connection does.
pub(crate) async fn marked(pool: &Arc<Pool>, mark: Mark, groups: &[Group]) {
    if climb(pool, Reach::One(mark), groups, Duration::ZERO).await.is_err() {
        pool.leave(groups.iter().copied());
    }
}

async fn climb(pool: &Arc<Pool>, reach: Reach, groups: &[Group], grace: Duration) -> Result<Stopped> {
    let ladder = Ladder { reach, groups, grace };
    let deadline = Instant::now() + ladder.longest() + MARGIN;
    let answer = ask::script(pool, ladder.script()?, deadline).await?;
    Ladder::read(&answer).ok_or_else(|| error::broke_off(&pool.host.name))
}

/// The living processes of an ended one, as far as the host tells in time.
pub(crate) async fn descendants(running: &Arc<Running>) -> Vec<u32> {
    if running.is_alone() {
        return Vec::new();
    }
    let leader = running.group().leader.pid;
    let look = async {
        let script = members::script(running.mark(), running.group()).ok()?;
        let answer = ask::script(running.pool(), script, Instant::now() + LOOK).await.ok()?;
        members::read(&answer)
    };
    let Some(mut pids) = look.await else { return Vec::new() };
    pids.retain(|pid| *pid != leader);
    if pids.is_empty() && running.has_ended() {
        running.left_alone();
    }
    pids
}
