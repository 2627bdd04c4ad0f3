//! gRPC for Python, with stubs that its own compiler makes from our files: the transcript is `peers/session.py`.

use std::path::Path;

use rustix::process::Signal;

use crate::place::{Place, installed, stderr, stdout};

/// Makes the stubs and runs the transcript.
fn run(scene: &str) {
    let place = Place::new();
    let daemon = place.serve(&[]);
    let (python, here) = (installed("grpc-venv/bin/python"), Path::new(env!("CARGO_MANIFEST_DIR")));
    let files = ["output", "target", "session", "command", "host"].map(|name| format!("sessiond/v1/{name}.proto"));
    let mut compiler = place.program(&python);
    compiler.args(["-m", "grpc_tools.protoc", "--python_out=.", "--grpc_python_out=."]);
    compiler.arg(format!("--proto_path={}", here.join("proto").display())).args(files);
    let made = compiler.output().unwrap();
    assert!(made.status.success(), "{}", stderr(&made));

    let mut peer = place.program(&python);
    // No byte code beside the transcript; the stubs lie in the place.
    peer.arg("-B").arg(here.join("tests/peers/session.py")).args([&daemon.address.to_string(), scene]);
    let output = peer.env("PYTHONPATH", place.path()).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(stdout(&output), format!("{scene}: ok\n"));
    assert_eq!(daemon.end(Signal::TERM).0, Some(0));
}

#[test]
fn a_whole_session() {
    run("session");
}

#[test]
fn a_terminal() {
    run("attach");
}

#[test]
fn a_deadline_is_exceeded_and_the_server_goes_on() {
    run("deadline");
}

#[test]
fn a_cancelled_command_is_stopped_and_a_cancelled_follower_leaves() {
    run("cancel");
}

#[test]
fn errors_carry_their_kind() {
    run("errors");
}
