//! Sessions on a terminal: typing, keys, sizes, signals, and real programs.

use std::time::Duration;

use bytes::Bytes;
use sessiond_core::{ErrorKind, Exit, Invocation, SessionSpec, Signal, SignalTarget, WindowSize, Written};

use crate::place::{Far, Place, Terminal, call};

fn size(cols: u16, rows: u16) -> WindowSize {
    WindowSize::new(cols, rows).unwrap()
}

#[tokio::test]
async fn a_session_has_a_terminal_of_its_kind() {
    let place = Place::new().await;
    let session = place.session("stty size; echo $TERM $LC_CTYPE; stty -a | grep -o '[-]*iutf8'; echo err >&2").await;
    let printed = "24 80\r\nxterm-256color C.UTF-8\r\niutf8\r\nerr\r\n".to_owned();
    assert_eq!(session.to_end().await, (printed, Exit::Exited(0)));
}

#[tokio::test]
async fn a_login_shell_is_one_only_when_asked_for() {
    let place = Place::with(|server| server, |account| account.file(".bash_profile", "export PROFILE=read\n")).await;
    for (login, read) in [(true, "read"), (false, "")] {
        let spec = SessionSpec { invocation: Invocation::new("echo \"<$PROFILE>\""), size: size(80, 24), login };
        let session = Terminal::start(&*place.backend, spec).await.unwrap();
        assert_eq!(session.to_end().await, (format!("<{read}>\r\n"), Exit::Exited(0)));
    }
}

#[tokio::test]
async fn typing_is_echoed_and_read() {
    let place = Place::new().await;
    let session = place.session("echo ready; cat").await;
    session.shows("ready").await;
    session.dialog("héllo\r", "héllo\r\nhéllo\r\n").await;
    session.session.eof(&call()).await.unwrap();
    assert_eq!(session.to_end().await.1, Exit::Exited(0));
}

#[tokio::test]
async fn the_end_of_input_is_the_terminals_own_key() {
    let place = Place::new().await;
    let session = place.session("stty eof x; echo ready; cat; exit 4").await;
    session.shows("ready").await;
    session.session.eof(&call()).await.unwrap();
    assert_eq!(session.to_end().await.1, Exit::Exited(4));
}

#[tokio::test]
async fn a_line_that_the_terminal_would_cut_is_refused_whole() {
    let place = Place::new().await;
    let long = "x".repeat(5000);
    let session = place.session("echo ready; read line; echo ${#line}").await;
    session.shows("ready").await;
    let refused = session.session.write(&call(), Bytes::from(long.clone() + "\r")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::FailedPrecondition);
    session.type_in("short\r").await;
    assert!(session.to_end().await.0.ends_with("\r\n5\r\n"));
    let raw = place.session("stty raw -echo; echo ready; head -c 5000 | wc -c").await;
    raw.shows("ready").await;
    raw.type_in(&long).await;
    assert!(raw.to_end().await.0.contains("5000"));
}

#[tokio::test]
async fn a_write_that_nobody_takes_ends_with_what_was_handed_over() {
    let place = Place::new().await.configured(|config| config.write_stall = Duration::from_millis(300)).await;
    let session = place.session("stty raw -echo; echo ready; sleep 1000").await;
    session.shows("ready").await;
    // More than the channel's window.
    let much = Bytes::from(vec![b'x'; 8 << 20]);
    let written = session.session.write(&call(), much.clone()).await.unwrap();
    assert_eq!(written.stalled.as_deref(), Some("the program takes no input"));
    assert!(written.bytes > 0 && written.bytes < much.len() as u64, "{written:?}");
    session.stop().await;
    assert_eq!(session.session.write(&call(), much).await.unwrap_err().kind(), ErrorKind::FailedPrecondition);
}

#[tokio::test]
async fn much_input_goes_through_as_it_is_taken() {
    let place = Place::new().await;
    let session = place.session("stty raw -echo; echo ready; head -c 6000000 | md5sum").await;
    session.shows("ready").await;
    let input: Vec<u8> = (0..6_000_000_u32).map(|n| b'a' + (n % 26) as u8).collect();
    assert_eq!(session.write(&input).await, Written { bytes: 6_000_000, stalled: None });
    let sum = place.run("python3 -c \"print(''.join(chr(97+n%26) for n in range(6000000)),end='')\" | md5sum").await;
    assert!(session.to_end().await.0.contains(sum.stdout.trim()), "{sum:?}");
}

#[tokio::test]
async fn a_resize_is_seen_at_once() {
    let place = Place::new().await;
    let program = "import os, signal\nshow = lambda *_: os.write(1, b'%d by %d\\n' % os.get_terminal_size())\n\
        signal.signal(signal.SIGWINCH, show)\nos.write(1, b'ready\\n')\nwhile True: signal.pause()";
    let session = place.session(&format!("exec python3 -c \"{program}\"")).await;
    session.shows("ready").await;
    for (cols, rows) in [(100, 40), (80, 24), (200, 50)] {
        session.session.resize(&call(), size(cols, rows)).await.unwrap();
        session.shows(&format!("{cols} by {rows}\r\n")).await;
    }
    session.stop().await;
}

#[tokio::test]
async fn an_interrupt_reaches_the_job_in_the_foreground() {
    let place = Place::new().await;
    let session = place.session("bash --norc -i").await;
    session.shows(r"\$ ").await;
    session.dialog("sleep 1000\r", "sleep 1000\r\n").await;
    // The job is in the foreground once the shell has handed it the terminal.
    let waiting = "until ps axo stat,args | grep -q '^S+ *sleep 1000'; do sleep 0.05; done";
    place.run(waiting).await;
    session.session.signal(&call(), Signal::Int, SignalTarget::Foreground).await.unwrap();
    session.dialog("echo code $?\r", "code 130").await;
    session.session.signal(&call(), Signal::Hup, SignalTarget::Leader).await.unwrap();
    assert_eq!(session.to_end().await.1, Exit::Signaled("HUP".to_owned()));
    let late = session.session.signal(&call(), Signal::Term, SignalTarget::Foreground).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::FailedPrecondition);
}

#[tokio::test]
async fn root_may_signal_too() {
    let place = Place::root().await;
    let session = place.session("trap 'echo got; exit 9' USR1; echo ready; while :; do sleep 0.05; done").await;
    session.shows("ready").await;
    session.session.signal(&call(), Signal::Usr1, SignalTarget::Leader).await.unwrap();
    assert_eq!(session.to_end().await, ("ready\r\ngot\r\n".to_owned(), Exit::Exited(9)));
}

#[tokio::test]
async fn background_jobs_that_hold_the_terminal_are_not_waited_for() {
    let place = Place::new().await;
    let session = place.session("trap '' HUP; sleep 1000 & echo up; exit 2").await;
    let begun = std::time::Instant::now();
    assert_eq!(session.to_end().await, ("up\r\n".to_owned(), Exit::Exited(2)));
    assert!(begun.elapsed().as_secs_f32() < 4.0);
    assert_eq!(session.session.descendants().await.len(), 1);
    session.stop().await;
    assert_eq!(session.session.descendants().await, Vec::<u32>::new());
}

#[tokio::test]
async fn a_long_command_in_any_alphabet_is_run_as_it_is() {
    let place = Place::new().await;
    let text = "zażółć 'gęślą' \"jaźń\" $HOME !! \\n `x` 漢字 ".repeat(200);
    let session = place.session(&format!("wc -c <<'END'\n{text}\nEND")).await;
    assert_eq!(session.to_end().await, (format!("{}\r\n", text.len() + 1), Exit::Exited(0)));
}

#[tokio::test]
async fn an_editor_draws_its_screen_and_writes_its_file() {
    let place = Place::new().await;
    let session = place.session("vim -u NONE -n ~/note.txt").await;
    session.shows("\x1b\\[\\?1049h").await;
    session.dialog("ihello from far away\x1b", "far away").await;
    session.session.resize(&call(), size(100, 30)).await.unwrap();
    session.type_in(":wq\r").await;
    assert_eq!(session.to_end().await.1, Exit::Exited(0));
    assert_eq!(place.run("cat ~/note.txt").await.stdout, "hello from far away\n");
}

#[tokio::test]
async fn a_monitor_draws_and_leaves_by_its_key() {
    let place = Place::new().await;
    let session = place.session("htop").await;
    session.shows("F10").await;
    session.type_in("q").await;
    assert_eq!(session.to_end().await.1, Exit::Exited(0));
}

#[tokio::test]
async fn what_was_to_have_a_terminal_does_not_run_without_one() {
    let place = Place::with(|server| server.option("PermitTTY", "no"), |account| account).await;
    // Far enough away for the program to be up before we have heard of it.
    let far = Far::before(place.server.address(), Duration::from_millis(50)).await;
    let place = place.through(far.port()).await;
    let refused = place.try_session(Invocation::new("sleep 1000; true")).await.err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
    // It was asked for together with the terminal, and the server has started it.
    let gone = "sleep 0.5; until ! pgrep -fx 'sleep 1000' >/dev/null; do sleep 0.05; done; echo gone";
    assert_eq!(place.run(gone).await.stdout, "gone\n");
}
