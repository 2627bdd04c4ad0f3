//! Verbs over the wire: errors, deadlines, calls that are taken back, and servers that go away.

use std::time::Duration;

use sessiond_core::{
    Action, Call, ControlSession, Cursor, End, ErrorKind, ExecuteCommand, Exit, Fired, Handle, Invocation,
    ListSessions, ListTargets, ReadCommand, RunCommand, Service, Stream, Wait, WriteSession, no_such_command,
    not_found,
};
use sessiond_grpc::client::{GrpcClient, new_session};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::place::Place;
use crate::rig::{Rig, cx, target};

fn within(time: Duration) -> Call {
    Call { deadline: Instant::now() + time, ..cx() }
}

fn execute(command: &str) -> ExecuteCommand {
    ExecuteCommand {
        target: Some(target()),
        client_id: None,
        invocation: Invocation::new(command),
        stdin: b"in\n".as_slice().into(),
        time_limit: None,
    }
}

#[tokio::test]
async fn what_the_registry_says_is_what_a_caller_hears() {
    let rig = Rig::new().await;
    let listed = rig.client.list_targets(&cx(), ListTargets::default()).await.unwrap();
    assert_eq!(listed, rig.registry.list_targets(&cx(), ListTargets::default()).await.unwrap());
    let result = rig.client.execute_command(&cx(), execute("cat; echo no >&2; exit 3")).await.unwrap();
    assert_eq!((&result.stdout[..], &result.stderr[..]), (&b"in\n"[..], &b"no\n"[..]));
    assert_eq!(result.end.exit, Exit::Exited(3));
    assert_eq!(rig.client.list_hosts(&cx()).await.unwrap().hosts.len(), 1);
}

#[tokio::test]
async fn a_refusal_is_the_same_word_for_word() {
    let rig = Rig::new().await;
    let ended = rig.start("true").await;
    rig.ended(&ended).await;
    let gone = sessiond_grpc::client::SessionRef { session: "0".repeat(26).parse().unwrap(), target: Some(target()) };
    let write = |session: &sessiond_grpc::client::SessionRef| {
        let (session, target) = (session.session, session.target.clone());
        WriteSession { session, target, input: "x".into(), wait: Wait::default() }
    };
    let late = rig.client.write_session(&cx(), write(&ended)).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::FailedPrecondition);
    assert_eq!(rig.client.write_session(&cx(), write(&gone)).await, Err(not_found()));
    let read = ReadCommand { handle: Handle(1), stream: Stream::Stdout, lines: None, start_line: None };
    assert_eq!(rig.client.read_command(&cx(), read).await, Err(no_such_command()));
    let nowhere = Invocation { cwd: Some("/missing".to_owned()), ..Invocation::new("true") };
    let over_the_wire = rig.client.start_session(&cx(), new_session(target(), nowhere.clone())).await;
    assert_eq!(over_the_wire, rig.registry.start_session(&cx(), new_session(target(), nowhere)).await);
    let aimless = sessiond_core::StartSession { target: None, ..new_session(target(), Invocation::new("true")) };
    assert_eq!(rig.client.start_session(&cx(), aimless).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[tokio::test]
async fn a_read_whose_deadline_comes_first_is_answered_before_it() {
    let rig = Rig::new().await;
    let session = rig.start("echo x; cat").await;
    let wait = Wait { time: Duration::from_secs(20), ..Wait::default() };
    let reading = rig.reading(&session, Cursor(3), wait);
    let read = rig.client.read_session(&within(Duration::from_secs(3)), reading).await.unwrap();
    assert_eq!((read.fired, read.slice.bytes.len()), (Fired::Deadline, 0));
}

#[tokio::test]
async fn a_deadline_that_has_passed_sends_nothing() {
    let rig = Rig::new().await;
    let error = rig.client.list_targets(&within(Duration::ZERO), ListTargets::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_command_whose_call_is_taken_back_is_stopped() {
    let rig = Rig::new().await;
    // The session says when the command has started: it is the second process.
    let call = Call { cancel: CancellationToken::new(), ..cx() };
    let taken_back = call.cancel.clone();
    let (answer, ()) = tokio::join!(rig.client.execute_command(&call, execute("sleep 1000")), async {
        while rig.fake.running() == 0 {
            tokio::task::yield_now().await;
        }
        taken_back.cancel();
    });
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Unavailable);
    while rig.fake.running() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_command_under_a_handle_goes_on_without_its_caller_and_is_read_later() {
    let rig = Rig::new().await;
    let run = RunCommand {
        target: Some(target()),
        invocation: Invocation::new("echo one; echo two >&2; sleep 0.1; printf 'th\\303'"),
        stdin: bytes::Bytes::new(),
        silence: Duration::from_secs(60),
        wait: Some(Duration::ZERO),
        time_limit: None,
    };
    let handle = rig.client.run_command(&cx(), run).await.unwrap().command.unwrap().handle;
    let follow = async |stream| {
        let mut items = rig.client.follow_command(&cx(), handle, stream, Cursor::START).await.unwrap();
        crate::follow::drain(&mut items).await
    };
    let (stdout, stderr) = tokio::join!(follow(Stream::Stdout), follow(Stream::Stderr));
    assert_eq!((&stdout.bytes[..], stdout.lost), (&b"one\nth\xc3"[..], 0));
    assert_eq!((&stderr.bytes[..], stderr.lost), (&b"two\n"[..], 0));
    assert_eq!(stdout.end.exit, Exit::Exited(0));
    assert_eq!(rig.client.clear_commands(&cx()).await, Ok(1));
}

#[tokio::test]
async fn when_the_server_ends_whoever_waits_hears_of_it() {
    let rig = Rig::new().await;
    let session = rig.start("cat").await;
    let mut items = rig.client.follow_session(&cx(), &session, Cursor::START).await.unwrap();
    let (drained, ()) = tokio::join!(crate::follow::drain(&mut items), rig.end());
    assert_eq!(drained.end.cause, sessiond_core::Cause::Shutdown { confirmed: true });
    let after = rig.client.list_targets(&cx(), ListTargets::default()).await.unwrap_err();
    assert_eq!(after.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_server_that_is_lost_is_unavailable_and_one_that_came_back_knows_nothing() {
    let place = Place::new();
    let daemon = place.serve(&[]);
    let client = daemon.client().await;
    let session = client.start("cat").await;
    let mut items = client.0.follow_session(&cx(), &session, Cursor::START).await.unwrap();
    let (mut _input, mut output) = client.0.attach(&cx(), &session, Cursor::START).await.unwrap();
    let control = || ControlSession {
        session: session.session,
        target: session.target.clone(),
        action: Action::Eof,
        wait: Wait { time: Duration::from_secs(20), ..Wait::default() },
    };
    let ((), waiting, followed) = tokio::join!(
        async {
            client.printed(&session, "^").await;
            daemon.signal(rustix::process::Signal::KILL);
        },
        async {
            let (session, target) = (session.session, session.target.clone());
            let wait = Wait { time: Duration::from_secs(20), ..Wait::default() };
            let request = sessiond_core::ReadSession { session, target, cursor: Cursor::START, wait };
            client.0.read_session(&cx(), request).await
        },
        futures_util::StreamExt::next(&mut items),
    );
    assert_eq!(waiting.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(followed.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(output.next().await.unwrap_err().kind(), ErrorKind::Unavailable);
    let lost = client.0.control_session(&cx(), control()).await.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::Unavailable, "{lost}");
    let lost = GrpcClient::connect(&daemon.address).await.unwrap_err();
    assert!(lost.message().starts_with("no sessiond answers on unix:"), "{lost}");

    let _again = place.serve(&[]);
    assert_eq!(client.0.control_session(&cx(), control()).await, Err(not_found()));
    assert!(client.0.list_sessions(&cx(), ListSessions::default()).await.unwrap().sessions.is_empty());
}

/// How an end looks that nobody had a hand in.
pub(crate) fn exited(code: i32) -> End {
    End { exit: Exit::Exited(code), cause: sessiond_core::Cause::Own }
}
