//! Tokens of an identity provider over HTTP: what ends with one, and what goes on with the next.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rcgen::KeyPair;
use serde_json::json;
use tempfile::TempDir;

use crate::rig::{Rig, call, settings};
use crate::wire::Wire;

/// What the clocks may differ, in seconds, unless the configuration says otherwise.
const LEEWAY: u64 = 30;

/// An identity provider.
struct Provider {
    signer: EncodingKey,
    place: TempDir,
}

impl Provider {
    fn new() -> Self {
        let pair = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        Self { signer: EncodingKey::from_ec_der(&pair.serialize_der()), place: tempfile::tempdir().unwrap() }
    }

    /// The lines of the configuration that let its tokens in.
    fn configuration(&self) -> String {
        let mut jwk = Jwk::from_encoding_key(&self.signer, Algorithm::ES256).unwrap();
        jwk.common.key_id = Some("first".to_owned());
        let file = self.place.path().join("jwks.json");
        std::fs::write(&file, json!({ "keys": [jwk] }).to_string()).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        format!("[jwt]\nissuer = 'https://id.example'\naudience = 'sessiond'\njwks_file = {file:?}\n")
    }

    /// A token of Alice's that is taken for so many seconds, and when it is taken no more.
    fn token(&self, seconds: u64) -> (String, SystemTime) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let until = UNIX_EPOCH + Duration::from_secs(now + seconds);
        let claims = json!({
            "iss": "https://id.example", "aud": "sessiond", "sub": "alice", "scope": "work",
            "exp": now + seconds - LEEWAY,
        });
        let header = Header { kid: Some("first".to_owned()), ..Header::new(Algorithm::ES256) };
        (encode(&header, &claims, &self.signer).unwrap(), until)
    }
}

/// Whether somebody was let in.
async fn is_let_in(wire: &mut Wire) -> bool {
    match wire.head().await.unwrap().status {
        200 => true,
        401 => false,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_token_that_expires_ends_its_streams_and_waits_and_leaves_the_session_to_the_next_one() {
    let provider = Provider::new();
    let rig = Rig::with(settings(), &provider.configuration()).await;
    let lasting = rig.alice.with_token(provider.token(600).0);
    let session = lasting.open().await;
    let running = lasting.start("cat").await;
    let wait = json!({ "session_id": running, "client_token": "fake", "wait_ms": 20_000 });
    // As long as it takes to open all that, whatever else this machine does.
    for life in [2, 6, 18] {
        let (token, until) = provider.token(life);
        let alice = rig.alice.with_token(token);
        let mut stream = alice.bare("GET", &session, None).await;
        let mut legacy = alice.begin(Some(&session), &call(life, "session_read", wait.clone())).await;
        let mut modern = alice.begin_modern("tools/call", json!({ "name": "session_read", "arguments": wait })).await;
        if !is_let_in(&mut stream).await || !is_let_in(&mut legacy).await {
            continue;
        }
        assert_eq!(stream.message().await, None);
        assert!(SystemTime::now() >= until);
        assert_eq!(legacy.message().await, None);
        assert_eq!(modern.reply().await.status, 401);
        assert_eq!(alice.post(Some(&session), &call(9, "list_clients", json!({}))).await.status, 401);
        lasting.call(&session, "list_clients", json!({})).await;
        return;
    }
    panic!("nothing could be opened in the time of a token");
}
