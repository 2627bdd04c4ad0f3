//! Health and metrics.

use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn probes_are_answered_under_any_name() {
    let rig = Rig::new().await;
    let alive = rig.ask("GET", "/healthz", &[("host", "10.0.0.7")], "").await;
    assert_eq!((alive.status, alive.body.as_str()), (200, "ok\n"));
    let ready = rig.ask("GET", "/readyz", &[("host", "10.0.0.7")], "").await;
    assert_eq!(ready.status, 200);
    assert_eq!(ready.json(), json!({ "ready": true, "targets": { "online": 2, "offline": 0, "unknown": 0 } }));
}

#[tokio::test]
async fn calls_are_counted_by_tool_and_outcome() {
    let rig = Rig::new().await;
    let session = rig.alice.start("printf abc; exec cat").await;
    rig.alice.run("session_read", json!({ "session_id": "0".repeat(26), "client_token": "fake" })).await;
    rig.alice.modern("tools/call", json!({ "name": "no_such_tool", "arguments": {} })).await;
    let read = json!({ "session_id": session, "client_token": "fake", "wait_ms": 20_000 });
    rig.bob.open().await;
    rig.alice.run("session_read", read).await;

    let bearer = rig.alice.bearer();
    let reply = rig.ask("GET", "/metrics", &[("host", "localhost"), ("authorization", &bearer)], "").await;
    assert_eq!(reply.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    for line in [
        "sessiond_tool_calls_total{tool=\"session_start\",outcome=\"ok\"} 1",
        "sessiond_tool_calls_total{tool=\"session_read\",outcome=\"ok\"} 1",
        "sessiond_tool_calls_total{tool=\"session_read\",outcome=\"not_found\"} 1",
        "sessiond_tool_call_duration_seconds_count{tool=\"session_read\"} 2",
        "sessiond_mcp_http_requests_total{status=\"200\"} 5",
        "sessiond_mcp_sessions 1",
        "sessiond_processes{backend=\"fake\",state=\"running\"} 1",
        "sessiond_processes{backend=\"fake\",state=\"stopping\"} 0",
        "sessiond_process_input_bytes_total{backend=\"fake\"} 0",
        "sessiond_process_output_bytes_total{backend=\"fake\"} 3",
        "sessiond_process_dropped_bytes_total{backend=\"fake\"} 0",
        "# EOF",
    ] {
        assert!(reply.body.lines().any(|found| found == line), "{line}:\n{}", reply.body);
    }
    assert!(!reply.body.contains("no_such_tool"), "callers make no series");
}
