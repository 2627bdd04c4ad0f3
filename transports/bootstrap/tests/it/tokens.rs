//! Tokens of an identity provider: what is taken, and every way in which one can be wrong.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PKCS_RSA_SHA256};
use serde_json::{Value, json};
use sessiond_bootstrap::identity::{Denied, Identities, Kind};
use sessiond_core::{TaskKind, Tasks, Verb};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::rig::{Keys, network};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// A key of the provider.
struct Signer {
    id: &'static str,
    algorithm: Algorithm,
    key: EncodingKey,
    public: Vec<u8>,
    /// The public key as it is, in base64url.
    point: String,
}

impl Signer {
    fn new(id: &'static str, algorithm: Algorithm) -> Self {
        let pair = match algorithm {
            Algorithm::EdDSA => KeyPair::generate_for(&PKCS_ED25519),
            Algorithm::RS256 | Algorithm::PS256 => KeyPair::generate_for(&PKCS_RSA_SHA256),
            _ => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
        };
        let pair = pair.unwrap();
        let der = pair.serialize_der();
        let key = match algorithm {
            Algorithm::EdDSA => EncodingKey::from_ed_der(&der),
            // PKCS #1 is what PKCS #8 has behind 26 bytes of a header, for a key of 2,048 bits.
            Algorithm::RS256 | Algorithm::PS256 => EncodingKey::from_rsa_der(&der[26..]),
            _ => EncodingKey::from_ec_der(&der),
        };
        Self { id, algorithm, key, public: pair.public_key_pem().into_bytes(), point: base64url(pair.public_key_raw()) }
    }

    fn es256() -> Self {
        Self::new("first", Algorithm::ES256)
    }

    fn jwk(&self) -> Value {
        if self.algorithm == Algorithm::EdDSA {
            return json!({"kty": "OKP", "crv": "Ed25519", "x": self.point, "kid": self.id, "alg": "EdDSA"});
        }
        let mut jwk = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        jwk.common.key_id = Some(self.id.to_owned());
        serde_json::to_value(jwk).unwrap()
    }

    fn sign(&self, claims: &Value) -> String {
        let header = Header { kid: Some(self.id.to_owned()), ..Header::new(self.algorithm) };
        encode(&header, claims, &self.key).unwrap()
    }
}

fn set(signers: &[&Signer]) -> String {
    json!({ "keys": signers.iter().map(|signer| signer.jwk()).collect::<Vec<_>>() }).to_string()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The claims of a token that is taken.
fn claims() -> Value {
    json!({ "iss": "https://id.example", "aud": "sessiond", "sub": "alice", "exp": now() + 600, "scope": "openid work" })
}

fn with(changes: Value) -> Value {
    let mut claims = claims();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

/// A server that takes tokens of this provider.
fn provider(signers: &[&Signer]) -> (Keys, Identities) {
    let keys = Keys::new();
    keys.write("[scopes.work]\nrole = 'full'\n[scopes.look]\nrole = 'read-only'\n");
    keys.set("jwt.issuer", "https://id.example");
    keys.set("jwt.name", "example");
    keys.set("jwt.audience", "sessiond,other");
    keys.set("jwt.jwks_file", keys.file("jwks.json", &set(signers)).to_str().unwrap());
    let identities = network(&keys).identities;
    (keys, identities)
}

#[tokio::test]
async fn a_token_is_its_subject_with_what_its_scope_allows() {
    for algorithm in [Algorithm::ES256, Algorithm::EdDSA, Algorithm::RS256, Algorithm::PS256] {
        let signer = Signer::new("first", algorithm);
        let (_keys, identities) = provider(&[&signer]);
        let alice = identities.bearer(HERE, &signer.sign(&claims())).await.unwrap();
        assert_eq!((alice.owner.name().as_ref(), alice.kind), ("example:alice", Kind::Token), "{algorithm:?}");
        assert!(alice.owner.may(Verb::StartSession));
    }
    let signer = Signer::es256();
    let (_keys, identities) = provider(&[&signer]);
    for scope in [json!({"scope": "look"}), json!({"scope": ["x", "look"]}), json!({"scope": null, "scp": ["look"]})] {
        let auditor = identities.bearer(HERE, &signer.sign(&with(scope))).await.unwrap();
        assert!(auditor.owner.may(Verb::ReadSession) && !auditor.owner.may(Verb::StartSession));
    }
    for scope in [json!({"scope": null}), json!({"scope": "working"}), json!({"scope": 7})] {
        assert_eq!(identities.bearer(HERE, &signer.sign(&with(scope))).await.unwrap_err(), Denied::Scope);
    }
}

#[tokio::test]
async fn a_token_of_another_issuer_audience_or_shape_is_refused() {
    let signer = Signer::es256();
    let (_keys, identities) = provider(&[&signer]);
    for change in [
        json!({"iss": "https://id.example.org"}),
        json!({"iss": ["https://id.example"]}),
        json!({"iss": null}),
        json!({"aud": "somebody"}),
        json!({"aud": null}),
        json!({"sub": null}),
        json!({"sub": ""}),
        json!({"sub": "a\nb"}),
        json!({"sub": "x".repeat(256)}),
        json!({"exp": null}),
        json!({"exp": "tomorrow"}),
        json!({"exp": -1}),
    ] {
        let token = signer.sign(&with(change.clone()));
        let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
        assert_eq!(identities.bearer(from, &token).await.unwrap_err(), Denied::Unknown, "{change}");
    }
    for change in [json!({"aud": ["x", "other"]}), json!({"exp": now() as f64 + 600.5})] {
        assert!(identities.bearer(HERE, &signer.sign(&with(change.clone()))).await.is_ok(), "{change}");
    }
}

#[tokio::test]
async fn a_token_out_of_its_time_says_so_and_the_clocks_may_differ_a_little() {
    let signer = Signer::es256();
    let (_keys, identities) = provider(&[&signer]);
    let judged = async |change| identities.bearer(HERE, &signer.sign(&with(change))).await.map(|_| ());
    assert_eq!(judged(json!({"exp": now() - 60})).await, Err(Denied::Expired));
    assert_eq!(judged(json!({"nbf": now() + 60})).await, Err(Denied::Expired));
    assert_eq!(judged(json!({"exp": now() - 10})).await, Ok(()));
    assert_eq!(judged(json!({"nbf": now() + 10})).await, Ok(()));
}

#[tokio::test]
async fn what_a_token_has_open_ends_with_the_token_as_late_as_it_would_be_taken() {
    let signer = Signer::es256();
    let (_keys, identities) = provider(&[&signer]);
    // Its time with what the clocks may differ: as long as it takes to be judged, whatever else this machine does.
    for life in [1, 4, 16, 64] {
        let expires = now() + life - 30;
        let Ok(alice) = identities.bearer(HERE, &signer.sign(&with(json!({ "exp": expires })))).await else { continue };
        assert!(alice.can_end());
        alice.ended().await;
        assert!(alice.has_ended() && now() >= expires + 30);
        assert!(!alice.is_revoked(), "its owner goes on with another one");
        return;
    }
    panic!("no token was judged in its time");
}

#[tokio::test]
async fn what_a_scope_has_open_ends_when_another_one_comes_to_stand_before_it() {
    let signer = Signer::es256();
    let (keys, identities) = provider(&[&signer]);
    let (work, look) = ("[scopes.work]\nrole = 'full'\n", "[scopes.look]\nrole = 'read-only'\n");
    let more = "[scopes.more]\nrole = 'full'\n";
    let token = signer.sign(&with(json!({ "scope": "work look" })));
    let alice = identities.bearer(HERE, &token).await.unwrap();
    // What stands behind it or goes away before it changes nothing for it.
    for file in [format!("{work}{look}{more}"), format!("{work}{more}")] {
        keys.write(&file);
        identities.reload().unwrap();
        assert!(!alice.has_ended(), "{file}");
    }
    keys.write(&format!("{look}{work}"));
    identities.reload().unwrap();
    assert!(alice.is_revoked());
    let alice = identities.bearer(HERE, &token).await.unwrap();
    assert!(!alice.owner.may(Verb::StartSession), "the first one that a token has counts");
    keys.write(look);
    identities.reload().unwrap();
    assert!(!alice.has_ended());
    keys.write(&format!("{more}{look}"));
    identities.reload().unwrap();
    assert!(alice.is_revoked());
}

/// A token of parts.
fn token(header: &Value, claims: &Value, signature: &str) -> String {
    let part = |value: &Value| base64url(value.to_string().as_bytes());
    format!("{}.{}.{signature}", part(header), part(claims))
}

fn base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for digit in 0..=chunk.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
}

#[tokio::test]
async fn a_token_that_nobody_or_somebody_else_has_signed_is_refused() {
    let (signer, stranger) = (Signer::es256(), Signer::es256());
    let (_keys, identities) = provider(&[&signer]);
    let good = signer.sign(&claims());
    assert!(identities.bearer(HERE, &good).await.is_ok());
    let (unsigned, signature) = good.rsplit_once('.').unwrap();
    let (head, _) = unsigned.split_once('.').unwrap();
    let other = base64url(with(json!({"sub": "root"})).to_string().as_bytes());
    for (wrong, why) in [
        (format!("{unsigned}."), "no signature"),
        (unsigned.to_owned(), "two parts"),
        (format!("{head}.{other}.{signature}"), "other claims"),
        (stranger.sign(&claims()), "another key of that name"),
        (token(&json!({"alg": "none"}), &claims(), ""), "alg none"),
        (token(&json!({"alg": "none", "kid": "first"}), &claims(), ""), "alg none with a key"),
        (token(&json!({"alg": "None", "kid": "first"}), &claims(), signature), "alg None"),
        (token(&json!({"alg": "ES256", "kid": "first"}), &claims(), ""), "an empty signature"),
        (token(&json!({"alg": "ES256", "kid": "first", "jwk": stranger.jwk()}), &claims(), signature), "its own key"),
        (format!("{good}.{good}"), "six parts"),
        ("..".to_owned(), "nothing"),
    ] {
        let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
        assert_eq!(identities.bearer(from, &wrong).await.unwrap_err(), Denied::Unknown, "{why}");
    }
}

#[tokio::test]
async fn a_public_key_is_no_shared_secret() {
    let signer = Signer::new("first", Algorithm::RS256);
    let (_keys, identities) = provider(&[&signer]);
    let jwk = signer.jwk();
    for (secret, why) in [(signer.public.clone(), "PEM"), (jwk["n"].as_str().unwrap().as_bytes().to_vec(), "modulus")] {
        for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let header = Header { kid: Some("first".to_owned()), ..Header::new(algorithm) };
            let forged = encode(&header, &claims(), &EncodingKey::from_secret(&secret).unwrap()).unwrap();
            assert_eq!(identities.bearer(HERE, &forged).await.unwrap_err(), Denied::Unknown, "{why} {algorithm:?}");
        }
    }
    // And the key is for the one algorithm that the set names.
    let header = Header { kid: Some("first".to_owned()), ..Header::new(Algorithm::PS256) };
    let other = encode(&header, &claims(), &signer.key).unwrap();
    assert_eq!(identities.bearer(HERE, &other).await.unwrap_err(), Denied::Unknown);
}

#[test]
fn an_algorithm_without_a_public_key_cannot_be_configured() {
    for word in ["none", "HS256", "ES512"] {
        let keys = Keys::new();
        keys.set("jwt.issuer", "https://id.example");
        keys.set("jwt.audience", "sessiond");
        keys.set("jwt.jwks_file", keys.file("jwks.json", &set(&[&Signer::es256()])).to_str().unwrap());
        keys.set("jwt.algorithms", word);
        let said = keys.load().unwrap_err();
        assert!(said.starts_with("jwt.algorithms must hold names of RS256, "), "{said}");
    }
}

#[test]
fn what_is_missing_for_tokens_is_said() {
    let said = |settings: &[(&str, &str)]| {
        let keys = Keys::new();
        settings.iter().for_each(|(key, value)| keys.set(key, value));
        keys.load().unwrap_err()
    };
    let (issuer, audience) = (("jwt.issuer", "https://id.example"), ("jwt.audience", "sessiond"));
    assert_eq!(said(&[audience]), "jwt.issuer is missing: it says whose tokens are taken");
    assert_eq!(said(&[issuer]), "jwt.audience is missing: tokens that are meant for another service would be taken");
    assert_eq!(said(&[issuer, audience]), "jwt.jwks_url or jwt.jwks_file is missing: one of them has the keys");
    let clear = said(&[issuer, audience, ("jwt.jwks_url", "http://id.example/jwks")]);
    assert!(clear.starts_with("jwt.jwks_url must begin with https://"), "{clear}");
    let name = said(&[issuer, audience, ("jwt.name", "uid"), ("jwt.jwks_url", "https://id.example/jwks")]);
    assert!(name.starts_with("jwt.name must have only letters"), "{name}");
}

#[tokio::test]
async fn a_key_set_in_a_file_is_read_again_and_a_broken_one_changes_nothing() {
    let (old, new) = (Signer::es256(), Signer::new("second", Algorithm::EdDSA));
    let (keys, identities) = provider(&[&old]);
    assert_eq!(identities.bearer(HERE, &new.sign(&claims())).await.unwrap_err(), Denied::Unknown);
    keys.file("jwks.json", "{\"keys\": [{\"kty\": \"oct\", \"k\": \"c2VjcmV0\"}]}");
    let said = identities.reload().unwrap_err().to_string();
    assert!(said.ends_with("has no key that could verify a signature"), "{said}");
    assert!(identities.bearer(HERE, &old.sign(&claims())).await.is_ok());
    keys.file("jwks.json", &set(&[&new]));
    identities.reload().unwrap();
    assert!(identities.bearer(HERE, &new.sign(&claims())).await.is_ok());
    assert_eq!(identities.bearer(HERE, &old.sign(&claims())).await.unwrap_err(), Denied::Unknown);
}

#[tokio::test]
async fn what_a_withdrawn_key_has_signed_ends_and_what_another_one_has_signed_does_not() {
    let (stays, goes) = (Signer::new("stays", Algorithm::EdDSA), Signer::es256());
    let (keys, identities) = provider(&[&stays, &goes]);
    let of = async |signer: &Signer| identities.bearer(HERE, &signer.sign(&claims())).await.unwrap();
    let (kept, lost) = (of(&stays).await, of(&goes).await);
    keys.file("jwks.json", &set(&[&stays]));
    identities.reload().unwrap();
    lost.ended().await;
    assert!(lost.has_ended() && !kept.has_ended());
    // Another key of the same name is not the same key.
    keys.file("jwks.json", &set(&[&Signer::new("stays", Algorithm::EdDSA)]));
    identities.reload().unwrap();
    kept.ended().await;
}

#[tokio::test]
async fn a_header_that_asks_for_more_than_is_understood_is_refused() {
    let signer = Signer::es256();
    let (_keys, identities) = provider(&[&signer]);
    let signed = |header: Header| encode(&header, &claims(), &signer.key).unwrap();
    let named = || Header { kid: Some("first".to_owned()), ..Header::new(Algorithm::ES256) };
    assert!(identities.bearer(HERE, &signed(named())).await.is_ok());
    let mut unencoded = Header { crit: Some(vec!["b64".to_owned()]), ..named() };
    unencoded.extras.insert("b64", false);
    let mut unknown = Header { crit: Some(vec!["exp".to_owned()]), ..named() };
    unknown.extras.insert("exp", 1);
    for (header, why) in [
        (Header { crit: Some(vec![]), ..named() }, "an empty crit"),
        (unknown, "crit with what nobody knows"),
        (unencoded, "claims that are not encoded"),
        (Header { kid: Some("../first".to_owned()), ..named() }, "a key's name that is a path"),
        (Header { kid: Some("first' OR '1'='1".to_owned()), ..named() }, "a key's name that is a question"),
        (Header { kid: Some(String::new()), ..named() }, "an empty name"),
        (Header { kid: Some("x".repeat(8 * 1024)), ..named() }, "a name without end"),
    ] {
        assert_eq!(identities.bearer(HERE, &signed(header)).await.unwrap_err(), Denied::Unknown, "{why}");
    }
    let huge = signer.sign(&with(json!({"x": "x".repeat(16 * 1024)})));
    assert_eq!(identities.bearer(HERE, &huge).await.unwrap_err(), Denied::Malformed);
}

#[tokio::test]
async fn keys_for_something_else_verify_nothing_and_two_of_one_name_do_not_mix() {
    let (signer, encrypts, other) = (Signer::es256(), Signer::es256(), Signer::new("first", Algorithm::EdDSA));
    let (keys, identities) = provider(&[&signer]);
    let mut for_encryption = encrypts.jwk();
    for_encryption["kid"] = json!("encrypts");
    let mut operations = for_encryption.clone();
    operations["kid"] = json!("operations");
    operations["key_ops"] = json!(["deriveKey"]);
    for_encryption["use"] = json!("enc");
    let secret = json!({"kty": "oct", "kid": "secret", "k": "c2VjcmV0", "alg": "HS256"});
    let set = json!({"keys": [secret, for_encryption, operations, signer.jwk(), other.jwk()]});
    keys.file("jwks.json", &set.to_string());
    identities.reload().unwrap();
    for (signer, algorithm, id) in
        [(&encrypts, Algorithm::ES256, "encrypts"), (&encrypts, Algorithm::ES256, "operations")]
    {
        let header = Header { kid: Some(id.to_owned()), ..Header::new(algorithm) };
        let token = encode(&header, &claims(), &signer.key).unwrap();
        assert_eq!(identities.bearer(HERE, &token).await.unwrap_err(), Denied::Unknown, "{id}");
    }
    let header = Header { kid: Some("secret".to_owned()), ..Header::new(Algorithm::HS256) };
    let forged = encode(&header, &claims(), &EncodingKey::from_secret(b"secret").unwrap()).unwrap();
    assert_eq!(identities.bearer(HERE, &forged).await.unwrap_err(), Denied::Unknown);
    // Of two that have one name, each is for its own algorithm.
    for signer in [&signer, &other] {
        assert!(identities.bearer(HERE, &signer.sign(&claims())).await.is_ok());
    }
}

#[tokio::test]
async fn no_kind_of_identity_has_the_name_of_another() {
    let signer = Signer::es256();
    for name in ["uid", "anyone"] {
        let keys = Keys::new();
        keys.set("jwt.issuer", "https://id.example");
        keys.set("jwt.audience", "sessiond");
        keys.set("jwt.name", name);
        keys.set("jwt.jwks_file", keys.file("jwks.json", &set(&[&signer])).to_str().unwrap());
        assert!(keys.load().unwrap_err().starts_with("jwt.name must have only letters"), "{name}");
    }
    let (keys, identities) = provider(&[&signer]);
    // Whatever a token's subject is, its owner's name begins with the provider's and a colon, which no key's has.
    for subject in ["alice", "uid:0", "anyone:loopback", "example:alice", ":", "../uid:0"] {
        let token = signer.sign(&with(json!({ "sub": subject })));
        let name = identities.bearer(HERE, &token).await.unwrap().owner.name().to_string();
        assert_eq!(name, format!("example:{subject}"));
    }
    for entry in [
        "[keys.'example:alice']\nsha256 = 'DIGEST'\nrole = 'full'\n",
        "[keys.a]\nsha256 = 'DIGEST'\nrole = 'full'\nowner = 'uid:0'\n",
        "[certificates.a]\nsubject = 'CN=a'\nrole = 'full'\nowner = 'anyone:loopback'\n",
        "[certificates.'uid:0']\nsubject = 'CN=a'\nrole = 'full'\n",
    ] {
        keys.write(&entry.replace("DIGEST", &keys.key().digest().to_string()));
        let said = identities.reload().unwrap_err().to_string();
        assert!(said.contains("no name"), "{said}");
    }
}

#[test]
fn a_key_set_that_others_could_write_or_that_has_a_password_in_its_address_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let keys = Keys::new();
    keys.set("jwt.issuer", "https://id.example");
    keys.set("jwt.audience", "sessiond");
    let file = keys.file("jwks.json", &set(&[&Signer::es256()]));
    keys.set("jwt.jwks_file", file.to_str().unwrap());
    let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    assert!(keys.load().is_ok(), "everybody may read it");
    mode(0o664);
    let said = keys.shortened(&keys.load().unwrap_err());
    assert_eq!(said, "jwks.json: the key set (jwt.jwks_file) can be written by others (mode 0664): chmod go-w it");

    let keys = Keys::new();
    keys.set("jwt.issuer", "https://id.example");
    keys.set("jwt.audience", "sessiond");
    keys.set("jwt.jwks_url", "https://me:s3cret@id.example/jwks");
    let said = keys.load().unwrap_err();
    assert!(said.starts_with("jwt.jwks_url holds a name or a password") && !said.contains("s3cret"), "{said}");
}

#[tokio::test]
async fn made_up_tokens_do_not_pile_up_behind_a_provider_that_does_not_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jwks", listener.local_addr().unwrap());
    let identities = at(&url);
    let token = Signer::es256().sign(&claims());
    let mut waiting = Vec::new();
    let mut turned_away = 0;
    for _ in 0..300 {
        let (identities, token) = (identities.clone(), token.clone());
        let mut asked = Box::pin(async move { identities.bearer(HERE, &token).await.map(|_| ()) });
        match futures_util::poll!(asked.as_mut()) {
            std::task::Poll::Pending => waiting.push(asked),
            std::task::Poll::Ready(answer) => {
                assert_eq!(answer, Err(Denied::Unavailable));
                turned_away += 1;
            }
        }
    }
    assert_eq!((waiting.len(), turned_away), (256, 44));
}

/// A provider that publishes its keys, and counts who asks for them.
async fn publish(answers: Vec<String>) -> (String, Arc<AtomicUsize>, Tasks) {
    const SERVE: TaskKind = TaskKind("test.provider");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jwks", listener.local_addr().unwrap());
    let (asked, tasks) = (Arc::new(AtomicUsize::new(0)), Tasks::new());
    let (counts, ended) = (asked.clone(), tasks.cancelled());
    tasks.spawn(SERVE, async move {
        let serve = async {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let at = counts.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
                let mut head = [0; 4096];
                let _ = stream.read(&mut head).await.unwrap();
                stream.write_all(answers[at].as_bytes()).await.unwrap();
            }
        };
        tokio::select! { () = ended => {}, () = serve => {} }
    });
    (url, asked, tasks)
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn at(url: &str) -> Identities {
    let keys = Keys::new();
    keys.write("[scopes.work]\nrole = 'full'\n");
    keys.set("jwt.issuer", "https://id.example");
    keys.set("jwt.audience", "sessiond");
    keys.set("jwt.jwks_url", url);
    network(&keys).identities
}

#[tokio::test]
async fn a_published_key_set_is_fetched_when_it_is_needed_and_not_for_every_made_up_name() {
    let (old, new) = (Signer::es256(), Signer::new("second", Algorithm::ES256));
    let (url, asked, _tasks) = publish(vec![ok(&set(&[&old])), ok(&set(&[&old, &new]))]).await;
    let identities = at(&url);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    assert_eq!(identities.bearer(HERE, &old.sign(&claims())).await.unwrap().owner.name().as_ref(), "jwt:alice");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // A minute has not passed, whatever the name.
    for _ in 0..3 {
        assert_eq!(identities.bearer(HERE, &new.sign(&claims())).await.unwrap_err(), Denied::Unknown);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    let (one, two) = (new.sign(&claims()), new.sign(&claims()));
    let (one, two) = tokio::join!(identities.bearer(HERE, &one), identities.bearer(HERE, &two));
    assert!(one.is_ok() && two.is_ok());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_provider_that_cannot_be_asked_is_not_the_callers_fault() {
    let signer = Signer::es256();
    let large = ok(&format!("{{\"keys\": [], \"x\": \"{}\"}}", "x".repeat(2 << 20)));
    for odd in ["HTTP/1.1 500 Oh\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", &ok("[]"), &large] {
        let (url, asked, _tasks) = publish(vec![odd.to_owned(), ok(&set(&[&signer]))]).await;
        let identities = at(&url);
        assert_eq!(identities.bearer(HERE, &signer.sign(&claims())).await.unwrap_err(), Denied::Unavailable);
        assert_eq!(identities.bearer(HERE, &signer.sign(&claims())).await.unwrap_err(), Denied::Unavailable);
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(6)).await;
        tokio::time::resume();
        assert!(identities.bearer(HERE, &signer.sign(&claims())).await.is_ok());
    }
}

#[tokio::test]
async fn a_caller_who_goes_away_does_not_take_the_fetching_along() {
    let signer = Signer::es256();
    let (url, asked, _tasks) = publish(vec![ok(&set(&[&signer]))]).await;
    let identities = at(&url);
    let token = signer.sign(&claims());
    {
        let mut gone = std::pin::pin!(identities.bearer(HERE, &token));
        std::future::poll_fn(|cx| {
            assert!(gone.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
    }
    assert!(identities.bearer(HERE, &token).await.is_ok());
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}
