//! The bytes of a command's streams, from a cursor on.

use sessiond_core::{Call, Cursor, Exit, Fired, Handle, Owner, Read, ReadCommandOutput, Result, Service, Stream, Wait};

use crate::rig::{Rig, me, ms, said};

async fn read(rig: &Rig, cx: &Call, handle: Handle, stream: Stream, from: u64) -> Result<Read> {
    let wait = Wait { time: ms(20_000), ..Wait::default() };
    rig.registry.read_command_output(cx, ReadCommandOutput { handle, stream, cursor: Cursor(from), wait }).await
}

#[tokio::test(start_paused = true)]
async fn a_read_waits_for_its_own_stream_and_sees_the_end() {
    let rig = Rig::new();
    let handle = rig.launch("sleep 1; echo out; echo err >&2; sleep 1; printf '\\303'; exit 3").await;
    let first = read(&rig, &me(), handle, Stream::Stdout, 0).await.unwrap();
    assert_eq!((&first.slice.bytes[..], first.slice.next, first.fired), (&b"out\n"[..], Cursor(4), Fired::Output));
    let last = read(&rig, &me(), handle, Stream::Stdout, 4).await.unwrap();
    assert_eq!((&last.slice.bytes[..], last.slice.lost), (&b"\xc3"[..], 0));
    assert_eq!(last.slice.ended.unwrap().exit, Exit::Exited(3));
    let other = read(&rig, &me(), handle, Stream::Stderr, 1).await.unwrap();
    assert_eq!(&other.slice.bytes[..], b"rr\n");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_refused_as_everywhere() {
    let rig = Rig::new();
    let handle = rig.launch("echo x").await;
    rig.check(handle, 1000).await;
    let them = Call::new(Owner::management("them"));
    for (cx, handle) in [(them, handle), (me(), Handle(1))] {
        let error = read(&rig, &cx, handle, Stream::Stdout, 0).await.unwrap_err();
        assert!(said(error).starts_with("not_found: no such command here"));
    }
    let past = read(&rig, &me(), handle, Stream::Stdout, 9).await.unwrap_err();
    assert!(said(past).starts_with("invalid_argument: "));
}
