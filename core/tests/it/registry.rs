//! The registry over the scripted backend: whose sessions, how many, how they end, and how long they stay.

use std::sync::Arc;

use sessiond_core::fake::Fake;
use sessiond_core::{
    Action, Availability, Call, Capabilities, Capability, Cause, Cursor, End, ErrorKind, Exit, FixedTargets,
    Invocation, Limits, ListSessions, ListTargets, Owner, ReadSession, Registry, Service, Signal, StartSession, Status,
    StopSession, StopStatus, Wait, WindowSize, decode,
};
use tokio::time::Instant;

use crate::rig::{Rig, for_output, me, ms, pattern, said, shown, target, until};

pub(crate) const NOT_FOUND: &str = "not_found: no such session here: it never was, has expired, is another's, or client_token names \
                         another target; session_list shows yours";

#[tokio::test(start_paused = true)]
async fn a_foreign_session_looks_exactly_like_an_unknown_one() {
    let rig = Rig::new();
    let session = rig.start("sleep 60").await;
    let unknown = sessiond_core::SessionId::random().unwrap();
    let read = |owner: Owner, session, named: Option<&str>| {
        let request = ReadSession { session, target: named.map(target), cursor: Cursor::START, wait: Wait::default() };
        let registry = rig.registry.clone();
        async move { registry.read_session(&Call::new(owner), request).await }
    };
    let mine = || Owner::management("me");
    let scoped = |to: &str| Owner::scoped("me", target(to));
    for (owner, session, named) in [
        (mine(), unknown, Some("local")),
        (Owner::management("them"), session, Some("local")),
        (mine(), session, Some("other")),
        (mine(), session, Some("nowhere")),
        (scoped("other"), session, None),
        (scoped("local"), session, Some("other")),
    ] {
        assert_eq!(said(read(owner, session, named).await.unwrap_err()), NOT_FOUND);
    }
    assert!(read(mine(), session, Some("local")).await.is_ok());
    assert!(read(scoped("local"), session, None).await.is_ok(), "scoped access selects its own target");
    assert!(read(scoped("local"), session, Some("local")).await.is_ok());
    let error = read(mine(), session, None).await.unwrap_err();
    assert!(said(error).starts_with("invalid_argument: client_token is missing"));
}

#[tokio::test(start_paused = true)]
async fn scoped_access_sees_one_target_only() {
    let rig = Rig::new();
    rig.start("sleep 60").await;
    let cx = Call::new(Owner::scoped("me", target("other")));
    let targets = rig.registry.list_targets(&cx, ListTargets::default()).await.unwrap();
    assert_eq!(targets.iter().map(|target| target.info.name.as_str()).collect::<Vec<_>>(), ["other"]);
    let sessions = rig.registry.list_sessions(&cx, ListSessions::default()).await.unwrap();
    assert_eq!(sessions.sessions, []);
    let foreign = StartSession { target: Some(target("local")), ..Rig::request("true") };
    assert_eq!(said(rig.registry.start_session(&cx, foreign).await.unwrap_err()), NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_as_its_process_did() {
    let rig = Rig::new();
    for (script, exit) in [
        ("exit 0", Exit::Exited(0)),
        ("no-such-program", Exit::Exited(127)),
        ("kill -SEGV $$", Exit::Signaled("SEGV".into())),
        (":lost the link broke", Exit::Lost("the link broke".into())),
        (":drop", Exit::Lost("the backend let go of it before it had ended".into())),
    ] {
        let session = rig.start(script).await;
        assert_eq!(rig.to_end(session).await.slice.ended, Some(End { exit, cause: Cause::Own }), "{script}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_fails_leaves_nothing() {
    let rig = Rig::with(Limits { running_per_owner: 1, ..Limits::default() });
    for _ in 0..3 {
        assert_eq!(said(rig.try_start(":fail no such place").await.unwrap_err()), "unavailable: no such place");
        assert_eq!(rig.try_start(":hang").await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(rig.try_start("echo \0").await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!(rig.list(ListSessions::default()).await.unwrap().sessions, []);
    assert_eq!(rig.local.running(), 0);
    rig.start("sleep 60").await;
}

#[tokio::test(start_paused = true)]
async fn the_limit_counts_what_runs_and_evicts_nothing() {
    let rig = Rig::with(Limits { running_per_owner: 2, ..Limits::default() });
    let first = rig.start("sleep 1").await;
    rig.start("sleep 60").await;
    let error = rig.try_start("true").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.message().starts_with("the limit of 2 running sessions and commands is reached"), "{error}");
    let command = rig.registry.execute_command(&me(), Rig::command("true")).await.unwrap_err();
    assert_eq!(command.kind(), ErrorKind::LimitExceeded, "commands count too");
    let theirs = rig.registry.start_session(&Call::new(Owner::management("them")), Rig::request("sleep 60")).await;
    assert!(theirs.is_ok(), "each owner has a limit of its own");
    rig.to_end(first).await;
    assert_eq!(rig.execute("echo free").await.stdout, "free\n", "who has seen the end has the place");
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_polite_first_and_tells_how_it_went() {
    let rig = Rig::new();
    let polite = rig.start("sleep 60").await;
    let outcome = rig.stop(polite, 1000).await;
    assert_eq!((outcome.accepted, outcome.already_done, outcome.status), (true, false, StopStatus::Stopped));
    let ended = End { exit: Exit::Signaled("TERM".into()), cause: Cause::Stop { confirmed: true } };
    assert_eq!(outcome.end, Some(ended.clone()));
    assert!(ended.canceled());
    let again = rig.stop(polite, 1000).await;
    assert_eq!((again.accepted, again.already_done, again.status), (false, true, StopStatus::Stopped));
    assert_eq!(again.end, Some(ended));

    let stubborn = rig.start("trap '' TERM; sleep 60").await;
    rig.read(stubborn, 0, for_output(10)).await.unwrap();
    let started = Instant::now();
    let early = rig.stop(stubborn, 500).await;
    assert_eq!((early.accepted, early.status, early.end), (true, StopStatus::Stopping, None));
    let late = rig.stop(stubborn, 20_000).await;
    assert_eq!((late.status, started.elapsed()), (StopStatus::Stopped, ms(2000)));
    assert_eq!(late.end.unwrap().exit, Exit::Signaled("KILL".into()));
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_gives_up_says_so_and_may_be_tried_again() {
    let rig = Rig::new();
    let session = rig.start(":unkillable; sleep 60").await;
    rig.read(session, 0, for_output(10)).await.unwrap();
    let outcome = rig.stop(session, 20_000).await;
    assert_eq!((outcome.status, outcome.end, outcome.survivors.len()), (StopStatus::Stopping, None, 1));
    let listed = rig.list(ListSessions::default()).await.unwrap().sessions.remove(0);
    assert_eq!((listed.status, listed.end), (Status::Stopping, None));
    assert_eq!(rig.to_end(session).await.slice.ended, None, "it still runs");
    tokio::time::sleep(ms(60_000)).await;
    let last = rig.to_end(session).await.slice.ended.unwrap();
    assert_eq!(last, End { exit: Exit::Exited(0), cause: Cause::Stop { confirmed: false } });
    assert!(!last.canceled());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_has_ended_leaves_its_descendants_to_a_later_stop() {
    let rig = Rig::new();
    let session = rig.start("daemon &; exit 0").await;
    rig.to_end(session).await;
    let descendants = || async { rig.list(ListSessions::default()).await.unwrap().sessions[0].descendants };
    assert_eq!(descendants().await, 1);
    let outcome = rig.stop(session, 1000).await;
    assert_eq!((outcome.accepted, outcome.already_done, outcome.status), (false, true, StopStatus::Finished));
    assert_eq!(descendants().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_goes_through_the_stop() {
    let rig = Rig::new();
    let request = StartSession { time_limit: Some(ms(1500)), ..Rig::request("trap '' TERM; sleep 60") };
    let started = Instant::now();
    let session = rig.registry.start_session(&me(), request).await.unwrap().session;
    let ended = rig.to_end(session).await.slice.ended.unwrap();
    assert_eq!(started.elapsed(), ms(3500), "the limit, then the grace");
    assert_eq!(ended.cause, Cause::TimeLimit { limit: ms(1500), confirmed: true });
    assert!(ended.timed_out() && !ended.canceled());
    assert_eq!(rig.stop(session, 1000).await.status, StopStatus::Finished, "a time limit is no stop");
}

#[tokio::test(start_paused = true)]
async fn a_command_has_its_own_streams_and_its_exit() {
    let rig = Rig::new();
    let result = rig.execute("echo out; echo err >&2; exit 3").await;
    assert_eq!((&result.stdout[..], &result.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
    assert_eq!((result.end.exit_code(), result.truncated), (3, false));
    let fed = sessiond_core::ExecuteCommand { stdin: "a\nb\n".into(), ..Rig::command("cat") };
    assert_eq!(rig.registry.execute_command(&me(), fed).await.unwrap().stdout, "a\nb\n");
}

#[tokio::test(start_paused = true)]
async fn a_command_keeps_its_first_megabyte() {
    let rig = Rig::new();
    let result = rig.execute("printf first; head -c 2000000 /dev/zero; echo late >&2").await;
    assert_eq!((result.stdout.len(), result.stderr.len(), result.truncated), (1 << 20, 0, true));
    assert!(decode(&result.stdout).starts_with("first"));
}

#[tokio::test(start_paused = true)]
async fn a_command_whose_caller_goes_is_stopped() {
    let rig = Rig::new();
    let cx = me();
    let cancel = cx.cancel.clone();
    let (result, ()) = tokio::join!(rig.registry.execute_command(&cx, Rig::command("echo begun; sleep 60")), async {
        tokio::time::sleep(ms(300)).await;
        cancel.cancel();
    });
    let result = result.unwrap();
    assert!(result.end.canceled());
    assert_eq!(result.stdout, "begun\n");

    let begun = Instant::now();
    let dropped = tokio::time::timeout(ms(300), rig.execute("sleep 60")).await;
    assert!(dropped.is_err());
    while rig.local.running() > 0 {
        tokio::time::sleep(ms(10)).await;
    }
    assert!(begun.elapsed() < ms(1000), "it is stopped, long before it would end by itself");
}

#[tokio::test(start_paused = true)]
async fn a_command_over_its_time_is_stopped_and_has_a_result() {
    let rig = Rig::new();
    let request = sessiond_core::ExecuteCommand { time_limit: Some(ms(500)), ..Rig::command("echo begun; sleep 60") };
    let result = rig.registry.execute_command(&me(), request).await.unwrap();
    assert_eq!((result.stdout.as_ref(), result.end.timed_out(), result.end.exit_code()), (&b"begun\n"[..], true, -1));
    let stuck = sessiond_core::ExecuteCommand { time_limit: Some(ms(500)), ..Rig::command(":unkillable; sleep 600") };
    let result = rig.registry.execute_command(&me(), stuck).await.unwrap();
    assert!(!result.end.timed_out(), "nobody has confirmed it");
    assert!(result.end.error().unwrap().starts_with("it could not be stopped: still running"));
}

#[tokio::test(start_paused = true)]
async fn writes_keep_their_order_and_say_what_was_taken() {
    let rig = Rig::new();
    let session = rig.start("cat").await;
    let lines: Vec<String> = (0..50).map(|line| format!("line {line}\n")).collect();
    let writes = lines.iter().map(|line| rig.write(session, line, Wait::default()));
    for written in futures_util::future::join_all(writes).await {
        assert_eq!(written.unwrap().stalled, None);
    }
    rig.control(session, Action::Eof).await.unwrap();
    let text = decode(&rig.to_end(session).await.slice.bytes);
    let shown: Vec<_> = lines.iter().map(|line| line.replace('\n', "\r\n")).collect();
    for line in &shown {
        assert_eq!(text.matches(line.as_str()).count(), 2, "{line:?} is echoed and printed once each");
    }

    let deaf = rig.start("sleep 600").await;
    let started = Instant::now();
    let written = rig.write(deaf, &"x".repeat(10_000), Wait::default()).await.unwrap();
    assert_eq!((written.bytes, started.elapsed()), (4096, ms(5000)));
    assert_eq!(written.stalled.as_deref(), Some("the program does not read its input"));
}

#[tokio::test(start_paused = true)]
async fn an_ended_session_takes_no_input_and_says_why() {
    let rig = Rig::new();
    let session = rig.start("exit 7").await;
    rig.to_end(session).await;
    let error = rig.write(session, "x", Wait::default()).await.unwrap_err();
    assert_eq!(
        said(error),
        "failed_precondition: the session has ended (exit code 7): its output can still be read; start another with \
         session_start"
    );
    for action in [Action::Interrupt, Action::Eof, Action::Stop, Action::Signal(Signal::Usr1)] {
        let outcome = rig.control(session, action).await.unwrap();
        assert!(!outcome.accepted);
        assert!(outcome.detail.unwrap().starts_with("the session has ended"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_is_steered() {
    let rig = Rig::new();
    let session = rig.start("read; stty size; trap '' USR1; echo trapped; sleep 60").await;
    let size = WindowSize::new(132, 50).unwrap();
    assert!(rig.control(session, Action::Resize(size)).await.unwrap().accepted);
    rig.control(session, Action::Keys(vec!["x".parse().unwrap(), "enter".parse().unwrap()])).await.unwrap();
    let read = rig.read(session, 0, until(1000, pattern("trapped"))).await.unwrap();
    assert_eq!(shown(&read).0, "x\r\n50 132\r\ntrapped");
    assert!(rig.control(session, Action::Signal(Signal::Usr1)).await.unwrap().accepted);
    assert_eq!(rig.read(session, read.slice.next.0 + 2, for_output(100)).await.unwrap().fired.as_str(), "deadline");
    assert!(rig.control(session, Action::Interrupt).await.unwrap().accepted);
    assert_eq!(rig.to_end(session).await.slice.ended.unwrap().exit, Exit::Signaled("INT".into()));
    let error = rig.control(rig.start("sleep 60").await, Action::Keys(vec![])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[tokio::test(start_paused = true)]
async fn keys_follow_what_the_program_asked_of_the_terminal() {
    let rig = Rig::new();
    let session = rig.start(r"printf '\x1b[?1h'; cat").await;
    rig.read(session, 0, for_output(1000)).await.unwrap();
    rig.control(session, Action::Keys(vec!["up".parse().unwrap()])).await.unwrap();
    assert_eq!(shown(&rig.read(session, 5, for_output(1000)).await.unwrap()).0, "\x1bOA");
}

#[tokio::test(start_paused = true)]
async fn what_a_target_cannot_do_is_refused_in_one_place() {
    let bare = Fake::with(Capabilities::of(&[Capability::Sessions]), Availability::Online);
    let targets = FixedTargets::new(vec![(Fake::info(target("local")), bare)]);
    let rig = Rig { registry: Registry::new(Arc::new(targets), Limits::default()), local: Fake::new() };
    let session = rig.start("sleep 60").await;
    let refusals = [
        rig.write(session, "x", Wait::default()).await.unwrap_err(),
        rig.control(session, Action::Eof).await.unwrap_err(),
        rig.control(session, Action::Interrupt).await.unwrap_err(),
        rig.control(session, Action::Resize(WindowSize::default())).await.unwrap_err(),
        rig.registry.execute_command(&me(), Rig::command("true")).await.unwrap_err(),
        rig.registry.run_command(&me(), Rig::run("true")).await.unwrap_err(),
    ];
    let named: Vec<_> = refusals.into_iter().map(said).collect();
    assert_eq!(
        named,
        [
            "unsupported: this target takes no input: start another session with all that it needs in its command",
            "unsupported: this target cannot tell a program that its input has ended: stop the session instead",
            "unsupported: this target takes no signals: stop the session instead",
            "unsupported: this target has no terminals whose size can be changed: go on with the size as it is",
            "unsupported: this target has no one-shot commands: start a session instead, or name another target",
            "unsupported: this target is no host: execute_command and session_start take it",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn finished_records_stay_for_half_an_hour_and_running_ones_for_ever() {
    let rig = Rig::new();
    let running = rig.start("sleep 100000").await;
    let session = rig.start("echo done").await;
    rig.to_end(session).await;
    tokio::time::sleep(ms(30 * 60_000 - 1000)).await;
    assert_eq!(shown(&rig.read(session, 0, Wait::default()).await.unwrap()).0, "done\r\n");
    tokio::time::sleep(ms(2000)).await;
    assert_eq!(said(rig.read(session, 0, Wait::default()).await.unwrap_err()), NOT_FOUND);
    assert!(rig.read(running, 0, Wait::default()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_oldest_finished_records_go_when_there_are_too_many() {
    for limits in [
        Limits { finished_per_owner: 2, ..Limits::default() },
        Limits { finished_bytes_per_owner: 25, ..Limits::default() },
    ] {
        let rig = Rig::with(limits);
        let mut sessions = Vec::new();
        for name in ["a", "b", "c"] {
            let session = rig.start(&format!("echo {}", name.repeat(8))).await;
            rig.to_end(session).await;
            sessions.push(session);
        }
        assert_eq!(said(rig.read(sessions[0], 0, Wait::default()).await.unwrap_err()), NOT_FOUND);
        assert_eq!(shown(&rig.read(sessions[1], 0, Wait::default()).await.unwrap()).0, "bbbbbbbb\r\n");
        assert_eq!(shown(&rig.read(sessions[2], 0, Wait::default()).await.unwrap()).0, "cccccccc\r\n");
    }
}

#[tokio::test(start_paused = true)]
async fn sessions_are_listed_by_page_running_ones_first_then_the_newest() {
    let rig = Rig::new();
    for name in ["a", "b", "c", "d", "e"] {
        let ends = if name < "d" { "true" } else { "sleep 600" };
        let request = StartSession { label: Some(name.into()), ..Rig::request(ends) };
        let session = rig.registry.start_session(&me(), request).await.unwrap().session;
        if name < "d" {
            rig.to_end(session).await;
        }
    }
    let mut pages = Vec::new();
    let mut page_token = None;
    loop {
        let request = ListSessions { limit: Some(2), page_token, ..ListSessions::default() };
        let page = rig.list(request).await.unwrap();
        pages.push(page.sessions.iter().map(|session| session.label.clone().unwrap().to_string()).collect::<String>());
        page_token = page.next_page_token;
        if page_token.is_none() {
            break;
        }
    }
    assert_eq!(pages, ["ed", "cb", "a"]);
    let with = |status| ListSessions { status: Some(status), ..ListSessions::default() };
    assert_eq!(rig.list(with(Status::Running)).await.unwrap().sessions.len(), 2);
    assert_eq!(rig.list(with(Status::Finished)).await.unwrap().sessions.len(), 3);
    assert_eq!(rig.list(with(Status::Lost)).await.unwrap().sessions.len(), 0);
    for request in [
        ListSessions { limit: Some(0), ..ListSessions::default() },
        ListSessions { limit: Some(501), ..ListSessions::default() },
        ListSessions { page_token: Some("nonsense".into()), ..ListSessions::default() },
    ] {
        assert_eq!(rig.list(request).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_server_stops_everything() {
    let rig = Rig::new();
    let polite = rig.start("sleep 600").await;
    let stubborn = rig.start("trap '' TERM; sleep 600").await;
    let command = tokio::spawn({
        let registry = rig.registry.clone();
        async move { registry.execute_command(&me(), Rig::command("sleep 600")).await }
    });
    rig.read(stubborn, 0, for_output(10)).await.unwrap();
    assert_eq!(rig.local.running(), 3);
    rig.registry.shutdown().await;
    assert_eq!(rig.local.running(), 0);
    for session in [polite, stubborn] {
        assert_eq!(rig.to_end(session).await.slice.ended.unwrap().cause, Cause::Shutdown { confirmed: true });
    }
    assert_eq!(command.await.unwrap().unwrap().end.cause, Cause::Shutdown { confirmed: true });
    assert_eq!(
        said(rig.try_start("true").await.unwrap_err()),
        "unavailable: the server is ending and starts nothing any more"
    );
}

#[tokio::test(start_paused = true)]
async fn listing_targets_waits_only_while_none_is_online() {
    let rig = Rig::new();
    let started = Instant::now();
    let wait = ListTargets { target: None, wait: ms(3000) };
    assert_eq!(rig.registry.list_targets(&me(), wait.clone()).await.unwrap().len(), 2);
    assert_eq!(started.elapsed(), ms(0));
    let offline = Fake::with(Capabilities::default(), Availability::Offline);
    let targets = FixedTargets::new(vec![(Fake::info(target("local")), offline)]);
    let registry = Registry::new(Arc::new(targets), Limits::default());
    assert_eq!(registry.list_targets(&me(), wait).await.unwrap()[0].status.availability, Availability::Offline);
    assert_eq!(started.elapsed(), ms(3000));
}

#[tokio::test(start_paused = true)]
async fn bad_requests_are_refused_with_their_reason() {
    let rig = Rig::new();
    let label = StartSession { label: Some("x".repeat(257)), ..Rig::request("true") };
    let limit = StartSession { time_limit: Some(ms(86_400_001)), ..Rig::request("true") };
    let device = StartSession { client_id: Some("nobody".into()), ..Rig::request("true") };
    let nowhere = StartSession { target: Some(target("nowhere")), ..Rig::request("true") };
    let attach = StartSession {
        what: sessiond_core::Launch::Attach(sessiond_core::NativeId("x".into())),
        ..Rig::request("true")
    };
    let empty = StartSession { what: sessiond_core::Launch::Start(Invocation::new("")), ..Rig::request("true") };
    let mut refusals = Vec::new();
    for request in [label, limit, device, nowhere, attach, empty] {
        refusals.push(said(rig.registry.start_session(&me(), request).await.unwrap_err()));
    }
    assert_eq!(
        refusals,
        [
            "invalid_argument: label has more than 256 bytes: take a shorter one",
            "invalid_argument: timeout_ms must be 0 to 86400000",
            "not_found: local has no device with this client_id: list_clients shows it",
            "not_found: there is no target \"nowhere\": list_clients shows the client_token of each",
            "unsupported: this target cannot attach to what runs already: give command instead of native_id",
            "invalid_argument: command is empty: give one or more lines for the shell",
        ]
    );
    let stop = StopSession { session: rig.start("sleep 60").await, target: Some(target("local")), wait: ms(20_001) };
    assert_eq!(
        said(rig.registry.stop_session(&me(), stop).await.unwrap_err()),
        "invalid_argument: wait_ms must be 0 to 20000"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_just_being_started_when_the_server_ends_is_given_up() {
    let rig = Rig::new();
    let started = Instant::now();
    let (start, ()) = tokio::join!(rig.try_start(":hang"), async {
        tokio::time::sleep(ms(100)).await;
        rig.registry.shutdown().await;
    });
    assert_eq!(said(start.unwrap_err()), "unavailable: the server is ending: nothing was started");
    assert_eq!(started.elapsed(), ms(100));
}
