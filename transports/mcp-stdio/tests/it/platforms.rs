//! The tools of agent platforms: there where one is configured, here or behind a bridge, and asking for the list asks no
//! platform anything.

use serde_json::{Value, json};

use crate::support::{Place, Server};

/// A platform at a port where nobody listens.
const FLOW: &str = "\
[targets.flow]
backend = \"agent-platform\"
dialect = \"itential\"
url = \"http://127.0.0.1:1\"
";

/// A place whose servers behind bridges are ended with it.
struct Configured(Place);

impl Configured {
    fn new() -> Self {
        let place = Place::new();
        std::fs::write(place.path("sessiond.toml"), FLOW).unwrap();
        Self(place)
    }

    fn server(&self, more: &[&str]) -> Server {
        let configuration = self.0.path("sessiond.toml");
        let args: Vec<&str> =
            ["--config", configuration.to_str().unwrap()].into_iter().chain(more.iter().copied()).collect();
        Server::start(self.0.command(&args))
    }
}

impl Drop for Configured {
    fn drop(&mut self) {
        self.0.end_upstreams();
    }
}

fn names(server: &mut Server) -> Vec<String> {
    let list = server.request("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn where_a_platform_is_configured_its_tools_are_listed_also_behind_a_bridge() {
    let place = Configured::new();
    for connect in [&[][..], &["--connect", "auto"]] {
        let mut server = place.server(connect);
        let names = names(&mut server);
        assert_eq!(names.len(), 16, "{names:?}");
        assert_eq!(names.last().map(String::as_str), Some("complete_manual_task"));
        let refused = json!({"name": "describe_session", "arguments": {"session_id": "../../whoami"}});
        let answer = server.request("tools/call", refused);
        assert_eq!(answer["result"]["_meta"]["sessiond/error"], "invalid_argument", "{answer}");
        let clients = server.call("list_clients", json!({}));
        let flow = clients["clients"].as_array().unwrap().iter().find(|client| client["name"] == "flow").unwrap();
        assert_eq!((&flow["backend"], &flow["dialect"]), (&json!("agent-platform"), &json!("itential")));
        server.close();
        assert!(server.end().0.success());
    }
}

#[test]
fn without_a_platform_its_tools_are_not_there() {
    let place = Place::new();
    let mut server = Server::start(place.command(&[]));
    assert!(!names(&mut server).contains(&"describe_session".to_owned()));
    let answer = server.request("tools/call", json!({"name": "describe_session", "arguments": {"session_id": "s1"}}));
    assert_eq!((&answer["result"], &answer["error"]["code"]), (&Value::Null, &json!(-32602)), "{answer}");
    server.close();
    assert!(server.end().0.success());
}
