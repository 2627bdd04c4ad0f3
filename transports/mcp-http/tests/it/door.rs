//! Who gets in, and what is said to those who do not.

use serde_json::json;

use crate::rig::{MODERN, Rig, modern};
use crate::wire::Wire;

fn list() -> String {
    modern("tools/list", json!({})).to_string()
}

/// The headers of a good request but for who asks.
fn headers<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/list"),
    ];
    headers.extend(more);
    headers
}

#[tokio::test]
async fn who_brings_no_key_is_told_where_to_ask_for_one() {
    let rig = Rig::new().await;
    let host = rig.address.to_string();
    let reply = rig.ask("POST", "/mcp", &headers(&[("host", &host)]), &list()).await;
    assert_eq!(reply.status, 401);
    let metadata = format!("http://{host}/.well-known/oauth-protected-resource/mcp");
    let challenge = format!("Bearer realm=\"sessiond\", resource_metadata=\"{metadata}\"");
    assert_eq!(reply.header("www-authenticate"), challenge);
    assert_eq!(reply.message(), "a credential is missing: send authorization: Bearer and a key of this server");

    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
        let reply = rig.ask("GET", path, &[("host", &host)], "").await;
        assert_eq!(reply.status, 200);
        let expected = json!({
            "resource": format!("http://{host}/mcp"),
            "resource_name": "sessiond",
            "bearer_methods_supported": ["header"],
        });
        assert_eq!(reply.json(), expected);
    }
}

#[tokio::test]
async fn a_wrong_credential_proves_nobody() {
    let rig = Rig::new().await;
    let unknown = format!("Bearer sdk_{}", "0".repeat(64));
    for (credential, status, error) in [
        (unknown.as_str(), 401, "invalid_token"),
        ("Bearer not-a-key", 401, "invalid_token"),
        ("Bearer ", 400, "invalid_request"),
        ("Basic YTpi", 400, "invalid_request"),
        ("nonsense", 400, "invalid_request"),
    ] {
        let reply =
            rig.ask("POST", "/mcp", &headers(&[("host", "localhost"), ("authorization", credential)]), &list()).await;
        assert_eq!(reply.status, status, "{credential}");
        let challenge = reply.header("www-authenticate");
        assert!(challenge.contains(&format!("error=\"{error}\"")), "{credential}: {challenge}");
    }
    let (good, other) = (rig.alice.bearer(), rig.bob.bearer());
    let two = [("host", "localhost"), ("authorization", &good), ("authorization", &other)];
    assert_eq!(rig.ask("POST", "/mcp", &headers(&two), &list()).await.status, 400, "two are none");
    let query = format!("/mcp?access_token={}", good.trim_start_matches("Bearer "));
    assert_eq!(rig.ask("POST", &query, &headers(&[("host", "localhost")]), &list()).await.status, 401);
    let good = [("host", "localhost"), ("authorization", good.as_str())];
    assert_eq!(rig.ask("POST", "/mcp", &headers(&good), &list()).await.status, 200);
}

#[tokio::test]
async fn who_guesses_has_to_wait_and_who_has_a_key_has_not() {
    let rig = Rig::new().await;
    rig.alice.run("list_clients", json!({})).await;
    let mut wire = Wire::to(rig.address).await;
    let mut answers = [0, 0];
    for guess in 0..10_000 {
        let key = format!("Bearer sdk_{guess:064}");
        wire.ask("POST", "/mcp", &headers(&[("host", "localhost"), ("authorization", &key)]), &list()).await;
        let reply = wire.reply().await;
        match reply.status {
            401 => answers[0] += 1,
            429 => {
                assert!((1..=6).contains(&reply.header("retry-after").parse::<u64>().unwrap()), "{reply:?}");
                answers[1] += 1;
            }
            other => panic!("{other}"),
        }
    }
    let [looked_at, put_off] = answers;
    assert!(looked_at < 60 && looked_at + put_off == 10_000, "{looked_at} were looked at");
    rig.alice.run("list_clients", json!({})).await;
}

#[tokio::test]
async fn a_page_that_points_its_own_name_here_gets_nothing() {
    let rig = Rig::new().await;
    let (bearer, port) = (rig.alice.bearer(), rig.address.port());
    let ask = async |host: &str, origin: Option<&str>| {
        let mut more = vec![("host", host), ("authorization", bearer.as_str())];
        more.extend(origin.map(|origin| ("origin", origin)));
        rig.ask("POST", "/mcp", &headers(&more), &list()).await.status
    };
    assert_eq!(ask(&format!("localhost:{port}"), None).await, 200);
    assert_eq!(ask("127.0.0.1", Some("http://localhost:6274")).await, 200);
    for host in ["evil.example", "evil.example:80", "localhost.evil.example", "169.254.169.254"] {
        assert_eq!(ask(host, None).await, 403, "{host}");
    }
    for origin in ["http://evil.example", "null", "https://localhost.evil.example"] {
        assert_eq!(ask("localhost", Some(origin)).await, 403, "{origin}");
    }
    for path in ["/metrics", "/.well-known/oauth-protected-resource/mcp"] {
        let more = [("host", "evil.example"), ("authorization", bearer.as_str())];
        assert_eq!(rig.ask("GET", path, &more, "").await.status, 403, "{path}");
    }
}

#[tokio::test]
async fn a_key_that_is_taken_back_ends_what_it_has_open() {
    let rig = Rig::new().await;
    let session = rig.alice.open().await;
    let mut stream = rig.alice.bare("GET", &session, None).await;
    assert_eq!(stream.head().await.unwrap().status, 200);
    let waiting = rig.alice.start("cat").await;
    let wait = json!({ "session_id": waiting, "client_token": "fake", "wait_ms": 20_000 });
    let mut legacy = rig.alice.begin(Some(&session), &crate::rig::call(7, "session_read", wait.clone())).await;
    assert_eq!(legacy.head().await.unwrap().status, 200);
    let mut modern = rig.alice.begin_modern("tools/call", json!({ "name": "session_read", "arguments": wait })).await;
    let bob = rig.bob.open().await;

    rig.keep(&[&rig.bob]);
    assert_eq!(stream.message().await, None, "the stream ends without a message");
    assert_eq!(legacy.message().await, None);
    // It may have been refused before it waited.
    assert_eq!(modern.reply().await.status, 401);
    let reply = rig.alice.post(Some(&session), &crate::rig::call(8, "list_clients", json!({}))).await;
    assert_eq!(reply.status, 401);
    rig.bob.call(&bob, "list_clients", json!({})).await;
}

#[tokio::test]
async fn a_key_that_expires_ends_what_it_has_open() {
    let rig = Rig::new().await;
    // Long enough to open everything, even where the machine has much else to do.
    let role = format!("role = 'full'\n{}", crate::rig::expires_in(5)).leak();
    let guest = rig.alice.another("guest", role);
    rig.keep(&[&rig.bob, &guest]);
    let session = guest.open().await;
    let mut stream = guest.bare("GET", &session, None).await;
    assert_eq!(stream.head().await.unwrap().status, 200);
    let running = guest.start("cat").await;
    let wait = json!({ "session_id": running, "client_token": "fake", "wait_ms": 20_000 });
    let mut legacy = guest.begin(Some(&session), &crate::rig::call(7, "session_read", wait.clone())).await;
    assert_eq!(legacy.head().await.unwrap().status, 200);
    let mut modern = guest.begin_modern("tools/call", json!({ "name": "session_read", "arguments": wait })).await;
    let bob = rig.bob.open().await;

    let (streamed, waited, asked) = tokio::join!(stream.message(), legacy.message(), modern.reply());
    assert_eq!((streamed, waited, asked.status), (None, None, 401));
    let reply = guest.post(Some(&session), &crate::rig::call(8, "list_clients", json!({}))).await;
    assert_eq!(reply.status, 401);
    rig.bob.call(&bob, "list_clients", json!({})).await;
}

#[tokio::test]
async fn what_runs_in_a_session_ends_with_the_key_that_has_called_it_though_nobody_reads_it() {
    let rig = Rig::new().await;
    let session = rig.alice.open().await;
    let arguments = json!({ "command": "sleep 1000", "client_token": "fake" });
    let mut gone = rig.alice.begin(Some(&session), &crate::rig::call(7, "execute_command", arguments)).await;
    assert_eq!(gone.head().await.unwrap().status, 200);
    let numbers = async || {
        let bearer = rig.bob.bearer();
        rig.ask("GET", "/metrics", &[("host", "localhost"), ("authorization", &bearer)], "").await.body
    };
    let running = "sessiond_processes{backend=\"fake\",state=\"running\"} 1";
    while !numbers().await.contains(running) {
        tokio::task::yield_now().await;
    }
    drop(gone);
    assert!(numbers().await.contains(running), "whoever goes away takes nothing back");

    rig.keep(&[&rig.bob]);
    while numbers().await.contains(running) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_later_key_of_the_same_name_finds_no_session_of_the_earlier_one() {
    let rig = Rig::new().await;
    let session = rig.alice.open().await;
    let process = rig.alice.start("cat").await;
    let renewed = rig.renew(&rig.alice);
    let reply = renewed.post(Some(&session), &crate::rig::call(8, "list_clients", json!({}))).await;
    assert_eq!(reply.status, 404, "{reply:?}");
    assert_eq!(renewed.bare("DELETE", &session, None).await.reply().await.status, 404);
    // What runs is the owner's, whatever key it is proven with.
    let read = json!({ "session_id": process, "client_token": "fake" });
    assert_eq!(renewed.run("session_read", read).await["structuredContent"]["done"], false);
    let another = renewed.open().await;
    renewed.call(&another, "list_clients", json!({})).await;
    // The session of the earlier key is not only out of reach, it is gone.
    let bearer = renewed.bearer();
    let headers = [("host", "localhost"), ("authorization", bearer.as_str())];
    while !rig.ask("GET", "/metrics", &headers, "").await.body.contains("\nsessiond_mcp_sessions 1\n") {
        tokio::task::yield_now().await;
    }
}
