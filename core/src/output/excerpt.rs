//! Lines by their numbers and the newest output, for whoever follows a command.
//!
//! Each answer comes from one look at the log, and nothing but a copy of the bytes is made while it is locked.

use bytes::{Bytes, BytesMut};

use super::stream::StreamLog;
use super::{OutputLog, Stream};
use crate::service::{CommandLines, LineFacts, Tail};

/// A line that has been dropped was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DroppedLine {
    /// The first line that is still there.
    pub(crate) first: u64,
}

impl OutputLog {
    /// The newest `count` lines.
    pub(crate) fn newest_lines(&self, stream: Stream, count: u64) -> CommandLines {
        let (first, block) = self.look(stream, |log| {
            let first = (log.line_count() + 1).saturating_sub(count).max(log.first_line());
            (first, copy(log.lines(first, count)))
        });
        CommandLines { first, lines: split(block) }
    }

    /// At most `count` lines from line `first` on; none when it is not there yet.
    pub(crate) fn lines_from(&self, stream: Stream, first: u64, count: u64) -> Result<CommandLines, DroppedLine> {
        let block = self.look(stream, |log| match log.first_line() {
            kept if first < kept => Err(DroppedLine { first: kept }),
            _ => Ok(copy(log.lines(first, count))),
        })?;
        Ok(CommandLines { first, lines: split(block) })
    }

    /// The newest output, at most `max` bytes of it.
    pub(crate) fn tail(&self, stream: Stream, max: usize) -> Tail {
        self.look(stream, |log| {
            let (start, bytes) = log.tail(max);
            let first_line = log.line_at(start).unwrap_or_else(|| log.first_line());
            Tail { bytes: copy(bytes), first_line, truncated: start > 0 }
        })
    }

    /// How many lines a stream has had, and how many of them are gone.
    pub(crate) fn line_facts(&self, stream: Stream) -> LineFacts {
        self.look(stream, |log| LineFacts { total: log.line_count(), dropped: log.first_line() - 1 })
    }

    fn look<R>(&self, stream: Stream, look: impl FnOnce(&StreamLog) -> R) -> R {
        self.with(|state| match state.stream(stream) {
            Some(log) => look(log),
            None => look(&StreamLog::default()),
        })
    }
}

fn copy([head, tail]: [&[u8]; 2]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(head.len() + tail.len());
    bytes.extend_from_slice(head);
    bytes.extend_from_slice(tail);
    bytes.freeze()
}

/// Lines without their terminators; what follows the last terminator is one too (CO02).
fn split(block: Bytes) -> Vec<Bytes> {
    let mut lines = Vec::new();
    let mut begin = 0;
    for newline in memchr::memchr_iter(b'\n', &block) {
        let line = block.slice(begin..newline);
        lines.push(if line.ends_with(b"\r") { line.slice(..line.len() - 1) } else { line });
        begin = newline + 1;
    }
    if begin < block.len() {
        lines.push(block.slice(begin..));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::output::{LogKind, OutputSink, Retention};

    /// All that was printed, and how many bytes of it are kept.
    struct Model {
        raw: Vec<u8>,
        limit: usize,
    }

    impl Model {
        fn kept_from(&self) -> usize {
            self.raw.len().saturating_sub(self.limit)
        }

        /// Where each line begins, and its text as far as it is kept.
        fn lines(&self) -> Vec<(usize, Vec<u8>)> {
            let mut begin = 0;
            let line = |line: &[u8]| {
                let kept = self.raw.get(begin.max(self.kept_from())..begin + line.len()).unwrap_or_default();
                let at = begin;
                begin += line.len();
                let terminated = kept.strip_suffix(b"\n").map(|kept| kept.strip_suffix(b"\r").unwrap_or(kept));
                (at, terminated.unwrap_or(kept).to_vec())
            };
            self.raw.split_inclusive(|byte| *byte == b'\n').map(line).collect()
        }

        /// The first line that can be read.
        fn first(&self) -> usize {
            let lines = self.lines();
            let whole = lines.iter().position(|(begin, _)| *begin >= self.kept_from());
            whole.map_or(lines.len().max(1), |index| index + 1)
        }

        fn read(&self, first: usize, count: usize) -> Vec<Vec<u8>> {
            self.lines().into_iter().skip(first - 1).take(count).map(|(_, text)| text).collect()
        }

        /// Where the newest `max` bytes begin.
        fn tail(&self, max: usize) -> usize {
            let from = self.kept_from().max(self.raw.len().saturating_sub(max));
            let begins = self.lines().into_iter().map(|(begin, _)| begin).find(|begin| *begin >= from);
            begins.unwrap_or_else(|| {
                // The end of the character that is cut here.
                let mut at = 0;
                for chunk in self.raw.utf8_chunks() {
                    let inside = chunk.valid().char_indices().map(|(index, char)| (at + index, char.len_utf8()));
                    for (begin, length) in inside {
                        if begin < from && from < begin + length {
                            return begin + length;
                        }
                    }
                    at += chunk.valid().len() + chunk.invalid().len();
                }
                from
            })
        }
    }

    fn logged(pieces: &[Vec<u8>], limit: usize) -> Arc<OutputLog> {
        let log = OutputLog::new(LogKind::Command, Retention::Newest(limit));
        let mut sink = OutputSink::new(log.clone());
        for piece in pieces {
            sink.push(Stream::Stdout, piece);
        }
        log
    }

    fn pieces() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let byte = prop::sample::select(b"ab\n\n\r\xe2\x82\xac\xff".to_vec());
        let text = prop::sample::select(vec!["€", "é\r\n", "line\n", "\n\n"]);
        let piece = prop_oneof![
            prop::collection::vec(byte, 0..12),
            prop::collection::vec(text, 0..4).prop_map(|texts| texts.concat().into_bytes()),
        ];
        prop::collection::vec(piece, 0..12)
    }

    fn texts(read: &CommandLines) -> Vec<Vec<u8>> {
        read.lines.iter().map(|line| line.to_vec()).collect()
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_whole_output_however_it_came(
            pieces in pieces(), limit in 1usize..40, from in 1u64..30, count in 1u64..30,
        ) {
            let log = logged(&pieces, limit);
            let model = Model { raw: pieces.concat(), limit };
            let (total, first) = (model.lines().len() as u64, model.first() as u64);
            let facts = LineFacts { total, dropped: first - 1 };
            prop_assert_eq!(log.line_facts(Stream::Stdout), facts);

            let newest = log.newest_lines(Stream::Stdout, count);
            prop_assert_eq!(newest.first, (total + 1).saturating_sub(count).max(first));
            prop_assert_eq!(texts(&newest), model.read(newest.first as usize, count as usize));

            let read = log.lines_from(Stream::Stdout, from, count);
            if from < first {
                prop_assert_eq!(read, Err(DroppedLine { first }));
                prop_assert!(log.lines_from(Stream::Stdout, first, count).is_ok(), "the advised line works");
            } else {
                let read = read.map_err(|dropped| TestCaseError::fail(format!("{dropped:?}")))?;
                prop_assert_eq!(read.first, from);
                prop_assert_eq!(texts(&read), model.read(from as usize, count as usize));
            }
        }

        #[test]
        fn a_tail_begins_at_a_line_or_at_a_character(pieces in pieces(), limit in 1usize..40, max in 1usize..40) {
            let tail = logged(&pieces, limit).tail(Stream::Stdout, max);
            let model = Model { raw: pieces.concat(), limit };
            let from = model.tail(max);
            let first_line = 1 + model.raw.iter().take(from).filter(|byte| **byte == b'\n').count() as u64;
            let bytes = Bytes::copy_from_slice(model.raw.get(from..).unwrap_or_default());
            prop_assert_eq!(tail, Tail { bytes, first_line, truncated: from > 0 });
        }
    }

    #[test]
    fn a_character_that_retention_and_the_tail_both_cut_is_skipped() {
        let tail = logged(&["€".into()], 2).tail(Stream::Stdout, 1);
        assert_eq!(tail, Tail { bytes: Bytes::new(), first_line: 1, truncated: true });
    }

    #[test]
    fn a_stream_that_has_printed_nothing_has_no_lines() {
        let log = OutputLog::new(LogKind::Command, Retention::Newest(100));
        assert_eq!(log.line_facts(Stream::Stderr), LineFacts::default());
        assert_eq!(log.newest_lines(Stream::Stderr, 50), CommandLines { first: 1, lines: Vec::new() });
        assert_eq!(log.lines_from(Stream::Stderr, 7, 50), Ok(CommandLines { first: 7, lines: Vec::new() }));
        let nothing = Tail { bytes: Bytes::new(), first_line: 1, truncated: false };
        assert_eq!(log.tail(Stream::Stderr, 10), nothing);
    }
}
