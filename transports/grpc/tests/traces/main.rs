//! Traces as a collector gets them from the binaries, whoever calls over whatever transport.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is how a test reports a surprise"
)]

mod collector;
mod servers;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use serde_json::{Value, json};
use sessiond_bootstrap::identity::Identity;
use sessiond_core::{Call, Cursor, ExecuteCommand, Invocation, Service, TargetName};
use sessiond_grpc::Item;
use sessiond_grpc::client::{Credentials, GrpcClient, SessionRef, new_session};
use tempfile::TempDir;

use crate::collector::{CALLER, Collector};
use crate::servers::{Tools, Upstream, program};

/// A place to run in, and the socket of a server there.
fn place() -> (TempDir, String) {
    let place = tempfile::tempdir().unwrap();
    let socket = format!("unix:{}", place.path().join("s").display());
    (place, socket)
}

/// A command that holds what no trace may.
fn command() -> Value {
    json!({"command": "echo hunter2; cat", "stdin": "hunter2", "env": {"TOKEN": "hunter2"}, "client_token": "local"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_over_stdin_is_one_trace_with_its_verb_and_its_backend_and_says_nothing_of_what_was_run() {
    let (collector, (place, _)) = (Collector::new().await, place());
    let endpoint = ("SESSIOND_TELEMETRY__OTLP_ENDPOINT", collector.endpoint.as_str());
    let mut tools = Tools::start(program("sessiond-mcp-stdio", place.path(), &[endpoint]));
    assert_eq!(tools.call("execute_command", command(), Some(CALLER))["isError"], false);
    assert_eq!(tools.end(), "");
    assert_eq!(
        collector.spans(),
        [
            "of the caller: sessiond-mcp-stdio \"tools/call execute_command\" server \
             sessiond.outcome=ok sessiond.transport=mcp-stdio",
            "  sessiond-mcp-stdio \"execute_command\" internal \
             sessiond.outcome=ok sessiond.owner=stdio sessiond.target=local sessiond.verb=execute_command",
            "    sessiond-mcp-stdio \"pty run_command\" client \
             sessiond.backend=pty sessiond.outcome=ok sessiond.target=local",
        ]
    );
    assert!(!collector.everything().contains("hunter2"));
    collector.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_sends_no_trace_or_a_malformed_one_gets_one_of_its_own_and_what_it_wrote_is_no_part_of_it() {
    let (collector, (place, _)) = (Collector::new().await, place());
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint.as_str());
    let name = ("OTEL_SERVICE_NAME", "tools");
    let mut tools = Tools::start(program("sessiond-mcp-stdio", place.path(), &[endpoint, name]));
    let nowhere = json!({"command": "true", "client_token": "hunter2"});
    for traceparent in [None, Some("00-0af7651916cd43dd8448eb211c80319c-hunter2-01")] {
        assert_eq!(tools.call("execute_command", nowhere.clone(), traceparent)["isError"], true);
    }
    // A caller who samples nothing decides for everybody behind it.
    let unsampled = CALLER.replace("-01", "-00");
    assert_eq!(tools.call("execute_command", command(), Some(&unsampled))["isError"], false);
    tools.end();
    let each = [
        "of nobody: tools \"tools/call execute_command\" server \
         sessiond.outcome=not_found sessiond.transport=mcp-stdio",
        "  tools \"execute_command\" internal \
         sessiond.outcome=not_found sessiond.owner=stdio sessiond.verb=execute_command",
    ];
    assert_eq!(collector.spans(), [each, each].concat());
    assert!(!collector.everything().contains("hunter2"));
    collector.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_over_grpc_is_part_of_the_trace_that_its_metadata_names() {
    let (collector, (place, socket)) = (Collector::new().await, place());
    let endpoint = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector.endpoint.as_str());
    let mut server = program("sessiond-grpc", place.path(), &[endpoint]);
    server.args(["--listen", &socket]);
    let server = Upstream::start(server);
    let client = GrpcClient::lazy(&socket.parse().unwrap(), &Credentials::none()).unwrap();
    let traced = client.clone().tracing(|| Some(CALLER.to_owned()));
    for (target, ok) in [("local", true), ("nowhere", false)] {
        let request = ExecuteCommand {
            target: Some(TargetName::new(target).unwrap()),
            client_id: None,
            invocation: Invocation::new("true"),
            stdin: Default::default(),
            time_limit: None,
        };
        assert_eq!(traced.execute_command(&cx(), request).await.is_ok(), ok);
    }
    drop((client, traced));
    server.end();
    assert_eq!(
        collector.spans(),
        [
            "of the caller: sessiond-grpc \"sessiond.v1.CommandService/ExecuteCommand\" server \
             sessiond.outcome=ok sessiond.transport=grpc",
            &format!(
                "  sessiond-grpc \"execute_command\" internal sessiond.outcome=ok sessiond.owner={} \
                 sessiond.target=local sessiond.verb=execute_command",
                owner()
            ),
            "    sessiond-grpc \"pty run_command\" client \
             sessiond.backend=pty sessiond.outcome=ok sessiond.target=local",
            "of the caller: sessiond-grpc \"sessiond.v1.CommandService/ExecuteCommand\" server \
             sessiond.outcome=not_found sessiond.transport=grpc",
            &format!(
                "  sessiond-grpc \"execute_command\" internal sessiond.outcome=not_found sessiond.owner={} \
                 sessiond.verb=execute_command",
                owner()
            ),
        ]
    );
    collector.end().await;
}

/// What a follower reads on its way would be thousands of spans.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_one_span_however_much_it_reads() {
    let (collector, (place, socket)) = (Collector::new().await, place());
    let endpoint = ("SESSIOND_TELEMETRY__OTLP_ENDPOINT", collector.endpoint.as_str());
    let mut server = program("sessiond-grpc", place.path(), &[endpoint]);
    server.args(["--listen", &socket]);
    let server = Upstream::start(server);
    let client = GrpcClient::connect(&socket.parse().unwrap()).await.unwrap();
    let target = TargetName::new("local").unwrap();
    let started = client.start_session(&cx(), new_session(target.clone(), Invocation::new("seq 100000"))).await;
    let session = SessionRef { session: started.unwrap().session, target: Some(target) };
    let traced = client.clone().tracing(|| Some(CALLER.to_owned()));
    let items: Vec<_> = traced.follow_session(&cx(), &session, Cursor::START).await.unwrap().collect().await;
    assert!(matches!(items.last(), Some(Ok(Item::End(_)))), "{:?}", items.last());
    drop((client, traced));
    server.end();
    let spans = collector.spans();
    let of_the_stream = spans.iter().skip_while(|span| !span.starts_with("of the caller")).collect::<Vec<_>>();
    assert_eq!(
        of_the_stream,
        ["of the caller: sessiond-grpc \"sessiond.v1.SessionService/FollowSession\" server \
          sessiond.outcome=ok sessiond.transport=grpc"]
    );
    collector.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_over_http_is_part_of_the_trace_of_its_header_unless_the_call_itself_names_another() {
    let (collector, (place, _)) = (Collector::new().await, place());
    let endpoint = ("SESSIOND_TELEMETRY__OTLP_ENDPOINT", collector.endpoint.as_str());
    let mut server = program("sessiond-mcp-http", place.path(), &[endpoint]);
    server.args(["--no-password", "--listen", "127.0.0.1:0"]);
    let server = Upstream::start(server);
    let other = "00-11111111111111111111111111111111-2222222222222222-01";
    for (header, meta) in [(Some(CALLER), None), (Some(other), Some(CALLER)), (None, Some(CALLER))] {
        let answer = server.post("list_clients", header, meta);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    server.end();
    let verb = format!(
        "  sessiond-mcp-http \"list_targets\" internal sessiond.outcome=ok sessiond.owner={} sessiond.verb=list_targets",
        Identity::no_password().owner.name()
    );
    let each = [
        "of the caller: sessiond-mcp-http \"tools/call list_clients\" server \
         sessiond.outcome=ok sessiond.transport=mcp-http",
        &verb,
        "    sessiond-mcp-http \"pty status\" client \
         sessiond.backend=pty sessiond.outcome=online sessiond.target=local",
    ];
    assert_eq!(collector.spans(), [each, each, each].concat());
    collector.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_through_the_bridge_is_one_trace_of_two_processes() {
    let (collector, (place, socket)) = (Collector::new().await, place());
    let endpoint = ("SESSIOND_TELEMETRY__OTLP_ENDPOINT", collector.endpoint.as_str());
    let mut server = program("sessiond-grpc", place.path(), &[endpoint]);
    server.args(["--listen", &socket]);
    let server = Upstream::start(server);
    let mut bridge = program("sessiond-mcp-stdio", place.path(), &[endpoint]);
    bridge.args(["--connect", &socket]);
    let mut bridge = Tools::start(bridge);
    assert_eq!(bridge.call("execute_command", command(), Some(CALLER))["isError"], false);
    bridge.end();
    server.end();
    let spans = collector.spans();
    // What the bridge asks before anybody has called is part of nobody's trace.
    let of_the_call = spans.iter().skip_while(|span| !span.starts_with("of the caller")).collect::<Vec<_>>();
    assert_eq!(
        of_the_call,
        [
            "of the caller: sessiond-mcp-stdio \"tools/call execute_command\" server \
             sessiond.outcome=ok sessiond.transport=mcp-stdio",
            "  sessiond-mcp-stdio \"execute_command\" client \
             sessiond.outcome=ok sessiond.owner=stdio sessiond.target=local sessiond.verb=execute_command",
            "    sessiond-grpc \"sessiond.v1.CommandService/ExecuteCommand\" server \
             sessiond.outcome=ok sessiond.transport=grpc",
            &format!(
                "      sessiond-grpc \"execute_command\" internal sessiond.outcome=ok sessiond.owner={} \
                 sessiond.target=local sessiond.verb=execute_command",
                owner()
            ),
            "        sessiond-grpc \"pty run_command\" client \
             sessiond.backend=pty sessiond.outcome=ok sessiond.target=local",
        ]
    );
    assert!(!collector.everything().contains("hunter2"));
    collector.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_address_or_where_the_environment_speaks_against_it_nothing_is_sent() {
    let (collector, (place, _)) = (Collector::new().await, place());
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint.as_str());
    let off: [&[(&str, &str)]; 4] = [
        &[],
        &[endpoint, ("OTEL_SDK_DISABLED", "true")],
        &[endpoint, ("OTEL_TRACES_EXPORTER", "none")],
        &[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")],
    ];
    for variables in off {
        let mut tools = Tools::start(program("sessiond-mcp-stdio", place.path(), variables));
        assert_eq!(tools.call("execute_command", command(), Some(CALLER))["isError"], false);
        assert_eq!(tools.end(), "");
    }
    assert_eq!(collector.everything(), "[]");
    collector.end().await;
}

/// One that refuses connections, and one that takes them and says nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_away_costs_no_call_and_no_end_and_is_logged_once() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [gone, silent.local_addr().unwrap()] {
        let (place, _) = place();
        let endpoint = format!("http://{address}");
        let variables = [("SESSIOND_TELEMETRY__OTLP_ENDPOINT", endpoint.as_str())];
        let mut tools = Tools::start(program("sessiond-mcp-stdio", place.path(), &variables));
        let began = Instant::now();
        // More than go into one request.
        for _ in 0..300 {
            assert_eq!(tools.call("list_clients", json!({}), None)["isError"], false);
        }
        let (called, began) = (began.elapsed(), Instant::now());
        let log = tools.end();
        assert!(called < Duration::from_secs(10), "300 calls took {called:?}");
        assert!(began.elapsed() < Duration::from_secs(2), "the end took {:?}", began.elapsed());
        assert_eq!(log.lines().count(), 1, "{log}");
        assert!(log.contains(" WARN "), "{log}");
    }
}

fn cx() -> Call {
    GrpcClient::call()
}

/// Whose the calls over the socket are.
fn owner() -> String {
    Identity::unix(sessiond_grpc::client::uid()).owner.name().to_string()
}
