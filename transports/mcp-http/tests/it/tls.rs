//! The binary on a port with TLS, and a client that speaks HTTP/2 there: certificates of both sides, tokens of an
//! identity provider, and what is read again on SIGHUP.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};
use serde_json::{Value, json};
use sessiond_bootstrap::identity::NewKey;
use sessiond_core::{TaskKind, Tasks};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::aws_lc_rs};

use crate::rig::{MODERN, modern};
use crate::wire::Wire;

const CONNECTION: TaskKind = TaskKind("test.connection");

/// An authority of certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its private key, in PEM.
type Issued = (String, String);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn issue(&self, name: &str) -> Issued {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.subject_alt_names = vec![SanType::DnsName(name.try_into().unwrap())];
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

/// The binary, which ends with the test.
struct Served {
    child: Child,
    address: SocketAddr,
    place: TempDir,
    authority: Authority,
    alice: NewKey,
}

impl Served {
    /// With these entries in the keys file beside alice's, and these lines in the configuration.
    fn start(entries: &str, configuration: impl FnOnce(&TempDir) -> String) -> Self {
        let (place, authority, alice) = (tempfile::tempdir().unwrap(), Authority::new("servers"), NewKey::random());
        let alice = alice.unwrap();
        write(&place, "keys.toml", &format!("[keys.alice]\nsha256 = '{}'\nrole = 'full'\n{entries}", alice.digest()));
        certify(&place, &authority);
        let path = |name| place.path().join(name);
        let network = format!(
            "[http]\nlisten = '127.0.0.1:0'\n[network]\nkeys_file = {:?}\ncertificate_file = {:?}\n\
             certificate_key_file = {:?}\n",
            path("keys.toml"),
            path("cert.pem"),
            path("key.pem"),
        );
        let config = write(&place, "config.toml", &(network + &configuration(&place)));
        let mut command = Command::new(env!("CARGO_BIN_EXE_sessiond-mcp-http"));
        command.arg("--config").arg(config).env_clear().env("HOME", place.path()).env("PATH", "/usr/bin:/bin");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on https://").and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
        Self { child, address, place, authority, alice }
    }

    /// Connects, showing a certificate or none.
    async fn connect(&self, trusted: &Authority, shown: Option<&Issued>) -> Result<Client, String> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(trusted.0.pem().as_bytes()).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match shown {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
                config.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap()
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        let stream = stream.map_err(|error| error.to_string())?;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let tasks = Tasks::new();
        tasks.spawn(CONNECTION, async move {
            // How it ends, the next request says.
            let _ = connection.await;
        });
        Ok(Client { sender, origin: format!("https://localhost:{}", self.address.port()), _tasks: tasks })
    }

    /// The same without a certificate, where the server's is to be trusted.
    async fn client(&self) -> Client {
        self.connect(&self.authority, None).await.unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a private file.
fn write(place: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = place.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

/// Gives the server a certificate.
fn certify(place: &TempDir, authority: &Authority) {
    let (certificate, key) = authority.issue("localhost");
    write(place, "cert.pem", &certificate);
    write(place, "key.pem", &key);
}

/// A connection.
struct Client {
    sender: SendRequest<Full<Bytes>>,
    origin: String,
    _tasks: Tasks,
}

impl Client {
    /// Sends a request; the status and what it says.
    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<(u16, Value), hyper::Error> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.origin));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.sender.send_request(request.body(Full::new(body.into())).unwrap()).await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }

    /// Asks for the targets, with this credential.
    async fn targets(&mut self, credential: Option<&str>) -> Result<(u16, Value), hyper::Error> {
        let bearer = credential.map(|credential| format!("Bearer {credential}"));
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "tools/call"),
            ("mcp-name", "list_clients"),
        ];
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        let body = modern("tools/call", json!({ "name": "list_clients", "arguments": {} })).to_string();
        self.ask(Method::POST, "/mcp", &headers, body).await
    }

    /// The same; the status alone.
    async fn status(&mut self, credential: Option<&str>) -> u16 {
        self.targets(credential).await.unwrap().0
    }
}

#[tokio::test]
async fn a_certificate_that_was_replaced_is_shown_after_sighup_and_connections_stay() {
    let server = Served::start("", |_| String::new());
    let mut before = server.client().await;
    let (status, answer) = before.targets(Some(server.alice.expose())).await.unwrap();
    assert_eq!((status, &answer["result"]["isError"]), (200, &json!(false)), "{answer}");

    let later = Authority::new("later");
    assert!(server.connect(&later, None).await.is_err(), "nobody knows that one yet");
    certify(&server.place, &later);
    assert!(Command::new("kill").args(["-HUP", &server.child.id().to_string()]).status().unwrap().success());
    let mut after = loop {
        match server.connect(&later, None).await {
            Ok(client) => break client,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert_eq!(after.status(Some(server.alice.expose())).await, 200);
    assert!(server.connect(&server.authority, None).await.is_err(), "the earlier one is shown no more");
    assert_eq!(before.status(Some(server.alice.expose())).await, 200);
}

#[tokio::test]
async fn a_certificate_proves_its_holder_and_one_of_a_wrong_authority_nobody() {
    let callers = Authority::new("callers");
    let server = Served::start("[certificates.robot]\nname = 'DNS:robot.example'\nrole = 'full'\n", |place| {
        format!("client_ca_file = {:?}\n", write(place, "callers.pem", &callers.0.pem()))
    });
    let shows = async |shown: &Issued| server.connect(&server.authority, Some(shown)).await;
    assert_eq!(shows(&callers.issue("robot.example")).await.unwrap().status(None).await, 200);
    assert_eq!(shows(&callers.issue("somebody.example")).await.unwrap().status(None).await, 401);
    // In TLS 1.3 a client learns of it when it asks.
    let wrong = shows(&Authority::new("others").issue("robot.example")).await;
    if let Ok(mut wrong) = wrong {
        assert!(wrong.targets(None).await.is_err());
    }
    // Who shows none shows a key.
    let mut none = server.client().await;
    assert_eq!([none.status(None).await, none.status(Some(server.alice.expose())).await], [401, 200]);
}

#[tokio::test]
async fn a_token_of_the_identity_provider_is_taken_and_the_metadata_say_where_to_get_one() {
    let pair = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let signer = EncodingKey::from_ec_der(&pair.serialize_der());
    let mut jwk = Jwk::from_encoding_key(&signer, Algorithm::ES256).unwrap();
    jwk.common.key_id = Some("first".to_owned());
    let server = Served::start("[scopes.work]\nrole = 'full'\n", |place| {
        let set = write(place, "jwks.json", &json!({ "keys": [jwk] }).to_string());
        format!("[jwt]\nissuer = 'https://id.example'\naudience = 'sessiond'\njwks_file = {set:?}\n")
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let token = |audience: &str, expires: u64| {
        let claims = json!({
            "iss": "https://id.example", "aud": audience, "sub": "alice", "exp": expires, "scope": "openid work",
        });
        let header = Header { kid: Some("first".to_owned()), ..Header::new(Algorithm::ES256) };
        encode(&header, &claims, &signer).unwrap()
    };
    let mut client = server.client().await;
    let good = token("sessiond", now + 600);
    assert_eq!(client.status(Some(&good)).await, 200);
    assert_eq!(client.status(Some(&token("sessiond", now - 600))).await, 401);
    assert_eq!(client.status(Some(&token("another", now + 600))).await, 401);
    let (head, rest) = good.split_once('.').unwrap();
    // {"alg":"none"}
    let unsigned = format!("eyJhbGciOiJub25lIn0.{}.", rest.split_once('.').unwrap().0);
    assert_eq!(client.status(Some(&unsigned)).await, 401);
    let other = token("sessiond", now + 601);
    let wrongly_signed = format!("{head}.{}.{}", rest.split_once('.').unwrap().0, other.rsplit_once('.').unwrap().1);
    assert_eq!(client.status(Some(&wrongly_signed)).await, 401);

    let metadata = "/.well-known/oauth-protected-resource/mcp";
    let (status, document) = client.ask(Method::GET, metadata, &[], String::new()).await.unwrap();
    let expected = json!({
        "resource": format!("{}/mcp", client.origin),
        "resource_name": "sessiond",
        "bearer_methods_supported": ["header"],
        "authorization_servers": ["https://id.example"],
        "scopes_supported": ["work"],
    });
    assert_eq!((status, document), (200, expected));
}

#[tokio::test]
async fn a_handshake_that_comes_slowly_is_not_waited_for_and_keeps_nobody_waiting() {
    let server = Served::start("", |_| "handshake_timeout_ms = 300\n".to_owned());
    let mut silent = Wire::to(server.address).await;
    let mut slow = Wire::to(server.address).await;
    // The head of a handshake record, of which the rest does not come.
    slow.send(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]).await;
    let mut plain = TcpStream::connect(server.address).await.unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    assert_eq!(server.client().await.status(Some(server.alice.expose())).await, 200);
    for wire in [&mut silent, &mut slow] {
        assert!(wire.is_closed().await);
    }
    let mut said = Vec::new();
    plain.read_to_end(&mut said).await.unwrap();
    assert!(!said.starts_with(b"HTTP"), "nobody is answered in the clear");
    let quick = tokio::time::timeout(Duration::from_secs(20), server.client()).await;
    assert_eq!(quick.unwrap().status(Some(server.alice.expose())).await, 200);
}
