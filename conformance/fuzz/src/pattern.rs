//! A wait for a pattern in growing output, against the `regex` crate on the whole of it at each look.

use std::task::Poll;
use std::time::Duration;

use futures_util::poll;
use regex::bytes::{Regex, RegexBuilder};
use sessiond_core::{
    Call, Cursor, Exit, Fired, LogKind, OutputLog, OutputSink, Owner, Pattern, Retention, Stream, Until, Wait,
};

use super::input::Input;

/// In how many turns a search has come to its end.
const TURNS: usize = 1000;

/// Searches for the pattern that the bytes begin with, in the pieces that follow it.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let Ok(source) = std::str::from_utf8(input.piece()) else { return };
    let Ok(pattern) = Pattern::new(source) else { return };
    let Ok(regex) = RegexBuilder::new(source).crlf(true).size_limit(64 << 20).build() else {
        panic!("{source:?} is a pattern here and none of the regex crate");
    };
    let max = usize::from(input.byte()).max(4);
    let from = u64::from(input.byte());
    // Word boundaries are ASCII ones here and Unicode ones there: on ASCII text they are the same.
    let mask = if source.contains('\\') || source.contains('u') { 0x7f } else { 0xff };
    let mut pieces = Vec::new();
    while !input.is_empty() {
        pieces.push(input.piece().iter().map(|byte| byte & mask).collect::<Vec<u8>>());
    }
    search(pattern, &regex, max, from, &pieces);
}

fn search(pattern: Pattern, regex: &Regex, max: usize, from: u64, pieces: &[Vec<u8>]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let log = OutputLog::new(LogKind::Command, Retention::Newest(1 << 20));
    let mut sink = OutputSink::new(log.clone());
    let until = Until { pattern: Some(pattern), ..Until::default() };
    let wait = Wait { time: Duration::from_secs(20), until: Some(until), max_bytes: Some(max) };
    runtime.block_on(async {
        let cx = Call::new(Owner::management("fuzz"));
        let mut whole: Vec<u8> = pieces.first().cloned().unwrap_or_default();
        sink.push(Stream::Stdout, &whole);
        let from = from.min(whole.len() as u64);
        let mut read = std::pin::pin!(log.read_when(&cx, Stream::Stdout, Cursor(from), &wait));
        for piece in pieces.iter().skip(1).map(Some).chain([None]) {
            let begin = from as usize;
            let seen = &whole[begin..whole.len().min(begin + max)];
            let expected = match regex.find(seen) {
                Some(found) => Some((Fired::Pattern, from + found.end() as u64)),
                None if whole.len() - begin >= max => Some((Fired::Full, 0)),
                None => None,
            };
            let mut given = poll!(&mut read);
            // A long search lets others go first now and then, and goes on when it is polled again.
            for _ in 0..TURNS {
                if given.is_ready() || expected.is_none() {
                    break;
                }
                tokio::task::yield_now().await;
                given = poll!(&mut read);
            }
            match (given, expected) {
                (Poll::Ready(read), Some((fired, end))) => {
                    let read = read.unwrap();
                    assert_eq!(read.fired, fired);
                    assert!(
                        fired == Fired::Full || ends_with_match(&read.slice, end, &whole),
                        "{:?} {end}",
                        read.slice
                    );
                    return;
                }
                (Poll::Pending, None) => {}
                (given, expected) => panic!("{given:?} where {expected:?} is right"),
            }
            match piece {
                Some(piece) => {
                    sink.push(Stream::Stdout, piece);
                    whole.extend(piece);
                }
                None => break,
            }
        }
        sink.finish(Exit::Exited(0));
        assert_eq!(read.await.unwrap().fired, Fired::End, "the end ends every wait");
    });
}

/// The output ends with the match, or before a character that the match ends inside.
fn ends_with_match(slice: &sessiond_core::Slice, end: u64, whole: &[u8]) -> bool {
    let next = slice.next.0;
    next == end || next < end && end - next <= 3 && std::str::from_utf8(&whole[next as usize..end as usize]).is_err()
}
