//! Input: all of it, in order, as the program takes it; and what happens when it does not.

use std::io::Write as _;
use std::process::{Command as Program, Stdio};
use std::time::Duration;

use bytes::Bytes;
use sessiond_core::{ErrorKind, Exit, Written};
use sessiond_pty::Pty;
use tokio::time::Instant;

use crate::support::{Directory, Terminal, call, config, pty};

const MIB: usize = 1 << 20;

/// Short lines that differ.
fn lines() -> Vec<u8> {
    let mut all = Vec::with_capacity(MIB + 64);
    for number in 0.. {
        if all.len() >= MIB {
            break;
        }
        writeln!(all, "line {number} of many").unwrap();
    }
    all.truncate(MIB - 1);
    all.push(b'\n');
    all
}

fn sha256(bytes: &[u8]) -> String {
    let mut program =
        Program::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sha256sum");
    program.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = program.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_mebibyte_of_lines_reaches_a_program_that_begins_to_read_late() {
    let pty = pty();
    let session = Terminal::run(&pty, "stty -echo; echo ready; sleep 1; cat | sha256sum").await;
    session.shows("ready").await;
    let input = lines();
    assert_eq!(session.write(&input).await, Written { bytes: MIB as u64, stalled: None });
    session.session.eof(&call()).await.unwrap();
    assert_eq!(session.prints().await, format!("ready\r\n{}  -\r\n", sha256(&input)));
}

#[tokio::test]
async fn a_mebibyte_of_any_bytes_reaches_a_program_that_takes_single_keys() {
    let pty = pty();
    let session = Terminal::run(&pty, "stty raw -echo; echo ready; head -c 1048576 | sha256sum").await;
    session.shows("ready").await;
    let input: Vec<u8> = (0..MIB).map(|at| (at * 7 + at / 256) as u8).collect();
    assert_eq!(session.write(&input).await, Written { bytes: MIB as u64, stalled: None });
    assert!(session.prints().await.contains(&sha256(&input)));
}

#[tokio::test]
async fn what_counts_as_written_is_what_a_later_reader_gets() {
    let pty = Pty::new(sessiond_pty::Config { write_stall: Duration::from_millis(300), ..config() }).unwrap();
    for (mode, reader) in [("-echo", "cat"), ("echo", "cat"), ("raw -echo", "head -c $(cat size)")] {
        let directory = Directory::new(format_args!("later-{}", mode.replace(' ', "-")));
        let path = directory.text();
        let command = format!("cd {path}; stty {mode}; mkfifo go; echo ready; read -r _ < go; {reader} > got");
        let session = Terminal::run(&pty, &command).await;
        session.shows("ready").await;
        let input = lines();
        let written = session.write(&input).await;
        assert_eq!(written.stalled.as_deref(), Some("the program takes no input"), "{mode}");
        assert!((4096..MIB as u64).contains(&written.bytes), "{mode}: {written:?}");
        std::fs::write(directory.path("size"), written.bytes.to_string()).unwrap();
        std::fs::write(directory.path("go"), "\n").unwrap();
        if !mode.starts_with("raw") {
            // The first ends an unfinished line, the second the input.
            eof(&session).await;
            eof(&session).await;
        }
        assert_eq!(session.to_end().await.1.exit, Exit::Exited(0), "{mode}");
        let got = std::fs::read(directory.path("got")).unwrap();
        assert!(got == input[..written.bytes as usize], "{mode}: {} written, {} arrived", written.bytes, got.len());
    }
}

/// The end of input, once there is room for it.
async fn eof(session: &Terminal) {
    while let Err(error) = session.session.eof(&call()).await {
        if error.kind() == ErrorKind::FailedPrecondition {
            return;
        }
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
}

#[tokio::test]
async fn a_line_that_the_terminal_would_cut_is_refused_whole() {
    let pty = pty();
    let session = Terminal::run(&pty, "stty -echo; echo ready; cat > /dev/null; echo $?").await;
    session.shows("ready").await;
    let write = async |input: Vec<u8>| session.session.write(&call(), Bytes::from(input)).await;
    let line = |length: usize| [vec![b'x'; length], vec![b'\n']].concat();
    let refused = write([line(10), line(4096)].concat()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::FailedPrecondition);
    assert!(refused.message().contains("4095 bytes"), "{refused}");
    assert_eq!(write(line(4095)).await, Ok(Written { bytes: 4096, stalled: None }));
    assert_eq!(write(vec![b'x'; 3000]).await, Ok(Written { bytes: 3000, stalled: None }));
    assert!(write(vec![b'x'; 2000]).await.is_err(), "the first 3000 bytes are of the same line");
    assert_eq!(write(vec![b'\n']).await, Ok(Written { bytes: 1, stalled: None }));
    assert_eq!(write(vec![b'x'; 2000]).await, Ok(Written { bytes: 2000, stalled: None }));
    session.stop().await;
}

#[tokio::test]
async fn a_line_of_4095_bytes_arrives_whole() {
    let pty = pty();
    let session = Terminal::run(&pty, "stty -echo; echo ready; head -n 1 | wc -c").await;
    session.shows("ready").await;
    session.type_in(&format!("{}\n", "x".repeat(4095))).await;
    assert_eq!(session.prints().await, "ready\r\n4096\r\n");
}

#[tokio::test]
async fn a_write_ends_with_its_call() {
    let pty = pty();
    let session = Terminal::run(&pty, "stty -echo; echo ready; sleep 1000").await;
    session.shows("ready").await;
    let mut cx = call();
    cx.deadline = Instant::now() + Duration::from_millis(50);
    let written = session.session.write(&cx, Bytes::from(lines())).await.unwrap();
    assert_eq!(written.stalled.as_deref(), Some("the program takes no input"));
    let cx = call();
    cx.cancel.cancel();
    let written = session.session.write(&cx, Bytes::from(lines())).await.unwrap();
    assert_eq!(written.stalled.as_deref(), Some("the call was taken back"));
    session.stop().await;
}

#[tokio::test]
async fn a_write_to_an_ended_session_is_refused() {
    let pty = pty();
    let session = Terminal::run(&pty, "true").await;
    session.prints().await;
    let refused = session.session.write(&call(), Bytes::from_static(b"x")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::FailedPrecondition);
    assert_eq!(session.session.eof(&call()).await.unwrap_err().kind(), ErrorKind::FailedPrecondition);
    assert_eq!(
        session.session.resize(&call(), crate::support::size(80, 24)).await.unwrap_err().kind(),
        ErrorKind::FailedPrecondition
    );
}

#[tokio::test]
async fn a_half_typed_line_is_not_run_when_its_session_is_let_go() {
    let pty = pty();
    let directory = Directory::new("half");
    let session = Terminal::run(&pty, "PS1='$ ' bash --norc -i").await;
    session.shows("\\$ ").await;
    session.type_in(&format!("touch {}/ran", directory.text())).await;
    session.shows("ran").await;
    session.stop().await;
    drop(session);
    assert!(!directory.path("ran").exists());
}

#[tokio::test]
async fn a_write_to_a_terminal_that_hangs_up_ends_at_once_and_delays_nobody() {
    let pty = pty();
    let session = Terminal::run(&pty, "stty raw -echo; echo ready; head -c 1 >/dev/null; sleep 0.3; exit 0").await;
    session.shows("ready").await;
    let began = Instant::now();
    // More than the terminal holds: the rest waits for a program that is about to leave.
    let written = session.write(&[b'x'; 100_000]).await;
    assert!(written.bytes < 100_000, "{written:?}");
    assert_eq!(written.stalled.as_deref(), Some("nobody has the terminal open"));
    assert!(began.elapsed() < Duration::from_secs(4), "it did not wait for the stall: {:?}", began.elapsed());
}
