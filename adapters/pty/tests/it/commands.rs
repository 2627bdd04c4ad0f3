//! Commands: separate streams, all of the input, and a bounded wait for whoever keeps the pipes.

use std::time::{Duration, Instant};

use bytes::Bytes;
use sessiond_core::{CommandSpec, Exit, Invocation};
use sessiond_pty::{Config, Pty};

use crate::support::{GRACE, Outcome, Piped, config, exists, numbers, pty};

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
