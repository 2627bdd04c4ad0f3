//! The official clients of MCP drive the real binary through whole sessions, in both protocol eras.
//!
//! The scripts in `peers/` are the transcripts; a test runs one and shows what it said when it fails.
#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests may stop at the first surprise, and say what they saw"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sessiond_ssh_peer::{Account, Client, Keys, Sshd};

/// The binary that the clients start.
const SERVER: &str = env!("CARGO_BIN_EXE_sessiond-mcp-stdio");

/// What `cargo xtask test --install` has put into the build folder.
fn installed(path: &str) -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let found = scratch.parent().expect("the scratch folder lies in the build folder").join("peers").join(path);
    assert!(found.exists(), "{} is missing: run `cargo xtask test --install`", found.display());
    found
}

fn script(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(path)
}

/// Runs a script; what it says is shown when it fails.
fn run(peer: &mut Command) {
    let output = peer.stdin(Stdio::null()).output().expect("the script's interpreter starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{said}");
    assert!(output.status.success(), "{peer:?} ended with {}:\n{said}", output.status);
}

/// A real SSH server under two names, with the configuration that leads there.
struct Hosts {
    client: Client,
    /// Lives as long as it is used.
    _sshd: Sshd,
    _keys: Keys,
}

impl Hosts {
    /// `box` is named by sessiond's own configuration, `web` by the SSH client's.
    fn start() -> anyhow::Result<Self> {
        let keys = Keys::new()?;
        let key = keys.ed25519("id_ed25519")?;
        let sshd = Sshd::builder().account(Account::new("alice").authorized_key(&key)).start()?;
        let client = Client::new()?;
        client.host("web", &sshd, "alice", &[&format!("IdentityFile {}", key.path().display())])?;
        std::fs::write(client.dir().join("known_hosts_of_box"), sshd.known_hosts_lines()?)?;
        let text = format!(
            "[ssh]\nconfig = {:?}\n\n[targets.box]\nbackend = 'ssh'\ndescription = 'builds'\nhost = '127.0.0.1'\n\
             port = {}\nuser = 'alice'\nidentity_files = {:?}\nknown_hosts_files = {:?}\n",
            client.config_path(),
            sshd.port(),
            key.path(),
            client.dir().join("known_hosts_of_box"),
        );
        let hosts = Self { client, _sshd: sshd, _keys: keys };
        std::fs::write(hosts.configuration(), text)?;
        Ok(hosts)
    }

    /// The server's configuration file.
    fn configuration(&self) -> PathBuf {
        self.client.dir().join("sessiond.toml")
    }
}

mod python {
    use super::*;

    /// `initialize` first, up to revision 2025-11-25.
    const LEGACY: &str = "legacy";
    /// No handshake.
    const MODERN: &str = "2026-07-28";
    /// Makes the server a bridge.
    const CONNECT: &str = "SESSIOND_CONNECT";

    fn run(name: &str, era: &str) {
        // No byte code beside the scripts.
        let mut python = Command::new(installed("venv/bin/python"));
        super::run(python.arg("-B").arg(script(name)).args([SERVER, era]));
    }

    #[test]
    fn a_whole_session_with_handshake() {
        run("session.py", LEGACY);
    }

    #[test]
    fn a_whole_session_without_handshake() {
        run("session.py", MODERN);
    }

    #[test]
    fn commands_with_handshake() {
        run("commands.py", LEGACY);
    }

    #[test]
    fn commands_without_handshake() {
        run("commands.py", MODERN);
    }

    #[test]
    fn more_output_than_is_kept_with_handshake() {
        run("output.py", LEGACY);
    }

    #[test]
    fn more_output_than_is_kept_without_handshake() {
        run("output.py", MODERN);
    }

    #[test]
    fn what_is_wrong_is_said_with_handshake() {
        run("errors.py", LEGACY);
    }

    #[test]
    fn what_is_wrong_is_said_without_handshake() {
        run("errors.py", MODERN);
    }

    /// Slow by its nature, so in one era only.
    #[test]
    fn long_waits_report_progress() {
        run("patience.py", MODERN);
    }

    /// A bridge looks for its server beside itself.
    fn sees_server() {
        let server = Path::new(SERVER).with_file_name("sessiond-grpc");
        assert!(server.exists(), "{} is missing: run `cargo build --package sessiond-grpc`", server.display());
    }

    #[test]
    fn sessions_outlive_their_client_with_handshake() {
        sees_server();
        run("bridge.py", LEGACY);
    }

    #[test]
    fn sessions_outlive_their_client_without_handshake() {
        sees_server();
        run("bridge.py", MODERN);
    }

    /// The same transcripts, with a bridge between the client and the sessions.
    fn run_bridged(name: &str, era: &str) {
        sees_server();
        let mut python = Command::new(installed("venv/bin/python"));
        super::run(python.arg("-B").arg(script(name)).args([SERVER, era]).env(CONNECT, "auto"));
    }

    #[test]
    fn a_whole_session_through_a_bridge() {
        run_bridged("session.py", LEGACY);
        run_bridged("session.py", MODERN);
    }

    #[test]
    fn commands_through_a_bridge() {
        run_bridged("commands.py", LEGACY);
    }

    #[test]
    fn more_output_than_is_kept_through_a_bridge() {
        run_bridged("output.py", MODERN);
    }

    #[test]
    fn what_is_wrong_is_said_through_a_bridge() {
        run_bridged("errors.py", MODERN);
    }

    #[test]
    fn long_waits_report_progress_through_a_bridge() {
        run_bridged("patience.py", LEGACY);
    }

    #[test]
    fn commands_on_hosts_through_a_bridge() {
        sees_server();
        let hosts = Hosts::start().expect("an SSH server starts");
        let mut python = Command::new(installed("venv/bin/python"));
        python.arg("-B").arg(script("hosts.py")).args([SERVER, MODERN]).arg(hosts.configuration());
        super::run(python.env(CONNECT, "auto"));
    }

    /// With an SSH server on this machine, under the names `box` and `web`.
    fn run_with_hosts(name: &str, era: &str) {
        let hosts = Hosts::start().expect("an SSH server starts");
        let mut python = Command::new(installed("venv/bin/python"));
        super::run(python.arg("-B").arg(script(name)).args([SERVER, era]).arg(hosts.configuration()));
    }

    #[test]
    fn commands_on_hosts_with_handshake() {
        run_with_hosts("hosts.py", LEGACY);
    }

    #[test]
    fn commands_on_hosts_without_handshake() {
        run_with_hosts("hosts.py", MODERN);
    }
}

mod typescript {
    use super::*;

    /// As the client does it by itself: `initialize`, up to revision 2025-11-25.
    const LEGACY: &str = "legacy";
    /// It asks the server first, and finds that no handshake is needed.
    const MODERN: &str = "modern";

    /// What the package with Node calls this kind of machine.
    const MACHINE: &str = if cfg!(target_arch = "x86_64") { "x64" } else { "arm64" };

    fn run(name: &str, era: &str) {
        let node = installed(&format!("node/node_modules/node-linux-{MACHINE}/bin/node"));
        let mut node = Command::new(node);
        super::run(node.arg(script("typescript").join(name)).arg(installed("node")).args([SERVER, era]));
    }

    #[test]
    fn a_whole_session_with_handshake() {
        run("session.mjs", LEGACY);
    }

    #[test]
    fn a_whole_session_without_handshake() {
        run("session.mjs", MODERN);
    }

    #[test]
    fn commands_with_handshake() {
        run("commands.mjs", LEGACY);
    }

    #[test]
    fn commands_without_handshake() {
        run("commands.mjs", MODERN);
    }

    #[test]
    fn full_screen_programs_with_handshake() {
        run("screens.mjs", LEGACY);
    }

    #[test]
    fn full_screen_programs_without_handshake() {
        run("screens.mjs", MODERN);
    }

    #[test]
    fn what_is_wrong_is_said_with_handshake() {
        run("errors.mjs", LEGACY);
    }

    #[test]
    fn what_is_wrong_is_said_without_handshake() {
        run("errors.mjs", MODERN);
    }

    /// Slow by its nature, so in one era only: the one whose clients lose patience.
    #[test]
    fn long_waits_outlast_a_clients_patience() {
        run("patience.mjs", LEGACY);
    }
}
