//! Bytes of processes, counted where they pass: for whoever watches the server.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that only grow, of all processes of one kind of backend together. Nothing depends on their order among each
/// other, so each step is one relaxed addition.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    taken: AtomicU64,
    printed: AtomicU64,
    dropped: AtomicU64,
}

impl Tally {
    /// A target has taken so many bytes of input.
    pub(crate) fn took(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes that targets have taken as input.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Bytes that logs have got from processes.
    pub(crate) fn printed(&self) -> u64 {
        self.printed.load(Ordering::Relaxed)
    }

    /// Bytes of those that logs had no room for.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// A log has got so many bytes, and so many have left it for want of room.
    pub(super) fn passed(&self, got: usize, gone: usize) {
        self.printed.fetch_add(got as u64, Ordering::Relaxed);
        if gone > 0 {
            self.dropped.fetch_add(gone as u64, Ordering::Relaxed);
        }
    }
}
