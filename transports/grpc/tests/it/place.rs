//! The real binary in a directory of its own.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sessiond_core::{Cursor, Invocation, Read as Slice, ReadSession, Service, SessionId, TargetName, Until, Wait};
use sessiond_grpc::Address;
use sessiond_grpc::client::{GrpcClient, SessionRef, new_session};
use tempfile::TempDir;

/// The binary.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_sessiond-grpc");

/// A directory to run in, which is the user's runtime directory too.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("sessiond.sock")
    }

    /// A program, in this place, with nothing of the environment that the tests run in but the path.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path())
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm-256color")
            .env("XDG_RUNTIME_DIR", self.path())
            .stdin(Stdio::null())
            .current_dir(self.path());
        command
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program(PROGRAM);
        command.args(args);
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Starts a server and waits until it listens.
    pub(crate) fn serve(&self, args: &[&str]) -> Daemon {
        let mut child = self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let Some(address) = line.strip_prefix("listening on ") else {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("the server does not listen but says {said}");
        };
        Daemon { address: address.trim().parse().unwrap(), child }
    }
}

/// A running server; dropping it ends it as a service manager would.
pub(crate) struct Daemon {
    pub(crate) address: Address,
    child: Child,
}

impl Daemon {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it with a signal and waits; returns its exit code, and what it said on stderr.
    pub(crate) fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        self.signal(signal);
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }

    pub(crate) async fn client(&self) -> Client {
        Client(GrpcClient::connect(&self.address).await.unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.signal(Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

/// A client of a real server with its real shell.
pub(crate) struct Client(pub(crate) GrpcClient);

impl Client {
    pub(crate) async fn start(&self, command: &str) -> SessionRef {
        let target = TargetName::new("local").unwrap();
        let request = new_session(target.clone(), Invocation::new(command));
        let started = self.0.start_session(&GrpcClient::call(), request).await.unwrap();
        SessionRef { session: started.session, target: Some(target) }
    }

    /// Waits until a session has ended. What it reads for that is still there for others.
    pub(crate) async fn ended(&self, session: SessionId) {
        let until = Some(Until { end: true, ..Until::default() });
        let wait = Wait { time: sessiond_core::MAX_WAIT, until, max_bytes: None };
        let target = Some(TargetName::new("local").unwrap());
        let mut cursor = Cursor::START;
        loop {
            let request = ReadSession { session, target: target.clone(), cursor, wait: wait.clone() };
            let slice = self.0.read_session(&GrpcClient::call(), request).await.unwrap().slice;
            cursor = slice.next;
            if slice.ended.is_some() {
                return;
            }
        }
    }

    /// Waits until this has been printed, from the beginning on.
    pub(crate) async fn printed(&self, session: &SessionRef, pattern: &str) -> Slice {
        let pattern = Some(sessiond_core::Pattern::new(pattern).unwrap());
        let until = Some(Until { pattern, ..Until::default() });
        let wait = Wait { time: sessiond_core::MAX_WAIT, until, max_bytes: None };
        let (session, target) = (session.session, session.target.clone());
        let request = ReadSession { session, target, cursor: Cursor::START, wait };
        let read = self.0.read_session(&GrpcClient::call(), request).await.unwrap();
        assert_eq!(read.fired, sessiond_core::Fired::Pattern, "{read:?}");
        read
    }
}

pub(crate) fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub(crate) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// What `cargo xtask test --install` has put into the build folder.
pub(crate) fn installed(path: &str) -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let found = scratch.parent().unwrap().join("peers").join(path);
    assert!(found.exists(), "{} is missing: run `cargo xtask test --install`", found.display());
    found
}
