//! Handing input over: in order, each byte once, and never longer than the program keeps taking.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use sessiond_core::{Call, Error, PendingLine, Result, Written};
use tokio::io::Interest;
use tokio::time::Instant;

use crate::line;
use crate::running::Watched;
use crate::{clock, error, sys};

/// Writes all of `input`, as the program takes it.
///
/// # Errors
/// `failed_precondition` when the terminal is gone, or would cut a line.
pub(crate) async fn all(
    terminal: &Watched,
    pending: &Mutex<PendingLine>,
    input: &[u8],
    stall: Duration,
    cx: &Call,
) -> Result<Written> {
    // Refused as a whole or not at all.
    let before = *lock(pending);
    let behind = before.after(input, &line::discipline(terminal.get_ref())?)?;
    let mut writing = Writing { terminal, pending, rest: input, written: 0, behind, watched: None };
    // Nearly always all of it is taken at once, and no clock is looked at.
    if let Step::Done = writing.step()? {
        return Ok(writing.outcome(None));
    }
    let mut patience = clock::after(stall);
    loop {
        let tried = Instant::now();
        match writing.step()? {
            Step::Done => return Ok(writing.outcome(None)),
            Step::Stuck(why) => return Ok(writing.outcome(Some(why))),
            Step::Took => patience = clock::after(stall),
            // Tried once more at the very end: room that a terminal makes by moving bytes on is not announced.
            Step::Full if tried >= patience.min(cx.deadline) => return Ok(writing.outcome(Some(NOT_TAKEN))),
            Step::Full => {}
        }
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Ok(writing.outcome(Some(TAKEN_BACK))),
            room = writing.room() => match room? {
                Room::MayBe => {}
                Room::Never => return Ok(writing.outcome(Some(NOBODY))),
            },
            () = tokio::time::sleep_until(patience.min(cx.deadline)) => {}
        }
        if Instant::now() >= cx.deadline {
            return Ok(writing.outcome(Some(NOT_TAKEN)));
        }
    }
}

/// Why a write ended before its last byte.
const NOT_TAKEN: &str = "the program takes no input";
const TAKEN_BACK: &str = "the call was taken back";
const NOBODY: &str = "nobody has the terminal open";

/// A write under way.
struct Writing<'a> {
    terminal: &'a Watched,
    pending: &'a Mutex<PendingLine>,
    rest: &'a [u8],
    written: u64,
    /// What is pending behind all of it, if it goes in one piece.
    behind: PendingLine,
    /// The terminal once more, in the event queue for its room; only once it has been full.
    watched: Option<Watched>,
}

enum Step {
    /// Everything is handed over.
    Done,
    /// Some of it.
    Took,
    /// The terminal has no room.
    Full,
    /// No more can be handed over.
    Stuck(&'static str),
}

/// Whether waiting for a full terminal has a point.
enum Room {
    MayBe,
    Never,
}

impl<'a> Writing<'a> {
    /// Writes until the terminal is full. No descriptor is waited for that has not refused first.
    fn step(&mut self) -> Result<Step> {
        let mut took = false;
        while !self.rest.is_empty() {
            match rustix::io::write(self.terminal.get_ref(), self.rest) {
                Ok(0) => return Ok(if took { Step::Took } else { Step::Full }),
                Ok(count) => {
                    self.advance(count)?;
                    took = true;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(if took { Step::Took } else { Step::Full }),
                Err(Errno::IO) => return Ok(Step::Stuck(NOBODY)),
                Err(errno) => return Err(error::refused("writing to the terminal", &errno.into())),
            }
        }
        Ok(Step::Done)
    }

    fn advance(&mut self, count: usize) -> Result<()> {
        let (taken, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| Error::internal("wrote more than asked"))?;
        let mut pending = lock(self.pending);
        *pending = if self.written == 0 && rest.is_empty() {
            // Nearly always, and the terminal has just been asked.
            self.behind
        } else {
            // A program may have changed the mode meanwhile; what is written is counted in either.
            line::discipline(self.terminal.get_ref()).and_then(|now| pending.after(taken, &now)).unwrap_or_default()
        };
        self.rest = rest;
        self.written += count as u64;
        Ok(())
    }

    /// Waits for room. A terminal that has hung up counts as writable for ever, which is no room: waiting for it would
    /// never yield to anybody.
    ///
    /// A terminal says that it has room whenever its program has read something. So it is watched for that through a
    /// descriptor that only a write which waits has: whoever waits for output would be woken once in vain otherwise,
    /// which can cost as much as all the rest of an echo.
    async fn room(&mut self) -> Result<Room> {
        let watching = |error| error::refused("watching the terminal", &error);
        let watched = match self.watched.take() {
            Some(watched) => watched,
            None => {
                let again = self.terminal.get_ref().try_clone().map_err(watching)?;
                sys::watch(again, Interest::WRITABLE).map_err(watching)?
            }
        };
        let watched = self.watched.insert(watched);
        let mut ready = watched.writable().await.map_err(watching)?;
        if ready.ready().is_write_closed() {
            return Ok(Room::Never);
        }
        ready.clear_ready();
        Ok(Room::MayBe)
    }

    fn outcome(&self, stalled: Option<&str>) -> Written {
        Written { bytes: self.written, stalled: stalled.map(str::to_owned) }
    }
}

/// A count is good at any time, also after a panic under the lock.
fn lock(pending: &Mutex<PendingLine>) -> MutexGuard<'_, PendingLine> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}
