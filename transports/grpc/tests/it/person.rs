//! What a person does at a terminal: list, tail, and attach under `script` and tmux.

use std::io::Write;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use sessiond_core::{ListSessions, Service, Status};

use crate::place::{PROGRAM, Place, stderr, stdout};
use crate::rig::cx;

/// Says its size when that changes, and every line that it gets.
const SHELL: &str = "trap 'echo \"size $(stty size)\"' WINCH; echo ready
    while :; do read -r line && { [ \"$line\" = bye ] && exit 7; echo \"got $line\"; }; done";

#[tokio::test]
async fn sessions_are_listed_and_one_is_watched_to_its_end() {
    let place = Place::new();
    let daemon = place.serve(&[]);
    assert_eq!(stdout(&place.run(&["list"])), "no sessions\n");
    let client = daemon.client().await;
    let session = client.start("echo one; sleep 0.2; echo two; exit 5").await;
    let id = session.session.to_string();
    let tail = place.run(&["tail", &id[..8]]);
    assert_eq!((tail.status.code(), stdout(&tail), stderr(&tail)), (Some(5), "one\r\ntwo\r\n", ""));
    let from = place.run(&["tail", "--from", "5", &id]);
    assert_eq!((from.status.code(), stdout(&from)), (Some(5), "two\r\n"));
    let listed = place.run(&["list"]);
    let row = stdout(&listed).lines().nth(1).unwrap();
    assert!(row.starts_with(&format!("{id}  exit code 5")), "{row}");
    assert!(row.ends_with("echo one; sleep 0.2; echo two; exit 5"), "{row}");
}

#[tokio::test]
async fn what_cannot_be_done_is_said_with_what_to_do() {
    let place = Place::new();
    let nobody = place.run(&["list"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(stderr(&nobody).contains("no sessiond answers on unix:"), "{}", stderr(&nobody));
    assert!(stderr(&nobody).contains("a server is started by `sessiond-grpc`"), "{}", stderr(&nobody));

    let daemon = place.serve(&[]);
    let unknown = place.run(&["tail", "zzz"]);
    assert!(stderr(&unknown).contains("`sessiond-grpc list` shows yours"), "{}", stderr(&unknown));
    let second = place.run(&[]);
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains("another server listens on"), "{}", stderr(&second));
    let session = daemon.client().await.start("cat").await;
    let attach = place.run(&["attach", &session.session.to_string()]);
    assert!(stderr(&attach).contains("attach needs a terminal"), "{}", stderr(&attach));
}

#[tokio::test]
async fn a_person_joins_under_script_and_sees_the_end() {
    let place = Place::new();
    let daemon = place.serve(&[]);
    let client = daemon.client().await;
    let session = client.start(SHELL).await;
    let attach = format!("{PROGRAM} attach {}", session.session);
    let mut script = place.program("script");
    script.args(["--quiet", "--return", "--flush", "--command", &attach, "/dev/null"]);
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut keyboard = script.stdin.take().unwrap();
    keyboard.write_all(b"hello\r").unwrap();
    client.printed(&session, "got hello").await;
    keyboard.write_all(b"bye\r").unwrap();
    let output = script.wait_with_output().unwrap();
    drop(keyboard);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(7), "{said}");
    let joined = format!("joined session {}; ctrl-] leaves it running", session.session);
    assert!(said.contains(&joined), "{said}");
    assert!(said.contains("got hello\r\n"), "{said}");
    assert!(said.contains(&format!("session {} has ended: exit code 7", session.session)), "{said}");
}

/// A terminal of tmux.
struct Tmux<'a>(&'a Place);

impl Tmux<'_> {
    fn command(&self, args: &[&str]) -> Command {
        let mut tmux = self.0.program("tmux");
        tmux.args(["-f", "tmux.conf", "-S", "tmux.sock"]).args(args);
        tmux
    }

    fn run(&self, args: &[&str]) {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "tmux {args:?}: {}", stderr(&output));
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
    }
}

#[tokio::test]
async fn a_person_in_tmux_resizes_types_and_leaves_and_the_session_goes_on() {
    let place = Place::new();
    let daemon = place.serve(&[]);
    let client = daemon.client().await;
    let session = client.start(SHELL).await;
    client.printed(&session, "ready").await;
    // It would go with its last window, before it has said that somebody has left.
    std::fs::write(place.path().join("tmux.conf"), "set -g exit-empty off\nset -g status off\n").unwrap();
    let tmux = Tmux(&place);
    let attach = format!("{PROGRAM} attach {}; tmux -S tmux.sock wait-for -S left", session.session);
    tmux.run(&["new-session", "-d", "-x", "93", "-y", "33", "-s", "t", &attach]);
    tmux.run(&["resize-window", "-t", "t", "-x", "97", "-y", "37"]);
    client.printed(&session, "size 37 97").await;
    tmux.run(&["send-keys", "-t", "t", "typed", "Enter"]);
    client.printed(&session, "got typed").await;
    // The detach key, behind something that still goes in.
    tmux.run(&["send-keys", "-t", "t", "last", "Enter", "C-]"]);
    tmux.run(&["wait-for", "left"]);
    client.printed(&session, "got last").await;
    let listed = client.0.list_sessions(&cx(), ListSessions::default()).await.unwrap();
    assert_eq!(listed.sessions[0].status, Status::Running);
}

#[test]
fn sigterm_ends_the_server_and_what_it_has_started() {
    let place = Place::new();
    let daemon = place.serve(&[]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pid: u32 = runtime.block_on(async {
        let client = daemon.client().await;
        let session = client.start("trap '' HUP TERM; echo pid $$.; sleep 1000").await;
        let read = client.printed(&session, r"pid \d+\.").await;
        let text = String::from_utf8(read.slice.bytes.to_vec()).unwrap();
        text.trim().trim_start_matches("pid ").trim_end_matches('.').parse().unwrap()
    });
    drop(runtime);
    let (code, said) = daemon.end(Signal::TERM);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    assert!(!place.socket().exists());
}

#[test]
fn the_example_runs() {
    let place = Place::new();
    let daemon = place.serve(&[]);
    let example = std::path::Path::new(PROGRAM).with_file_name("examples").join("follow");
    let mut follow = place.program(example);
    let output = follow.args(["echo one; echo two; exit 3", &daemon.address.to_string()]).output().unwrap();
    assert_eq!((stdout(&output), stderr(&output)), ("one\r\ntwo\r\n[exit code 3]\n", ""));
}

#[test]
fn help_says_what_there_is() {
    let place = Place::new();
    let help = place.run(&["--help"]);
    for word in ["attach", "list", "tail", "--listen", "--no-password", "unix socket", "Examples:"] {
        assert!(stdout(&help).contains(word), "{word} in {}", stdout(&help));
    }
    assert!(!stdout(&help).contains("--background"));
}
