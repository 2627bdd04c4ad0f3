//! The rules of the backend traits, each a function that fails by panicking when a backend breaks it.
//!
//! The programs are written in the handful of shell that the scripted backend shares with a real one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a rule that is broken is reported by a panic")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sessiond_core::{
    Backend, Call, Capability, Command, CommandSpec, Connections, Cursor, End, ErrorKind, Exit, Invocation, LogKind,
    OutputLog, OutputSink, Owner, Pattern, Retention, Session, SessionSpec, Signal, SignalTarget, Stopped, Stream,
    Until, Wait, WindowSize, decode,
};

/// How long a rule waits for what must come.
const LONG: Duration = Duration::from_secs(20);

/// The grace of a stop.
const GRACE: Duration = Duration::from_secs(2);

/// A backend under test, and what only its adapter knows of it.
#[async_trait]
pub trait Subject: Send + Sync {
    /// The backend.
    fn backend(&self) -> Arc<dyn Backend>;

    /// Something whose launch fails.
    fn failing(&self) -> Invocation;

    /// Something that breaks the connection that it runs on, where there are [`Connections`].
    fn breaking(&self) -> Invocation {
        panic!("a backend with connections must say what breaks one")
    }

    /// How many processes that this backend has started live now.
    async fn living(&self) -> usize;
}

/// A rule of the traits.
pub type Rule = for<'a> fn(&'a dyn Subject) -> BoxFuture<'a, ()>;

/// Every rule with its sentence and the capability that it needs.
pub const RULES: &[(&str, Capability, Rule)] = &[
    ("a start that fails leaves nothing", Capability::Sessions, |s| failed_start(s).boxed()),
    ("a start that is dropped leaves nothing", Capability::Sessions, |s| dropped_start(s).boxed()),
    ("output arrives in order and the end comes last", Capability::Sessions, |s| order(s).boxed()),
    ("a handle that is dropped loses nothing", Capability::Sessions, |s| dropped_handle(s).boxed()),
    ("an exit code is the process's own", Capability::Sessions, |s| exit_codes(s).boxed()),
    ("a signal that ends a process is named", Capability::Signals, |s| named_signal(s).boxed()),
    ("a signal to an ended process is refused", Capability::Signals, |s| late_signal(s).boxed()),
    ("a stop is confirmed and may be repeated", Capability::Sessions, |s| stop(s).boxed()),
    ("a stop forces what ignores it", Capability::Sessions, |s| stubborn(s).boxed()),
    ("what outlives its session is counted and stopped", Capability::Sessions, |s| descendants(s).boxed()),
    ("writes arrive in order", Capability::Write, |s| writes(s).boxed()),
    ("a write to an ended session is refused", Capability::Write, |s| late_write(s).boxed()),
    ("the end of input is seen", Capability::Eof, |s| eof(s).boxed()),
    ("a resize has reached the terminal when it returns", Capability::Resize, |s| resize(s).boxed()),
    ("a command's streams are its own", Capability::Commands, |s| streams(s).boxed()),
    ("a command gets all of its input and its end", Capability::Commands, |s| stdin(s).boxed()),
    ("a command is stopped like a session", Capability::Commands, |s| stop_command(s).boxed()),
    ("a start connects where it must", Capability::Connections, |s| connects(s).boxed()),
    ("connecting again is harmless, and letting go too", Capability::Connections, |s| idempotent(s).boxed()),
    ("a lost connection ends what ran on it as lost", Capability::Connections, |s| lost_connection(s).boxed()),
    ("every owner has connections and periods of its own", Capability::Connections, |s| owners(s).boxed()),
];

/// Runs every rule that the backend's capabilities call for; returns how many that were.
pub async fn check(subject: &dyn Subject) -> usize {
    let capabilities = subject.backend().capabilities();
    let mut checked = 0;
    for (_sentence, capability, rule) in RULES {
        if capabilities.has(*capability) {
            rule(subject).await;
            assert_eq!(subject.living().await, 0, "{_sentence}: nothing is left behind");
            checked += 1;
        }
    }
    checked
}

fn call() -> Call {
    Call::new(Owner::management("conformance"))
}

fn until(until: Until) -> Wait {
    Wait { time: LONG, until: Some(until), max_bytes: None }
}

/// A session that has started, and its log.
struct Started {
    session: Box<dyn Session>,
    log: Arc<OutputLog>,
}

impl Started {
    async fn new(subject: &dyn Subject, command: &str) -> Self {
        Self::of(&call(), subject, command).await
    }

    async fn of(cx: &Call, subject: &dyn Subject, command: &str) -> Self {
        let (log, out) = session_log();
        let session = subject.backend().start_session(cx, session_spec(Invocation::new(command)), out).await.unwrap();
        Self { session, log }
    }

    async fn shows(&self, pattern: &str) -> String {
        let pattern = Some(Pattern::new(pattern).unwrap());
        let wait = until(Until { pattern, ..Until::default() });
        let read = self.log.read_when(&call(), Stream::Stdout, Cursor::START, &wait).await.unwrap();
        decode(&read.slice.bytes)
    }

    async fn write(&self, input: &str) {
        let written = self.session.write(&call(), Bytes::copy_from_slice(input.as_bytes())).await.unwrap();
        assert_eq!((written.bytes, written.stalled), (input.len() as u64, None));
    }
}

fn session_log() -> (Arc<OutputLog>, OutputSink) {
    let log = OutputLog::new(LogKind::Session(WindowSize::default()), Retention::Newest(1 << 20));
    (log.clone(), OutputSink::new(log))
}

fn session_spec(invocation: Invocation) -> SessionSpec {
    SessionSpec { invocation, size: WindowSize::default(), login: false }
}

async fn start_command(subject: &dyn Subject, command: &str, stdin: &str) -> (Box<dyn Command>, Arc<OutputLog>) {
    start_command_as(&call(), subject, command, stdin).await
}

async fn start_command_as(
    cx: &Call,
    subject: &dyn Subject,
    command: &str,
    stdin: &str,
) -> (Box<dyn Command>, Arc<OutputLog>) {
    let log = OutputLog::new(LogKind::Command, Retention::Oldest(1 << 20));
    let spec = CommandSpec { invocation: Invocation::new(command), stdin: Bytes::copy_from_slice(stdin.as_bytes()) };
    let command = subject.backend().run_command(cx, spec, OutputSink::new(log.clone())).await.unwrap();
    (command, log)
}

/// All output of a stream and the end, once it has come.
async fn to_end(log: &OutputLog, stream: Stream) -> (String, End) {
    let end = tokio::time::timeout(LONG, log.ended()).await.unwrap();
    let slice = log.read(stream, Cursor::START, usize::MAX, None).unwrap();
    assert!(stream == Stream::Stderr || slice.ended.as_ref() == Some(&end), "the end is the last item of the output");
    (decode(&slice.bytes), end)
}

async fn failed_start(subject: &dyn Subject) {
    let (log, out) = session_log();
    let started = subject.backend().start_session(&call(), session_spec(subject.failing()), out).await;
    assert!(started.is_err(), "a launch that fails is an error at once");
    assert!(log.end().is_some_and(|end| end.lost()), "its sink is gone");
}

async fn dropped_start(subject: &dyn Subject) {
    let (_log, out) = session_log();
    let (backend, cx) = (subject.backend(), call());
    // Polled once at most: dropped before it returns, or returned at once and then stopped.
    let started = backend.start_session(&cx, session_spec(Invocation::new("sleep 1000")), out).now_or_never();
    if let Some(started) = started {
        assert_eq!(started.unwrap().stop(GRACE).await, Ok(Stopped::Confirmed));
    }
}

async fn order(subject: &dyn Subject) {
    let started = Started::new(subject, "echo one; echo two; echo three; exit 3").await;
    let (text, end) = to_end(&started.log, Stream::Stdout).await;
    assert_eq!((text.as_str(), end.exit), ("one\r\ntwo\r\nthree\r\n", Exit::Exited(3)));
}

async fn dropped_handle(subject: &dyn Subject) {
    let Started { session, log } = Started::new(subject, "sleep 0.1; echo late; exit 4").await;
    drop(session);
    let (text, end) = to_end(&log, Stream::Stdout).await;
    assert_eq!((text.as_str(), end.exit), ("late\r\n", Exit::Exited(4)));
}

async fn exit_codes(subject: &dyn Subject) {
    for (command, code) in [("true", 0), ("false", 1), ("exit 255", 255), ("no-such-program-anywhere", 127)] {
        let started = Started::new(subject, command).await;
        assert_eq!(to_end(&started.log, Stream::Stdout).await.1.exit, Exit::Exited(code), "{command}");
    }
}

async fn named_signal(subject: &dyn Subject) {
    let started = Started::new(subject, "echo ready; sleep 1000").await;
    started.shows("ready").await;
    started.session.signal(&call(), Signal::Usr1, SignalTarget::Leader).await.unwrap();
    assert_eq!(to_end(&started.log, Stream::Stdout).await.1.exit, Exit::Signaled("USR1".to_owned()));
    assert_eq!(started.session.stop(GRACE).await, Ok(Stopped::Confirmed));
}

async fn late_signal(subject: &dyn Subject) {
    let started = Started::new(subject, "true").await;
    started.log.ended().await;
    for to in [SignalTarget::Foreground, SignalTarget::Leader] {
        let refused = started.session.signal(&call(), Signal::Term, to).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FailedPrecondition);
    }
}

async fn stop(subject: &dyn Subject) {
    let started = Started::new(subject, "echo ready; sleep 1000").await;
    started.shows("ready").await;
    let (first, second) = futures_util::join!(started.session.stop(GRACE), started.session.stop(GRACE));
    assert_eq!((first, second), (Ok(Stopped::Confirmed), Ok(Stopped::Confirmed)), "two at once");
    assert!(matches!(to_end(&started.log, Stream::Stdout).await.1.exit, Exit::Signaled(_)));
    assert_eq!(started.session.stop(GRACE).await, Ok(Stopped::Confirmed), "once more, after the end");
}

async fn stubborn(subject: &dyn Subject) {
    let started = Started::new(subject, "trap '' TERM; trap '' HUP; echo ready; sleep 1000").await;
    started.shows("ready").await;
    assert_eq!(started.session.stop(Duration::from_millis(200)).await, Ok(Stopped::Confirmed));
    assert_eq!(to_end(&started.log, Stream::Stdout).await.1.exit, Exit::Signaled("KILL".to_owned()));
}

async fn descendants(subject: &dyn Subject) {
    let started = Started::new(subject, "setsid sleep 1000 </dev/null >/dev/null 2>&1 &\nsleep 0.2\nexit 0").await;
    assert_eq!(to_end(&started.log, Stream::Stdout).await.1.exit, Exit::Exited(0));
    assert_eq!(started.session.descendants().await.len(), 1);
    assert_eq!(started.session.stop(GRACE).await, Ok(Stopped::Confirmed));
    assert_eq!(started.session.descendants().await, Vec::<u32>::new());
}

async fn writes(subject: &dyn Subject) {
    let started = Started::new(subject, "echo ready; cat").await;
    started.shows("ready").await;
    for line in ["one\r", "two\r", "three\r"] {
        started.write(line).await;
    }
    started.session.eof(&call()).await.unwrap();
    let (text, _) = to_end(&started.log, Stream::Stdout).await;
    // Echo and answer may alternate in many ways; each must be in order by itself.
    for line in ["one", "two", "three"] {
        assert_eq!(text.matches(line).count(), 2, "{line} is echoed and answered: {text:?}");
    }
    assert!(text.find("one") < text.find("two") && text.rfind("two") < text.rfind("three"), "{text:?}");
}

async fn late_write(subject: &dyn Subject) {
    let started = Started::new(subject, "true").await;
    started.log.ended().await;
    let refused = started.session.write(&call(), Bytes::from_static(b"x")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::FailedPrecondition);
}

async fn eof(subject: &dyn Subject) {
    let started = Started::new(subject, "echo ready; cat; echo over; exit 5").await;
    started.shows("ready").await;
    started.session.eof(&call()).await.unwrap();
    let (text, end) = to_end(&started.log, Stream::Stdout).await;
    assert_eq!((text.as_str(), end.exit), ("ready\r\nover\r\n", Exit::Exited(5)));
    assert_eq!(started.session.eof(&call()).await.unwrap_err().kind(), ErrorKind::FailedPrecondition);
}

async fn resize(subject: &dyn Subject) {
    let started = Started::new(subject, "stty size; read line; stty size").await;
    assert_eq!(started.shows(r"\d+ \d+").await, "24 80");
    started.session.resize(&call(), WindowSize::new(132, 50).unwrap()).await.unwrap();
    started.write("\r").await;
    let (text, _) = to_end(&started.log, Stream::Stdout).await;
    assert!(text.ends_with("50 132\r\n"), "{text:?}");
}

async fn streams(subject: &dyn Subject) {
    let (_command, log) = start_command(subject, "echo out; echo err >&2; exit 6", "").await;
    assert_eq!(to_end(&log, Stream::Stdout).await, ("out\n".to_owned(), log.ended().await));
    assert_eq!(to_end(&log, Stream::Stderr).await.0, "err\n");
    assert_eq!(log.ended().await.exit, Exit::Exited(6));
}

async fn stdin(subject: &dyn Subject) {
    let input: String = (0..1000).map(|line| format!("line {line}\n")).collect();
    let (_command, log) = start_command(subject, "cat", &input).await;
    assert_eq!(to_end(&log, Stream::Stdout).await.0, input);
    let (_command, log) = start_command(subject, "cat", "").await;
    assert_eq!(to_end(&log, Stream::Stdout).await.0, "", "no input is an end at once");
}

async fn stop_command(subject: &dyn Subject) {
    let (command, log) = start_command(subject, "echo begun; sleep 1000", "").await;
    let wait = Wait { time: LONG, ..Wait::default() };
    log.read_when(&call(), Stream::Stdout, Cursor::START, &wait).await.unwrap();
    assert_eq!(command.stop(GRACE).await, Ok(Stopped::Confirmed));
    let (text, end) = to_end(&log, Stream::Stdout).await;
    assert_eq!(text, "begun\n");
    assert!(matches!(end.exit, Exit::Signaled(_)));
}

/// Somebody who has had no connection before.
fn stranger(name: &str) -> Call {
    Call::new(Owner::management(name))
}

/// The rules of connections are called for by a capability, so there are some.
fn connections(backend: &dyn Backend) -> &dyn Connections {
    backend.connections().unwrap_or_else(|| panic!("a backend that says so has connections"))
}

/// Whether the owner is connected.
fn connected(backend: &dyn Backend, cx: &Call) -> bool {
    connections(backend).status(&cx.owner).is_some_and(|status| status.connected)
}

async fn connects(subject: &dyn Subject) {
    let (backend, cx) = (subject.backend(), stranger("connects"));
    let links = connections(&*backend);
    assert_eq!((links.status(&cx.owner), links.period(&cx.owner)), (None, None), "nobody has tried");
    let (command, log) = start_command_as(&cx, subject, "echo there", "").await;
    assert_eq!(to_end(&log, Stream::Stdout).await.0, "there\n");
    let period = links.period(&cx.owner);
    assert!(connected(&*backend, &cx) && period.is_some(), "it has connected for the start");
    assert_eq!(command.facts().period, period, "the process is of this period");
    links.disconnect(&cx).await;
}

async fn idempotent(subject: &dyn Subject) {
    let (backend, cx) = (subject.backend(), stranger("idempotent"));
    let links = connections(&*backend);
    let first = links.connect(&cx).await.unwrap();
    let period = links.period(&cx.owner);
    assert_eq!(links.connect(&cx).await.unwrap(), first, "it is left as it is");
    assert_eq!(links.period(&cx.owner), period);
    assert!(links.disconnect(&cx).await, "there was one");
    assert!(!connected(&*backend, &cx));
    assert!(!links.disconnect(&cx).await, "there is none any more");
    links.connect(&cx).await.unwrap();
    assert!(links.period(&cx.owner) > period, "another period has begun");
    links.disconnect(&cx).await;
}

async fn lost_connection(subject: &dyn Subject) {
    let (backend, cx) = (subject.backend(), stranger("lost"));
    // On a terminal: what runs there does not outlive its connection.
    let started = Started::of(&cx, subject, "echo so far; sleep 1000").await;
    started.shows("so far\r\n").await;
    let before = connections(&*backend).period(&cx.owner);
    let (_breaker, broken) = start_command_as(&cx, subject, &subject.breaking().command, "").await;
    let (text, end) = to_end(&started.log, Stream::Stdout).await;
    assert_eq!(text, "so far\r\n", "what had been printed is there");
    assert!(matches!(end.exit, Exit::Lost(_)), "{end:?}");
    assert!(matches!(to_end(&broken, Stream::Stdout).await.1.exit, Exit::Lost(_)));
    let (command, log) = start_command_as(&cx, subject, "echo again", "").await;
    assert_eq!(to_end(&log, Stream::Stdout).await.0, "again\n", "the next call makes another");
    assert!(command.facts().period > before, "in another period");
    connections(&*backend).disconnect(&cx).await;
    let gone = async {
        while subject.living().await > 0 {
            // The target ends what has lost its terminal; nobody tells when it has.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LONG, gone).await.unwrap_or_else(|_| panic!("what was lost ends on the target"));
}

async fn owners(subject: &dyn Subject) {
    let (backend, one, other) = (subject.backend(), stranger("one"), stranger("other"));
    let links = connections(&*backend);
    let (command, log) = start_command_as(&one, subject, "echo ready; cat", "").await;
    to_end(&log, Stream::Stdout).await;
    assert_eq!(links.status(&other.owner), None, "one's connection is none of the other's");
    links.connect(&other).await.unwrap();
    assert_ne!(links.period(&one.owner), links.period(&other.owner), "no two have a number in common");
    let (_running, log) = start_command_as(&one, subject, "sleep 0.3; exit 9", "").await;
    assert!(links.disconnect(&other).await);
    assert_eq!(to_end(&log, Stream::Stdout).await.1.exit, Exit::Exited(9), "the other's end does not touch it");
    assert!(connected(&*backend, &one));
    assert_eq!(command.facts().period, links.period(&one.owner));
    links.disconnect(&one).await;
}
