//! The systemd unit, as systemd itself reads it.

use std::path::Path;

use crate::place::{PROGRAM, Place, stderr};

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    let place = Place::new();
    let bin = place.path().join(".cargo/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(PROGRAM, bin.join("sessiond-grpc")).unwrap();
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd/sessiond-grpc.service");
    let mut analyze = place.program("systemd-analyze");
    let output = analyze.args(["--user", "verify"]).arg(unit.canonicalize().unwrap()).output().unwrap();
    // A key that it does not know is a warning, and none of ours is meant to be one.
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}
