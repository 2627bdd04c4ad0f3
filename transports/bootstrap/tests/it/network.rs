//! Listening on a network: who may be let in at all, TLS, certificates of callers, and those who dawdle.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};
use sessiond_bootstrap::identity::{Denied, Kind};
use sessiond_bootstrap::network::{Connection, Door, Listener};
use sessiond_core::{ErrorKind, TaskKind, Tasks};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::aws_lc_rs};

use crate::rig::{Keys, network};

const ANSWER: TaskKind = TaskKind("test.answer");

/// An authority of certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a name, and its private key.
    fn issue(&self, common_name: &str, alternatives: Vec<SanType>) -> (String, String) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "Example");
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.subject_alt_names = alternatives;
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn for_server(&self) -> (String, String) {
        self.issue("server", vec![SanType::DnsName("box.example".try_into().unwrap())])
    }
}

/// A server with TLS, and the authority of its certificate.
struct Served {
    keys: Keys,
    authority: Authority,
}

impl Served {
    fn new() -> Self {
        let (keys, authority) = (Keys::new(), Authority::new("servers"));
        let (certificate, key) = authority.for_server();
        keys.set("network.certificate_file", keys.file("cert.pem", &certificate).to_str().unwrap());
        keys.set("network.certificate_key_file", keys.file("key.pem", &key).to_str().unwrap());
        Self { keys, authority }
    }
}

fn any_port() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// Connects with TLS, showing a certificate or none.
async fn connect(
    address: SocketAddr,
    trusted: &Authority,
    shown: Option<&(String, String)>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.pem().as_bytes()).unwrap()).unwrap();
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
    let stream = TcpStream::connect(address).await.unwrap();
    let mut stream =
        TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("box.example").unwrap(), stream).await?;
    // In TLS 1.3 a client learns of a refusal of its certificate with its first read only.
    stream.write_all(&[b'x'; 24]).await?;
    let mut answer = [0; 1];
    stream.read_exact(&mut answer).await?;
    Ok(stream)
}

/// Answers the first connection, and returns it.
async fn answered(listener: &mut Listener) -> Connection {
    let mut connection = listener.accept().await;
    let mut greeting = [0; 24];
    connection.read_exact(&mut greeting).await.unwrap();
    connection.write_all(b"y").await.unwrap();
    connection.flush().await.unwrap();
    connection
}

#[tokio::test]
async fn a_port_without_anybody_to_let_in_is_refused_and_so_is_one_that_would_let_in_everybody() {
    let keys = Keys::new();
    let refused = |network: &sessiond_bootstrap::network::Network, address: &str, door| {
        let error = network.listen(address.parse().unwrap(), door).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FailedPrecondition);
        error.message().to_owned()
    };
    let empty = network(&keys);
    let said = refused(&empty, "127.0.0.1:0", Door::Asked);
    assert!(said.starts_with("127.0.0.1:0 lets nobody in: ") && said.contains("--no-password"), "{said}");
    assert!(!refused(&empty, "0.0.0.0:0", Door::Asked).contains("--no-password"));
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let said = refused(&empty, address, Door::Open);
        assert!(said.contains("can be reached from other machines"), "{said}");
    }
    drop(empty.listen(any_port(), Door::Open).unwrap());

    keys.alice();
    let some = network(&keys);
    let said = refused(&some, "0.0.0.0:0", Door::Asked);
    assert!(said.contains("in the clear") && said.contains("network.certificate_file"), "{said}");
    drop(some.listen("0.0.0.0:0".parse().unwrap(), Door::AskedInTheClear).unwrap());
    drop(some.listen(any_port(), Door::Asked).unwrap());
}

#[tokio::test]
async fn a_certificate_of_the_right_authority_is_somebody_and_one_of_another_is_nobody() {
    let served = Served::new();
    let (callers, strangers) = (Authority::new("callers"), Authority::new("callers"));
    let spiffe = SanType::URI("spiffe://example/ci".try_into().unwrap());
    let (alice, mallory) = (callers.issue("alice", vec![]), strangers.issue("alice", vec![]));
    let (ci, unknown) = (callers.issue("runner", vec![spiffe]), callers.issue("bob", vec![]));
    served.keys.set("network.client_ca_file", served.keys.file("ca.pem", &callers.pem()).to_str().unwrap());
    served.keys.write(
        "[certificates.alice]\nsubject = 'CN=alice,O=Example'\nrole = 'full'\n\
         [certificates.ci]\nname = 'URI:spiffe://example/ci'\nrole = 'read-only'\n",
    );
    let network = network(&served.keys);
    let mut listener = network.listen(any_port(), Door::Asked).unwrap();
    let address = listener.address().unwrap();

    for (shown, expected) in [(&alice, Ok("alice")), (&ci, Ok("ci")), (&unknown, Err(Denied::Unknown))] {
        let (connection, client) =
            tokio::join!(answered(&mut listener), connect(address, &served.authority, Some(shown)));
        client.unwrap();
        let certificate = connection.origin().certificate.clone().unwrap();
        let judged = network.identities.certificate(&certificate);
        let judged = judged.map(|identity| {
            assert_eq!(identity.kind, Kind::Certificate);
            identity.owner.name().to_string()
        });
        assert_eq!(judged, expected.map(str::to_owned));
    }
    let (connection, client) = tokio::join!(answered(&mut listener), connect(address, &served.authority, None));
    client.unwrap();
    assert!(connection.origin().is_encrypted && connection.origin().certificate.is_none());

    let refused = tokio::select! {
        client = connect(address, &served.authority, Some(&mallory)) => client.unwrap_err(),
        _ = answered(&mut listener) => panic!("a certificate of another authority was taken"),
    };
    assert!(
        refused.to_string().contains("UnknownCA")
            || refused.to_string().contains("BadSignature")
            || refused.to_string().contains("DecryptError"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_certificate_is_read_again_without_closing_a_connection() {
    let served = Served::new();
    served.keys.alice();
    let network = network(&served.keys);
    let mut listener = network.listen(any_port(), Door::Asked).unwrap();
    let address = listener.address().unwrap();
    let (mut before, client) = tokio::join!(answered(&mut listener), connect(address, &served.authority, None));
    let mut client = client.unwrap();

    served.keys.file("cert.pem", "no certificate");
    assert!(network.tls.as_ref().unwrap().reload().unwrap_err().to_string().contains("is no PEM with certificates"));
    let (_, again) = tokio::join!(answered(&mut listener), connect(address, &served.authority, None));
    assert!(again.is_ok(), "what was there stays");

    let renewed = Authority::new("renewed");
    let (certificate, key) = renewed.for_server();
    served.keys.file("cert.pem", &certificate);
    served.keys.file("key.pem", &key);
    network.reload();
    let (_, new) = tokio::join!(answered(&mut listener), connect(address, &renewed, None));
    assert!(new.is_ok());

    client.write_all(b"z").await.unwrap();
    let mut byte = [0; 1];
    before.read_exact(&mut byte).await.unwrap();
    assert_eq!(&byte, b"z");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let said = |change: &dyn Fn(&Served)| {
        let served = Served::new();
        change(&served);
        served.keys.shortened(&served.keys.load().unwrap_err())
    };
    let other = Authority::new("other").for_server();
    let mixed = said(&|served| drop(served.keys.file("key.pem", &other.1)));
    assert!(mixed.starts_with("cert.pem: certificate and key cannot be used: "), "{mixed}");
    let empty = said(&|served| drop(served.keys.file("key.pem", "")));
    assert_eq!(
        empty,
        "key.pem: the private key (network.certificate_key_file) is no PEM with a private key that needs no passphrase"
    );
    use std::os::unix::fs::PermissionsExt;
    let open = said(&|served| {
        let path = served.keys.directory().join("key.pem");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    });
    assert!(open.contains("can be written or read by others (mode 0644)"), "{open}");
    let keys = Keys::new();
    keys.set("network.certificate_file", "/x");
    assert_eq!(
        keys.load().unwrap_err(),
        "network.certificate_key_file is missing, which goes with network.certificate_file"
    );
}

#[tokio::test]
async fn one_who_dawdles_is_cut_off_and_keeps_nobody_waiting() {
    let served = Served::new();
    served.keys.alice();
    served.keys.set("network.handshake_timeout_ms", "100");
    let network = network(&served.keys);
    let mut listener = network.listen(any_port(), Door::Asked).unwrap();
    let address = listener.address().unwrap();
    // These say nothing at all.
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(address).await.unwrap());
    }
    let (_, client) = tokio::join!(answered(&mut listener), connect(address, &served.authority, None));
    client.unwrap();
    let tasks = Tasks::new();
    let ended = tasks.cancelled();
    tasks.spawn(ANSWER, async move {
        tokio::select! { _ = listener.accept() => {}, () = ended => {} }
    });
    for mut stream in silent {
        let mut byte = [0; 1];
        assert_eq!(stream.read(&mut byte).await.unwrap_or(0), 0, "it is closed");
    }
    assert!(tasks.shutdown(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_connection_that_drips_is_cut_off_when_its_time_is_up() {
    let keys = Keys::new();
    keys.alice();
    keys.set("network.header_timeout_ms", "100");
    let network = network(&keys);
    let mut listener = network.listen(any_port(), Door::Asked).unwrap();
    let address = listener.address().unwrap();
    let (mut connection, client) = tokio::join!(listener.accept(), TcpStream::connect(address));
    let mut client = client.unwrap();
    client.write_all(b"PRI * HTTP/2.0").await.unwrap();
    let mut said = Vec::new();
    let error = connection.read_to_end(&mut said).await.unwrap_err();
    assert_eq!((error.kind(), said.as_slice()), (std::io::ErrorKind::TimedOut, &b"PRI * HTTP/2.0"[..]));

    // Whoever has proven who they are may be silent as long as they like.
    let (mut connection, client) = tokio::join!(listener.accept(), TcpStream::connect(address));
    let mut client = client.unwrap();
    client.write_all(&[b'x'; 24]).await.unwrap();
    connection.read_exact(&mut [0; 24]).await.unwrap();
    connection.origin().prove();
    let mut byte = [0; 1];
    let silence = tokio::time::timeout(Duration::from_millis(900), connection.read(&mut byte)).await;
    assert!(silence.is_err(), "it is still open");
}

#[tokio::test]
async fn a_connection_on_which_nobody_proves_anything_does_not_stay_however_much_it_says() {
    const TALK: TaskKind = TaskKind("test.talk");
    let keys = Keys::new();
    keys.alice();
    keys.set("network.header_timeout_ms", "100");
    let network = network(&keys);
    let mut listener = network.listen(any_port(), Door::Asked).unwrap();
    let address = listener.address().unwrap();
    let tasks = Tasks::new();
    let ended = tasks.cancelled();
    tasks.spawn(TALK, async move {
        let mut client = TcpStream::connect(address).await.unwrap();
        let talk = async { while client.write_all(&[b'x'; 4096]).await.is_ok() {} };
        tokio::select! { () = talk => {}, () = ended => {} }
    });
    let mut connection = listener.accept().await;
    let mut sink = vec![0; 65536];
    let error = loop {
        match connection.read(&mut sink).await {
            Ok(bytes) => assert_ne!(bytes, 0, "the talker goes on"),
            Err(error) => break error,
        }
    };
    assert_eq!(
        (error.kind(), error.to_string()),
        (std::io::ErrorKind::TimedOut, "nobody has proven who they are".into())
    );
    drop(connection);
    assert!(tasks.shutdown(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_certificate_of_an_authority_that_is_trusted_no_more_ends_also_where_it_was_shown_before() {
    let served = Served::new();
    let (callers, others) = (Authority::new("callers"), Authority::new("others"));
    let alice = callers.issue("alice", vec![]);
    served.keys.set("network.client_ca_file", served.keys.file("ca.pem", &callers.pem()).to_str().unwrap());
    served.keys.write("[certificates.alice]\nsubject = 'CN=alice,O=Example'\nrole = 'full'\n");
    let network = network(&served.keys);
    let mut listener = network.listen(any_port(), Door::Asked).unwrap();
    let address = listener.address().unwrap();
    let (connection, client) = tokio::join!(answered(&mut listener), connect(address, &served.authority, Some(&alice)));
    let _client = client.unwrap();
    let certificate = connection.origin().certificate.clone().unwrap();
    let open = network.identities.certificate(&certificate).unwrap();
    network.reload();
    assert!(!open.has_ended(), "nothing has changed");
    served.keys.file("ca.pem", &others.pem());
    network.reload();
    open.ended().await;
    assert_eq!(network.identities.certificate(&certificate).unwrap_err(), Denied::Expired);
}

#[test]
fn authorities_that_others_could_write_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let served = Served::new();
    let file = served.keys.file("ca.pem", &Authority::new("callers").pem());
    served.keys.set("network.client_ca_file", file.to_str().unwrap());
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(
        served.keys.shortened(&served.keys.load().unwrap_err()),
        "ca.pem: the authorities (network.client_ca_file) can be written by others (mode 0666): chmod go-w it"
    );
}

#[tokio::test]
async fn loopback_is_known_in_every_form_and_nothing_else_passes_for_it() {
    let keys = Keys::new();
    let network = network(&keys);
    let judged = |address: &str| network.listen(address.parse().unwrap(), Door::Open).map(drop);
    for far in [
        "0.0.0.0:0",
        "[::]:0",
        "[::ffff:0.0.0.0]:0",
        "[::ffff:192.0.2.1]:0",
        "[::127.0.0.1]:0",
        "[64:ff9b::7f00:1]:0",
        "10.0.0.1:0",
        "128.0.0.1:0",
    ] {
        let error = judged(far).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FailedPrecondition, "{far}");
    }
    for near in ["127.0.0.1:0", "127.1.2.3:0"] {
        judged(near).unwrap();
    }
}
