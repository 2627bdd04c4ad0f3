//! An owner's records of one kind, running and finished, each in the order of starting.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::run::Run;

/// The number of a record, in the order of starting. Never used twice.
pub(super) type Seq = u64;

/// What is kept of something that runs until it expires.
pub(super) trait Kept: Send + Sync {
    /// What runs.
    fn run(&self) -> &Arc<Run>;

    /// The text that was run.
    fn command(&self) -> &str;
}

/// So many bytes of a command's text are in the price of its record; what is longer takes room as output does.
const SHORT_TEXT: usize = 4096;

/// The records of one kind.
pub(super) struct Shelf<R> {
    running: BTreeMap<Seq, Arc<R>>,
    finished: BTreeMap<Seq, Finished<R>>,
}

struct Finished<R> {
    record: Arc<R>,
    /// How many bytes it keeps: its output, and what is long of its text.
    kept: usize,
}

/// Where in the records to go on, running ones first, then finished ones, the newest first in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Running ones before this one.
    Running(Seq),
    /// Finished ones before this one.
    Finished(Seq),
}

impl<R> Default for Shelf<R> {
    fn default() -> Self {
        Self { running: BTreeMap::new(), finished: BTreeMap::new() }
    }
}

impl<R: Kept> Shelf<R> {
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.finished.is_empty()
    }

    pub(super) fn get(&self, seq: Seq) -> Option<&Arc<R>> {
        self.running.get(&seq).or_else(|| self.finished.get(&seq).map(|finished| &finished.record))
    }

    /// Whether there is such a finished one.
    pub(super) fn has_finished(&self, seq: Seq) -> bool {
        self.finished.contains_key(&seq)
    }

    pub(super) fn running(&self) -> impl ExactSizeIterator<Item = &Arc<R>> {
        self.running.values()
    }

    pub(super) fn finished(&self) -> impl Iterator<Item = &Arc<R>> {
        self.finished.values().map(|finished| &finished.record)
    }

    /// All of them in the order of starting.
    pub(super) fn in_order(&self) -> Vec<Arc<R>> {
        let running = self.running.iter().map(|(seq, record)| (*seq, record));
        let finished = self.finished.iter().map(|(seq, finished)| (*seq, &finished.record));
        let mut all: Vec<_> = finished.chain(running).collect();
        all.sort_unstable_by_key(|(seq, _)| *seq);
        all.into_iter().map(|(_, record)| record.clone()).collect()
    }

    /// At most `limit` from a position on, each with the position behind it.
    pub(super) fn page(&self, from: Option<Position>, limit: usize) -> Vec<(Position, Arc<R>)> {
        let (running_before, finished_before) = match from {
            None => (Seq::MAX, Seq::MAX),
            Some(Position::Running(seq)) => (seq, Seq::MAX),
            Some(Position::Finished(seq)) => (0, seq),
        };
        let running = self.running.range(..running_before).rev();
        let finished = self.finished.range(..finished_before).rev();
        running
            .map(|(seq, record)| (Position::Running(*seq), record.clone()))
            .chain(finished.map(|(seq, finished)| (Position::Finished(*seq), finished.record.clone())))
            .take(limit)
            .collect()
    }

    pub(super) fn put(&mut self, seq: Seq, record: Arc<R>) {
        self.running.insert(seq, record);
    }

    /// One has ended and keeps so many bytes of output. Returns how many bytes it keeps in all, where it was running
    /// here.
    pub(super) fn finish(&mut self, seq: Seq, output: usize) -> Option<usize> {
        let record = self.running.remove(&seq)?;
        record.run().note_end();
        let kept = output + record.command().len().saturating_sub(SHORT_TEXT);
        self.finished.insert(seq, Finished { record, kept });
        Some(kept)
    }

    /// Takes a finished one out, with the bytes that it keeps.
    pub(super) fn forget(&mut self, seq: Seq) -> Option<(Arc<R>, usize)> {
        self.finished.remove(&seq).map(|finished| (finished.record, finished.kept))
    }

    /// The numbers of the finished ones that are meant.
    pub(super) fn finished_that(&self, meant: impl Fn(&R) -> bool) -> Vec<Seq> {
        self.finished.iter().filter(|(_, finished)| meant(&finished.record)).map(|(seq, _)| *seq).collect()
    }
}
