//! Line numbers over the bytes of a stream: absolute, both ways, in bounded memory.
//!
//! A checkpoint every [`STRIDE`] bytes knows how many newlines came before it; what lies between is counted when
//! somebody asks. That costs 16 bytes for 4 KiB of output, whether it is one line or all newlines.

use std::collections::VecDeque;

/// How many bytes lie between two checkpoints.
const STRIDE: u64 = 4096;

/// A place in the stream and the number of newlines before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checkpoint {
    pub(super) at: u64,
    pub(super) newlines: u64,
}

/// What is known of a stream's lines without looking at its bytes.
#[derive(Debug, Default)]
pub(super) struct LineIndex {
    first: Option<Checkpoint>,
    checkpoints: VecDeque<Checkpoint>,
    newlines: u64,
    /// Behind the newest newline.
    last_line: u64,
}

impl LineIndex {
    /// Counts bytes that join the stream at `at`.
    pub(super) fn push(&mut self, mut at: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = usize::try_from(STRIDE - at % STRIDE).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.newlines += count(now);
            if let Some(newline) = memchr::memrchr(b'\n', now) {
                self.last_line = at + newline as u64 + 1;
            }
            at += now.len() as u64;
            bytes = later;
            if at.is_multiple_of(STRIDE) {
                self.checkpoints.push_back(Checkpoint { at, newlines: self.newlines });
            }
        }
    }

    /// Forgets what lies before `start`; `dropped` are the bytes that went, in as many pieces as there were.
    pub(super) fn drop_to(&mut self, start: u64, dropped: [&[u8]; 2]) {
        let before = self.first().newlines;
        let newlines = before + dropped.iter().map(|piece| count(piece)).sum::<u64>();
        self.first = Some(Checkpoint { at: start, newlines });
        while self.checkpoints.front().is_some_and(|checkpoint| checkpoint.at <= start) {
            self.checkpoints.pop_front();
        }
    }

    /// The earliest place that is still known.
    pub(super) fn first(&self) -> Checkpoint {
        self.first.unwrap_or(Checkpoint { at: 0, newlines: 0 })
    }

    /// How many newlines the stream has had.
    pub(super) fn newlines(&self) -> u64 {
        self.newlines
    }

    /// How many lines the stream has had; the last unterminated piece is one.
    pub(super) fn total(&self, end: u64) -> u64 {
        self.newlines + u64::from(end > self.last_line)
    }

    /// The latest known place not behind `at`.
    pub(super) fn before_byte(&self, at: u64) -> Checkpoint {
        let behind = self.checkpoints.partition_point(|checkpoint| checkpoint.at <= at);
        self.nth(behind)
    }

    /// The latest known place with fewer than `newlines` newlines before it.
    pub(super) fn before_newline(&self, newlines: u64) -> Checkpoint {
        let behind = self.checkpoints.partition_point(|checkpoint| checkpoint.newlines < newlines);
        self.nth(behind)
    }

    fn nth(&self, behind: usize) -> Checkpoint {
        behind.checked_sub(1).and_then(|index| self.checkpoints.get(index)).copied().unwrap_or_else(|| self.first())
    }
}

/// How many newlines there are in `bytes`.
pub(super) fn count(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_stays_small_whatever_the_lines_are() {
        for bytes in [vec![b'\n'; 1 << 20], vec![b'x'; 1 << 20]] {
            let mut index = LineIndex::default();
            for round in 0..64 {
                index.push(round << 20, &bytes);
                index.drop_to((round + 1) << 20, [&bytes, &[]]);
            }
            assert!(index.checkpoints.capacity() * size_of::<Checkpoint>() <= 16 << 10);
        }
    }
}
