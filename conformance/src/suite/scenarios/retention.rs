//! What is kept of the output, and how its loss is told (SR30 to SR34).

use futures_util::FutureExt;
use sessiond_core::{ListSessions, SessionId, Wait};

use crate::suite::house::House;
use crate::suite::scenario::{Scenario, command, session};
use crate::suite::stage::{LONG, Stage, end, for_output, quiet, text, until};

/// What is kept of a session, in bytes.
const KEPT: u64 = 1_048_576;

pub(super) const SCENARIOS: &[Scenario] = &[
    session("SR30", "of a long stream the newest 1,048,576 bytes are there", |house| newest(house).boxed()),
    session("SR31", "a dropped cursor is no error, and only that is truncated", |house| truncated(house).boxed()),
    session("SR31", "the rest of a character that was cut is skipped", |house| cut_character(house).boxed()),
    session("SR32", "the limit itself drops nothing, one byte more drops one", |house| exact(house).boxed()),
    session("SR33", "a flood that nobody reads runs to its end", |house| unread(house).boxed()),
    command("SR34", "a command keeps its first 1 MiB, both streams together", |house| first(house).boxed()),
];

/// The earliest kept and the last cursor, as the list has them.
async fn bounds(stage: &Stage, session: SessionId) -> (u64, u64) {
    let page = stage.list(ListSessions::default()).await.unwrap();
    let found = page.sessions.iter().find(|listed| listed.session == session).unwrap();
    (found.output_start.0, found.output_end.0)
}

async fn newest(house: House) {
    let stage = house.open().await;
    let session = stage.start("printf first; head -c 1500000 /dev/zero; printf last; exit 0").await;
    let read = stage.read(session, 0, until(LONG, end())).await;
    assert!(read.slice.lost > 0, "the first bytes have gone");
    assert_eq!((text(&read).len() as u64, read.slice.next.0), (KEPT, 1_500_009));
    assert!(text(&read).ends_with("last") && !text(&read).contains("first"));
    assert_eq!(bounds(&stage, session).await, (1_500_009 - KEPT, 1_500_009));
}

async fn truncated(house: House) {
    let stage = house.open().await;
    let session = stage.start("head -c 1048580 /dev/zero; exit 0").await;
    stage.to_end(session).await;
    let at = |cursor| stage.read(session, cursor, Wait { max_bytes: Some(16), ..for_output(0) });
    for (cursor, lost) in [(0, true), (3, true), (4, false), (100, false), (1_048_580, false)] {
        assert_eq!(at(cursor).await.slice.lost > 0, lost, "truncated at {cursor}");
    }
    assert_eq!(at(0).await.slice.next.0, 20, "it goes on at the earliest byte");
    assert_eq!(at(4).await.slice.next.0, 20, "max_bytes alone is no truncation");
}

async fn cut_character(house: House) {
    let stage = house.open().await;
    // The limit falls into the middle of the first character.
    let session = stage.start("printf '€'; head -c 1048574 /dev/zero; exit 0").await;
    let read = stage.read(session, 0, until(LONG, end())).await;
    let shown = text(&read);
    assert!(read.slice.lost > 0);
    assert_eq!((shown.len(), shown.matches('\u{fffd}').count()), (1_048_574, 0), "its last two bytes are not shown");
    let inside = stage.read(session, 1, Wait { max_bytes: Some(4), ..for_output(0) }).await;
    assert_eq!(text(&inside), "\u{fffd}\u{fffd}\0\0", "a cursor inside it sees them");
}

async fn exact(house: House) {
    let stage = house.open().await;
    for (count, start) in [(KEPT - 1, 0), (KEPT, 0), (KEPT + 1, 1)] {
        let session = stage.start(&format!("head -c {count} /dev/zero; exit 0")).await;
        let read = stage.read(session, 0, until(LONG, end())).await;
        assert_eq!((read.slice.lost > 0, bounds(&stage, session).await), (start > 0, (start, count)));
        assert_eq!(text(&read).len() as u64, count - start);
    }
}

async fn unread(house: House) {
    let stage = house.open().await;
    let session = stage.start("head -c 20000000 /dev/zero; printf over; sleep 1000").await;
    let read = stage.read(session, 0, until(LONG, quiet(1000))).await;
    assert_eq!((read.slice.next.0, text(&read).len() as u64), (20_000_004, KEPT), "bounded, and all of it came by");
    assert_eq!(stage.list(ListSessions::default()).await.unwrap().sessions.len(), 1, "it lives");
}

async fn first(house: House) {
    let stage = house.open().await;
    let result = stage.execute("printf first; head -c 2000000 /dev/zero; echo late >&2").await;
    assert_eq!((result.stdout.len() as u64, result.stderr.len(), result.truncated), (KEPT, 0, true));
    assert!(result.stdout.starts_with(b"first"));
    let whole = stage.execute("echo out; echo err >&2").await;
    assert_eq!((&whole.stdout[..], &whole.stderr[..], whole.truncated), (&b"out\n"[..], &b"err\n"[..], false));
}
