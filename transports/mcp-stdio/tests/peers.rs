//! The official Python client of MCP drives the real binary through whole sessions, in both protocol eras.
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

/// `initialize` first, up to revision 2025-11-25.
const LEGACY: &str = "legacy";
/// No handshake.
const MODERN: &str = "2026-07-28";

/// The Python that `cargo xtask test --install` has put into the build folder.
fn python() -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = scratch.parent().expect("the scratch folder lies in the build folder");
    let python = target.join("peers/venv/bin/python");
    assert!(python.is_file(), "{} is missing: run `cargo xtask test --install`", python.display());
    python
}

/// Runs a script in an era; what it says is shown when it fails.
fn run(script: &str, era: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
    let output = Command::new(python())
        // No byte code beside the scripts.
        .arg("-B")
        .arg(folder.join(script))
        .args([env!("CARGO_BIN_EXE_sessiond-mcp-stdio"), era])
        .stdin(Stdio::null())
        .output()
        .expect("Python starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{said}");
    assert!(output.status.success(), "{script} in era {era} ended with {}:\n{said}", output.status);
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
