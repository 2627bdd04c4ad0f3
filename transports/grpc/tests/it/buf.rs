//! buf, a client and a checker by others: calls of every shape through reflection, health, and the rules of `.proto`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::place::{Place, installed, stderr, stdout};

fn buf(place: &Place) -> Command {
    place.program(installed("buf/node_modules/.bin/buf"))
}

/// Calls a method and returns the answers, without the white space between.
fn call(place: &Place, method: &str, data: &str) -> Result<String, String> {
    let socket = place.socket();
    let mut curl = buf(place);
    curl.args(["curl", "--http2-prior-knowledge", "--protocol", "grpc", "--unix-socket"]).arg(socket);
    curl.args(["--data", data, &format!("http://localhost/{method}")]);
    let output = curl.stderr(Stdio::piped()).output().unwrap();
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    if output.status.success() { Ok(bare(stdout(&output))) } else { Err(bare(stderr(&output))) }
}

#[tokio::test]
async fn it_finds_calls_and_follows_by_reflection_alone() {
    let place = Place::new();
    let daemon = place.serve(&[]);
    let mut list = buf(&place);
    list.args(["curl", "--http2-prior-knowledge", "--protocol", "grpc", "--list-methods", "--unix-socket"])
        .arg(place.socket());
    let listed = list.arg("http://localhost").output().unwrap();
    let methods: Vec<&str> = stdout(&listed).lines().collect();
    assert_eq!(methods.iter().filter(|name| name.starts_with("sessiond.v1.")).count(), 31, "{methods:?}");
    assert!(methods.contains(&"grpc.health.v1.Health/Check"), "{methods:?}");

    let health = call(&place, "grpc.health.v1.Health/Check", r#"{"service": "sessiond.v1.SessionService"}"#);
    assert_eq!(health.as_deref(), Ok(r#"{"status":"SERVING"}"#));
    let targets = call(&place, "sessiond.v1.TargetService/ListTargets", "{}").unwrap();
    assert!(targets.contains(r#""name":"local","clientId":"local","backend":"pty""#), "{targets}");

    let session = daemon.client().await.start("printf 'a\\nb'; read -r line; exit 4").await;
    let named = format!(r#"{{"sessionId": "{}", "target": "local"}}"#, session.session);
    let read = format!(r#"{{"session": {named}, "wait": {{"time": "20s"}}}}"#);
    let read = call(&place, "sessiond.v1.SessionService/ReadSession", &read).unwrap();
    assert!(read.contains(r#""data":"YQ0KYg==""#) && read.contains(r#""fired":"FIRED_OUTPUT""#), "{read}");
    let attach = format!(r#"{{"attach": {{"session": {named}, "cursor": 4}}}} {{"input": "DQ=="}}"#);
    let attached = call(&place, "sessiond.v1.SessionService/AttachSession", &attach).unwrap();
    assert_eq!(attached, r#"{"chunk":{"start":"4","data":"DQo="}}{"end":{"exited":4,"cause":{}}}"#);
    let follow = format!(r#"{{"session": {named}}}"#);
    let followed = call(&place, "sessiond.v1.SessionService/FollowSession", &follow).unwrap();
    assert_eq!(followed, r#"{"chunk":{"data":"YQ0KYg0K"}}{"end":{"exited":4,"cause":{}}}"#);
}

#[tokio::test]
async fn it_reads_the_kind_of_an_error_from_its_details() {
    let place = Place::new();
    let _daemon = place.serve(&[]);
    let unknown = r#"{"session": {"sessionId": "00000000000000000000000000", "target": "local"}}"#;
    let error = call(&place, "sessiond.v1.SessionService/ReadSession", unknown).unwrap_err();
    assert!(error.contains(r#""code":"not_found""#), "{error}");
    // The reason NOT_FOUND of the domain sessiond.v1, as protobuf in base 64.
    let info = r#"{"type":"google.rpc.ErrorInfo","value":"CglOT1RfRk9VTkQSC3Nlc3Npb25kLnYx"}"#;
    assert!(error.contains(info), "{error}");
}

/// Runs buf over the files, and shows what it says.
fn check(args: &[&str]) {
    let place = Place::new();
    let mut buf = buf(&place);
    let output = buf.args(args).current_dir(Path::new(env!("CARGO_MANIFEST_DIR"))).output().unwrap();
    assert!(output.status.success(), "buf {args:?}: {}{}", stdout(&output), stderr(&output));
}

#[test]
fn the_files_keep_its_rules_and_its_format() {
    check(&["lint"]);
    check(&["format", "--diff", "--exit-code"]);
}

#[test]
fn nothing_breaks_who_was_built_against_the_last_release() {
    check(&["breaking", "--against", "proto/released.binpb"]);
}
