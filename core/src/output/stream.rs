//! One stream's kept bytes: a ring that grows to its retention, the gaps in it, and its lines.

use std::collections::VecDeque;

use super::lines::{LineIndex, count};
use super::utf8::{MAX_TAIL, cut_head, incomplete_tail};

/// The smallest ring that is allocated, in bytes.
const FIRST_RING: usize = 256;

/// More gaps than this in the kept bytes, and the oldest bytes go as if retention had dropped them.
const MAX_GAPS: usize = 256;

/// Bytes that were printed at `at` and never reached us.
#[derive(Clone, Copy, Debug)]
struct Gap {
    at: u64,
    bytes: u64,
}

impl Gap {
    fn end(self) -> u64 {
        self.at + self.bytes
    }
}

/// A readable stretch of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) next: u64,
    pub(crate) lost: u64,
}

impl Span {
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.next
    }
}

/// A cursor past the end of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PastEnd {
    pub(crate) end: u64,
}

/// One stream of an output log.
#[derive(Debug, Default)]
pub(crate) struct StreamLog {
    kept: VecDeque<u8>,
    /// The cursor of the earliest kept byte; `end` when none is kept.
    start: u64,
    /// Behind the last byte.
    end: u64,
    /// In the kept range, in order, none at `start` and none adjoining another.
    gaps: VecDeque<Gap>,
    /// The last bytes that were dropped before `start`.
    before: Vec<u8>,
    lines: LineIndex,
    /// Bytes that a full keep-oldest log has turned away.
    discarded: u64,
}

impl StreamLog {
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(crate) fn discarded(&self) -> u64 {
        self.discarded
    }

    /// Adds bytes and keeps the newest `limit`.
    pub(crate) fn push_newest(&mut self, bytes: &[u8], limit: usize) {
        let skip = bytes.len().saturating_sub(limit);
        let (gone, stay) = bytes.split_at(skip);
        self.drop_front((self.kept.len() + stay.len()).saturating_sub(limit));
        self.lines.push(self.end, bytes);
        if skip > 0 {
            // Everything before these bytes is gone, and their beginning with it.
            self.pass_over(gone);
        }
        self.reserve(stay.len(), limit);
        self.kept.extend(stay);
        self.end += stay.len() as u64;
    }

    /// Adds bytes as long as fewer than `room` have been taken; returns how many were taken.
    pub(crate) fn push_oldest(&mut self, bytes: &[u8], room: usize) -> usize {
        let (stay, gone) = bytes.split_at(bytes.len().min(room));
        self.lines.push(self.end, stay);
        self.reserve(stay.len(), self.kept.len() + room);
        self.kept.extend(stay);
        self.end += stay.len() as u64;
        self.discarded += gone.len() as u64;
        stay.len()
    }

    /// Counts bytes that are not kept.
    pub(crate) fn discard(&mut self, bytes: u64) {
        self.discarded += bytes;
    }

    /// Leaves room in the count for bytes that never came.
    pub(crate) fn push_gap(&mut self, bytes: u64) {
        let at = self.end;
        self.end += bytes;
        if self.kept.is_empty() {
            self.start = self.end;
            self.before.clear();
            self.lines.drop_to(self.start, [&[], &[]]);
            return;
        }
        match self.gaps.back_mut() {
            Some(last) if last.end() == at => last.bytes += bytes,
            _ => self.gaps.push_back(Gap { at, bytes }),
        }
        if self.gaps.len() > MAX_GAPS
            && let Some(oldest) = self.gaps.front()
        {
            self.drop_front(usize_of(oldest.at - self.start));
        }
    }

    /// Gives back what the ring has not used. For a stream that gets nothing more.
    pub(crate) fn shrink(&mut self) {
        self.kept.shrink_to_fit();
        self.gaps.shrink_to_fit();
    }

    /// The stretch that a read from `cursor` gives: at most `max` bytes, up to `to` or the next gap, without an
    /// incomplete character at its end unless nothing can complete it (`closed`: nothing more is coming at all).
    pub(crate) fn span(&self, cursor: u64, max: usize, to: Option<u64>, closed: bool) -> Result<Span, PastEnd> {
        if cursor > self.end {
            return Err(PastEnd { end: self.end });
        }
        let mut start = cursor.max(self.start);
        let mut lost = start - cursor;
        if lost > 0 {
            // The rest of a character that retention has cut is kept, so it is not lost; it just cannot be read.
            start += self.cut_head();
        }
        let mut wall = self.end;
        for gap in &self.gaps {
            if gap.at <= start && start < gap.end() {
                lost += gap.end() - start;
                start = gap.end();
            } else if gap.at > start {
                wall = gap.at;
                break;
            }
        }
        let to = to.unwrap_or(u64::MAX).max(start);
        let next = wall.min(to).min(start.saturating_add(max as u64));
        let nothing_completes = next == wall && (closed || wall < self.end);
        let held = if nothing_completes { 0 } else { self.incomplete_tail(start, next) };
        Ok(Span { start, next: next - held, lost })
    }

    /// The kept bytes from `from` to `to`, which must lie in one stretch, in up to two pieces.
    pub(crate) fn pieces(&self, from: u64, to: u64) -> [&[u8]; 2] {
        let first = self.index(from);
        ring(&self.kept, first, first.saturating_add(usize_of(to.saturating_sub(from))))
    }

    /// How many lines there have been; the last unterminated piece is one.
    pub(crate) fn line_count(&self) -> u64 {
        self.lines.total(self.end)
    }

    /// The number of the first line that is kept from its beginning; where none is, that of the last, cut one.
    pub(crate) fn first_line(&self) -> u64 {
        let cut = self.lines.first().newlines + 1;
        if self.begins_a_line() || self.line_count() <= cut { cut } else { cut + 1 }
    }

    /// The bytes of at most `count` lines from line `first` on, terminators included. Empty when `first` is not kept.
    pub(crate) fn lines(&self, first: u64, count: u64) -> [&[u8]; 2] {
        let Some(from) = self.line_start(first) else { return [&[], &[]] };
        let to = self.line_start(first.saturating_add(count)).unwrap_or(self.end);
        ring(&self.kept, self.index(from), self.index(to))
    }

    /// The newest bytes, at most `max`, from a line's beginning on; of a longer last line its newest ones, from a
    /// character's beginning on. With the cursor at which they begin.
    pub(crate) fn tail(&self, max: usize) -> (u64, [&[u8]; 2]) {
        let end = self.kept.len();
        let from = end.saturating_sub(max);
        let near = ring(&self.kept, from.saturating_sub(MAX_TAIL), from).concat();
        let before = [&self.before[..], &near].concat();
        let index = if from == 0 && self.start == 0 || before.last() == Some(&b'\n') {
            from
        } else {
            let rest = ring(&self.kept, from, end).concat();
            let behind = memchr::memchr(b'\n', &rest).map(|newline| newline + 1);
            let skip = behind.filter(|behind| *behind < rest.len()).unwrap_or_else(|| cut_head(&before, &rest));
            from + skip
        };
        (self.cursor_of(index), ring(&self.kept, index, end))
    }

    /// Whether the earliest kept byte is the first one of its line.
    fn begins_a_line(&self) -> bool {
        self.start == 0 || self.before.last() == Some(&b'\n')
    }

    /// The number of the line that the byte at `cursor` is part of, from 1. `None` when it is not kept.
    pub(crate) fn line_at(&self, cursor: u64) -> Option<u64> {
        if cursor < self.start || cursor > self.end {
            return None;
        }
        let known = self.lines.before_byte(cursor);
        let between = ring(&self.kept, self.index(known.at), self.index(cursor));
        Some(known.newlines + between.iter().map(|piece| count(piece)).sum::<u64>() + 1)
    }

    /// Where a line begins. `None` when it is dropped or not there yet.
    pub(crate) fn line_start(&self, line: u64) -> Option<u64> {
        if line < self.first_line() || line > self.lines.newlines() + 1 {
            return None;
        }
        let before = line - 1;
        if before == self.lines.first().newlines {
            return Some(self.start);
        }
        let known = self.lines.before_newline(before);
        let mut left = before - known.newlines;
        let mut base = self.index(known.at);
        for piece in ring(&self.kept, base, self.kept.len()) {
            for newline in memchr::memchr_iter(b'\n', piece) {
                left -= 1;
                if left == 0 {
                    return Some(self.cursor_of(base + newline + 1));
                }
            }
            base += piece.len();
        }
        None
    }

    /// Where the byte at `cursor` stands in the ring.
    fn index(&self, cursor: u64) -> usize {
        let mut real = cursor.saturating_sub(self.start);
        for gap in self.gaps.iter().take_while(|gap| gap.at < cursor) {
            real -= gap.bytes.min(cursor - gap.at);
        }
        usize_of(real)
    }

    /// The cursor of the ring's byte at `index`.
    fn cursor_of(&self, index: usize) -> u64 {
        let mut cursor = self.start + index as u64;
        for gap in &self.gaps {
            if gap.at > cursor {
                break;
            }
            cursor += gap.bytes;
        }
        cursor
    }

    fn cut_head(&self) -> u64 {
        let wall = self.gaps.front().map_or(self.end, |gap| gap.at);
        let [head, tail] = self.pieces(self.start, wall.min(self.start + MAX_TAIL as u64));
        cut_head(&self.before, &[head, tail].concat()) as u64
    }

    fn incomplete_tail(&self, start: u64, next: u64) -> u64 {
        let [head, tail] = self.pieces(next.saturating_sub(MAX_TAIL as u64).max(start), next);
        match (head, tail) {
            (bytes, []) | ([], bytes) => incomplete_tail(bytes) as u64,
            (head, tail) => incomplete_tail(&[head, tail].concat()) as u64,
        }
    }

    /// Drops the oldest `bytes` kept ones.
    fn drop_front(&mut self, bytes: usize) {
        let bytes = bytes.min(self.kept.len());
        if bytes == 0 {
            return;
        }
        let next = if bytes == self.kept.len() { self.end } else { self.cursor_of(bytes) };
        let dropped = ring(&self.kept, 0, bytes);
        self.lines.drop_to(next, dropped);
        remember(&mut self.before, dropped);
        self.kept.drain(..bytes);
        self.start = next;
        while let Some(gap) = self.gaps.pop_front_if(|gap| gap.at < next) {
            // A character does not go on behind a gap.
            let since = usize_of(next - gap.end());
            self.before.drain(..self.before.len().saturating_sub(since));
        }
    }

    /// Counts bytes at the end of an emptied stream that are not kept.
    fn pass_over(&mut self, bytes: &[u8]) {
        self.end += bytes.len() as u64;
        self.start = self.end;
        self.lines.drop_to(self.start, [bytes, &[]]);
        remember(&mut self.before, [bytes, &[]]);
    }

    fn reserve(&mut self, more: usize, limit: usize) {
        let needed = self.kept.len() + more;
        if needed > self.kept.capacity() {
            let grown = needed.max(self.kept.capacity() * 2).max(FIRST_RING).min(limit.max(needed));
            self.kept.reserve_exact(grown - self.kept.len());
        }
    }
}

/// A ring's bytes from index `first` to `last`, in up to two pieces.
fn ring(kept: &VecDeque<u8>, first: usize, last: usize) -> [&[u8]; 2] {
    let (head, tail) = kept.as_slices();
    let clip = |length: usize, offset: usize| {
        first.saturating_sub(offset).min(length)..last.saturating_sub(offset).min(length)
    };
    [head.get(clip(head.len(), 0)).unwrap_or_default(), tail.get(clip(tail.len(), head.len())).unwrap_or_default()]
}

/// Keeps the last bytes of what was dropped, in case a character was cut.
fn remember(before: &mut Vec<u8>, dropped: [&[u8]; 2]) {
    for piece in dropped {
        before.extend(piece.get(piece.len().saturating_sub(MAX_TAIL)..).unwrap_or_default());
    }
    before.drain(..before.len().saturating_sub(MAX_TAIL));
}

/// A distance inside the ring always fits.
fn usize_of(distance: u64) -> usize {
    usize::try_from(distance).unwrap_or(usize::MAX)
}
