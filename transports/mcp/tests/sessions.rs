//! A session's life as an agent sees it: start, read in a chain, write, wait, steer, stop, list.

use serde_json::{Value, json};

use crate::support::{Server, refusal};

#[tokio::test(start_paused = true)]
async fn a_session_lives_through_all_of_it() {
    let mut server = Server::new();
    let client = server.client().await;
    let started = client
        .call(
            "session_start",
            json!({"command": "echo ready; cat", "wait_ms": 1000, "until": {"pattern": "ready\r\n"}}),
        )
        .await;
    let session = started.structured["session_id"].as_str().unwrap().to_owned();
    let expected = json!({
        "session_id": session, "output": "ready\r\n", "next_cursor": 7, "truncated": false, "done": false,
    });
    assert_eq!(started.structured, expected);
    assert_eq!(started.meta, json!({"sessiond/fired": "pattern"}));
    assert_eq!(
        started.text,
        format!("session {session} started; not done; next_cursor 7; the wait ended by pattern\nready\r\n")
    );

    let until = json!({"pattern": "hello\r\nhello\r\n"});
    let arguments = json!({"session_id": session, "input": "hello\n", "wait_ms": 5000, "until": until});
    let written = client.call("session_write", arguments).await;
    let expected = json!({
        "accepted": true, "bytes": 6, "output": "hello\r\nhello\r\n", "next_cursor": 21, "truncated": false,
        "done": false,
    });
    assert_eq!(written.structured, expected);

    let listed = client.call("session_list", json!({"status": "running"})).await.structured;
    assert_eq!(listed["sessions"][0]["session_id"], session.as_str());
    assert_eq!(listed["sessions"][0]["output_end_cursor"], 21);

    let stopped = client.call("session_stop", json!({"session_id": session})).await;
    let expected = json!({
        "accepted": true, "already_done": false, "status": "stopped", "done": true, "exit_code": -1,
        "timed_out": false, "canceled": true, "error": "ended by signal TERM",
    });
    assert_eq!(stopped.structured, expected);
    assert_eq!(stopped.text, "stopped: exit code -1, canceled, ended by signal TERM");
    let again = client.call("session_stop", json!({"session_id": session})).await.structured;
    assert_eq!(
        (&again["accepted"], &again["already_done"], &again["status"]),
        (&json!(false), &json!(true), &json!("stopped"))
    );

    let refused = client.call("session_write", json!({"session_id": session, "input": "x"})).await;
    assert_eq!(refusal(&refused).0, "failed_precondition");
    let ignored = client.call("session_control", json!({"session_id": session, "action": "interrupt"})).await;
    assert!(!ignored.is_error && ignored.structured["accepted"] == false && ignored.structured["detail"].is_string());
}

#[tokio::test]
async fn a_chain_of_reads_is_the_whole_stream() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start("seq 1 2000").await;
    let whole = client.end_of(&session).await;
    let (mut joined, mut cursor) = (String::new(), json!(0));
    loop {
        let arguments = json!({"session_id": session, "cursor": cursor, "max_bytes": 1000, "wait_ms": 1000});
        let piece = client.call("session_read", arguments).await.structured;
        joined.push_str(piece["output"].as_str().unwrap());
        cursor = piece["next_cursor"].clone();
        if piece["done"] == true {
            break;
        }
        assert!(piece.get("exit_code").is_none());
    }
    assert_eq!((json!(joined), cursor), (whole["output"].clone(), whole["next_cursor"].clone()));
}

#[tokio::test(start_paused = true)]
async fn the_answer_says_what_ended_a_wait_for_something_particular() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start("echo one; sleep 3; echo two; sleep 100").await;
    let fired = async |until: Value, more: Value| {
        let mut arguments = json!({"session_id": session, "wait_ms": 2000, "until": until});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let reply = client.call("session_read", arguments).await;
        (reply.meta["sessiond/fired"].clone(), reply.structured["output"].clone())
    };
    assert_eq!(fired(json!({"pattern": "n."}), json!({})).await, (json!("pattern"), json!("one")));
    assert_eq!(fired(json!({"quiet_ms": 500}), json!({})).await, (json!("quiet"), json!("one\r\n")));
    assert_eq!(fired(json!({"end": true}), json!({"max_bytes": 4})).await, (json!("max_bytes"), json!("one\r")));
    assert_eq!(fired(json!({"end": true}), json!({"wait_ms": 0})).await, (json!("deadline"), json!("one\r\n")));
    let brief = client.start("true").await;
    let ended = client.call("session_read", json!({"session_id": brief, "wait_ms": 1, "until": {"end": true}})).await;
    assert_eq!(ended.meta, json!({"sessiond/fired": "end"}));
    let plain = client.call("session_read", json!({"session_id": brief, "wait_ms": 1})).await;
    assert_eq!(plain.meta, Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_ends_without_output_is_no_error() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start("sleep 100").await;
    let reply = client.call("session_read", json!({"session_id": session, "wait_ms": 20000})).await;
    let expected = json!({
        "session_id": session, "output": "", "next_cursor": 0, "truncated": false, "done": false,
    });
    assert_eq!((reply.is_error, reply.structured, reply.text.as_str()), (false, expected, "not done; next_cursor 0"));
}

#[tokio::test(start_paused = true)]
async fn a_session_is_steered() {
    let mut server = Server::new();
    let client = server.client().await;
    let control = async |session: &str, more: Value| {
        let mut arguments = json!({"session_id": session});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.call("session_control", arguments).await
    };

    let session = client.start("sleep 100").await;
    assert_eq!(control(&session, json!({"action": "interrupt"})).await.structured, json!({"accepted": true}));
    assert_eq!(client.end_of(&session).await["error"], "ended by signal INT");

    let session = client.start("sleep 100").await;
    control(&session, json!({"action": "signal", "signal": "SIGUSR1"})).await;
    assert_eq!(client.end_of(&session).await["error"], "ended by signal USR1");

    let session = client.start("cat").await;
    control(&session, json!({"action": "eof"})).await;
    assert_eq!(client.end_of(&session).await["exit_code"], 0);

    let session = client.start("read line; stty size").await;
    control(&session, json!({"action": "resize", "cols": 100, "rows": 30})).await;
    let keys = json!({"action": "keys", "keys": ["a", "enter"], "wait_ms": 1000, "until": {"end": true}});
    let pressed = control(&session, keys).await.structured;
    assert_eq!((&pressed["accepted"], &pressed["output"]), (&json!(true), &json!("a\r\n30 100\r\n")));

    let session = client.start("sleep 100").await;
    control(&session, json!({"action": "stop"})).await;
    assert_eq!(client.end_of(&session).await["canceled"], true);
}

#[tokio::test(start_paused = true)]
async fn input_that_nobody_reads_is_counted_and_not_accepted() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start("sleep 100").await;
    let input = "x".repeat(10_000);
    let reply = client.call("session_write", json!({"session_id": session, "input": input})).await;
    assert_eq!((&reply.structured["accepted"], &reply.structured["bytes"]), (&json!(false), &json!(4096)));
    assert_eq!(reply.structured["detail"], "the program does not read its input");
}

#[tokio::test]
async fn bytes_are_typed_in_base64_with_or_without_padding() {
    let mut server = Server::new();
    let client = server.client().await;
    for text in ["YQo=", "YQo"] {
        let session = client.start("cat").await;
        let until = json!({"pattern": "a\r\na\r\n"});
        let arguments = json!({"session_id": session, "input_base64": text, "wait_ms": 1000, "until": until});
        assert_eq!(client.call("session_write", arguments).await.meta["sessiond/fired"], "pattern", "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_outlives_a_stop_is_named() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start(":unkillable; sleep 100").await;
    client.call("session_read", json!({"session_id": session, "wait_ms": 100})).await;
    let reply = client.call("session_stop", json!({"session_id": session, "wait_ms": 5000})).await;
    let expected = json!({
        "accepted": true, "already_done": false, "status": "stopping", "done": false,
        "error": "still alive after KILL: 1000",
    });
    assert_eq!(reply.structured, expected);
}

#[tokio::test]
async fn a_lost_session_is_done_and_neither_canceled_nor_a_success() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start(":lost the line went dead").await;
    let expected = json!({
        "session_id": session, "output": "", "next_cursor": 0, "truncated": false, "done": true, "exit_code": -1,
        "timed_out": false, "canceled": false, "error": "lost: the line went dead",
    });
    assert_eq!(client.end_of(&session).await, expected);
}

#[tokio::test(start_paused = true)]
async fn sessions_are_listed_page_by_page() {
    let mut server = Server::new();
    let client = server.client().await;
    for command in ["exit 1", "exit 2", "sleep 100"] {
        let session = client.call("session_start", json!({"command": command, "label": command})).await;
        if command.starts_with("exit") {
            client.end_of(session.structured["session_id"].as_str().unwrap()).await;
        }
    }
    let mut seen = Vec::new();
    let mut token = Value::Null;
    loop {
        let page = client.call("session_list", json!({"limit": 1, "page_token": token})).await.structured;
        let [session] = page["sessions"].as_array().unwrap().as_slice() else { panic!("{page}") };
        seen.push((session["label"].clone(), session["status"].clone(), session.get("exit_code").cloned()));
        assert_eq!(session["started_at"].as_str().unwrap().len(), "2026-11-30T15:00:00.000Z".len());
        match page.get("next_page_token") {
            Some(next) => token = next.clone(),
            None => break,
        }
    }
    let expected = [
        (json!("sleep 100"), json!("running"), None),
        (json!("exit 2"), json!("finished"), Some(json!(2))),
        (json!("exit 1"), json!("finished"), Some(json!(1))),
    ];
    assert_eq!(seen, expected);
    let running = client.call("session_list", json!({"status": "running"})).await;
    let id = running.structured["sessions"][0]["session_id"].as_str().unwrap();
    assert_eq!(running.text, format!("1 session\n{id} on local running: sleep 100"));
    let page = client.call("session_list", json!({"limit": 2})).await;
    assert!(page.text.starts_with("2 sessions, and more on the next page\n"), "{}", page.text);
    assert_eq!(client.call("session_list", json!({"client_token": "other"})).await.text, "0 sessions");
}

#[tokio::test(start_paused = true)]
async fn a_long_list_is_cut_in_the_text_alone() {
    let mut server = Server::new();
    let client = server.client().await;
    for number in 1..=64 {
        client.start(&format!("sleep 100\nexit {number:020}")).await;
    }
    let list = client.call("session_list", json!({"limit": 100})).await;
    assert_eq!(list.structured["sessions"].as_array().unwrap().len(), 64);
    let lines: Vec<_> = list.text.lines().collect();
    assert!(
        list.text.len() < 4200 && lines[1].ends_with(" on local running: sleep 100 exit 00000000000000000064"),
        "{}",
        list.text
    );
    assert_eq!(lines.last().unwrap(), &format!("{} more in structuredContent", 64 - (lines.len() - 2)));
}

#[tokio::test(start_paused = true)]
async fn a_list_shows_the_beginning_of_a_long_command() {
    let mut server = Server::new();
    let client = server.client().await;
    client.start(&format!("sleep 100\n{}", "é".repeat(2000))).await;
    let list = client.call("session_list", json!({})).await;
    assert_eq!(list.structured["sessions"][0]["command"], format!("sleep 100\n{}…", "é".repeat(1014)));
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_time_says_that_it_has_only_looked() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start("echo hi; sleep 100").await;
    let look = json!({"session_id": session, "cursor": 4, "until": {"end": true}});
    let reply = client.call("session_read", look).await;
    assert_eq!(reply.text, "not done; next_cursor 4; wait_ms is 0: looked once");
    assert_eq!(reply.meta["sessiond/fired"], "deadline");
    let wait = json!({"session_id": session, "cursor": 4, "wait_ms": 100, "until": {"end": true}});
    assert_eq!(client.call("session_read", wait).await.text, "not done; next_cursor 4; the wait ended by deadline");
}
