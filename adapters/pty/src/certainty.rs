//! Whose processes a scan looks for, and when it is certain that none is left.

use std::time::Duration;

use tokio::time::Instant;

use sessiond_core::Mark;

use crate::children;
use crate::procs::Process;

/// So many clean scans in a row, so far apart, are certainty. One scan alone can miss a process that is born behind
/// its back.
const CLEAN_SCANS: u32 = 4;
pub(crate) const SCAN_PAUSE: Duration = Duration::from_millis(3);

/// Whose processes are looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whose {
    /// One process's.
    One(Mark),
    /// All of one backend, and what nobody can claim when there is no other backend.
    All { sibling: Mark, strays: bool },
}

impl Whose {
    /// Whether this process is one of them.
    pub(crate) fn claims(self, process: &Process) -> bool {
        process.mark.is_some_and(|mark| self.has(mark))
    }

    fn has(self, mark: Mark) -> bool {
        match self {
            Self::One(own) => mark == own,
            Self::All { sibling, .. } => mark.is_sibling(sibling),
        }
    }
}

/// How certain it is that nobody is left.
#[derive(Debug, Default)]
pub(crate) struct Certainty {
    clean: u32,
    /// How many orphans had been reaped at the last scan, and when that was.
    last: Option<(u64, Instant)>,
    proven: bool,
}

impl Certainty {
    /// Learns what a scan has shown: whether it could see everything and has seen nobody. An orphan that was reaped
    /// since the last scan may have left others, and came and went unseen.
    pub(crate) fn add(&mut self, whose: Whose, clean: bool) {
        let now = Instant::now();
        let (before, at) = self.last.unzip();
        // The first scan has none to be compared with.
        let count = before.unwrap_or(u64::MAX);
        let (reaped, orphan) = children::lock().orphans_since(count, |mark| whose.has(mark));
        self.last = Some((reaped, now));
        if !clean || orphan {
            self.clean = 0;
        } else if at.is_none_or(|at| now - at >= SCAN_PAUSE) {
            self.clean += 1;
        }
    }

    /// It is known for good.
    pub(crate) fn prove(&mut self) {
        self.proven = true;
    }

    /// Whether it is certain.
    pub(crate) fn is_reached(&self) -> bool {
        self.proven || self.clean >= CLEAN_SCANS
    }
}
