//! Commands under a handle: what ends the waiting for one, what can be seen and read of it, and by whom.

use bytes::Bytes;
use futures_util::future::join_all;
use sessiond_core::{
    Call, Cause, CheckCommand, CommandStatus, End, ErrorKind, Exit, Handle, Invocation, Limits, LineFacts, MAX_INLINE,
    Owner, ReadCommand, RunCommand, RunStatus, Service, Stream, Tail, decode,
};
use tokio::time::{Instant, sleep};

use crate::rig::{Rig, kill, me, ms, said, target};

const NOT_FOUND: &str = "not_found: no such command here: handle_id never was, has expired or been cleared, is \
                         another's, or its host has been connected anew since; ssh_cmd_history shows yours";

#[tokio::test(start_paused = true)]
async fn a_command_that_ends_is_told_with_all_there_is_to_know() {
    let rig = Rig::new();
    let invocation = Invocation {
        command: "pwd; echo $GREETING; cat; echo oops >&2; exit 3".into(),
        cwd: Some("/srv".into()),
        env: vec![("GREETING".into(), "hello".into())],
    };
    let request = RunCommand { invocation, stdin: Bytes::from_static(b"typed\n"), ..Rig::run("") };
    let run = rig.ran(request).await;
    assert_eq!((run.status, run.target.as_str(), run.error), (RunStatus::CommandFailed, "local", None));
    let tail =
        |text: &'static str| Tail { bytes: Bytes::from_static(text.as_bytes()), first_line: 1, truncated: false };
    assert_eq!((run.stdout, run.stderr), (tail("/srv\nhello\ntyped\n"), tail("oops\n")));
    let info = run.command.unwrap();
    assert_eq!(
        (info.status, info.end),
        (CommandStatus::Completed, Some(End { exit: Exit::Exited(3), cause: Cause::Own }))
    );
    assert_eq!((info.pid, info.cwd.as_deref()), (Some(1000), Some("/srv")));
    assert_eq!(info.stdout, LineFacts { total: 3, dropped: 0 });
    assert_eq!(info.stderr, LineFacts { total: 1, dropped: 0 });
    assert!(info.ended_at.is_some());
    let pid = rig.ran(Rig::run("echo $$")).await;
    assert_eq!((pid.status, &pid.stdout.bytes[..]), (RunStatus::Success, &b"1001\n"[..]));
}

#[tokio::test(start_paused = true)]
async fn silence_ends_the_waiting_and_not_the_command() {
    let rig = Rig::new();
    let begun = Instant::now();
    let script = "echo a; sleep 1.5; echo b >&2; sleep 1.5; echo c; sleep 6; echo late";
    let run = rig.ran(RunCommand { silence: ms(2000), ..Rig::run(script) }).await;
    assert_eq!((run.status, begun.elapsed()), (RunStatus::IoTimeout, ms(5000)), "either stream breaks the silence");
    let info = run.command.unwrap();
    assert_eq!((info.status, info.end), (CommandStatus::Running, None));
    let ended = rig.check(info.handle, 50_000).await.unwrap();
    assert_eq!((ended.status, begun.elapsed()), (CommandStatus::Completed, ms(9000)), "it answers at the end");
    assert_eq!(rig.lines(info.handle, None, None).await.unwrap(), (1, "a|c|late".into()));
}

#[tokio::test(start_paused = true)]
async fn silence_counts_from_the_start_of_a_command_that_prints_nothing() {
    let rig = Rig::new();
    let begun = Instant::now();
    let run = rig.ran(RunCommand { silence: ms(2000), ..Rig::run("sleep 6") }).await;
    assert_eq!((run.status, begun.elapsed()), (RunStatus::IoTimeout, ms(2000)));
}

#[tokio::test(start_paused = true)]
async fn the_wait_ends_the_waiting_at_the_cap_at_the_latest() {
    let rig = Rig::new();
    for (wait, silence, took, capped) in [
        (Some(ms(2000)), 60_000, 2000, false),
        (Some(ms(50_000)), 60_000, 50_000, false),
        (Some(ms(50_001)), 60_000, 50_000, true),
        (None, 120_000, 50_000, true),
    ] {
        let begun = Instant::now();
        let request = RunCommand { wait, silence: ms(silence), ..Rig::run("sleep 60") };
        let run = rig.ran(request).await;
        assert_eq!((run.status, begun.elapsed()), (RunStatus::WaitTimeout { capped }, ms(took)));
        rig.kill(kill(run.command.unwrap().handle)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_stops_the_command_whoever_waits() {
    let rig = Rig::new();
    let begun = Instant::now();
    let limited = |time: u64| RunCommand { time_limit: Some(ms(time)), ..Rig::run("echo x; sleep 60") };
    let run = rig.ran(limited(3000)).await;
    assert_eq!((run.status, begun.elapsed()), (RunStatus::RuntimeTimeout, ms(3000)));
    assert_eq!(run.error.as_deref(), Some("ended by signal TERM: its time limit of 3000 ms was reached"));
    assert_eq!(run.command.unwrap().status, CommandStatus::Killed);

    let handed_over = rig.ran(RunCommand { silence: ms(1000), ..limited(10_000) }).await;
    assert_eq!(handed_over.status, RunStatus::IoTimeout);
    let begun = Instant::now();
    let ended = rig.check(handed_over.command.unwrap().handle, 20_000).await.unwrap();
    assert_eq!((ended.status, begun.elapsed()), (CommandStatus::Killed, ms(9000)), "also after a hand-over");

    let too_long = RunCommand { time_limit: Some(ms(86_400_001)), ..Rig::run("true") };
    let error = rig.registry.run_command(&me(), too_long).await.unwrap_err();
    assert_eq!(said(error), "invalid_argument: runtime_timeout must be at most 86400 s");
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_that_cannot_be_enforced_is_told() {
    let rig = Rig::new();
    let run = rig.ran(RunCommand { time_limit: Some(ms(100)), ..Rig::run(":unkillable; sleep 600") }).await;
    assert_eq!((run.status, run.command.unwrap().end), (RunStatus::RuntimeTimeout, None));
    assert!(run.error.unwrap().starts_with("it could not be stopped: still running or not told apart are [1000]"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_taken_back_or_dropped_leaves_the_command() {
    let rig = Rig::new();
    let cx = me();
    let begun = Instant::now();
    let (run, ()) = tokio::join!(rig.registry.run_command(&cx, Rig::run("sleep 5; echo there")), async {
        sleep(ms(700)).await;
        cx.cancel.cancel();
    });
    let run = run.unwrap();
    assert_eq!((run.status, begun.elapsed()), (RunStatus::WaitTimeout { capped: true }, ms(700)));
    let handle = run.command.unwrap().handle;
    assert_eq!(rig.check(handle, 10_000).await.unwrap().status, CommandStatus::Completed);
    assert_eq!(rig.lines(handle, None, None).await.unwrap(), (1, "there".into()));

    let dropped = tokio::time::timeout(ms(100), rig.registry.run_command(&me(), Rig::run("sleep 5"))).await;
    assert!(dropped.is_err());
    assert_eq!(rig.local.running(), 1, "it goes on, and the history finds it");
    assert_eq!(rig.history(Default::default()).await.len(), 2);

    let hurried = Call { deadline: Instant::now() + ms(300), ..me() };
    let begun = Instant::now();
    let run = rig.registry.run_command(&hurried, Rig::run("sleep 5")).await.unwrap();
    assert_eq!((run.status, begun.elapsed()), (RunStatus::WaitTimeout { capped: true }, ms(300)));
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_is_not_there_is_a_status_and_nothing_ran() {
    let rig = Rig::new();
    let invocation = Invocation { cwd: Some("/missing/place".into()), ..Invocation::new("echo x") };
    let run = rig.ran(RunCommand { invocation, ..Rig::run("") }).await;
    assert_eq!((run.status, run.command, run.target.as_str()), (RunStatus::CwdNotFound, None, "local"));
    assert_eq!(run.error.as_deref(), Some("there is no directory /missing/place: create it, or name another in cwd"));
    assert_eq!(rig.history(Default::default()).await, []);
    assert_eq!(rig.local.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_fails_leaves_no_command() {
    let rig = Rig::with(Limits { running_per_owner: 1, ..Limits::default() });
    for _ in 0..2 {
        let error = rig.registry.run_command(&me(), Rig::run(":fail no such place")).await.unwrap_err();
        assert_eq!(said(error), "unavailable: no such place");
        let error = rig.registry.run_command(&me(), Rig::run(":hang")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let error = rig.registry.run_command(&me(), Rig::run(" ")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!(rig.history(Default::default()).await, []);
    let running = rig.launch("sleep 60").await;
    let error = rig.registry.run_command(&me(), Rig::run("true")).await.unwrap_err();
    assert_eq!(
        said(error),
        "limit_exceeded: the limit of 1 running sessions and commands is reached (running_per_owner): stop one with \
         session_stop or ssh_cmd_kill first; session_list and ssh_cmd_history show them"
    );
    rig.kill(kill(running)).await;
    assert_eq!(rig.ran(Rig::run("true")).await.status, RunStatus::Success, "who has seen the end has the place");
}

#[tokio::test(start_paused = true)]
async fn ends_of_every_kind_have_their_status() {
    let rig = Rig::new();
    for (script, status, info, error) in [
        ("true", RunStatus::Success, CommandStatus::Completed, None),
        ("no-such-program", RunStatus::CommandFailed, CommandStatus::Completed, None),
        ("kill -SEGV $$", RunStatus::CommandFailed, CommandStatus::Completed, Some("ended by signal SEGV")),
        (":lost the link broke", RunStatus::Error, CommandStatus::Lost, Some("lost: the link broke")),
        (":disconnect", RunStatus::Error, CommandStatus::Lost, Some("lost: the connection was cut")),
    ] {
        let run = rig.ran(Rig::run(script)).await;
        assert_eq!((run.status, run.error.as_deref()), (status, error), "{script}");
        assert_eq!(run.command.unwrap().status, info, "{script}");
    }
}

#[tokio::test(start_paused = true)]
async fn children_that_are_left_behind_are_told() {
    let rig = Rig::new();
    let run = rig.ran(Rig::run("sleep 600 &; true")).await;
    assert_eq!((run.status, run.descendants), (RunStatus::Success, vec![1_001_000]));
}

#[tokio::test(start_paused = true)]
async fn long_output_is_told_by_its_newest_lines() {
    let rig = Rig::new();
    let run = rig.ran(Rig::run("seq 1 20000; head -c 40000 /dev/zero >&2")).await;
    assert!(run.stdout.truncated && run.stdout.bytes.len() <= MAX_INLINE);
    let expected: String = (run.stdout.first_line..=20_000).map(|line| format!("{line}\n")).collect();
    assert!(decode(&run.stdout.bytes) == expected, "whole lines up to the end");
    assert_eq!((run.stderr.bytes.len(), run.stderr.first_line, run.stderr.truncated), (MAX_INLINE, 1, true));
    assert!(run.stdout.bytes.len() > MAX_INLINE - 6, "as much as there is room for");
    let command = run.command.unwrap();
    assert_eq!(command.stdout, LineFacts { total: 20_000, dropped: 0 });
    let handle = command.handle;
    assert_eq!(rig.lines(handle, Some(19_999), None).await.unwrap(), (19_999, "19999|20000".into()));
    assert_eq!(rig.lines(handle, Some(20_001), None).await.unwrap(), (20_001, String::new()));
    assert_eq!(rig.lines(handle, None, Some(2)).await.unwrap(), (19_999, "19999|20000".into()));
    assert_eq!(rig.lines(handle, None, None).await.unwrap().0, 19_951, "fifty, when nothing is said");
}

#[tokio::test(start_paused = true)]
async fn lines_that_are_dropped_are_told_with_the_first_that_works() {
    let rig = Rig::with(Limits { handle_output: 20, ..Limits::default() });
    let handle = rig.launch("seq 10 24; sleep 60").await;
    assert_eq!(rig.check(handle, 10).await.unwrap().stdout, LineFacts { total: 15, dropped: 9 });
    let error = rig.lines(handle, Some(9), None).await.unwrap_err();
    assert_eq!(
        said(error),
        "invalid_argument: line 9 has been dropped: the first line still there is 10, so start_line 10 works; to keep \
         all output of a command, let it write to a file, such as `command > file`"
    );
    assert_eq!(rig.lines(handle, Some(10), Some(2)).await.unwrap(), (10, "19|20".into()));
    assert_eq!(rig.lines(handle, None, None).await.unwrap(), (10, "19|20|21|22|23|24".into()), "never an error");
    for (start_line, lines, message) in [
        (Some(0), None, "start_line must be at least 1: the first line is 1"),
        (None, Some(0), "lines must be at least 1"),
    ] {
        let error = rig.lines(handle, start_line, lines).await.unwrap_err();
        assert_eq!(said(error), format!("invalid_argument: {message}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_that_still_grows_is_seen() {
    let rig = Rig::new();
    let handle = rig.launch("printf 'a\r\nb'; sleep 1; printf 'c\r\n'").await;
    rig.check(handle, 10).await;
    assert_eq!(rig.lines(handle, None, None).await.unwrap(), (1, "a|b".into()));
    rig.check(handle, 2000).await;
    assert_eq!(rig.lines(handle, None, None).await.unwrap(), (1, "a|bc".into()));
}

#[tokio::test(start_paused = true)]
async fn a_foreign_command_looks_exactly_like_an_unknown_one() {
    let rig = Rig::new();
    let handle = rig.launch("sleep 60").await;
    let scoped = |to: &str| Call::new(Owner::scoped("me", target(to)));
    let them = Call::new(Owner::management("them"));
    for (cx, handle) in [(me(), Handle(handle.0 + 1)), (me(), Handle(1)), (them, handle), (scoped("other"), handle)] {
        let check = CheckCommand { handle, wait: ms(0) };
        assert_eq!(rig.registry.check_command(&cx, check).await, Ok(None));
        let read = ReadCommand { handle, stream: Stream::Stdout, lines: None, start_line: None };
        assert_eq!(said(rig.registry.read_command(&cx, read).await.unwrap_err()), NOT_FOUND);
        assert_eq!(said(rig.registry.kill_command(&cx, kill(handle)).await.unwrap_err()), NOT_FOUND);
    }
    let check = CheckCommand { handle, wait: ms(0) };
    assert!(rig.registry.check_command(&scoped("local"), check).await.unwrap().is_some());
    let too_long = CheckCommand { handle, wait: ms(50_001) };
    let error = rig.registry.check_command(&me(), too_long).await.unwrap_err();
    assert_eq!(said(error), "invalid_argument: wait_seconds must be 0 to 50");
}

#[tokio::test(start_paused = true)]
async fn many_commands_run_at_once_and_each_keeps_its_own_output() {
    let rig = Rig::new();
    let runs = join_all((0..60).map(|number| {
        let rig = &rig;
        async move { rig.ran(Rig::run(&format!("sleep 1; echo {number}"))).await }
    }));
    let begun = Instant::now();
    for (number, run) in runs.await.into_iter().enumerate() {
        assert_eq!(decode(&run.stdout.bytes), format!("{number}\n"));
    }
    assert_eq!(begun.elapsed(), ms(1000));
}
