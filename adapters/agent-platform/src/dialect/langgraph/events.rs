//! Server-sent events, as far as they are of use here: that there was one, and where to go on behind it.
//!
//! The fields are those of the HTML standard, section 9.2.6 (event stream interpretation). What an event carries is not
//! kept: a run's turns come from its history, and a stream of a run that somebody else started may carry anything.

use std::future::ready;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use sessiond_core::Result;

use crate::dialect::{EventId, Happened, RunEvent};

/// How much of a line is looked at: more than any id has.
const LINE: usize = 1024;

/// The events of a stream.
pub(super) fn read(body: BoxStream<'static, Result<Bytes>>) -> BoxStream<'static, Result<RunEvent>> {
    body.scan(Parser::default(), |parser, chunk| {
        ready(Some(match chunk {
            Ok(bytes) => parser.feed(&bytes).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        }))
    })
    .flat_map(stream::iter)
    .boxed()
}

/// Takes a stream apart that may be cut anywhere.
#[derive(Debug, Default)]
struct Parser {
    /// The beginning of the line that has not ended yet.
    line: Vec<u8>,
    /// The last line ended with a carriage return: a newline behind it is of the same end.
    after_return: bool,
    /// The id of the latest event, which stays until another is named.
    id: Option<String>,
    /// The event that has not ended yet carries something.
    has_data: bool,
}

impl Parser {
    /// The events, and signs of life, that end in these bytes.
    fn feed(&mut self, bytes: &[u8]) -> Vec<RunEvent> {
        let mut events = Vec::new();
        for byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    events.extend(self.end_of_line());
                }
                _ => {
                    self.after_return = false;
                    if self.line.len() < LINE {
                        self.line.push(*byte);
                    }
                }
            }
        }
        events
    }

    fn end_of_line(&mut self) -> Option<RunEvent> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let id = self.id.clone().map(EventId);
            return std::mem::take(&mut self.has_data).then_some(RunEvent { id, what: Happened::Changed });
        }
        if line.first() == Some(&b':') {
            return Some(RunEvent { id: None, what: Happened::Heartbeat });
        }
        if let Some(value) = field(&line, b"id") {
            // An id that no header can carry back is none.
            self.id = std::str::from_utf8(value)
                .ok()
                .filter(|id| !id.is_empty() && line.len() < LINE && !id.chars().any(char::is_control))
                .map(str::to_owned);
        } else if field(&line, b"data").is_some() {
            self.has_data = true;
        }
        None
    }
}

/// The value of a line of this name.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        [] => Some(&[]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str = "event: metadata\r\ndata: {\"run_id\":\"a\"}\r\nid: 17-0\r\n\r\n: heartbeat\r\n\r\n\
        event: updates\ndata: {\n\ndata\nid:18-0\n\nid: 19-0\n\nevent: end\rdata: x\r\r\n\
        id: bad\u{1}\ndata: y\n\ndataset: 1\n\ndata: cut";

    fn changed(id: Option<&str>) -> RunEvent {
        RunEvent { id: id.map(|id| EventId(id.to_owned())), what: Happened::Changed }
    }

    fn expected() -> Vec<RunEvent> {
        let heartbeat = RunEvent { id: None, what: Happened::Heartbeat };
        let ids = [Some("17-0"), Some("17-0"), Some("18-0"), Some("19-0"), None];
        let mut events: Vec<_> = ids.into_iter().map(changed).collect();
        events.insert(1, heartbeat);
        events
    }

    #[test]
    fn an_event_is_what_carries_something_and_ends() {
        assert_eq!(Parser::default().feed(STREAM.as_bytes()), expected());
    }

    #[test]
    fn a_line_of_any_length_takes_no_room() {
        let mut parser = Parser::default();
        assert_eq!(parser.feed(b"data: "), []);
        for _ in 0..100 {
            assert_eq!(parser.feed(&[b'x'; 100_000]), []);
        }
        assert!(parser.line.capacity() <= 2 * LINE);
        assert_eq!(parser.feed(b"\r\n\r\n"), [changed(None)]);
        let long = format!("id: {}\ndata: x\n\n", "7".repeat(2 * LINE));
        assert_eq!(parser.feed(long.as_bytes()), [changed(None)]);
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(cuts in proptest::collection::vec(0..STREAM.len(), 0..20)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut parser = Parser::default();
            let mut events = Vec::new();
            let mut from = 0;
            for cut in cuts.into_iter().chain([STREAM.len()]) {
                events.extend(parser.feed(&STREAM.as_bytes()[from..cut]));
                from = cut;
            }
            prop_assert_eq!(events, expected());
        }

        #[test]
        fn no_bytes_are_a_surprise(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for event in Parser::default().feed(&bytes) {
                prop_assert!(event.id.is_none_or(|EventId(id)| !id.is_empty() && !id.contains(['\r', '\n', '\0'])));
            }
        }
    }
}
