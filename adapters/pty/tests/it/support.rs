//! What all tests need: a backend, a session with its log, and waits for what must come.

use std::fmt;
use std::path::PathBuf;
use std::process::{Command as Program, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sessiond_core::{
    Backend, Call, Command, CommandSpec, Cursor, End, Error, Exit, Invocation, LogKind, OutputLog, OutputSink, Owner,
    Pattern, Retention, Session, SessionSpec, Stopped, Stream, Until, Wait, WindowSize, Written, decode,
};
use sessiond_pty::{Config, Pty};

/// How long a test waits for what must come.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// The grace of a stop.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

pub(crate) fn config() -> Config {
    let home = PathBuf::from("/tmp");
    let mut config = Config { cwd: Some(home), shell: Some("/bin/bash".into()), ..Config::default() };
    config.environment.push(("HOME".into(), "/tmp".into()));
    config.environment.push(("PS1".into(), "$ ".into()));
    config
}

pub(crate) fn pty() -> Arc<Pty> {
    Pty::new(config()).unwrap()
}

pub(crate) fn call() -> Call {
    Call::new(Owner::management("test"))
}

pub(crate) fn size(cols: u16, rows: u16) -> WindowSize {
    WindowSize::new(cols, rows).unwrap()
}

/// A session and what it prints.
pub(crate) struct Terminal {
    pub(crate) session: Box<dyn Session>,
    pub(crate) log: Arc<OutputLog>,
}

pub(crate) fn session_log() -> (Arc<OutputLog>, OutputSink) {
    let log = OutputLog::new(LogKind::Session(WindowSize::default()), Retention::Newest(1 << 20));
    (log.clone(), OutputSink::new(log))
}

pub(crate) fn session_spec(invocation: Invocation) -> SessionSpec {
    SessionSpec { invocation, size: WindowSize::default(), login: false }
}

impl Terminal {
    pub(crate) async fn run(pty: &Pty, command: &str) -> Self {
        Self::try_run(pty, Invocation::new(command)).await.unwrap()
    }

    pub(crate) async fn try_run(pty: &Pty, invocation: Invocation) -> Result<Self, Error> {
        Self::start(pty, session_spec(invocation)).await
    }

    pub(crate) async fn start(pty: &Pty, spec: SessionSpec) -> Result<Self, Error> {
        let (log, out) = session_log();
        let session = pty.start_session(&call(), spec, out).await?;
        Ok(Self { session, log })
    }

    /// Waits until the pattern matches in everything printed so far, and returns all of that.
    pub(crate) async fn shows(&self, pattern: &str) -> String {
        self.shows_from(Cursor::START, pattern).await.0
    }

    /// The same from a cursor on; returns where the match ends too.
    pub(crate) async fn shows_from(&self, from: Cursor, pattern: &str) -> (String, Cursor) {
        let until = Until { pattern: Some(Pattern::new(pattern).unwrap()), end: true, ..Until::default() };
        let wait = Wait { time: LONG, until: Some(until), max_bytes: None };
        let read = self.log.read_when(&call(), Stream::Stdout, from, &wait).await.unwrap();
        let text = decode(&read.slice.bytes);
        assert_eq!(read.fired, sessiond_core::Fired::Pattern, "{pattern:?} never came:\n{text}");
        (text, read.slice.next)
    }

    pub(crate) async fn write(&self, input: impl AsRef<[u8]>) -> Written {
        self.session.write(&call(), Bytes::copy_from_slice(input.as_ref())).await.unwrap()
    }

    /// Types something that must be taken.
    pub(crate) async fn type_in(&self, input: &str) {
        assert_eq!(self.write(input).await, Written { bytes: input.len() as u64, stalled: None });
    }

    /// Types something and waits for what it brings.
    pub(crate) async fn dialog(&self, input: &str, pattern: &str) -> String {
        let from = self.log.bounds(Stream::Stdout).1;
        self.type_in(input).await;
        self.shows_from(from, pattern).await.0
    }

    /// Everything that was printed, and the end, once it has come.
    pub(crate) async fn to_end(&self) -> (String, End) {
        let end = ended(&self.log).await;
        (self.text(), end)
    }

    pub(crate) fn text(&self) -> String {
        decode(&self.log.read(Stream::Stdout, Cursor::START, usize::MAX, None).unwrap().bytes)
    }

    /// What it prints until its end, when that is a clean one.
    pub(crate) async fn prints(&self) -> String {
        let (text, end) = self.to_end().await;
        assert_eq!(end.exit, Exit::Exited(0), "{text}");
        text
    }

    pub(crate) async fn stop(&self) {
        assert_eq!(self.session.stop(GRACE).await, Ok(Stopped::Confirmed));
    }

    pub(crate) fn pid(&self) -> u32 {
        self.session.facts().pid.unwrap()
    }
}

pub(crate) async fn ended(log: &OutputLog) -> End {
    tokio::time::timeout(LONG, log.ended()).await.expect("the end never came")
}

/// A command and what it prints.
pub(crate) struct Piped {
    pub(crate) command: Box<dyn Command>,
    pub(crate) log: Arc<OutputLog>,
}

impl Piped {
    pub(crate) async fn run(pty: &Pty, command: &str) -> Self {
        Self::try_run(pty, CommandSpec { invocation: Invocation::new(command), stdin: Bytes::new() }).await.unwrap()
    }

    pub(crate) async fn try_run(pty: &Pty, spec: CommandSpec) -> Result<Self, Error> {
        let log = OutputLog::new(LogKind::Command, Retention::Oldest(4 << 20));
        let command = pty.run_command(&call(), spec, OutputSink::new(log.clone())).await?;
        Ok(Self { command, log })
    }

    pub(crate) async fn to_end(&self) -> Outcome {
        let end = ended(&self.log).await;
        let text = |stream| decode(&self.log.read(stream, Cursor::START, usize::MAX, None).unwrap().bytes);
        Outcome { stdout: text(Stream::Stdout), stderr: text(Stream::Stderr), exit: end.exit }
    }

    /// Waits until the pattern matches in stdout, and returns all of it.
    pub(crate) async fn shows(&self, pattern: &str) -> String {
        let until = Until { pattern: Some(Pattern::new(pattern).unwrap()), end: true, ..Until::default() };
        let wait = Wait { time: LONG, until: Some(until), max_bytes: None };
        let read = self.log.read_when(&call(), Stream::Stdout, Cursor::START, &wait).await.unwrap();
        decode(&read.slice.bytes)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: Exit,
}

impl Outcome {
    pub(crate) fn of(stdout: &str, stderr: &str, exit: Exit) -> Self {
        Self { stdout: stdout.into(), stderr: stderr.into(), exit }
    }
}

/// Whether there is a process of this id, a zombie included.
pub(crate) fn exists(pid: u32) -> bool {
    PathBuf::from(format!("/proc/{pid}")).exists()
}

/// The children of this process, whichever of its threads has them.
pub(crate) fn children() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()).collect()
}

/// The numbers behind `name=` in a text.
pub(crate) fn numbers(text: &str, name: &str) -> Vec<u32> {
    let number = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
    text.split(&format!("{name}=")).skip(1).filter_map(number).collect()
}

/// A directory of its own that goes with the test.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(name: impl fmt::Display) -> Self {
        let path = std::env::temp_dir().join(format!("sessiond-pty-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn text(&self) -> String {
        self.0.to_str().unwrap().to_owned()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Names a program that the test needs and this machine has not.
pub(crate) fn needs(program: &str) {
    let found =
        std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).exists()));
    assert!(found, "{program} is not installed: `cargo xtask test --install` installs what the tests need");
}

/// Tells a test that runs in a process of its own which one it is.
const ALONE: &str = "SESSIOND_PTY_TEST_ALONE";

/// Runs `body` in a process of its own, which `wrap` may start in surroundings of its own: what it does there to
/// limits, users and orphans concerns no other test. Returns whether this is that process.
pub(crate) fn alone(test: &str, wrap: &[&str], body: impl Future<Output = ()>) {
    if std::env::var(ALONE).as_deref() == Ok(test) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(body);
        return;
    }
    // Another user may not reach the build folder.
    let copy = Directory::new(format_args!("alone-{}", test.replace(':', "-")));
    let own = if wrap.is_empty() {
        std::env::current_exe().unwrap()
    } else {
        // Not by us: a child that another test starts meanwhile would hold the copy open for writing, and it could not
        // be executed.
        let copied = Program::new("cp").arg(std::env::current_exe().unwrap()).arg(copy.path("it")).status().unwrap();
        assert!(copied.success());
        copy.path("it")
    };
    let mut words = wrap.iter().map(std::ffi::OsStr::new).chain([own.as_os_str()]);
    let mut program = Program::new(words.next().unwrap());
    program.args(words).args(["--exact", test, "--nocapture", "--test-threads=1"]).env(ALONE, test);
    let output = program.stdin(Stdio::null()).output().expect("the test's own process");
    assert!(
        output.status.success(),
        "{test} alone: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{test} is no test of that name");
}
