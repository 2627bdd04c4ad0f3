//! The end of the server: what waits is answered, and nothing new is let in.

use serde_json::json;

use crate::rig::{Rig, call};
use crate::wire::Wire;

#[tokio::test]
async fn what_waits_is_answered_when_the_server_ends() {
    let rig = Rig::new().await;
    let session = rig.alice.open().await;
    let running = rig.alice.start("cat").await;
    let wait = json!({ "session_id": running, "client_token": "fake", "wait_ms": 20_000 });
    let mut legacy = rig.alice.begin(Some(&session), &call(3, "session_read", wait.clone())).await;
    legacy.head().await.unwrap();
    let mut stream = rig.alice.bare("GET", &session, None).await;
    stream.head().await.unwrap();
    let mut idle = Wire::to(rig.address).await;
    idle.ask("GET", "/readyz", &[("host", "localhost")], "").await;
    assert_eq!(idle.reply().await.status, 200);

    rig.end().await;
    assert_eq!(legacy.message().await.unwrap()["id"], 3);
    assert_eq!(legacy.message().await, None);
    assert_eq!(stream.message().await, None);
    assert!(idle.is_closed().await);
    assert!(tokio::net::TcpStream::connect(rig.address).await.is_err(), "nobody listens any more");
}
