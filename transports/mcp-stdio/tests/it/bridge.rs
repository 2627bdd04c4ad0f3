//! The bridge's command line, and what it does without a server.

use serde_json::json;

use crate::support::{Place, Server, stderr};

#[test]
fn without_a_server_calls_are_unavailable() {
    let place = Place::new();
    let address = format!("unix:{}", place.path("nobody").display());
    let mut server = Server::start(place.command(&["--connect", &address, "--log", "off"]));
    let answer = server.request("tools/call", json!({"name": "list_clients", "arguments": {}}));
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["_meta"]["sessiond/error"], "unavailable");
    server.close();
    assert!(server.end().0.success());
}

#[test]
fn a_bridge_is_for_serving_and_needs_an_address() {
    let place = Place::new();
    let check = place.run(&["--connect", "auto", "check"], "");
    assert!(!check.status.success());
    assert!(stderr(&check).contains("--connect is for serving"), "{}", stderr(&check));
    let address = place.run(&["--connect", "nowhere"], "");
    assert!(stderr(&address).contains("is no address: give unix:PATH or IP:PORT"), "{}", stderr(&address));
}
