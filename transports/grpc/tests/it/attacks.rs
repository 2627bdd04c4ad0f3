//! What somebody may not do who has a port to talk to, a key that sees but does not act, or one that is no more.

use std::time::Duration;

use rustix::process::Signal;
use sessiond_core::{Cursor, ListSessions, Service, WriteSession};
use sessiond_grpc::Address;
use sessiond_grpc::client::{GrpcClient, SessionRef, Shown};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request};
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};

use crate::network::{Networked, client, targets};
use crate::place::{Client, Daemon};

async fn channel(daemon: &Daemon) -> Channel {
    Endpoint::from_shared(daemon.address.to_string()).unwrap().connect().await.unwrap()
}

fn about(service: impl Into<String>) -> HealthCheckRequest {
    HealthCheckRequest { service: service.into() }
}

/// How much a session has printed, of which nobody need have read anything.
async fn printed(client: &Client, session: &SessionRef) -> u64 {
    let page = client.0.list_sessions(&GrpcClient::call(), ListSessions::default()).await.unwrap();
    page.sessions.iter().find(|listed| listed.session == session.session).unwrap().output_end.0
}

async fn write(client: &Client, session: &SessionRef, text: &'static str) {
    let (session, target) = (session.session, session.target.clone());
    let request = WriteSession { session, target, input: text.into(), wait: Default::default() };
    client.0.write_session(&GrpcClient::call(), request).await.unwrap();
}

#[tokio::test]
async fn one_who_attaches_and_reads_nothing_writes_nothing_once_the_key_is_taken_back() {
    /// Many times what a stream carries that nobody reads.
    const FLOOD: u64 = 16 << 20;
    let place = Networked::new();
    let alice = place.key("alice", "role = 'full'");
    let before = std::fs::read_to_string(place.path("keys.toml")).unwrap();
    let second = place.key("second", "role = 'full'\nowner = 'alice'");
    let daemon = place.serve();
    let (alice, second) = (client(&daemon, &alice).await, client(&daemon, &second).await);
    let log = place.path("log");
    let script = format!("yes & while read -r line; do echo \"$line\" >> {}; done; kill $!", log.display());
    let session = alice.start(&script).await;
    let quiet = alice.start("cat").await;
    let (input, _unread) = second.0.attach(&GrpcClient::call(), &session, Cursor::START).await.unwrap();
    input.write("first\r".into()).await.unwrap();
    while printed(&alice, &session).await < FLOOD {}

    std::fs::write(place.path("keys.toml"), &before).unwrap();
    let mut followed = second.0.follow_session(&GrpcClient::call(), &quiet, Cursor::START).await.unwrap();
    daemon.signal(Signal::HUP);
    // The stream that is read says that the key is no more.
    while futures_util::StreamExt::next(&mut followed).await.is_some_and(|item| item.is_ok()) {}
    let _ = input.write("stolen\r".into()).await;
    // Behind it on the same connection: what was sent before has come.
    assert!(targets(&second.0).await.is_err());
    write(&alice, &session, "last\r\x04").await;
    alice.ended(session.session).await;
    assert_eq!(std::fs::read_to_string(log).unwrap(), "first\nlast\n");
    daemon.end(Signal::TERM);
}

#[tokio::test]
async fn a_key_that_only_looks_attaches_and_changes_nothing() {
    let place = Networked::new();
    let alice = place.key("alice", "role = 'full'");
    let auditor = place.key("auditor", "role = 'read-only'\nowner = 'alice'");
    let daemon = place.serve();
    let (alice, auditor) = (client(&daemon, &alice).await, client(&daemon, &auditor).await);
    let session = alice.start("echo ready; read -r line; echo \"got $line\"").await;
    alice.printed(&session, "ready").await;
    let (input, mut output) = auditor.0.attach(&GrpcClient::call(), &session, Cursor(7)).await.unwrap();
    input.write("typed\r".into()).await.unwrap();
    input.resize(sessiond_core::WindowSize::new(91, 31).unwrap()).await.unwrap();
    input.signal(sessiond_core::Signal::Kill).await.unwrap();
    for verb in ["write_session", "control_session", "control_session"] {
        let shown = output.next().await.unwrap().unwrap();
        let expected = format!("your role does not permit {verb}: ");
        assert!(matches!(&shown, Shown::Refused(why) if why.starts_with(&expected)), "{shown:?}");
    }
    write(&alice, &session, "hers\r").await;
    alice.printed(&session, "got hers").await;
    daemon.end(Signal::TERM);
}

#[tokio::test]
async fn whoever_proves_nothing_may_ask_whether_the_server_lives_and_nothing_that_lasts() {
    let place = Networked::new();
    let alice = place.key("alice", "role = 'full'");
    let daemon = place.serve();
    let mut health = HealthClient::new(channel(&daemon).await);
    let lives = health.check(about("")).await.unwrap().into_inner();
    assert_eq!(lives.status(), ServingStatus::Serving);
    let watched = health.watch(about("")).await.unwrap_err();
    assert_eq!(watched.code(), Code::Unauthenticated, "{watched}");
    let large = health.check(about("x".repeat(4096))).await.unwrap_err();
    assert_eq!(large.code(), Code::OutOfRange, "{large}");

    let mut request = Request::new(about(""));
    let credential = format!("Bearer {}", alice.expose());
    request.metadata_mut().insert("authorization", credential.parse().unwrap());
    let mut watched = health.watch(request).await.unwrap().into_inner();
    assert_eq!(watched.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    daemon.end(Signal::TERM);
}

#[tokio::test]
async fn a_connection_on_which_nobody_proves_anything_is_closed_and_others_stay() {
    let place = Networked::new();
    let alice = place.key("alice", "role = 'full'");
    place.configure("header_timeout_ms = 100");
    let daemon = place.serve();
    let alice = client(&daemon, &alice).await;
    assert_eq!(targets(&alice.0).await, Ok(1));
    let Address::Tcp(address) = daemon.address else { panic!("{} is a port", daemon.address) };
    let mut stream = TcpStream::connect(address).await.unwrap();
    // HTTP/2 as it should begin (RFC 9113, section 3.4), and then nothing.
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut said = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut said)).await;
    assert!(closed.is_ok(), "it is still open");
    assert_eq!(targets(&alice.0).await, Ok(1));
    daemon.end(Signal::TERM);
}
