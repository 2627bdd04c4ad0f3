//! Attaching over the wire: input, sizes and signals go in, output and the end come out.

use sessiond_core::{Cursor, ErrorKind, ListSessions, Service, Signal, Status, WindowSize, not_found};
use sessiond_grpc::Item;
use sessiond_grpc::client::{Output, SessionRef, Shown};

use crate::place::Place;
use crate::rig::{Rig, cx, target};
use crate::verbs::exited;

/// Takes output until this has come.
async fn until(output: &mut Output, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        match output.next().await.unwrap().expect("the session goes on") {
            Shown::Item(Item::Chunk { bytes, .. }) => seen.push_str(&String::from_utf8_lossy(&bytes)),
            other => panic!("{other:?} after {seen:?}"),
        }
    }
    seen
}

#[tokio::test]
async fn a_terminal_types_resizes_and_signals_a_real_shell() {
    let place = Place::new();
    let daemon = place.serve(&[]);
    let client = daemon.client().await;
    let script = "trap 'echo int' INT; trap 'echo \"size $(stty size)\"' WINCH; echo ready
        while :; do read -r line && { [ \"$line\" = bye ] && exit 7; echo \"got $line\"; }; done";
    let session = client.start(script).await;
    let (input, mut output) = client.0.attach(&cx(), &session, Cursor::START).await.unwrap();
    until(&mut output, "ready\r\n").await;
    input.write("hello\r".into()).await.unwrap();
    until(&mut output, "got hello\r\n").await;
    input.resize(WindowSize::new(91, 31).unwrap()).await.unwrap();
    until(&mut output, "size 31 91\r\n").await;
    input.signal(Signal::Int).await.unwrap();
    until(&mut output, "int\r\n").await;
    input.write("bye\r".into()).await.unwrap();
    let end = loop {
        if let Shown::Item(Item::End(end)) = output.next().await.unwrap().unwrap() {
            break end;
        }
    };
    assert_eq!(end, exited(7));
    assert_eq!(output.next().await, Ok(None));
}

#[tokio::test]
async fn a_terminal_that_leaves_leaves_the_session_alone() {
    let rig = Rig::new().await;
    let session = rig.start("echo ready; cat").await;
    let (input, mut output) = rig.client.attach(&cx(), &session, Cursor::START).await.unwrap();
    until(&mut output, "ready").await;
    drop((input, output));
    let listed = rig.client.list_sessions(&cx(), ListSessions::default()).await.unwrap();
    assert_eq!(listed.sessions.iter().map(|session| session.status).collect::<Vec<_>>(), [Status::Running]);
    // Input that has ended is no farewell: the output goes on.
    let (input, mut output) = rig.client.attach(&cx(), &session, Cursor(7)).await.unwrap();
    input.write("x\r".into()).await.unwrap();
    drop(input);
    until(&mut output, "x").await;
}

#[tokio::test]
async fn what_a_session_does_not_take_is_said() {
    let rig = Rig::new().await;
    let gone = SessionRef { session: "0".repeat(26).parse().unwrap(), target: Some(target()) };
    let (_input, mut output) = rig.client.attach(&cx(), &gone, Cursor::START).await.unwrap();
    assert_eq!(output.next().await, Err(not_found()));

    let session = rig.start("cat").await;
    let (_input, mut past) = rig.client.attach(&cx(), &session, Cursor(1 << 40)).await.unwrap();
    assert_eq!(past.next().await.unwrap_err().kind(), ErrorKind::InvalidArgument);

    // More than a line of a real terminal holds is refused, not cut.
    let place = Place::new();
    let daemon = place.serve(&[]);
    let client = daemon.client().await;
    let session = client.start("cat").await;
    let (input, mut output) = client.0.attach(&cx(), &session, Cursor::START).await.unwrap();
    input.write("x".repeat(5000).into()).await.unwrap();
    let shown = output.next().await.unwrap().unwrap();
    assert!(matches!(&shown, Shown::Refused(why) if why.contains("4095")), "{shown:?}");
}
