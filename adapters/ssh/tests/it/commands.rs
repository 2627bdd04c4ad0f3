//! Commands on pipes: what goes in, what comes out, and how they end.

use sessiond_core::{Cursor, ErrorKind, Exit, Invocation, Reason, Signal, SignalTarget, Stream};

use crate::place::{Outcome, Place, call};

#[tokio::test]
async fn streams_are_apart_and_the_exit_code_is_its_own() {
    let place = Place::new().await;
    assert_eq!(place.run("echo out; echo err >&2; exit 42").await, Outcome::of("out\n", "err\n", Exit::Exited(42)));
    assert_eq!(place.run("true").await, Outcome::printed(""));
    assert_eq!(place.run("printf 'a\\nb\\n'\nprintf c").await, Outcome::printed("a\nb\nc"));
    let unknown = place.run("no-such-program-anywhere").await;
    assert_eq!(unknown.exit, Exit::Exited(127), "{unknown:?}");
}

#[tokio::test]
async fn the_pid_is_the_one_that_the_command_sees() {
    let place = Place::new().await;
    for _ in 0..2 {
        let command = place.start("echo $$").await;
        assert_eq!(command.to_end().await, Outcome::printed(&format!("{}\n", command.pid())));
    }
}

#[tokio::test]
async fn a_signal_that_ends_it_has_its_name() {
    let place = Place::new().await;
    for (signal, name) in [(Signal::Kill, "KILL"), (Signal::Usr2, "USR2"), (Signal::Xcpu, "XCPU")] {
        let command = place.start("echo up; sleep 1000").await;
        command.shows("up").await;
        command.command.signal(&call(), signal, SignalTarget::Foreground).await.unwrap();
        assert_eq!(command.to_end().await.exit, Exit::Signaled(name.to_owned()));
    }
    assert_eq!(place.run("kill -TERM $$").await.exit, Exit::Signaled("TERM".to_owned()));
}

#[tokio::test]
async fn input_arrives_whole_and_then_its_end() {
    let place = Place::new().await;
    let input: String = (0..200_000).map(|line| format!("line {line}\n")).collect();
    let command = place.try_start(Invocation::new("cat"), &input).await.unwrap();
    assert_eq!(command.to_end().await, Outcome::printed(&input));
    let unread = place.try_start(Invocation::new("echo done"), &input.repeat(3)).await.unwrap();
    assert_eq!(unread.to_end().await, Outcome::printed("done\n"));
}

#[tokio::test]
async fn a_directory_that_is_not_there_has_a_reason_and_no_effect() {
    let place = Place::new().await;
    let cwd = |cwd: &str| Invocation { cwd: Some(cwd.to_owned()), ..Invocation::new("touch ~/ran; pwd") };
    let missing = place.try_start(cwd("/no/such/place"), "").await.err().unwrap();
    assert_eq!((missing.kind(), missing.reason()), (ErrorKind::FailedPrecondition, Some(Reason::NoSuchDirectory)));
    let file = place.try_start(cwd("/etc/passwd"), "").await.err().unwrap();
    assert_eq!((file.kind(), file.reason()), (ErrorKind::FailedPrecondition, None));
    let denied = place.try_start(cwd("/root"), "").await.err().unwrap();
    assert_eq!((denied.kind(), denied.reason()), (ErrorKind::PermissionDenied, None));
    assert_eq!(place.run("ls ~/ran 2>/dev/null").await.stdout, "");
    let there = place.try_start(cwd("~"), "").await.unwrap().to_end().await;
    assert_eq!(there, place.run("pwd").await);
}

#[tokio::test]
async fn variables_are_the_callers() {
    let place = Place::new().await;
    let mut invocation = Invocation::new("printf '%s|' \"$A\" \"$LC_CTYPE\" \"$LANG\"");
    invocation.env.push(("A".to_owned(), "it's \"$x\"\nand é".to_owned()));
    let outcome = place.try_start(invocation, "").await.unwrap().to_end().await;
    assert_eq!(outcome, Outcome::printed("it's \"$x\"\nand é|C.UTF-8||"));
}

#[tokio::test]
async fn what_is_run_stands_in_no_argument_list_but_its_own() {
    let place = Place::new().await;
    let mut invocation = Invocation::new("read x; echo got");
    invocation.env.push(("TOKEN".to_owned(), "s3cr3t".to_owned()));
    let command = place.try_start(invocation, "go\n").await.unwrap();
    assert!(!place.server.look("ps axww -o args").unwrap().contains("s3cr3t"));
    assert_eq!(command.to_end().await, Outcome::printed("got\n"));
}

#[tokio::test]
async fn not_one_line_is_lost() {
    let place = Place::new().await;
    for (count, times) in [(20_000, 200), (100_000, 200)] {
        let expected: String = (1..=count).map(|line| format!("{line}\n")).collect();
        for round in 0..times {
            let outcome = place.run(&format!("seq 1 {count}")).await;
            assert_eq!(outcome.exit, Exit::Exited(0), "round {round}");
            assert!(outcome.stdout == expected, "round {round} of seq 1 {count}: {} bytes", outcome.stdout.len());
        }
    }
}

#[tokio::test]
async fn fifty_megabytes_of_anything_arrive_as_they_were() {
    let place = Place::new().await;
    place.run("head -c 52428800 /dev/urandom >~/noise").await;
    let bytes = place.start("cat ~/noise").await.bytes().await;
    assert_eq!(bytes.len(), 52_428_800);
    let there = place.try_start(Invocation::new("sha256sum <~/noise"), "").await.unwrap().to_end().await;
    let home = place.server.home(crate::place::ALICE);
    assert!(std::fs::read(home.join("noise")).unwrap() == bytes, "{there:?}");
}

#[tokio::test]
async fn a_line_of_64_megabytes_takes_linear_time() {
    let place = Place::new().await;
    let command = place.start("head -c 67108864 /dev/zero | tr '\\0' x").await;
    let bytes = command.bytes().await;
    assert_eq!(bytes.len(), 67_108_864);
    assert!(bytes.iter().all(|byte| *byte == b'x'));
}

#[tokio::test]
async fn a_child_that_keeps_the_pipes_is_not_waited_for_and_lives_on() {
    let place = Place::new().await;
    let command = place.start("(sleep 4; echo late >&2; echo alive >~/alive; sleep 1000) & echo up; exit 3").await;
    let begun = std::time::Instant::now();
    assert_eq!(command.to_end().await, Outcome::of("up\n", "", Exit::Exited(3)));
    let waited = begun.elapsed().as_secs_f32();
    assert!((1.5..3.5).contains(&waited), "{waited}");
    assert_eq!(command.command.descendants().await.len(), 1 + 1, "the subshell and its sleep");
    // It is not killed by its next line.
    assert_eq!(place.run("until [ -s ~/alive ]; do sleep 0.1; done; cat ~/alive").await, Outcome::printed("alive\n"));
    assert_eq!(command.command.stop(crate::place::GRACE).await, Ok(sessiond_core::Stopped::Confirmed));
    assert_eq!(command.command.descendants().await, Vec::<u32>::new());
    assert_eq!(place.marked(), 0);
}

#[tokio::test]
async fn whoever_holds_no_pipe_is_looked_for_where_the_end_came_from_here() {
    let background = "sleep 1000 </dev/null >/dev/null 2>&1 & echo up";
    let place = Place::new().await;
    let command = place.start(background).await;
    assert_eq!(command.to_end().await, Outcome::printed("up\n"));
    assert_eq!(command.command.descendants().await, Vec::<u32>::new(), "nobody asks for so little");
    assert_eq!(place.marked(), 1, "it lives on");
    assert_eq!(command.command.stop(crate::place::GRACE).await, Ok(sessiond_core::Stopped::Confirmed));
    assert_eq!(place.marked(), 0);

    let command = place.start(&format!("{background}; exec sleep 1000")).await;
    command.shows("up").await;
    command.command.signal(&call(), Signal::Term, SignalTarget::Leader).await.unwrap();
    assert_eq!(command.to_end().await.exit, Exit::Signaled("TERM".into()));
    assert_eq!(command.command.descendants().await.len(), 1);
    assert_eq!(command.command.stop(crate::place::GRACE).await, Ok(sessiond_core::Stopped::Confirmed));
}

#[tokio::test]
async fn login_shells_that_are_not_posix_do_as_well() {
    for shell in ["/usr/bin/fish", "/usr/bin/tcsh", "/bin/dash", "/usr/bin/zsh"] {
        let place = Place::with(|server| server, |account| account.shell(shell)).await;
        let mut invocation = Invocation::new("for x in 1 2; do echo $x \"$A\"; done; cat; exit 5");
        invocation.env.push(("A".to_owned(), "it's!".to_owned()));
        let outcome = place.try_start(invocation, "in\n").await.unwrap().to_end().await;
        assert_eq!(outcome, Outcome::of("1 it's!\n2 it's!\nin\n", "", Exit::Exited(5)), "{shell}");
        let session = place.session("echo $((1 + 2)); tty >/dev/null && echo terminal").await;
        assert_eq!(session.to_end().await, ("3\r\nterminal\r\n".to_owned(), Exit::Exited(0)), "{shell}");
    }
}

#[tokio::test]
async fn what_a_shell_says_at_its_start_is_not_the_commands_output() {
    let noise = "echo welcome; echo warning >&2; export MARKED=yes\n";
    let place = Place::with(|server| server, |account| account.file(".bashrc", noise)).await;
    assert_eq!(place.run("echo $MARKED").await, Outcome::printed("yes\n"));
    let session = place.session("echo $MARKED").await;
    assert_eq!(session.to_end().await, ("yes\r\n".to_owned(), Exit::Exited(0)));
}

#[tokio::test]
async fn a_host_without_a_shell_says_so() {
    let chroot = Place::with(|server| server, |account| account.chroot()).await;
    let refused = chroot.try_start(Invocation::new("true"), "").await.err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::FailedPrecondition);
    assert!(refused.message().contains("POSIX sh"), "{refused}");
    let nologin = Place::with(|server| server, |account| account.shell("/usr/sbin/nologin")).await;
    for refused in [
        nologin.try_start(Invocation::new("true"), "").await.err().unwrap(),
        nologin.try_session(Invocation::new("true")).await.err().unwrap(),
    ] {
        assert!(refused.message().contains("This account is currently not available."), "{refused}");
    }
}

#[tokio::test]
async fn a_host_that_runs_something_else_says_so() {
    let place = Place::with(|server| server.option("ForceCommand", "echo nothing but this"), |account| account).await;
    let refused = place.try_start(Invocation::new("true"), "").await.err().unwrap();
    assert!(refused.message().contains("it said \"nothing but this\""), "{refused}");
    let place = Place::with(|server| server.option("PermitTTY", "no"), |account| account).await;
    let refused = place.try_session(Invocation::new("true")).await.err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
    assert_eq!(place.run("echo still").await, Outcome::printed("still\n"));
}

#[tokio::test]
async fn dropbear_does_the_basics() {
    let place = Place::dropbear().await;
    assert_eq!(place.run("echo out; echo err >&2; exit 6").await, Outcome::of("out\n", "err\n", Exit::Exited(6)));
    let outcome = place.try_start(Invocation::new("cat"), "in").await.unwrap().to_end().await;
    assert_eq!(outcome, Outcome::printed("in"));
    let command = place.start("echo up; sleep 1000 | sleep 1000").await;
    command.shows("up").await;
    assert_eq!(command.command.stop(crate::place::GRACE).await, Ok(sessiond_core::Stopped::Confirmed));
    assert!(matches!(command.to_end().await.exit, Exit::Signaled(_)));
    let session = place.session("echo ready; read x; echo \"got $x\"; stty size; exit 3").await;
    session.shows("ready").await;
    session.session.resize(&call(), sessiond_core::WindowSize::new(100, 30).unwrap()).await.unwrap();
    session.type_in("it\r").await;
    assert_eq!(session.to_end().await, ("ready\r\nit\r\ngot it\r\n30 100\r\n".to_owned(), Exit::Exited(3)));
    let seq = place.start("seq 1 100000").await.bytes().await;
    assert_eq!(seq.len(), 588_895);
    assert_eq!(place.marked(), 0);
}

#[tokio::test]
async fn output_is_there_while_it_runs() {
    let place = Place::new().await;
    let command = place.start("echo first; printf part; until [ -e ~/go ]; do sleep 0.05; done").await;
    command.shows("part").await;
    let slice = command.log.read(Stream::Stdout, Cursor::START, usize::MAX, None).unwrap();
    assert_eq!((&slice.bytes[..], slice.ended), (&b"first\npart"[..], None));
    place.run("touch ~/go").await;
    assert_eq!(command.to_end().await, Outcome::printed("first\npart"));
}
