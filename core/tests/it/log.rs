//! Laws of the output log, against a naive model that keeps everything.

use std::sync::Arc;

use proptest::prelude::*;
use sessiond_core::{
    Cause, Cursor, End, ErrorKind, Exit, LogKind, OutputLog, OutputSink, Retention, Status, Stream, WindowSize, decode,
};

/// A log and its sink that keeps the newest `limit` bytes.
fn newest(limit: usize) -> (Arc<OutputLog>, OutputSink) {
    let log = OutputLog::new(LogKind::Session(WindowSize::default()), Retention::Newest(limit));
    (log.clone(), OutputSink::new(log))
}

/// What happens to a log.
#[derive(Clone, Debug)]
enum Op {
    Push(Vec<u8>),
    Lose(u8),
    Read { max: usize },
}

/// Bytes as terminals see them: text of several scripts, controls, cut characters and garbage.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[a-z\r\n]{0,12}".prop_map(String::into_bytes),
        4 => "[äß€語😀\n]{0,6}".prop_map(String::into_bytes),
        2 => "[€😀]{1,3}".prop_flat_map(|text| {
            let bytes = text.into_bytes();
            (0..=bytes.len()).prop_map(move |cut| bytes[..cut].to_vec())
        }),
        2 => prop::collection::vec(any::<u8>(), 0..8),
        1 => prop::collection::vec(Just(b'\n'), 0..40),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => bytes().prop_map(Op::Push),
        1 => (1u8..9).prop_map(Op::Lose),
        4 => (4usize..40).prop_map(|max| Op::Read { max }),
    ];
    prop::collection::vec(op, 0..60)
}

/// Everything that was ever printed; `None` stands for a byte that never came.
#[derive(Default)]
struct Model {
    stream: Vec<Option<u8>>,
}

impl Model {
    /// The cursor of the earliest byte that a log of this limit keeps.
    fn start(&self, limit: usize) -> u64 {
        let real: Vec<usize> = (0..self.stream.len()).filter(|at| self.stream[*at].is_some()).collect();
        let first = real.len().saturating_sub(limit);
        real.get(first).map_or(self.stream.len(), |at| *at) as u64
    }

    fn newlines_before(&self, cursor: u64) -> u64 {
        self.stream[..cursor as usize].iter().filter(|byte| **byte == Some(b'\n')).count() as u64
    }
}

/// Follows a log from its beginning, as any client does.
#[derive(Default)]
struct Reader {
    cursor: u64,
    lost: u64,
    text: String,
    done: bool,
}

impl Reader {
    /// One read; every slice must agree with the model.
    fn read(&mut self, log: &OutputLog, model: &Model, max: usize) -> usize {
        let slice = log.read(Stream::Stdout, Cursor(self.cursor), max, None).unwrap();
        let (start, next) = (slice.start.0, slice.next.0);
        let skipped = start - self.cursor - slice.lost;
        assert!(skipped == 0 || slice.lost > 0 && skipped <= 3, "a character's rest is skipped only behind a loss");
        assert_eq!(next - start, slice.bytes.len() as u64);
        assert!(slice.bytes.len() <= max);
        let expected: Vec<u8> = model.stream[start as usize..next as usize].iter().map(|byte| byte.unwrap()).collect();
        assert_eq!(slice.bytes, expected);
        assert_eq!(slice.end.0, model.stream.len() as u64);
        self.cursor = next;
        self.lost += slice.lost;
        self.text.push_str(&decode(&slice.bytes));
        self.done = slice.ended.is_some();
        assert!(!self.done || next == slice.end.0, "the end comes with the last byte");
        slice.bytes.len() + slice.lost as usize
    }
}

proptest! {
    /// SR20, SR21, SR23, SR31: any stream, cut anywhere, read by any chain of cursors and limits.
    #[test]
    fn a_chain_of_reads_gives_the_stream_or_its_counted_loss(ops in ops(), limit in 8usize..64) {
        let (log, mut sink) = newest(limit);
        let mut model = Model::default();
        let mut reader = Reader::default();
        for op in ops {
            match op {
                Op::Push(bytes) => {
                    sink.push(Stream::Stdout, &bytes);
                    model.stream.extend(bytes.into_iter().map(Some));
                }
                Op::Lose(count) => {
                    sink.lost(Stream::Stdout, count.into());
                    model.stream.extend((0..count).map(|_| None));
                }
                Op::Read { max } => {
                    reader.read(&log, &model, max);
                }
            }
            prop_assert_eq!(log.bounds(Stream::Stdout), (Cursor(model.start(limit)), Cursor(model.stream.len() as u64)));
        }
        sink.finish(Exit::Exited(0));
        while !reader.done {
            let moved = reader.read(&log, &model, 7);
            prop_assert!(reader.done || moved > 0, "a chain always gets on");
        }
        prop_assert_eq!(reader.cursor, model.stream.len() as u64);
    }

    /// SR23: the text does not depend on where the reads were cut.
    #[test]
    fn the_text_of_a_chain_is_the_text_of_the_stream(
        pieces in prop::collection::vec((bytes(), 4usize..20), 0..20),
    ) {
        let (log, mut sink) = newest(1 << 20);
        let mut model = Model::default();
        let mut reader = Reader::default();
        for (bytes, max) in &pieces {
            sink.push(Stream::Stdout, bytes);
            model.stream.extend(bytes.iter().copied().map(Some));
            while reader.read(&log, &model, *max) > 0 {}
        }
        sink.finish(Exit::Exited(0));
        while !reader.done {
            reader.read(&log, &model, 4);
        }
        let whole: Vec<u8> = pieces.into_iter().flat_map(|(bytes, _)| bytes).collect();
        prop_assert_eq!(reader.lost, 0);
        prop_assert_eq!(reader.text, decode(&whole));
    }

    /// The line index agrees with counting.
    #[test]
    fn line_numbers_agree_with_a_naive_count(ops in ops(), limit in 8usize..64, scale in prop_oneof![Just(1usize), Just(700)]) {
        let limit = limit * scale;
        let (log, mut sink) = newest(limit);
        let mut model = Model::default();
        for op in ops {
            match op {
                Op::Push(bytes) => {
                    let bytes = bytes.repeat(scale);
                    sink.push(Stream::Stdout, &bytes);
                    model.stream.extend(bytes.into_iter().map(Some));
                }
                Op::Lose(count) => {
                    sink.lost(Stream::Stdout, count.into());
                    model.stream.extend((0..count).map(|_| None));
                }
                Op::Read { .. } => {}
            }
        }
        let (start, end) = (model.start(limit), model.stream.len() as u64);
        let newlines = model.newlines_before(end);
        let after_last = model.stream.iter().rposition(|byte| *byte == Some(b'\n')).map_or(0, |at| at + 1);
        prop_assert_eq!(log.line_count(Stream::Stdout), newlines + u64::from(end > after_last as u64));
        let step = (end / 97).max(1) as usize;
        for cursor in (0..=end).step_by(step) {
            let kept = (cursor >= start).then(|| model.newlines_before(cursor) + 1);
            prop_assert_eq!(log.line_at(Stream::Stdout, Cursor(cursor)), kept, "line of {}", cursor);
        }
        for line in (1..=newlines + 2).step_by(step) {
            let Some(begins) = log.line_start(Stream::Stdout, line) else {
                prop_assert!(line < log.first_line(Stream::Stdout) || line > newlines + 1);
                continue;
            };
            prop_assert_eq!(model.newlines_before(begins.0) + 1, line);
            let before = begins.0.checked_sub(1).map(|at| model.stream[at as usize]);
            prop_assert!(
                begins.0 == start || before.is_none_or(|byte| byte.is_none_or(|byte| byte == b'\n')),
                "line {} begins behind a newline", line
            );
        }
    }
}

#[test]
fn the_newest_bytes_stay_and_the_loss_is_exact() {
    let (log, mut sink) = newest(10);
    sink.push(Stream::Stdout, b"0123456789");
    assert_eq!(log.read(Stream::Stdout, Cursor(0), 100, None).unwrap().lost, 0, "exactly the limit: nothing dropped");
    sink.push(Stream::Stdout, b"a");
    let slice = log.read(Stream::Stdout, Cursor(0), 100, None).unwrap();
    assert_eq!((slice.lost, slice.start, &slice.bytes[..]), (1, Cursor(1), &b"123456789a"[..]), "one more: one byte");
    sink.push(Stream::Stdout, &[b'z'; 1000]);
    let slice = log.read(Stream::Stdout, Cursor(11), 100, None).unwrap();
    assert_eq!((slice.lost, slice.next), (990, Cursor(1011)));
}

#[test]
fn the_first_bytes_of_both_streams_together_stay() {
    let log = OutputLog::new(LogKind::Command, Retention::Oldest(10));
    let mut sink = OutputSink::new(log.clone());
    sink.push(Stream::Stdout, b"123456");
    sink.push(Stream::Stderr, b"abcdef");
    sink.push(Stream::Stdout, b"789");
    let read = |stream| log.read(stream, Cursor::START, 100, None).unwrap().bytes;
    assert_eq!((&read(Stream::Stdout)[..], &read(Stream::Stderr)[..]), (&b"123456"[..], &b"abcd"[..]));
    assert_eq!((log.discarded(Stream::Stdout), log.discarded(Stream::Stderr)), (3, 2));
}

#[test]
fn a_cursor_past_the_end_is_refused_with_the_end() {
    let (log, mut sink) = newest(10);
    assert_eq!(log.read(Stream::Stdout, Cursor(1), 10, None).unwrap_err().kind(), ErrorKind::InvalidArgument);
    sink.push(Stream::Stdout, b"ab\xe2\x82");
    let error = log.read(Stream::Stdout, Cursor(5), 10, None).unwrap_err();
    assert!(error.message().contains("which is 4"), "a held-back tail counts: {error}");
    let slice = log.read(Stream::Stdout, Cursor(2), 10, None).unwrap();
    assert_eq!((slice.next, slice.end, slice.bytes.len()), (Cursor(2), Cursor(4), 0), "the tail is held back");
}

#[test]
fn the_end_releases_what_was_held_back_and_comes_last() {
    let (log, mut sink) = newest(10);
    sink.push(Stream::Stdout, b"a\xe2\x82");
    assert_eq!(log.status(), Status::Running);
    sink.finish(Exit::Exited(3));
    let first = log.read(Stream::Stdout, Cursor(0), 4, None).unwrap();
    assert_eq!(decode(&first.bytes), "a\u{fffd}\u{fffd}");
    assert_eq!(first.ended, Some(End { exit: Exit::Exited(3), cause: Cause::Own }));
    assert_eq!(log.status(), Status::Finished);
}

#[test]
fn a_sink_that_is_dropped_ends_its_log_as_lost() {
    let (log, sink) = newest(10);
    drop(sink);
    assert_eq!(log.status(), Status::Lost);
}

#[test]
fn sizes_are_marked_where_they_began() {
    let (log, mut sink) = newest(10);
    let size = |cols| WindowSize::new(cols, 24).unwrap();
    sink.push(Stream::Stdout, b"abc");
    sink.resized(size(100));
    sink.resized(size(101));
    sink.push(Stream::Stdout, b"def");
    sink.resized(size(102));
    assert_eq!(log.sizes(), [(Cursor(0), size(80)), (Cursor(3), size(101)), (Cursor(6), size(102))]);
    sink.push(Stream::Stdout, &[b'x'; 14]);
    sink.resized(size(103));
    assert_eq!(log.sizes(), [(Cursor(6), size(102)), (Cursor(20), size(103))], "what held at the earliest byte stays");
}

#[test]
fn a_stream_full_of_gaps_stays_bounded() {
    let (log, mut sink) = newest(1 << 20);
    for _ in 0..10_000 {
        sink.push(Stream::Stdout, b"x");
        sink.lost(Stream::Stdout, 1);
    }
    let (start, end) = log.bounds(Stream::Stdout);
    assert_eq!((start, end), (Cursor(20_000 - 2 * 256), Cursor(20_000)));
    assert_eq!(log.read(Stream::Stdout, Cursor(0), 100, None).unwrap().lost, start.0);
}

#[test]
fn losses_that_follow_one_another_are_one_gap() {
    let (log, mut sink) = newest(1 << 20);
    sink.push(Stream::Stdout, b"a");
    for _ in 0..1000 {
        sink.lost(Stream::Stdout, 1);
    }
    sink.push(Stream::Stdout, b"b");
    assert_eq!(log.bounds(Stream::Stdout), (Cursor(0), Cursor(1002)), "what came before them stays");
    let slice = log.read(Stream::Stdout, Cursor(1), 100, None).unwrap();
    assert_eq!((slice.lost, slice.start, &slice.bytes[..]), (1000, Cursor(1001), &b"b"[..]));
}

#[test]
fn a_character_does_not_go_on_behind_a_gap() {
    let (log, mut sink) = newest(4);
    sink.push(Stream::Stdout, b"\xe2");
    sink.lost(Stream::Stdout, 3);
    sink.push(Stream::Stdout, b"\x82\xacab");
    let slice = log.read(Stream::Stdout, Cursor(0), 100, None).unwrap();
    assert_eq!((slice.lost, slice.start, &slice.bytes[..]), (4, Cursor(4), &b"\x82\xacab"[..]));
}
