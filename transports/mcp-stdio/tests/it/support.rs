//! Starting the binary, talking to it, and looking for what it left behind.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use serde_json::{Value, json};
use tempfile::TempDir;

/// No answer takes so long; a test that waits for one fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory to run in, which is the user's runtime directory too, and a mark in the environment by which processes of this run are found again.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    mark: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mark = format!("TEST_PLACE={}", directory.path().display());
        Self { directory, mark }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The binary, in this place, with nothing of the environment that the tests run in but the path.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let (name, value) = self.mark.split_once('=').unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_sessiond-mcp-stdio"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.directory.path())
            .env("XDG_RUNTIME_DIR", self.directory.path())
            .env("SHELL", "/bin/sh")
            .env(name, value)
            .current_dir(self.directory.path());
        command
    }

    /// Runs it to its end, with this on stdin.
    pub(crate) fn run(&self, args: &[&str], stdin: &str) -> Output {
        let mut child =
            self.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// The processes that carry this place's mark.
    pub(crate) fn alive(&self) -> Vec<Pid> {
        let all = std::fs::read_dir("/proc").unwrap();
        all.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
            .filter(|pid| {
                let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                environment.split(|byte| *byte == 0).any(|variable| variable == self.mark.as_bytes())
            })
            .filter_map(Pid::from_raw)
            .collect()
    }

    /// The servers behind bridges.
    pub(crate) fn upstreams(&self) -> Vec<Pid> {
        let is_upstream = |pid: &Pid| {
            let name = std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()));
            name.is_ok_and(|name| name.trim() == "sessiond-grpc")
        };
        self.alive().into_iter().filter(is_upstream).collect()
    }

    /// Ends those servers, each as a service manager would, and waits until they are gone.
    pub(crate) fn end_upstreams(&self) {
        for pid in self.upstreams() {
            let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
            pidfd_send_signal(&process, Signal::TERM).unwrap();
            let patience = rustix::event::Timespec { tv_sec: 60, tv_nsec: 0 };
            let gone = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience)).unwrap();
            assert_eq!(gone, 1, "{pid:?} does not end");
        }
    }

    /// Makes a named pipe, through which a command can say that it is under way.
    pub(crate) fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }
}

/// What is written into a named pipe until its last writer closes it.
pub(crate) fn read_pipe(path: &Path) -> String {
    let (sender, text) = channel();
    let path = path.to_owned();
    // Opening waits for a writer, for ever if none comes.
    std::thread::spawn(move || {
        let mut text = String::new();
        File::open(path).unwrap().read_to_string(&mut text).unwrap();
        let _ = sender.send(text);
    });
    text.recv_timeout(PATIENCE).expect("somebody writes into the pipe")
}

pub(crate) fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub(crate) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// A server on pipes, and every line it has printed.
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<String>,
    errors: Option<JoinHandle<String>>,
    next_id: u64,
}

impl Server {
    /// Starts it and greets it.
    pub(crate) fn start(command: Command) -> Self {
        Self::start_read(command, usize::MAX).0
    }

    /// The same, but after so many lines nobody reads its stdout, which comes back then.
    pub(crate) fn start_read(mut command: Command, count: usize) -> (Self, JoinHandle<BufReader<ChildStdout>>) {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        let reader = std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            for line in output.by_ref().lines().take(count) {
                let _ = sender.send(line.unwrap());
            }
            output
        });
        let mut server = Self { child, input, lines, seen: Vec::new(), errors: None, next_id: 0 };
        let client = json!({"name": "test", "version": "0"});
        server
            .request("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}));
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        (server, reader)
    }

    /// Its stderr, for who wants to await a line there.
    pub(crate) fn take_stderr(&mut self) -> BufReader<ChildStderr> {
        BufReader::new(self.child.stderr.take().unwrap())
    }

    /// Collects its stderr for [`Self::end`].
    pub(crate) fn collect_stderr(&mut self) {
        let mut stderr = self.take_stderr();
        self.errors = Some(std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        }));
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Asks without awaiting the answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}));
        self.next_id
    }

    /// Says something that has no answer.
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Asks, and awaits the answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("the server answers");
            let message: Value = serde_json::from_str(&line).expect("a line of stdout is JSON");
            self.seen.push(line);
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Calls a tool and gives its structured result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        answer["result"]["structuredContent"].clone()
    }

    /// Starts a session and waits until it has printed `ready`.
    pub(crate) fn start_session(&mut self, command: &str) -> String {
        let until = json!({"pattern": "ready"});
        let started = self.call(
            "session_start",
            json!({"command": command, "client_token": "local", "wait_ms": 20000, "until": until}),
        );
        assert!(started["output"].as_str().unwrap().contains("ready"), "{started}");
        started["session_id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Closes its stdin.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// Awaits its end, without reading.
    pub(crate) fn end_unread(mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if began.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("the server does not end");
            }
            // A process's end is no event that could be awaited for a time only.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Awaits its end: how it ended, every line of its stdout, and its stderr where that was collected.
    pub(crate) fn end(mut self) -> (ExitStatus, Vec<String>, String) {
        let began = Instant::now();
        let status = loop {
            // stdout closes with the process, unless something that it has left behind holds it.
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.seen.push(line),
                Err(_) => break self.child.wait().unwrap(),
            }
        };
        assert!(began.elapsed() < PATIENCE, "stdout stayed open");
        let errors = self.errors.map(|errors| errors.join().unwrap()).unwrap_or_default();
        (status, self.seen, errors)
    }
}
