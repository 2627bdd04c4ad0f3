//! Following: every byte or how many are gone, then the end.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::future::join_all;
use sessiond_core::{Call, Cursor, End, ErrorKind, Limits, Service, WriteSession, not_found};
use sessiond_grpc::Item;
use sessiond_grpc::client::{GrpcClient, Items, SessionRef};
use tokio::time::Instant;

use crate::place::Place;
use crate::rig::{Rig, cx, target};
use crate::verbs::exited;

/// Everything that a follower got.
pub(crate) struct Drained {
    pub(crate) bytes: Bytes,
    pub(crate) lost: u64,
    pub(crate) end: End,
}

/// Follows to the end; the pieces must join.
pub(crate) async fn drain(items: &mut Items) -> Drained {
    let (mut bytes, mut lost, mut at) = (BytesMut::new(), 0, None);
    loop {
        let (start, length) = match items.next().await.expect("the end comes last").unwrap() {
            Item::Chunk { start, bytes: piece } => {
                bytes.extend_from_slice(&piece);
                (start, piece.len() as u64)
            }
            Item::Gap { start, bytes } => {
                lost += bytes;
                (start, bytes)
            }
            Item::End(end) => {
                assert!(items.next().await.is_none(), "nothing follows the end");
                return Drained { bytes: bytes.freeze(), lost, end };
            }
        };
        assert_eq!(at.unwrap_or(start), start, "a piece begins where the one before has ended");
        at = Some(Cursor(start.0 + length));
    }
}

async fn follow(rig: &Rig, session: &SessionRef) -> Items {
    rig.client.follow_session(&cx(), session, Cursor::START).await.unwrap()
}

#[tokio::test]
async fn every_byte_then_the_end_with_half_a_character_too() {
    let rig = Rig::new().await;
    let session = rig.start("echo one; sleep 0.05; printf '\\303\\251\\303'; sleep 0.05; exit 3").await;
    let drained = drain(&mut follow(&rig, &session).await).await;
    assert_eq!((&drained.bytes[..], drained.lost, drained.end), (&b"one\r\n\xc3\xa9\xc3"[..], 0, exited(3)));
    let again = rig.client.follow_session(&cx(), &session, Cursor(6)).await.unwrap().next().await;
    assert_eq!(again.unwrap().unwrap(), Item::Chunk { start: Cursor(6), bytes: Bytes::from_static(b"\xa9\xc3") });
}

#[tokio::test]
async fn what_cannot_be_followed_is_an_error_of_its_kind() {
    let rig = Rig::new().await;
    let session = rig.start("true").await;
    rig.ended(&session).await;
    let gone = SessionRef { session: "0".repeat(26).parse().unwrap(), target: Some(target()) };
    assert_eq!(follow(&rig, &gone).await.next().await, Some(Err(not_found())));
    let past = rig.client.follow_session(&cx(), &session, Cursor(9)).await.unwrap().next().await.unwrap();
    assert_eq!(past.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[tokio::test]
async fn a_deadline_ends_the_following_and_says_so() {
    let rig = Rig::new().await;
    let session = rig.start("echo x; cat").await;
    let call = Call { deadline: Instant::now() + Duration::from_millis(300), ..cx() };
    let mut items = rig.client.follow_session(&call, &session, Cursor::START).await.unwrap();
    assert!(matches!(items.next().await, Some(Ok(Item::Chunk { .. }))));
    assert_eq!(items.next().await.unwrap().unwrap_err().kind(), ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_reader_slower_than_the_retention_is_told_exactly_what_it_lost() {
    let rig = Rig::new().await;
    let session = rig.start("sleep 0.1; head -c 33554432 /dev/zero; echo done").await;
    let mut slow = follow(&rig, &session).await;
    // Whatever is on its way has been sent by then; the rest of 32 MiB is long gone.
    let printed = rig.ended(&session).await;
    let drained = drain(&mut slow).await;
    assert_eq!(drained.bytes.len() as u64 + drained.lost, printed);
    assert!(drained.lost > 16 << 20, "only {} bytes were lost", drained.lost);
    assert!(drained.bytes.ends_with(b"done\r\n"));
}

#[tokio::test]
async fn characters_that_the_retention_cuts_leave_no_hole_that_is_not_told() {
    let place = Place::new();
    let daemon = place.serve(&[]);
    let client = daemon.client().await;
    let session = client.start("read -r line; yes €uro | head -c 20000001; echo; echo done").await;
    let mut slow = client.0.follow_session(&cx(), &session, Cursor::START).await.unwrap();
    let (session, target) = (session.session, session.target.clone());
    let go = WriteSession { session, target, input: "\r".into(), wait: sessiond_core::Wait::default() };
    client.0.write_session(&cx(), go).await.unwrap();
    client.ended(session).await;
    let drained = drain(&mut slow).await;
    assert!(drained.lost > 8 << 20, "only {} bytes were lost", drained.lost);
    assert!(drained.bytes.ends_with(b"done\r\n"));
}

#[tokio::test]
async fn a_thousand_followers_take_no_thread_and_one_that_stops_reading_stops_nobody() {
    let rig = Rig::with(Limits::default()).await;
    let session = rig.start("read; head -c 3000000 /dev/zero; exit 4").await;
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let followers = join_all((0..1000).map(|_| follow(&rig, &session))).await;
    let stalled = follow(&rig, &session).await;
    assert_eq!(threads(), before);
    let go = WriteSession {
        session: session.session,
        target: session.target.clone(),
        input: "\r".into(),
        wait: sessiond_core::Wait::default(),
    };
    rig.client.write_session(&cx(), go).await.unwrap();
    let printed = rig.ended(&session).await;
    let drained = join_all(followers.into_iter().map(async |mut items| drain(&mut items).await)).await;
    for follower in drained {
        assert_eq!((follower.bytes.len() as u64 + follower.lost, follower.end), (printed, exited(4)));
    }
    drop(stalled);
}

#[tokio::test]
async fn a_follower_who_leaves_takes_its_read_back() {
    let rig = Rig::new().await;
    let session = rig.start("cat").await;
    let client = GrpcClient::connect(&rig.address).await.unwrap();
    for _ in 0..100 {
        let items = client.follow_session(&cx(), &session, Cursor::START).await.unwrap();
        drop(items);
    }
    // The connection has survived that many calls taken back at once, and answers.
    assert_eq!(client.list_sessions(&cx(), Default::default()).await.unwrap().sessions.len(), 1);
}
