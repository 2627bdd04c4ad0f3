//! The systemd unit, as systemd itself reads it.

use std::path::Path;
use std::process::Command;

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    let home = tempfile::tempdir().unwrap();
    let bin = home.path().join(".cargo/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sessiond-mcp-http"), bin.join("sessiond-mcp-http")).unwrap();
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd/sessiond-mcp-http.service");
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["--user", "verify"]).arg(unit.canonicalize().unwrap());
    let output = analyze.env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path()).output().unwrap();
    // A key that it does not know is a warning, and none of ours is meant to be one.
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
}
