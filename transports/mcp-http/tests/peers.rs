//! Clients and the conformance runner that others wrote, against the real server over HTTP.
//!
//! The transcripts of the clients are those of the standard streams (`mcp-stdio/tests/peers`): what they see is the same.
#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests may stop at the first surprise, and say what they saw"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The server under test.
const SERVER: &str = env!("CARGO_BIN_EXE_sessiond-mcp-http");

/// What the package with Node calls this kind of machine.
const MACHINE: &str = if cfg!(target_arch = "x86_64") { "x64" } else { "arm64" };

/// What `cargo xtask test --install` has put into the build folder.
fn installed(path: &str) -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let found = scratch.parent().expect("the scratch folder lies in the build folder").join("peers").join(path);
    assert!(found.exists(), "{} is missing: run `cargo xtask test --install`", found.display());
    found
}

fn script(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp-stdio/tests/peers").join(path)
}

/// Runs a peer; what it says is shown when it fails.
fn run(peer: &mut Command) -> String {
    let output = peer.stdin(Stdio::null()).output().expect("the peer starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{said}");
    assert!(output.status.success(), "{peer:?} ended with {}:\n{said}", output.status);
    said
}

mod python {
    use super::*;

    fn both_eras(name: &str) {
        one_era(name, "legacy");
        one_era(name, MODERN);
    }

    /// No handshake.
    const MODERN: &str = "2026-07-28";

    fn one_era(name: &str, era: &str) {
        // No byte code beside the scripts.
        let mut python = Command::new(installed("venv/bin/python"));
        let said = run(python.arg("-B").arg(script(name)).args([SERVER, era]));
        assert!(!said.contains("Session termination failed"), "{said}");
    }

    #[test]
    fn a_whole_session() {
        both_eras("session.py");
    }

    #[test]
    fn commands() {
        both_eras("commands.py");
    }

    /// This client takes no event of more than 1 MiB, and a read of all that is kept is more: it comes as no event.
    #[test]
    fn more_output_than_is_kept() {
        both_eras("output.py");
    }

    #[test]
    fn what_is_wrong_is_said() {
        both_eras("errors.py");
    }
}

mod typescript {
    use super::*;

    fn both_eras(name: &str) {
        for era in ["legacy", "modern"] {
            let node = installed(&format!("node/node_modules/node-linux-{MACHINE}/bin/node"));
            let mut node = Command::new(node);
            run(node.arg(script("typescript").join(name)).arg(installed("node")).args([SERVER, era]));
        }
    }

    #[test]
    fn a_whole_session() {
        both_eras("session.mjs");
    }

    #[test]
    fn commands() {
        both_eras("commands.mjs");
    }

    #[test]
    fn full_screen_programs() {
        both_eras("screens.mjs");
    }

    #[test]
    fn what_is_wrong_is_said() {
        both_eras("errors.mjs");
    }
}

/// What npm has, run by the Node beside it.
mod official {
    use std::collections::BTreeSet;
    use std::io::{BufRead, BufReader};
    use std::process::Child;

    use serde_json::Value;

    use super::*;

    /// A server that ends with the test.
    struct Serving {
        child: Child,
        url: String,
    }

    impl Serving {
        fn start(program: &Path, args: &[&str]) -> Self {
            let mut child = Command::new(program)
                .args(args)
                .env("HOME", env!("CARGO_TARGET_TMPDIR"))
                .env_remove("XDG_CONFIG_HOME")
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .spawn()
                .expect("the server starts");
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_owned();
            Self { child, url }
        }
    }

    impl Drop for Serving {
        fn drop(&mut self) {
            // It may have ended by itself.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn node(package: &str, entry: &str) -> Command {
        let mut node = Command::new(installed(&format!("conformance/node_modules/node-linux-{MACHINE}/bin/node")));
        node.arg(installed(&format!("conformance/node_modules/{package}")).join(entry));
        node
    }

    #[test]
    fn the_inspector_calls_a_tool() {
        let server = Serving::start(Path::new(SERVER), &["--no-password", "--listen", "127.0.0.1:0"]);
        let mut inspector = node("@modelcontextprotocol/inspector", INSPECTOR);
        inspector.args(["--cli", &server.url, "--transport", "http", "--method", "tools/call"]);
        inspector.args(["--tool-name", "execute_command", "--tool-arg", "command=echo hi"]);
        let said = run(inspector.args(["--tool-arg", "client_token=local"]));
        assert!(said.contains("\"stdout\": \"hi\\n\""), "{said}");
    }

    /// Where the inspector's command line begins.
    const INSPECTOR: &str = "clients/launcher/build/index.js";

    /// The fixtures over our HTTP; cargo builds examples with the tests.
    fn fixtures() -> Serving {
        let program = Path::new(SERVER).with_file_name("examples").join("mcp-fixtures");
        assert!(program.exists(), "{} is missing: run `cargo build --examples`", program.display());
        Serving::start(&program, &[])
    }

    /// Runs what a revision requires, and holds every scenario and every failure against what is expected.
    fn meets(revision: &str, scenarios: usize) {
        let server = fixtures();
        let results = tempfile::tempdir().unwrap();
        let mut runner = node("@modelcontextprotocol/conformance", "dist/index.js");
        runner.args(["server", "--url", &server.url, "--requirements", revision, "--output-dir"]);
        let output = runner.arg(results.path()).stdin(Stdio::null()).output().expect("the runner starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let required = required(revision);
        assert_eq!(required.len(), scenarios, "the list of scenarios has changed: {required:?}");
        let mut failed = BTreeSet::new();
        for scenario in &required {
            let checks = checks(results.path(), scenario);
            let passed = checks.iter().filter(|check| check["status"] == "SUCCESS").count();
            // With no server at all some scenarios have one check that passes.
            assert!(passed > 0, "{scenario} has checked nothing:\n{said}");
            let bad = checks.iter().filter(|check| check["status"] == "FAILURE");
            failed.extend(bad.map(|check| format!("{revision} {scenario} {}", check["id"].as_str().unwrap())));
        }
        assert_eq!(failed, baseline(revision), "the left are what fails now:\n{said}");
    }

    /// The scenarios that the runner itself says a revision requires of a server.
    fn required(revision: &str) -> Vec<String> {
        let list = installed("conformance/node_modules/@modelcontextprotocol/conformance/requirements");
        let list = std::fs::read_to_string(list.join(format!("{revision}.yaml"))).unwrap();
        let of_server = list.lines().skip_while(|line| *line != "server:").skip(1);
        let of_server = of_server.map_while(|line| line.strip_prefix("  - "));
        of_server.map(str::to_owned).collect()
    }

    /// What the runner has written about a scenario.
    fn checks(results: &Path, scenario: &str) -> Vec<Value> {
        let mut found = std::fs::read_dir(results).unwrap().filter_map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            // server-SCENARIO-2026-11-30T…
            let (named, _) = name.rsplit_once('T')?;
            let named = named.strip_prefix("server-")?;
            (named.get(..named.len().checked_sub("-2026-11-30".len())?) == Some(scenario)).then(|| entry.path())
        });
        let folder = found.next().unwrap_or_else(|| panic!("{scenario} was not run"));
        serde_json::from_slice(&std::fs::read(folder.join("checks.json")).unwrap()).unwrap()
    }

    /// The failures that are known.
    fn baseline(revision: &str) -> BTreeSet<String> {
        let known = include_str!("peers/official.baseline").lines();
        let known = known.filter(|line| !line.starts_with('#') && line.starts_with(revision));
        known.map(str::to_owned).collect()
    }

    #[test]
    fn revision_2025_11_25_is_met() {
        meets("2025-11-25", 30);
    }

    #[test]
    fn revision_2026_07_28_is_met() {
        meets("2026-07-28", 37);
    }
}
