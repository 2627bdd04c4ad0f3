//! Sessions: what they print, how they end, and what their terminal is.

use std::time::{Duration, Instant};

use sessiond_core::{Backend, Cause, Cursor, End, Exit, Invocation, SessionSpec, Stream};
use sessiond_pty::{Config, Pty};

use crate::support::{GRACE, Terminal, call, config, ended, exists, numbers, pty, session_log, session_spec, size};

#[tokio::test]
async fn a_session_prints_and_ends() {
    let pty = pty();
    let session = Terminal::run(&pty, "echo hi").await;
    let end = End { exit: Exit::Exited(0), cause: Cause::Own };
    assert_eq!(session.to_end().await, ("hi\r\n".into(), end));
}

#[tokio::test]
async fn an_exit_is_the_leaders_own() {
    let pty = pty();
    for (command, exit) in [
        ("exit 7", Exit::Exited(7)),
        ("exit 255", Exit::Exited(255)),
        ("no-such-program-here 2>/dev/null", Exit::Exited(127)),
        ("kill -TERM $$", Exit::Signaled("TERM".into())),
        ("kill -KILL $$", Exit::Signaled("KILL".into())),
        ("kill -34 $$", Exit::Signaled("34".into())),
    ] {
        assert_eq!(Terminal::run(&pty, command).await.to_end().await.1.exit, exit, "{command}");
    }
}

#[tokio::test]
async fn the_last_bytes_are_never_lost() {
    let pty = pty();
    for round in 0..50 {
        let session = Terminal::run(&pty, &format!("seq 1 3000; echo end-{round}")).await;
        let text = session.prints().await;
        assert!(
            text.ends_with(&format!("3000\r\nend-{round}\r\n")),
            "round {round} ends with {:?}",
            text.get(text.len().saturating_sub(40)..)
        );
    }
}

#[tokio::test]
async fn the_terminal_is_what_the_page_says() {
    let pty = pty();
    let script = "tty; stty size; stty -a | grep -o ' -*iutf8'; echo $TERM $LC_CTYPE; \
                  [ $(ps -o sid= -p $$) = $$ ] && echo leader; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all; echo hi >/dev/tty";
    let spec = SessionSpec { size: size(132, 50), ..session_spec(Invocation::new(script)) };
    let text = Terminal::start(&pty, spec).await.unwrap().prints().await;
    let (tty, rest) = text.split_once("\r\n").unwrap();
    assert!(tty.starts_with("/dev/pts/"), "{text}");
    assert_eq!(rest, "50 132\r\n iutf8\r\nxterm-256color C.UTF-8\r\nleader\r\nall\r\nhi\r\n");
}

#[tokio::test]
async fn a_login_shell_is_one_only_when_asked_for() {
    let pty = pty();
    let command = "shopt -q login_shell; echo $? $0";
    let run = async |login| {
        let spec = SessionSpec { login, ..session_spec(Invocation::new(command)) };
        Terminal::start(&pty, spec).await.unwrap().prints().await
    };
    assert_eq!(run(false).await, "1 bash\r\n");
    assert!(run(true).await.ends_with("0 -bash\r\n"));
}

#[tokio::test]
async fn the_shell_is_the_configured_one_or_the_environments() {
    let shell = async |config: Config| {
        let pty = Pty::new(config).unwrap();
        Terminal::run(&pty, "echo $0").await.prints().await
    };
    let environment = |shell: &str| vec![("SHELL".into(), shell.into())];
    assert_eq!(shell(Config { environment: environment("/bin/bash"), ..Config::default() }).await, "bash\r\n");
    let both = Config { shell: Some("/bin/sh".into()), environment: environment("/bin/bash"), ..Config::default() };
    assert_eq!(shell(both).await, "sh\r\n");
    assert_eq!(shell(Config { environment: environment(""), ..Config::default() }).await, "sh\r\n");
}

#[tokio::test]
async fn a_session_runs_where_and_with_what_it_is_told() {
    let pty = pty();
    let mut invocation = Invocation::new("pwd; echo $GREETING; echo ~");
    invocation.cwd = Some("/usr/share".into());
    invocation.env = vec![("GREETING".into(), "grüß dich".into())];
    let text = Terminal::try_run(&pty, invocation).await.unwrap().prints().await;
    assert_eq!(text, "/usr/share\r\ngrüß dich\r\n/tmp\r\n");
    let home = Invocation { cwd: Some("~".into()), ..Invocation::new("pwd") };
    assert_eq!(Terminal::try_run(&pty, home).await.unwrap().prints().await, "/tmp\r\n");
}

#[tokio::test]
async fn a_leader_may_let_go_of_its_terminal_and_come_back() {
    let pty = pty();
    let script =
        "echo one; exec <&- >&- 2>&-; sleep 0.3; exec >/dev/tty 2>&1 </dev/tty; echo two; read -r line; echo got $line";
    let session = Terminal::run(&pty, script).await;
    session.shows("two").await;
    session.type_in("three\n").await;
    assert_eq!(session.prints().await, "one\r\ntwo\r\nthree\r\ngot three\r\n");
}

#[tokio::test]
async fn a_leader_without_a_terminal_is_waited_for() {
    let pty = pty();
    let session = Terminal::run(&pty, "exec <&- >&- 2>&-; sleep 0.3; exit 9").await;
    assert_eq!(session.to_end().await.1.exit, Exit::Exited(9));
}

#[tokio::test]
async fn others_on_the_terminal_delay_the_end_by_a_bounded_grace() {
    let pty = Pty::new(Config { linger: Duration::from_millis(400), ..config() }).unwrap();
    let begun = Instant::now();
    // It ignores the hang-up, prints within the grace, and again after it.
    let script = "trap '' HUP; (sleep 0.1; echo late; sleep 1000) & echo pid=$!; echo first";
    let session = Terminal::run(&pty, script).await;
    let text = session.prints().await;
    assert!(begun.elapsed() >= Duration::from_millis(400));
    assert!(text.contains("first\r\n") && text.ends_with("late\r\n"), "{text:?}");
    let pid = numbers(&text, "pid")[0];
    assert!(session.session.descendants().await.contains(&pid), "it lives on and is counted");
    session.stop().await;
    assert!(!exists(pid));
    assert_eq!(session.session.descendants().await, [0; 0]);
}

#[tokio::test]
async fn a_flood_on_a_terminal_whose_leader_is_gone_ends_with_the_grace() {
    let pty = Pty::new(Config { linger: Duration::from_millis(200), ..config() }).unwrap();
    let session = Terminal::run(&pty, "trap '' HUP; yes & read -r _").await;
    session.shows("y\r\ny").await;
    session.type_in("\n").await;
    assert_eq!(session.to_end().await.1.exit, Exit::Exited(0));
    session.stop().await;
}

#[tokio::test]
async fn a_flood_without_a_reader_is_neither_blocked_nor_kept() {
    let pty = pty();
    let session = Terminal::run(&pty, "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo done").await;
    assert_eq!(session.to_end().await.1.exit, Exit::Exited(0));
    let (start, end) = session.log.bounds(Stream::Stdout);
    assert_eq!((start, end), (Cursor(20_000_008 - (1 << 20)), Cursor(20_000_008)));
}

#[tokio::test]
async fn a_flood_does_not_starve_another_session() {
    let pty = pty();
    let flood = Terminal::run(&pty, "yes").await;
    flood.shows("y").await;
    let other = Terminal::run(&pty, "stty -echo; echo ready; cat").await;
    other.shows("ready").await;
    for round in 0..20 {
        other.dialog(&format!("round {round}\n"), &format!("round {round}\r\n")).await;
    }
    flood.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn a_dropped_handle_stops_nothing() {
    let pty = pty();
    let (log, out) = session_log();
    let session = pty.start_session(&call(), session_spec(Invocation::new("sleep 0.2; echo still here")), out).await;
    drop(session.unwrap());
    assert_eq!(ended(&log).await.exit, Exit::Exited(0));
    assert_eq!(&log.read(Stream::Stdout, Cursor::START, 64, None).unwrap().bytes[..], b"still here\r\n");
}

#[tokio::test]
async fn an_ended_session_holds_no_descriptor() {
    let own = |pid: u32| {
        std::fs::read_dir("/proc/self/fd").unwrap().flatten().any(|entry| {
            let fd = entry.file_name().into_string().unwrap();
            std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}"))
                .is_ok_and(|info| info.contains(&format!("Pid:\t{pid}\n")))
        })
    };
    let pty = pty();
    let session = Terminal::run(&pty, "read -r _").await;
    assert!(own(session.pid()));
    session.type_in("\n").await;
    session.prints().await;
    assert!(!own(session.pid()));
}

#[tokio::test]
async fn status_tells_whether_something_can_run() {
    use sessiond_core::Availability::{Offline, Online};
    let ask = async |config: Config| {
        let status = Pty::new(config).unwrap().status(&call()).await;
        (status.availability, status.detail, status.machine.unwrap().shell)
    };
    assert_eq!(ask(config()).await, (Online, None, Some("/bin/bash".into())));
    let (availability, detail, _) = ask(Config { shell: Some("/no/shell".into()), ..config() }).await;
    assert_eq!((availability, detail.unwrap().starts_with("there is no shell /no/shell")), (Offline, true));
    let (availability, detail, _) = ask(Config { cwd: Some("/no/place".into()), ..config() }).await;
    assert_eq!((availability, detail.unwrap().starts_with("there is no directory /no/place")), (Offline, true));
    let machine = pty().status(&call()).await.machine.unwrap();
    assert_eq!((machine.os.as_deref(), machine.arch.as_deref()), (Some("linux"), Some(std::env::consts::ARCH)));
}

#[tokio::test]
async fn a_server_that_ends_with_sessions_ends_them() {
    let pty = pty();
    let session = Terminal::run(&pty, "echo ready; cat").await;
    session.shows("ready").await;
    pty.shutdown(GRACE).await;
    assert!(!exists(session.pid()));
    assert!(matches!(session.to_end().await.1.exit, Exit::Signaled(_)));
}
