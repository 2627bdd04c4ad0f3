//! The stop: whatever a session has started is gone when it is confirmed, and nobody else is touched.

use std::process::{Command as Program, Stdio};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use sessiond_core::{Backend, Cause, End, ErrorKind, Exit, Process, Signal, SignalTarget, Stopped, Stream};

use crate::support::{GRACE, Piped, Terminal, alone, call, exists, numbers, pty};

/// Runs a command that prints `ready` and `pid=N` for whatever it has started, stops it, and looks for survivors.
async fn leaves_nobody(command: &str) {
    let pty = pty();
    let session = Terminal::run(&pty, command).await;
    let pids = numbers(&session.shows("ready").await, "pid");
    assert!(!pids.is_empty() && pids.iter().all(|pid| exists(*pid)), "{command}: {pids:?} live before the stop");
    assert_eq!(session.session.stop(Duration::from_millis(300)).await, Ok(Stopped::Confirmed), "{command}");
    let left: Vec<_> = pids.iter().filter(|pid| exists(**pid)).collect();
    assert!(left.is_empty(), "{command}: {left:?} of {pids:?} are left");
    assert!(!exists(session.pid()), "{command}");
}

#[tokio::test]
async fn a_pipeline_is_stopped_whole() {
    leaves_nobody("sh -c 'echo pid=$$; exec sleep 1000' | (read -r x; echo $x; echo ready; exec sleep 1000) | cat")
        .await;
}

#[tokio::test]
async fn background_jobs_and_their_groups_are_stopped() {
    leaves_nobody("set -m; sleep 1000 & echo pid=$!; sleep 1000 | sleep 1001 & echo pid=$!; echo ready; wait").await;
}

#[tokio::test]
async fn a_session_of_its_own_does_not_save_a_process() {
    leaves_nobody("(setsid sh -c 'echo pid=$$; echo ready; exec sleep 1000' &); sleep 1000").await;
}

#[tokio::test]
async fn nohup_does_not_save_a_process() {
    leaves_nobody("nohup sh -c 'echo pid=$$ >/dev/tty; echo ready >/dev/tty; exec sleep 1000' >/dev/null 2>&1 & wait")
        .await;
}

/// Two forks, a session of its own, no open terminal: what a daemon does.
const DAEMON: &str = r#"
import os, signal, sys, time
tty = os.dup(1)
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for fd in (0, 1, 2): os.close(fd)
os.write(tty, b"pid=%d\nready\n" % os.getpid())
os.close(tty)
time.sleep(1000)
"#;

#[tokio::test]
async fn a_daemon_is_found() {
    leaves_nobody(&format!("python3 -c '{DAEMON}'; sleep 1000")).await;
}

#[tokio::test]
async fn a_daemon_outlives_its_session_and_is_counted_until_it_is_stopped() {
    let pty = pty();
    let session = Terminal::run(&pty, &format!("python3 -c '{DAEMON}'; read -r _")).await;
    let pid = numbers(&session.shows("ready").await, "pid")[0];
    session.type_in("\n").await;
    session.prints().await;
    assert_eq!(session.session.descendants().await, [pid]);
    session.stop().await;
    assert!(!exists(pid));
    assert_eq!(session.session.descendants().await, [0; 0]);
}

#[tokio::test]
async fn ignoring_signals_does_not_save_a_process() {
    leaves_nobody("trap '' HUP TERM INT; echo pid=$$; echo ready; while :; do sleep 1000; done").await;
}

#[tokio::test]
async fn a_stopped_process_is_stopped_for_good() {
    leaves_nobody("sleep 1000 & echo pid=$!; kill -STOP $!; echo ready; kill -STOP $$; wait").await;
}

#[tokio::test]
async fn a_scrubbed_environment_does_not_hide_a_process_whose_parent_lives() {
    leaves_nobody("env -i setsid sleep 1000 & echo pid=$!; echo ready; wait").await;
}

#[tokio::test]
async fn a_program_that_forks_all_the_time_is_stopped() {
    // Bounded, so that a test that is killed in the middle of it does not bring the machine down.
    let forks = "for i in $(seq 3000); do (sleep 0.02; (sleep 20 &)) & sleep 0.001; done; sleep 20";
    leaves_nobody(&format!("trap '' HUP TERM; echo pid=$$; echo ready; {forks}")).await;
}

#[tokio::test]
async fn a_command_is_stopped_with_all_it_has_started() {
    let pty = pty();
    let piped = Piped::run(&pty, "(setsid sh -c 'echo pid=$$; echo ready; exec sleep 1000' &); sleep 1000").await;
    let pids = numbers(&piped.shows("ready").await, "pid");
    assert_eq!(piped.command.stop(GRACE).await, Ok(Stopped::Confirmed));
    assert!(!exists(pids[0]));
    assert_eq!(piped.to_end().await.exit, Exit::Signaled("HUP".into()));
}

#[tokio::test]
async fn a_polite_process_ends_in_its_own_way_and_at_once() {
    let pty = pty();
    let session =
        Terminal::run(&pty, "trap 'echo bye; exit 3' TERM; trap '' HUP; echo ready; while :; do read -r _; done").await;
    session.shows("ready").await;
    let begun = Instant::now();
    assert_eq!(session.session.stop(Duration::from_secs(20)).await, Ok(Stopped::Confirmed));
    assert!(begun.elapsed() < Duration::from_secs(10), "the grace ends when all are gone");
    let (text, end) = session.to_end().await;
    assert_eq!((text.as_str(), end), ("ready\r\nbye\r\n", End { exit: Exit::Exited(3), cause: Cause::Own }));
}

#[tokio::test]
async fn a_stop_may_be_repeated_and_joined() {
    let pty = pty();
    let session = Terminal::run(&pty, "trap '' TERM HUP; echo ready; sleep 1000").await;
    session.shows("ready").await;
    let stop = || session.session.stop(Duration::from_millis(100));
    let stops = join_all([stop(), stop(), stop()]).await;
    assert_eq!(stops, [Ok(Stopped::Confirmed), Ok(Stopped::Confirmed), Ok(Stopped::Confirmed)]);
    assert_eq!(stop().await, Ok(Stopped::Confirmed));
}

#[tokio::test]
async fn a_stop_that_nobody_waits_for_is_carried_out() {
    let pty = pty();
    let session = Terminal::run(&pty, "trap '' TERM HUP; echo ready; sleep 1000").await;
    session.shows("ready").await;
    let stop = session.session.stop(Duration::from_millis(50));
    assert!(tokio::time::timeout(Duration::from_millis(1), stop).await.is_err());
    assert_eq!(session.to_end().await.1.exit, Exit::Signaled("KILL".into()));
}

#[tokio::test]
async fn a_hundred_stops_at_once_touch_nobody_else() {
    let pty = pty();
    let other = Terminal::run(&pty, "(setsid sleep 1000 &) ; sleep 1000 & echo pid=$!; echo ready; cat").await;
    other.shows("ready").await;
    let mut unrelated = Program::new("sleep").arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let command = "(setsid sleep 1000 &); sleep 1000 & echo ready; wait";
    let sessions = join_all((0..100).map(|_| Terminal::run(&pty, command))).await;
    join_all(sessions.iter().map(|session| session.shows("ready"))).await;
    let outcomes = join_all(sessions.iter().map(|session| session.session.stop(GRACE))).await;
    assert_eq!(outcomes, vec![Ok(Stopped::Confirmed); 100]);
    assert_eq!(unrelated.try_wait().unwrap(), None, "the child of somebody else lives");
    assert!(other.dialog("hello\n", "hello").await.contains("hello"), "the other session lives");
    unrelated.kill().unwrap();
    unrelated.wait().unwrap();
    other.stop().await;
}

#[test]
fn what_nobody_can_claim_makes_a_stop_unconfirmed() {
    alone("stops::what_nobody_can_claim_makes_a_stop_unconfirmed", &[], async {
        let pty = pty();
        // No mark, no session, no parent, no terminal: nothing is left by which it could be known.
        let hidden =
            "(env -i setsid sh -c 'echo pid=$$; echo ready; exec <&- >&- 2>&-; exec /bin/sleep 1000' &); sleep 1000";
        let session = Terminal::run(&pty, hidden).await;
        let pid = numbers(&session.shows("ready").await, "pid")[0];
        assert_eq!(session.session.stop(GRACE).await, Ok(Stopped::Unconfirmed { pids: vec![pid] }));
        assert!(exists(pid) && !exists(session.pid()));
        // A session that began later cannot have started it.
        let later = Terminal::run(&pty, "echo ready; sleep 1000").await;
        later.shows("ready").await;
        later.stop().await;
        pty.shutdown(GRACE).await;
        assert!(!exists(pid), "the end of the server is the end of everything");
    });
}

#[test]
fn a_shutdown_ends_everything_also_what_outlived_its_session() {
    alone("stops::a_shutdown_ends_everything_also_what_outlived_its_session", &[], async {
        let pty = pty();
        let ended = Terminal::run(&pty, &format!("python3 -c '{DAEMON}'; read -r _")).await;
        let daemon = numbers(&ended.shows("ready").await, "pid")[0];
        ended.type_in("\n").await;
        ended.prints().await;
        drop(ended);
        let sessions = join_all((0..100).map(|_| Terminal::run(&pty, "echo ready; trap '' HUP; sleep 1000"))).await;
        join_all(sessions.iter().map(|session| session.shows("ready"))).await;
        let command = Piped::run(&pty, "echo ready; sleep 1000").await;
        command.shows("ready").await;
        pty.shutdown(Duration::from_millis(500)).await;
        assert!(!exists(daemon));
        for session in &sessions {
            assert!(!exists(session.pid()));
            assert!(matches!(session.to_end().await.1.exit, Exit::Signaled(_)));
        }
        assert!(matches!(command.to_end().await.exit, Exit::Signaled(_)));
        let refused = Terminal::try_run(&pty, sessiond_core::Invocation::new("true")).await.err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::Unavailable);
    });
}

#[tokio::test]
async fn signals_go_to_the_foreground_job_or_to_the_leader() {
    let pty = pty();
    let shell = Terminal::run(&pty, "PS1='> ' bash --norc -i").await;
    shell.shows("> ").await;
    // A job that prints has the terminal.
    shell.dialog("sh -c 'echo u''p; exec sleep 1000'\n", "up\r\n").await;
    let from = shell.log.bounds(Stream::Stdout).1;
    shell.session.signal(&call(), Signal::Int, SignalTarget::Foreground).await.unwrap();
    shell.shows_from(from, "> $").await;
    shell.dialog("echo still $((40+2)) $?\n", "still 42 130\r\n").await;
    shell.session.signal(&call(), Signal::Kill, SignalTarget::Leader).await.unwrap();
    assert_eq!(shell.to_end().await.1.exit, Exit::Signaled("KILL".into()));
    for to in [SignalTarget::Foreground, SignalTarget::Leader] {
        let refused = shell.session.signal(&call(), Signal::Term, to).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FailedPrecondition);
    }
    let piped = Piped::run(&pty, "sleep 1000 | sleep 1000; echo not reached").await;
    let command: &dyn Process = &*piped.command;
    command.signal(&call(), Signal::Usr1, SignalTarget::Foreground).await.unwrap();
    assert_eq!(piped.to_end().await.exit, Exit::Signaled("USR1".into()));
}

#[test]
fn a_forgotten_command_does_not_make_the_stop_of_an_older_session_unconfirmed() {
    alone("stops::a_forgotten_command_does_not_make_the_stop_of_an_older_session_unconfirmed", &[], async {
        let pty = pty();
        let session = Terminal::run(&pty, "echo ready; sleep 1000").await;
        session.shows("ready").await;
        let piped = Piped::run(&pty, "env -i sleep 1000 >/dev/null 2>&1 </dev/null & echo pid=$!").await;
        let left = numbers(&piped.to_end().await.stdout, "pid")[0];
        drop(piped);
        session.stop().await;
        assert!(exists(left));
        pty.shutdown(GRACE).await;
        assert!(!exists(left));
    });
}

/// Goes on as its own child again and again, for a bounded time: whoever sends a signal to the process that was seen is
/// late.
const HOPPER: &str = r#"
import os, time
end = time.monotonic() + 20
os.write(1, b"ready\n")
while time.monotonic() < end:
    if os.fork(): os._exit(0)
"#;

#[tokio::test]
async fn a_process_that_is_always_gone_already_is_stopped_with_its_group() {
    leaves_nobody(&format!("trap '' HUP TERM; echo pid=$$; python3 -c '{HOPPER}' & wait; sleep 20")).await;
}
