//! A real LangGraph server: one for all tests, or one of its own for a test that ends it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use sessiond_agent_platform::{DialectName, Platform, PlatformConfig};
use tempfile::TempDir;

use crate::support::AMPLE;

/// How long a server may take until it answers, on a machine that does much else.
const START: Duration = Duration::from_secs(90);
/// Between two attempts to reach a server that starts.
const ATTEMPT: Duration = Duration::from_millis(25);

/// A server on loopback. It ends with this value, and with this process in any case: its input ends with both.
pub(super) struct Server {
    address: SocketAddr,
    child: Child,
    _input: ChildStdin,
    home: TempDir,
}

impl Server {
    /// The one that all tests share.
    pub(super) fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// One more, once it answers.
    pub(super) fn start() -> Self {
        // Between the choice of a port and its use somebody else may take it.
        let mut attempt = Self::attempt();
        for _ in 0..2 {
            attempt = attempt.or_else(|_| Self::attempt());
        }
        attempt.unwrap_or_else(|log| panic!("no LangGraph server could be started:\n{log}"))
    }

    /// A server that answers, or what it has said instead.
    fn attempt() -> Result<Self, String> {
        let home = tempfile::tempdir().unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/langgraph");
        for file in ["graphs.py", "langgraph.json", "serve.py"] {
            fs::copy(here.join(file), home.path().join(file)).unwrap();
        }
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let log = File::create(home.path().join("log")).unwrap();
        let mut child = Command::new(python())
            .args(["serve.py", &port.to_string()])
            .current_dir(home.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("LANG", "C.UTF-8")
            .env("LANGSMITH_TRACING", "false")
            .env("LANGGRAPH_CLI_NO_ANALYTICS", "1")
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("the Python of the LangGraph server starts");
        let input = child.stdin.take().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut server = Self { address, child, _input: input, home };
        if server.is_ready() { Ok(server) } else { Err(server.log()) }
    }

    /// Waits until it answers; false when it has ended instead.
    fn is_ready(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < START {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            if answers(self.address) {
                return true;
            }
            thread::sleep(ATTEMPT);
        }
        panic!("the LangGraph server does not answer:\n{}", self.log());
    }

    /// What it has said.
    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The adapter for it.
    pub(super) fn platform(&self) -> Arc<Platform> {
        platform(self.address, |_| ())
    }

    /// Ends it at once, in the middle of whatever it does.
    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The adapter for what answers at this address.
pub(super) fn platform(address: SocketAddr, change: impl FnOnce(&mut PlatformConfig)) -> Arc<Platform> {
    let mut config = PlatformConfig::new(format!("http://{address}"), DialectName::Langgraph);
    config.keepalive = None;
    change(&mut config);
    Platform::new(&config).unwrap()
}

/// The interpreter that `cargo xtask test --install` has put into the build folder.
fn python() -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let found = scratch.parent().unwrap().join("peers/langgraph-venv/bin/python");
    assert!(found.exists(), "{} is missing: run `cargo xtask test --install`", found.display());
    found
}

fn answers(address: SocketAddr) -> bool {
    let Ok(mut connection) = TcpStream::connect(address) else { return false };
    let mut answer = String::new();
    connection.set_read_timeout(Some(AMPLE)).unwrap();
    connection.write_all(b"GET /ok HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").is_ok()
        && connection.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200")
}
