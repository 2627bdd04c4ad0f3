//! Commands: separate streams, all of the input, and a bounded wait for whoever keeps the pipes.

use std::time::{Duration, Instant};

use bytes::Bytes;
use sessiond_core::{CommandSpec, Exit, Invocation};
use sessiond_pty::{Config, Pty};

use crate::support::{Directory, GRACE, Outcome, Piped, Terminal, config, exists, numbers, pty};

#[tokio::test]
async fn a_command_has_two_streams_and_an_exit() {
    let pty = pty();
    let piped = Piped::run(&pty, "echo out; echo err >&2; exit 3").await;
    assert_eq!(piped.to_end().await, Outcome::of("out\n", "err\n", Exit::Exited(3)));
}

#[tokio::test]
async fn a_command_without_input_is_at_its_end_at_once() {
    let pty = pty();
    assert_eq!(Piped::run(&pty, "cat; echo end").await.to_end().await, Outcome::of("end\n", "", Exit::Exited(0)));
}

#[tokio::test]
async fn a_command_gets_all_of_a_large_input_while_it_prints() {
    let pty = pty();
    let stdin: Vec<u8> = (0..3_000_000_u32).map(|at| b'a' + (at % 23) as u8).collect();
    let spec = CommandSpec { invocation: Invocation::new("tee /dev/stderr"), stdin: Bytes::from(stdin.clone()) };
    let outcome = Piped::try_run(&pty, spec).await.unwrap().to_end().await;
    assert_eq!(outcome.exit, Exit::Exited(0));
    // The log keeps the first 4 MiB of both streams together.
    assert_eq!(outcome.stdout.len() + outcome.stderr.len(), 4 << 20);
    assert!(stdin.starts_with(outcome.stdout.as_bytes()) && stdin.starts_with(outcome.stderr.as_bytes()));
}

#[tokio::test]
async fn input_that_is_not_wanted_is_no_error() {
    let pty = pty();
    let spec = CommandSpec { invocation: Invocation::new("echo fine"), stdin: Bytes::from(vec![b'x'; 1 << 20]) };
    assert_eq!(Piped::try_run(&pty, spec).await.unwrap().to_end().await, Outcome::of("fine\n", "", Exit::Exited(0)));
}

#[tokio::test]
async fn a_command_has_no_terminal_and_no_descriptor_of_the_server() {
    let pty = pty();
    let script = "(: </dev/tty) 2>/dev/null || echo no terminal; for fd in /proc/self/fd/*; do echo ${fd##*/}; done; exec sh -c 'ls -1 /proc/self/fd | wc -l'";
    let outcome = Piped::run(&pty, script).await.to_end().await;
    // The shell's pattern and `ls` each hold the directory itself.
    assert_eq!(outcome, Outcome::of("no terminal\n0\n1\n2\n3\n4\n", "", Exit::Exited(0)));
}

#[tokio::test]
async fn a_child_that_keeps_the_pipes_open_delays_the_end_by_a_bounded_grace() {
    let pty = Pty::new(Config { linger: Duration::from_millis(300), ..config() }).unwrap();
    let begun = Instant::now();
    let piped = Piped::run(&pty, "sleep 1000 & echo pid=$!").await;
    let outcome = piped.to_end().await;
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let pid = numbers(&outcome.stdout, "pid")[0];
    assert_eq!((piped.command.descendants().await, exists(pid)), (vec![pid], true));
    piped.command.stop(GRACE).await.unwrap();
    assert!(!exists(pid));
}

#[tokio::test]
async fn a_command_that_closes_its_streams_is_waited_for() {
    let pty = pty();
    let piped = Piped::run(&pty, "echo out; exec >&- 2>&-; sleep 0.2; exit 5").await;
    assert_eq!(piped.to_end().await, Outcome::of("out\n", "", Exit::Exited(5)));
}

#[tokio::test]
async fn many_commands_at_once_lose_nothing() {
    let pty = pty();
    let commands =
        futures_util::future::join_all((0..200).map(|number| {
            let pty = pty.clone();
            async move {
                (number, Piped::run(&pty, &format!("seq 1 500; echo end {number} >&2; exit {}", number % 100)).await)
            }
        }));
    let sequence: String = (1..=500).map(|number| format!("{number}\n")).collect();
    for (number, piped) in commands.await {
        let expected = Outcome::of(&sequence, &format!("end {number}\n"), Exit::Exited(number % 100));
        assert_eq!(piped.to_end().await, expected);
    }
}

#[tokio::test]
async fn all_that_a_command_has_printed_arrives_without_any_grace() {
    let pty = Pty::new(Config { linger: Duration::ZERO, ..config() }).unwrap();
    for _ in 0..20 {
        let outcome = Piped::run(&pty, "head -c 250000 /dev/zero | tr '\\0' x").await.to_end().await;
        assert_eq!((outcome.stdout.len(), outcome.exit), (250_000, Exit::Exited(0)));
    }
}

#[tokio::test]
async fn all_that_a_command_has_printed_arrives_when_the_server_was_held_up() {
    let pty = Pty::new(Config { linger: Duration::from_millis(1), ..config() }).unwrap();
    let piped = Piped::run(&pty, "head -c 250000 /dev/zero | tr '\\0' x; kill -STOP $$; exit 0").await;
    // The whole pipe is full when the leader stops; its exit and the end of the grace come while nothing runs here.
    let pid = piped.command.facts().pid.unwrap();
    let stopped = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ");
    while !stopped() {
        std::thread::yield_now();
    }
    assert!(std::process::Command::new("kill").args(["-CONT", &pid.to_string()]).status().unwrap().success());
    while !std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ") {
        std::thread::yield_now();
    }
    assert_eq!(piped.to_end().await.stdout.len(), 250_000);
}

#[tokio::test]
async fn a_child_that_lives_on_may_go_on_printing() {
    let pty = Pty::new(Config { linger: Duration::from_millis(50), ..config() }).unwrap();
    let directory = Directory::new("prints-on");
    let path = directory.text();
    let script =
        format!("mkfifo {path}/go {path}/done; (read -r _ < {path}/go; seq 1 100000; echo $? > {path}/done) & ");
    let piped = Piped::run(&pty, &script).await;
    assert_eq!(piped.to_end().await, Outcome::of("", "", Exit::Exited(0)));
    std::fs::write(directory.path("go"), "\n").unwrap();
    let done = directory.path("done");
    // More than a pipe holds: somebody reads.
    let status = tokio::task::spawn_blocking(move || std::fs::read_to_string(done)).await.unwrap();
    assert_eq!(status.unwrap(), "0\n");
    piped.command.stop(GRACE).await.unwrap();
}

#[tokio::test]
async fn no_time_of_the_configuration_is_too_long() {
    let pty = Pty::new(Config { linger: Duration::MAX, write_stall: Duration::MAX, ..config() }).unwrap();
    assert_eq!(Piped::run(&pty, "echo out").await.to_end().await, Outcome::of("out\n", "", Exit::Exited(0)));
    let session = Terminal::run(&pty, "stty -echo; echo ready; read -r line; echo $line").await;
    session.shows("ready").await;
    session.type_in("in\n").await;
    assert_eq!(session.prints().await, "ready\r\nin\r\n");
}
