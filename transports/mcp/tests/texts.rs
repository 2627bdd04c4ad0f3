//! The text of an answer: small output is in it, big output is not sent twice, unless a client shows nothing else.

use rmcp::model::ProtocolVersion;
use serde_json::json;
use sessiond_mcp::TextStyle;

use crate::support::{Client, Era, Server, management};

async fn read_all(client: &Client, command: &str) -> String {
    let session = client.start(command).await;
    client.end_of(&session).await;
    client.call("session_read", json!({"session_id": session})).await.text
}

#[tokio::test]
async fn output_of_four_kibibytes_is_in_the_text_and_of_more_where_it_is() {
    let mut server = Server::new();
    let client = server.client().await;
    let line = "x".repeat(4094);
    let small = read_all(&client, &format!("echo {line}")).await;
    assert_eq!(small, format!("done: exit code 0; next_cursor 4096\n{line}\r\n"));
    let big = read_all(&client, &format!("echo x{line}")).await;
    assert_eq!(
        big,
        "done: exit code 0; next_cursor 4097; 4097 bytes of output are not repeated in this text: they are in \
         structuredContent; for a client that shows text alone, mcp.text = \"full\" in the server's configuration puts \
         them here"
    );
}

#[tokio::test]
async fn a_client_that_shows_text_alone_can_have_all_of_it() {
    let mut server = Server::new();
    let client = server.client_of(management(), TextStyle::Full, Era::legacy()).await;
    let line = "x".repeat(5000);
    let text = read_all(&client, &format!("echo {line}")).await;
    assert_eq!(text, format!("done: exit code 0; next_cursor 5002\n{line}\r\n"));
}

#[tokio::test]
async fn a_protocol_without_structured_content_has_all_of_it_in_any_case() {
    let mut server = Server::new();
    for version in [ProtocolVersion::V_2024_11_05, ProtocolVersion::V_2025_03_26] {
        let client = server.client_of(management(), TextStyle::Short, Era::initialize(version)).await;
        let line = "x".repeat(5000);
        assert!(read_all(&client, &format!("echo {line}")).await.ends_with(&format!("{line}\r\n")));
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_read_as_replacement_characters() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start("printf 'a\\xe2\\x82z'").await;
    assert_eq!(client.end_of(&session).await["output"], "a\u{fffd}\u{fffd}z");
}

#[tokio::test]
async fn a_loss_is_told() {
    let mut server = Server::new();
    let client = server.client().await;
    let session = client.start("head -c 1048580 /dev/zero").await;
    client.end_of(&session).await;
    let reply = client.call("session_read", json!({"session_id": session, "max_bytes": 4})).await;
    let expected = json!({
        "session_id": session, "output": "\0\0\0\0", "next_cursor": 8, "truncated": true, "done": false,
    });
    assert_eq!(reply.structured, expected);
    assert_eq!(reply.text, "not done; next_cursor 8; 4 bytes before this output are no longer kept\n\0\0\0\0");
}
