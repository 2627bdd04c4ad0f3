//! Platforms over TLS: whom we trust, and who we are.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use sessiond_agent_platform::{DialectName, Platform, PlatformConfig, Tls};
use sessiond_core::{AgentSessionDetail, Backend, Error, Result, TaskKind, Tasks};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::support::{call, id};

/// A platform over TLS that has one session, with the files that its clients need.
struct Site {
    _files: TempDir,
    tasks: Tasks,
    url: String,
    tls: Tls,
}

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate and its key, in PEM.
    fn certify(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

impl Site {
    async fn start(asks_for_certificate: bool) -> Self {
        let authority = Authority::new();
        let (server, client) = (authority.certify("localhost"), authority.certify("sessiond"));
        let files = TempDir::new().unwrap();
        let write = |name: &str, content: &str| -> PathBuf {
            let path = files.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let tls = Tls {
            ca_file: Some(write("ca.pem", &authority.0.pem())),
            client_cert_file: Some(write("cert.pem", &client.0)),
            client_key_file: Some(write("key.pem", &client.1)),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let tasks = Tasks::new();
        let acceptor = acceptor(&authority, &server, asks_for_certificate);
        let (all, end) = (tasks.clone(), tasks.cancelled());
        tasks.spawn(TaskKind("test tls"), async move {
            tokio::select! {
                () = serve(&listener, &acceptor, &all) => {}
                () = end => {}
            }
        });
        Self { _files: files, tasks, url, tls }
    }

    async fn describe(&self, tls: &Tls) -> Result<AgentSessionDetail> {
        let mut config = PlatformConfig::new(&self.url, DialectName::Itential);
        config.keepalive = None;
        config.tls = tls.clone();
        let platform = Platform::new(&config).unwrap();
        Backend::agents(platform.as_ref()).unwrap().describe(&call(), &id("s")).await
    }
}

fn acceptor(authority: &Authority, (certificate, key): &(String, String), asks: bool) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
    let builder = if asks {
        let mut roots = RootCertStore::empty();
        roots.add(authority.0.der().clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    TlsAcceptor::from(Arc::new(builder.with_single_cert(vec![certificate], key).unwrap()))
}

async fn serve(listener: &TcpListener, acceptor: &TlsAcceptor, tasks: &Tasks) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, end) = (acceptor.clone(), tasks.cancelled());
        tasks.spawn(TaskKind("test tls connection"), async move {
            tokio::select! {
                () = answer(stream, acceptor) => {}
                () = end => {}
            }
        });
    }
}

/// Answers every request alike: a session, which is an empty list of messages as well.
async fn answer(stream: TcpStream, acceptor: TlsAcceptor) {
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let mut head = Vec::new();
    while let Ok(byte) = stream.read_u8().await {
        head.push(byte);
        if head.ends_with(b"\r\n\r\n") {
            let is_list = head.starts_with(b"GET /agent-session-manager/sessions/s/messages");
            let body = if is_list { "[]" } else { r#"{"sessionId":"s","status":"COMPLETE"}"# };
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
            head.clear();
        }
    }
}

const UNTRUSTED: &str = "the platform's certificate is not trusted: name who vouches for it in the target's ca_file";

#[tokio::test]
async fn the_named_authority_is_trusted_and_no_other() {
    let site = Site::start(false).await;
    let trusting = Tls { ca_file: site.tls.ca_file.clone(), ..Tls::default() };
    assert_eq!(site.describe(&trusting).await.unwrap().status, "COMPLETE");
    let other = Site::start(false).await;
    let refused = site.describe(&Tls { ca_file: other.tls.ca_file.clone(), ..Tls::default() }).await.unwrap_err();
    assert_eq!(refused, Error::unavailable(UNTRUSTED));
    for site in [site, other] {
        assert!(site.tasks.shutdown(crate::support::AMPLE).await);
    }
}

#[tokio::test]
async fn a_platform_that_asks_for_a_certificate_gets_ours() {
    let site = Site::start(true).await;
    assert_eq!(site.describe(&site.tls).await.unwrap().status, "COMPLETE");
    let nobody = Tls { ca_file: site.tls.ca_file.clone(), ..Tls::default() };
    let refused = site.describe(&nobody).await.unwrap_err();
    assert_eq!(refused.kind(), sessiond_core::ErrorKind::Unavailable, "{refused}");
    assert!(site.tasks.shutdown(crate::support::AMPLE).await);
}
