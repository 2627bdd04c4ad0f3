//! Operations on an output log, each answer held against a model that keeps everything.

use std::sync::Arc;

use bytes::Bytes;
use sessiond_core::{
    Cause, Cursor, End, Exit, LogKind, OutputLog, OutputSink, Retention, Slice, Stream, WindowSize, decode,
};

use super::input::Input;

/// More gaps than this in the kept bytes, and the oldest bytes go.
const MAX_GAPS: usize = 256;

/// The most bytes that one operation prints, so that a checkpoint of the line index is passed now and then.
const MOST: usize = 9000;

/// Runs the operations that the bytes say.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let is_session = input.byte().is_multiple_of(2);
    let limit = input.pick(&[1, 2, 3, 4, 7, 16, 64, 500, 4096, 10_000]);
    let (kind, retention) = match is_session {
        true => (LogKind::Session(WindowSize::default()), Retention::Newest(limit)),
        false => (LogKind::Command, Retention::Oldest(limit)),
    };
    let log = OutputLog::new(kind, retention);
    let mut subject = Subject { sink: Some(OutputSink::new(log.clone())), log, models: Default::default(), retention };
    while !input.is_empty() {
        subject.step(&mut input);
    }
    subject.finish();
    for stream in [Stream::Stdout, Stream::Stderr] {
        subject.follow(stream);
    }
}

/// A log and what it should be.
struct Subject {
    log: Arc<OutputLog>,
    sink: Option<OutputSink>,
    models: [Model; 2],
    retention: Retention,
}

/// Everything that a stream has printed; `None` stands for a byte that never came.
#[derive(Default)]
struct Model {
    printed: Vec<Option<u8>>,
    start: usize,
    discarded: u64,
}

impl Subject {
    fn step(&mut self, input: &mut Input<'_>) {
        let choice = input.byte();
        let stream = if choice & 0x80 == 0 { Stream::Stdout } else { Stream::Stderr };
        match choice % 8 {
            0..=2 => self.push(stream, input.piece()),
            3 => {
                let times = usize::from(input.byte());
                let piece = input.piece().repeat(times);
                self.push(stream, &piece[..piece.len().min(MOST)]);
            }
            4 => self.lose(stream, u64::from(input.byte())),
            5 => self.read(stream, input.number(), input.byte(), input.byte()),
            6 => self.lines(stream, input.number()),
            _ if choice == 0x7f => self.finish(),
            _ => self.read(stream, input.number(), 255, 255),
        }
    }

    fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let Some(sink) = &mut self.sink else { return };
        sink.push(stream, bytes);
        match self.retention {
            Retention::Newest(limit) => {
                let model = self.model(stream);
                model.printed.extend(bytes.iter().copied().map(Some));
                model.retain(limit);
            }
            Retention::Oldest(limit) => {
                let room = limit - self.models.iter().map(|model| model.printed.len()).sum::<usize>();
                let (kept, gone) = bytes.split_at(bytes.len().min(room));
                let model = self.model(stream);
                model.printed.extend(kept.iter().copied().map(Some));
                model.discarded += gone.len() as u64;
            }
        }
    }

    fn lose(&mut self, stream: Stream, bytes: u64) {
        let Some(sink) = &mut self.sink else { return };
        sink.lost(stream, bytes);
        match self.retention {
            Retention::Newest(limit) => {
                let model = self.model(stream);
                model.printed.extend((0..bytes).map(|_| None));
                model.retain(limit);
            }
            Retention::Oldest(_) => self.model(stream).discarded += bytes,
        }
    }

    fn finish(&mut self) {
        if let Some(sink) = self.sink.take() {
            sink.finish(Exit::Exited(0));
        }
    }

    fn read(&mut self, stream: Stream, cursor: u64, max: u8, to: u8) {
        let closed = self.sink.is_none();
        let model = self.model(stream);
        let end = model.printed.len() as u64;
        let max = usize::from(max).max(4);
        let to = (to != 255).then(|| (cursor % (end + 1)) + u64::from(to));
        let cursor = cursor % (end + 2);
        let expected = (cursor <= end).then(|| model.slice(cursor as usize, max, to, closed));
        let discarded = model.discarded;
        let read = self.log.read(stream, Cursor(cursor), max, to.map(Cursor));
        assert_eq!(read.ok(), expected, "a read of {cursor}, at most {max}, up to {to:?}");
        assert_eq!(self.log.discarded(stream), discarded);
    }

    fn lines(&mut self, stream: Stream, at: u64) {
        let model = self.model(stream);
        let end = model.printed.len();
        let (newlines, first) = (model.newlines(end), model.first_line());
        let last_line = model.printed.iter().rposition(|byte| *byte == Some(b'\n')).map_or(0, |newline| newline + 1);
        let cursor = at as usize % (end + 2);
        let kept = (model.start..=end).contains(&cursor);
        let line = kept.then(|| model.newlines(cursor) + 1);
        let asked = at % (newlines + 3);
        let begins = model.line_start(asked);
        assert_eq!(self.log.line_count(stream), newlines + u64::from(end > last_line));
        assert_eq!(self.log.first_line(stream), first);
        // A stream that has printed nothing has no place that is part of a line.
        let at_line = self.log.line_at(stream, Cursor(cursor as u64));
        assert!(at_line == line || end == 0, "the line of {cursor}: {at_line:?}, not {line:?}");
        let start = self.log.line_start(stream, asked);
        assert!(start == begins.map(Cursor) || end == 0, "line {asked} begins at {start:?}, not {begins:?}");
    }

    /// A chain of reads to the end, after the end.
    fn follow(&mut self, stream: Stream) {
        let (mut cursor, mut whole) = (self.model(stream).start as u64, Vec::new());
        let mut text = String::new();
        loop {
            let slice = self.log.read(stream, Cursor(cursor), 5, None).unwrap();
            text.push_str(&decode(&slice.bytes));
            whole.extend_from_slice(&slice.bytes);
            assert!(slice.next.0 > cursor || slice.ended.is_some(), "a chain always gets on");
            cursor = slice.next.0;
            if slice.ended.is_some() {
                break;
            }
        }
        let model = self.model(stream);
        let kept: Vec<u8> = model.printed[model.start..].iter().flatten().copied().collect();
        assert_eq!(whole, kept);
        if model.printed[model.start..].iter().all(Option::is_some) {
            assert_eq!(text, decode(&kept), "the text does not depend on the cuts");
        }
    }

    fn model(&mut self, stream: Stream) -> &mut Model {
        &mut self.models[usize::from(stream == Stream::Stderr)]
    }
}

impl Model {
    /// Drops the oldest bytes until at most `limit` real ones and [`MAX_GAPS`] gaps are left.
    fn retain(&mut self, limit: usize) {
        let real: Vec<usize> = (self.start..self.printed.len()).filter(|at| self.printed[*at].is_some()).collect();
        let first = real.len().saturating_sub(limit);
        if first > 0 || real.is_empty() {
            self.start = real.get(first).copied().unwrap_or(self.printed.len());
        }
        let kept = &self.printed[self.start..];
        let gaps: Vec<usize> = (1..kept.len()).filter(|at| kept[*at].is_none() && kept[at - 1].is_some()).collect();
        if gaps.len() > MAX_GAPS {
            let behind = kept.iter().skip(gaps[0]).position(Option::is_some).unwrap_or(0);
            self.start += gaps[0] + behind;
        }
    }

    fn newlines(&self, before: usize) -> u64 {
        self.printed[..before].iter().filter(|byte| **byte == Some(b'\n')).count() as u64
    }

    fn first_line(&self) -> u64 {
        let whole = self.start == 0 || self.printed[self.start - 1] == Some(b'\n');
        let dropped = self.newlines(self.start);
        // The only line there is counts, even when its beginning is gone.
        let only = self.newlines(self.printed.len()) == dropped;
        if whole || only { dropped + 1 } else { dropped + 2 }
    }

    fn line_start(&self, line: u64) -> Option<u64> {
        let newlines = self.newlines(self.printed.len());
        if line < self.first_line() || line > newlines + 1 {
            return None;
        }
        if line == self.newlines(self.start) + 1 {
            return Some(self.start as u64);
        }
        let newline = (0..self.printed.len()).filter(|at| self.printed[*at] == Some(b'\n')).nth(line as usize - 2)?;
        // The first byte behind it that came; a line that begins in a gap begins where the gap ends.
        let begins = (newline + 1..self.printed.len()).find(|at| self.printed[*at].is_some());
        Some(begins.unwrap_or(self.printed.len()) as u64)
    }

    /// What a read gives, found the slow way.
    fn slice(&self, cursor: usize, max: usize, to: Option<u64>, closed: bool) -> Slice {
        let end = self.printed.len();
        let mut start = cursor.max(self.start);
        let mut lost = start - cursor;
        if lost > 0 {
            start += self.rest_of_character(start);
        }
        while start < end && self.printed[start].is_none() {
            start += 1;
            lost += 1;
        }
        let wall = (start..end).find(|at| self.printed[*at].is_none()).unwrap_or(end);
        let to = to.map_or(end, |to| usize::try_from(to).unwrap()).max(start);
        let cut = wall.min(to).min(start + max);
        let real: Vec<u8> = self.printed[start..cut].iter().flatten().copied().collect();
        let completes = !(cut == wall && (closed || wall < end));
        let held = if completes { tail(&real) } else { 0 };
        let next = cut - held;
        let ended = (closed && next == end).then_some(End { exit: Exit::Exited(0), cause: Cause::Own });
        Slice {
            start: Cursor(start as u64),
            next: Cursor(next as u64),
            end: Cursor(end as u64),
            lost: lost as u64,
            bytes: Bytes::from(real[..real.len() - held].to_vec()),
            ended,
        }
    }

    /// How many bytes from `at` on belong to a character that begins before it.
    fn rest_of_character(&self, at: usize) -> usize {
        for back in 1..=3.min(at) {
            for length in back + 1..=4 {
                let Some(bytes) = self.printed.get(at - back..at - back + length) else { continue };
                let bytes: Vec<u8> = bytes.iter().flatten().copied().collect();
                if bytes.len() == length && std::str::from_utf8(&bytes).is_ok_and(|text| text.chars().count() == 1) {
                    return length - back;
                }
            }
        }
        0
    }
}

/// The bytes at the end that begin a character which more bytes could complete.
fn tail(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    match std::str::from_utf8(last) {
        Err(error) if error.error_len().is_none() => last.len(),
        _ => 0,
    }
}
