//! Reading by cursor: chains, repetition, characters (SR20 to SR25).

use futures_util::FutureExt;
use sessiond_core::{ErrorKind, SessionId, Wait};

use crate::suite::house::House;
use crate::suite::scenario::{Scenario, session};
use crate::suite::stage::{LONG, Stage, end, for_output, text, until};

pub(super) const SCENARIOS: &[Scenario] = &[
    session("SR20", "a chain of small reads is the stream, without gap or overlap", |house| chain(house).boxed()),
    session("SR21", "the same read gives the same again, whoever reads meanwhile", |house| repeat(house).boxed()),
    session("SR21", "reading neither stops a session nor sends it anything", |house| only_looks(house).boxed()),
    session("SR22", "a cursor past the end is refused, also before any output", |house| past_end(house).boxed()),
    session("SR23", "a character is never cut, wherever the reads are", |house| characters(house).boxed()),
    session("SR23", "each byte that is no character is one U+FFFD", |house| bad_bytes(house).boxed()),
    session("SR24", "half a character alone ends no wait", |house| tail(house).boxed()),
    session("SR25", "what is typed is echoed by the terminal", |house| echo(house).boxed()),
];

/// Reads from 0 to the end in pieces of at most `max` bytes: the text, and the last cursor.
async fn in_pieces(stage: &Stage, session: SessionId, max: usize) -> (String, u64) {
    let (mut joined, mut cursor) = (String::new(), 0);
    loop {
        let read = stage.read(session, cursor, Wait { max_bytes: Some(max), ..for_output(LONG) }).await;
        joined.push_str(&text(&read));
        assert!(read.slice.next.0 > cursor || read.slice.ended.is_some(), "a chain always gets on");
        cursor = read.slice.next.0;
        if read.slice.ended.is_some() {
            return (joined, cursor);
        }
    }
}

async fn chain(house: House) {
    let stage = house.open().await;
    let session = stage.start("seq 1 300; printf 'a€b😀'; exit 0").await;
    let (whole, _) = stage.to_end(session).await;
    let (joined, cursor) = in_pieces(&stage, session, 7).await;
    assert_eq!(joined, whole);
    assert_eq!(cursor, whole.len() as u64, "cursors count bytes from the first one");
    assert!(whole.starts_with("1\r\n2\r\n") && whole.ends_with("300\r\na€b😀"), "{whole:?}");
}

async fn repeat(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("echo one; echo two; cat", "two\r\n").await;
    let first = stage.read(session, 0, for_output(0)).await;
    let later = stage.read(session, 5, for_output(0)).await;
    let again = stage.read(session, 0, for_output(0)).await;
    assert_eq!(text(&first), "one\r\ntwo\r\n");
    assert_eq!(first.slice, again.slice, "nothing was consumed");
    assert_eq!(text(&later), "two\r\n", "another cursor has its own view");
}

async fn only_looks(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("echo ready; read line; echo got it; exit 3", "ready\r\n").await;
    for _ in 0..5 {
        stage.read(session, 0, for_output(0)).await;
    }
    let waited = stage.read(session, 7, for_output(100)).await;
    assert_eq!((text(&waited), waited.slice.ended), (String::new(), None), "nothing has come and nothing has gone");
    stage.write(session, "x\r", Wait::default()).await.unwrap();
    let (output, ended) = stage.to_end(session).await;
    assert_eq!((output.as_str(), ended.exit_code()), ("ready\r\nx\r\ngot it\r\n", 3));
}

async fn past_end(house: House) {
    let stage = house.open().await;
    let silent = stage.start("sleep 1000").await;
    let error = stage.try_read(silent, 1, for_output(0)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "a cursor of 1 before any output");
    let session = stage.start_until(r"printf 'abc\342\202'; cat", "abc").await;
    // Whoever polls at the end sees the held-back bytes nowhere, but they count.
    let error = stage.try_read(session, 6, for_output(LONG)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("which is 5"), "the message names the end: {error}");
    let polling = stage.read(session, 3, for_output(0)).await;
    assert_eq!((text(&polling), polling.slice.next.0), (String::new(), 3), "the tail is held back");
}

async fn characters(house: House) {
    let stage = house.open().await;
    let session = stage.start("printf 'äß€語😀'; printf 'x€y😀z'; exit 0").await;
    stage.read(session, 0, until(LONG, end())).await;
    for max in 4..=9 {
        let (joined, _) = in_pieces(&stage, session, max).await;
        assert_eq!(joined, "äß€語😀x€y😀z", "in pieces of {max} bytes");
    }
    // Bytes 4 to 6 are one character; a cursor inside it is legal.
    let inside = stage.read(session, 5, Wait { max_bytes: Some(5), ..Wait::default() }).await;
    assert_eq!((text(&inside), inside.slice.next.0), ("\u{fffd}\u{fffd}語".to_owned(), 10));
}

async fn bad_bytes(house: House) {
    let stage = house.open().await;
    let session = stage.start(r"printf 'a\377b\342\202c\200'; printf '\360\237\230'; exit 0").await;
    let (whole, _) = stage.to_end(session).await;
    let expected = "a\u{fffd}b\u{fffd}\u{fffd}c\u{fffd}\u{fffd}\u{fffd}\u{fffd}";
    assert_eq!(whole, expected, "an incomplete character is released at the end");
    for max in 4..=7 {
        assert_eq!(in_pieces(&stage, session, max).await, (expected.to_owned(), 10), "in pieces of {max} bytes");
    }
}

async fn tail(house: House) {
    let stage = house.open().await;
    let session = stage.start(r"printf '\342\202'; read line; printf '\254'; sleep 1000").await;
    let early = stage.read(session, 0, for_output(300)).await;
    assert_eq!((text(&early), early.slice.next.0), (String::new(), 0), "two bytes of three are no output");
    stage.write(session, "\r", Wait::default()).await.unwrap();
    let read = stage.read(session, 0, for_output(LONG)).await;
    let shown = text(&read);
    // The echo of the line's end comes between the halves, which makes both of them bad bytes.
    assert!(shown.starts_with("\u{fffd}\u{fffd}"), "{shown:?}");

    let session = stage.start(r"printf 'x\342\202'; sleep 0.3; printf '\254'; sleep 1000").await;
    let first = stage.read(session, 0, for_output(LONG)).await;
    assert!(text(&first) == "x" || text(&first) == "x€", "{first:?}");
    let rest = stage.read(session, 1, for_output(LONG)).await;
    assert_eq!((text(&rest), rest.slice.next.0), ("€".to_owned(), 4), "it comes whole");
}

async fn echo(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("echo ready; read line; sleep 1000", "ready\r\n").await;
    stage.write(session, "typed\r", Wait::default()).await.unwrap();
    assert_eq!(stage.shows(session, "typed\r\n").await, "ready\r\ntyped\r\n");
}
