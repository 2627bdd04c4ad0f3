//! `execute_command`: results that are errors too, limits, and what is left behind (SF04).

use serde_json::json;

use crate::support::Server;

#[tokio::test]
async fn a_command_returns_both_streams_and_its_code() {
    let mut server = Server::new();
    let client = server.client().await;
    let reply = client.call("execute_command", json!({"command": "echo out; echo err >&2"})).await;
    let expected = json!({
        "stdout": "out\n", "stderr": "err\n", "exit_code": 0, "timed_out": false, "canceled": false, "truncated": false,
    });
    assert_eq!((reply.is_error, reply.structured), (false, expected));
    assert_eq!(reply.text, "exit code 0\nstdout:\nout\nstderr:\nerr\n");
}

#[tokio::test]
async fn a_non_zero_exit_is_an_error_with_a_full_result() {
    let mut server = Server::new();
    let client = server.client().await;
    let reply = client.call("execute_command", json!({"command": "echo no; exit 3"})).await;
    let expected = json!({
        "stdout": "no\n", "stderr": "", "exit_code": 3, "timed_out": false, "canceled": false, "truncated": false,
    });
    assert_eq!((reply.is_error, reply.structured), (true, expected));
    assert_eq!(reply.meta, serde_json::Value::Null);
}

#[tokio::test]
async fn standard_input_is_handed_over_and_ends() {
    let mut server = Server::new();
    let client = server.client().await;
    let reply = client.call("execute_command", json!({"command": "cat", "stdin": "one\ntwo"})).await;
    assert_eq!(reply.structured["stdout"], "one\ntwo");
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_stops_the_command_and_says_so() {
    let mut server = Server::new();
    let client = server.client().await;
    let arguments = json!({"command": "echo begun; sleep 1000", "timeout_ms": 1500});
    let reply = client.call("execute_command", arguments).await;
    let expected = json!({
        "stdout": "begun\n", "stderr": "", "exit_code": -1, "timed_out": true, "canceled": false, "truncated": false,
        "error": "ended by signal TERM: its time limit of 1500 ms was reached",
    });
    assert_eq!((reply.is_error, reply.structured), (true, expected));
}

#[tokio::test(start_paused = true)]
async fn without_a_named_limit_a_command_has_a_minute_and_zero_is_none() {
    let mut server = Server::new();
    let client = server.client().await;
    let reply = client.call("execute_command", json!({"command": "sleep 61"})).await;
    assert_eq!(reply.structured["timed_out"], true);
    let reply = client.call("execute_command", json!({"command": "sleep 61", "timeout_ms": 0})).await;
    assert_eq!((&reply.structured["timed_out"], &reply.structured["exit_code"]), (&json!(false), &json!(0)));
}

#[tokio::test]
async fn what_is_beyond_a_mebibyte_is_discarded() {
    let mut server = Server::new();
    let client = server.client().await;
    let command = "head -c 1048576 /dev/zero; echo lost >&2";
    let reply = client.call("execute_command", json!({"command": command})).await;
    assert_eq!(reply.structured["stdout"].as_str().unwrap().len(), 1_048_576);
    assert_eq!((&reply.structured["stderr"], &reply.structured["truncated"]), (&json!(""), &json!(true)));
    assert_eq!(
        reply.text,
        "exit code 0; output beyond the first 1 MiB was discarded; 1048576 bytes of output are not repeated in this text: \
         they are in structuredContent; for a client that shows text alone, mcp.text = \"full\" in the server's \
         configuration puts them here"
    );
}

#[tokio::test]
async fn what_is_left_in_the_background_is_named() {
    let mut server = Server::new();
    let client = server.client().await;
    let reply = client.call("execute_command", json!({"command": "sleep 1000 &; echo hi"})).await;
    assert_eq!(reply.text, "exit code 0; still running in the background: 1001000\nstdout:\nhi\n");
    assert_eq!(reply.structured["detail"], "still running in the background: 1001000");
}
