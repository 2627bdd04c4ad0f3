//! Commands on a host from their start to the end of their handle, over the registry and a scripted backend.

use serde_json::{Value, json};

use crate::support::{Client, Server, refusal};

async fn run(client: &Client, arguments: Value) -> Value {
    client.call("ssh_cmd_run", arguments).await.structured
}

#[tokio::test(start_paused = true)]
async fn no_call_waits_longer_than_fifty_seconds_and_each_reports_on_its_way() {
    let mut server = Server::with_hosts();
    let client = server.client().await;
    let ran = run(&client, json!({"command": "echo hi; sleep 70", "host_name": "local", "io_timeout": 600})).await;
    let facts = ["status", "still_running", "wait_capped", "output"].map(|name| ran[name].clone());
    assert_eq!(facts, [json!("wait_timeout"), json!(true), json!(true), json!("hi\n")]);
    let mut reports = client.reports.lock().unwrap().clone();
    // The last one comes together with the answer.
    reports.truncate(4);
    let expected = [10, 20, 30, 40].map(|seconds| (f64::from(seconds), format!("{seconds} s, 3 bytes of output")));
    assert_eq!(reports, expected);

    let handle = json!({"handle_id": ran["handle_id"], "wait_seconds": 50});
    let checked = client.call("ssh_cmd_check_status", handle).await.structured;
    assert_eq!((&checked["status"], &checked["exit_code"]), (&json!("completed"), &json!(0)));
    let waited = checked["waited_seconds"].as_f64().unwrap();
    assert!((19.0..21.0).contains(&waited), "{waited}");
}

#[tokio::test]
async fn a_handle_leads_to_output_status_and_end() {
    let mut server = Server::with_hosts();
    let client = server.client().await;
    let arguments = json!({"command": "echo one; echo two; sleep 1000", "host_name": "local", "io_timeout": 0.05});
    let ran = run(&client, arguments).await;
    assert_eq!((&ran["status"], &ran["host_name"]), (&json!("io_timeout"), &json!("local")));
    let handle = ran["handle_id"].clone();
    let lines = client.call("ssh_cmd_output", json!({"handle_id": handle, "lines": 1})).await;
    assert_eq!(lines.structured, json!({"result": ["two"]}));
    let killed = client.call("ssh_cmd_kill", json!({"handle_id": handle})).await.structured;
    assert_eq!((&killed["result"], &killed["signal"]), (&json!("killed"), &json!("TERM")));
    let again = client.call("ssh_cmd_kill", json!({"handle_id": handle})).await.structured;
    assert_eq!(again["result"], "not_running");
    let history = client.call("ssh_cmd_history", json!({"output_lines": 1})).await.structured;
    let listed = &history["result"][0];
    assert_eq!(
        (&listed["handle_id"], &listed["status"], &listed["output"]),
        (&handle, &json!("killed"), &json!(["two"]))
    );
    let cleared = client.call("ssh_cmd_clear_history", json!({})).await.structured;
    assert_eq!(cleared["cleared_entries"], 1);
    let gone = client.call("ssh_cmd_output", json!({"handle_id": handle})).await;
    assert_eq!(refusal(&gone).0, "not_found");
}

#[tokio::test]
async fn a_host_need_not_be_named_while_one_is_connected() {
    let mut server = Server::with_hosts();
    let client = server.client().await;
    let none = client.call("ssh_cmd_run", json!({"command": "true"})).await;
    let (kind, text) = refusal(&none);
    assert!(kind == "failed_precondition" && text.contains("ssh_host_list"), "{text}");
    client.call("ssh_conn_connect", json!({"host_name": "other"})).await;
    assert_eq!(run(&client, json!({"command": "echo hi"})).await["host_name"], "other");
    client.call("ssh_conn_connect", json!({"host_name": "local"})).await;
    let both = client.call("ssh_cmd_run", json!({"command": "true"})).await;
    let (kind, text) = refusal(&both);
    assert!(kind == "failed_precondition" && text.contains("local") && text.contains("other"), "{text}");
    let gone = client.call("ssh_host_disconnect", json!({"host_name": "local"})).await.structured;
    assert_eq!((&gone["status"], &gone["was_connected"]), (&json!("disconnected"), &json!(true)));
    assert_eq!(run(&client, json!({"command": "echo hi"})).await["status"], "success");
}
