//! gRPC on a network: keys, TLS and certificates, who is turned away, and what becomes of those who are no longer let in.

use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::StreamExt;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair};
use rustix::process::Signal;
use sessiond_bootstrap::identity::NewKey;
use sessiond_core::{
    Cursor, Error, ErrorKind, Invocation, ListSessions, ListTargets, ReadSession, Service, TargetName, Wait,
};
use sessiond_grpc::Item;
use sessiond_grpc::client::{Credentials, GrpcClient, SessionRef, new_session};

use crate::place::{Client, Daemon, Place, stderr, stdout};

fn target() -> TargetName {
    TargetName::new("local").unwrap()
}

/// A place with a configuration and a keys file.
pub(crate) struct Networked(Place);

impl Networked {
    pub(crate) fn new() -> Self {
        let networked = Self(Place::new());
        networked.file("keys.toml", "");
        networked.configure("");
        networked
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        use std::io::Write;
        let path = self.path(name);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&path).unwrap().write_all(text.as_bytes()).unwrap();
        path
    }

    /// Sets the configuration: the keys file, and this.
    pub(crate) fn configure(&self, more: &str) {
        std::fs::create_dir_all(self.path(".config/sessiond")).unwrap();
        let text = format!("[network]\nkeys_file = {:?}\n{more}", self.path("keys.toml"));
        std::fs::write(self.path(".config/sessiond/config.toml"), text).unwrap();
    }

    /// Adds an entry with a new key.
    pub(crate) fn key(&self, name: &str, role: &str) -> NewKey {
        let key = NewKey::random().unwrap();
        let path = self.path("keys.toml");
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{before}[keys.{name}]\nsha256 = '{}'\n{role}\n", key.digest())).unwrap();
        key
    }

    pub(crate) fn serve(&self) -> Daemon {
        self.0.serve(&["--listen", "127.0.0.1:0"])
    }
}

pub(crate) async fn client(daemon: &Daemon, key: &NewKey) -> Client {
    let credentials = Credentials::none().with_key(key.expose()).unwrap();
    Client(GrpcClient::connect_with(&daemon.address, &credentials).await.unwrap())
}

pub(crate) async fn targets(client: &GrpcClient) -> Result<usize, Error> {
    Ok(client.list_targets(&GrpcClient::call(), ListTargets::default()).await?.len())
}

#[tokio::test]
async fn a_key_lets_in_and_whoever_has_none_or_a_wrong_one_is_told_what_to_do() {
    let place = Networked::new();
    let alice = place.key("alice", "role = 'full'");
    let daemon = place.serve();
    assert_eq!(targets(&client(&daemon, &alice).await.0).await, Ok(1));

    let none = targets(&daemon.client().await.0).await.unwrap_err();
    assert_eq!(
        none,
        Error::permission_denied("a credential is missing: send authorization: Bearer and a key of this server")
    );
    let stranger = client(&daemon, &NewKey::random().unwrap()).await;
    let unknown = "this credential is not known here, or not any more: ask the operator for a key";
    for _ in 0..20 {
        assert_eq!(targets(&stranger.0).await.unwrap_err(), Error::permission_denied(unknown));
    }
    let limited = targets(&stranger.0).await.unwrap_err();
    assert_eq!(limited.kind(), ErrorKind::LimitExceeded);
    assert!(limited.message().starts_with("too many wrong credentials"), "{limited}");
    // Who had come before from the same address goes on.
    assert_eq!(targets(&client(&daemon, &alice).await.0).await, Ok(1));
    let (code, said) = daemon.end(Signal::TERM);
    assert_eq!(code, Some(0));
    assert!(!said.contains("sdk_"), "{said}");
}

#[tokio::test]
async fn a_role_says_what_one_may_do_and_another_owners_session_is_not_there() {
    let place = Networked::new();
    let alice = place.key("alice", "role = 'full'");
    let auditor = place.key("auditor", "role = 'read-only'\nowner = 'alice'");
    let bob = place.key("bob", "target = 'local'");
    let daemon = place.serve();
    let (alice, auditor, bob) =
        (client(&daemon, &alice).await, client(&daemon, &auditor).await, client(&daemon, &bob).await);
    let session = alice.start("echo hers").await;
    alice.printed(&session, "hers").await;

    let start = new_session(target(), Invocation::new("true"));
    let refused = auditor.0.start_session(&GrpcClient::call(), start).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    auditor.printed(&session, "hers").await;

    let reading = |session: &SessionRef| ReadSession {
        session: session.session,
        target: session.target.clone(),
        cursor: Cursor::START,
        wait: Wait::default(),
    };
    let foreign = bob.0.read_session(&GrpcClient::call(), reading(&session)).await.unwrap_err();
    assert_eq!(foreign, sessiond_core::not_found());
    // Who reaches one target need not name it.
    let start = sessiond_core::StartSession { target: None, ..new_session(target(), Invocation::new("true")) };
    bob.0.start_session(&GrpcClient::call(), start).await.unwrap();
    let listed = async |client: &Client| {
        client.0.list_sessions(&GrpcClient::call(), ListSessions::default()).await.unwrap().sessions.len()
    };
    assert_eq!((listed(&alice).await, listed(&bob).await), (1, 1));
    daemon.end(Signal::TERM);
}

#[tokio::test]
async fn a_key_that_is_taken_back_ends_streams_and_waits_and_no_session() {
    let place = Networked::new();
    let alice = place.key("alice", "role = 'full'");
    let before = std::fs::read_to_string(place.path("keys.toml")).unwrap();
    let second = place.key("second", "role = 'full'\nowner = 'alice'");
    let daemon = place.serve();
    let (alice, second) = (client(&daemon, &alice).await, client(&daemon, &second).await);
    let session = alice.start("echo ready; read line; echo \"got $line\"").await;
    second.printed(&session, "ready").await;
    let mut followed = second.0.follow_session(&GrpcClient::call(), &session, Cursor::START).await.unwrap();
    assert!(matches!(followed.next().await, Some(Ok(Item::Chunk { .. }))));
    let cursor = Cursor(7);
    let wait = Wait { time: Duration::from_secs(20), ..Wait::default() };
    let reading = ReadSession { session: session.session, target: session.target.clone(), cursor, wait };
    let cx = GrpcClient::call();
    let waiting = second.0.read_session(&cx, reading);

    let taken_back = async {
        std::fs::write(place.path("keys.toml"), &before).unwrap();
        daemon.signal(Signal::HUP);
        let end = loop {
            match followed.next().await {
                Some(Ok(_)) => {}
                end => break end,
            }
        };
        end.unwrap().unwrap_err()
    };
    let (waited, ended) = tokio::join!(waiting, taken_back);
    let said = "this credential has just been taken back or has expired: what it had open has ended";
    assert_eq!(ended, Error::permission_denied(said));
    let waited = waited.unwrap_err();
    assert_eq!(waited.kind(), ErrorKind::PermissionDenied);
    assert_eq!(targets(&second.0).await.unwrap_err().kind(), ErrorKind::PermissionDenied);

    // A broken file changes nothing.
    std::fs::write(place.path("keys.toml"), "[keys.alice]\n").unwrap();
    daemon.signal(Signal::HUP);
    let request = sessiond_core::WriteSession {
        session: session.session,
        target: session.target.clone(),
        input: "on\n".into(),
        wait: Wait::default(),
    };
    alice.0.write_session(&GrpcClient::call(), request).await.unwrap();
    alice.printed(&session, "got on").await;
    let (code, said) = daemon.end(Signal::TERM);
    assert_eq!(code, Some(0));
    assert!(
        said.contains("the keys stay as they were") && said.contains("keys.alice lets nobody do anything"),
        "{said}"
    );
}

/// An authority, and what it has issued: certificate and private key.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn issue(&self, name: &str, hosts: &[&str]) -> (String, String) {
        let mut params =
            CertificateParams::new(hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

#[tokio::test]
async fn over_tls_a_certificate_or_a_key_lets_in_and_a_certificate_of_another_authority_does_not() {
    let place = Networked::new();
    let (servers, callers, strangers) = (Authority::new(), Authority::new(), Authority::new());
    let (certificate, key) = servers.issue("server", &["localhost", "127.0.0.1"]);
    place.configure(&format!(
        "certificate_file = {:?}\ncertificate_key_file = {:?}\nclient_ca_file = {:?}\n\
         [connect]\nca_file = {:?}\n",
        place.file("cert.pem", &certificate),
        place.file("key.pem", &key),
        place.file("callers.pem", &callers.0.pem()),
        place.file("servers.pem", &servers.0.pem()),
    ));
    let alice = place.key("alice", "role = 'full'");
    let keys = std::fs::read_to_string(place.path("keys.toml")).unwrap();
    place.file("keys.toml", &format!("{keys}[certificates.ci]\nsubject = 'CN=ci'\nrole = 'full'\n"));
    let daemon = place.serve();
    assert!(daemon.address.to_string().starts_with("https://127.0.0.1:"), "{}", daemon.address);

    let trusting = || Credentials::none().with_authorities(servers.0.pem().into_bytes());
    let asked =
        async |credentials: &Credentials| targets(&GrpcClient::connect_with(&daemon.address, credentials).await?).await;
    assert_eq!(asked(&trusting().with_key(alice.expose()).unwrap()).await, Ok(1));
    assert_eq!(asked(&trusting()).await.unwrap_err().kind(), ErrorKind::PermissionDenied);
    let (certificate, key) = callers.issue("ci", &[]);
    assert_eq!(asked(&trusting().with_certificate(certificate.as_bytes(), key.as_bytes())).await, Ok(1));
    let (certificate, key) = callers.issue("bob", &[]);
    let nobody = asked(&trusting().with_certificate(certificate.as_bytes(), key.as_bytes())).await.unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::PermissionDenied);
    let (certificate, key) = strangers.issue("ci", &[]);
    let stranger = asked(&trusting().with_certificate(certificate.as_bytes(), key.as_bytes())).await.unwrap_err();
    assert_eq!(stranger.kind(), ErrorKind::Unavailable);
    let distrusting = Credentials::none().with_authorities(strangers.0.pem().into_bytes());
    assert_eq!(asked(&distrusting).await.unwrap_err().kind(), ErrorKind::Unavailable);

    // The same from a command line, whose configuration names the authorities and whose environment has the key.
    let connect = ["list", "--connect", &daemon.address.to_string()];
    let listed = place.0.command(&connect).env("SESSIOND_CONNECT_KEY", alice.expose()).output().unwrap();
    assert!(listed.status.success(), "{}", stderr(&listed));
    let refused = place.0.command(&connect).output().unwrap();
    assert!(stderr(&refused).contains("a credential is missing"), "{}", stderr(&refused));
    daemon.end(Signal::TERM);
}

#[tokio::test]
async fn a_key_that_the_command_makes_lets_in() {
    let place = Networked::new();
    let made = place.0.run(&["key", "new", "alice", "--target", "local", "--expires", "2999-01-01"]);
    assert!(made.status.success(), "{}", stderr(&made));
    let text = stdout(&made);
    let key = text.lines().map(str::trim).find(|line| line.starts_with("sdk_")).unwrap();
    let entry = &text[text.find("[keys.alice]").unwrap()..];
    assert!(!entry.contains(key));
    place.file("keys.toml", entry);
    let daemon = place.serve();
    let credentials = Credentials::none().with_key(key).unwrap();
    let client = GrpcClient::connect_with(&daemon.address, &credentials).await.unwrap();
    assert_eq!(targets(&client).await, Ok(1));
    daemon.end(Signal::TERM);

    let refused = place.0.run(&["key", "new", "bob", "--tools", "session_reed"]);
    assert!(stderr(&refused).contains("which is no tool; the nearest one is session_read"), "{}", stderr(&refused));
}
