//! What somebody may not do who has a port to talk to, a key that sees but does not act, or one that is no more.

use std::time::Duration;

use rustix::process::Signal;
use sessiond_core::{Cursor, ListSessions, ReadSession, Service, Wait, WriteSession};
use sessiond_grpc::Address;
use sessiond_grpc::client::{GrpcClient, SessionRef, Shown};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request};
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

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
async fn what_the_server_can_do_is_told_to_whoever_has_a_key() {
    let place = Networked::new();
    let reader = place.key("reader", "tools = ['session_list']");
    let daemon = place.serve();
    let mut reflection = ServerReflectionClient::new(channel(&daemon).await);
    let asked = |key: Option<&str>| {
        let question = MessageRequest::ListServices(String::new());
        let question = ServerReflectionRequest { host: String::new(), message_request: Some(question) };
        let mut request = Request::new(futures_util::stream::once(std::future::ready(question)));
        if let Some(key) = key {
            request.metadata_mut().insert("authorization", format!("Bearer {key}").parse().unwrap());
        }
        request
    };
    let wrong = sessiond_bootstrap::identity::NewKey::random().unwrap();
    for key in [None, Some(wrong.expose())] {
        let refused = reflection.server_reflection_info(asked(key)).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
    }
    let mut told = reflection.server_reflection_info(asked(Some(reader.expose()))).await.unwrap().into_inner();
    let told = told.message().await.unwrap().unwrap().message_response.unwrap();
    let MessageResponse::ListServicesResponse(services) = told else { panic!("{told:?}") };
    let services: Vec<_> = services.service.into_iter().map(|service| service.name).collect();
    assert!(services.contains(&"sessiond.v1.SessionService".to_owned()), "{services:?}");
    daemon.end(Signal::TERM);
}

/// The line of an entry that holds for this many seconds more.
fn expires_in(seconds: u64) -> String {
    let date = format!("--date={seconds} seconds");
    let written = std::process::Command::new("date").args(["-u", &date, "+%Y-%m-%dT%H:%M:%S.%NZ"]).output().unwrap();
    assert!(written.status.success(), "{written:?}");
    format!("expires = {}", String::from_utf8(written.stdout).unwrap().trim_end())
}

#[tokio::test]
async fn a_key_that_expires_ends_streams_and_waits_and_no_session() {
    let place = Networked::new();
    let alice = place.key("alice", "role = 'full'");
    // Long enough to open everything, even where the machine has much else to do.
    let guest = place.key("guest", &format!("role = 'full'\nowner = 'alice'\n{}", expires_in(5)));
    let daemon = place.serve();
    let mut health = HealthClient::new(channel(&daemon).await);
    let mut request = Request::new(about(""));
    request.metadata_mut().insert("authorization", format!("Bearer {}", guest.expose()).parse().unwrap());
    let (alice, guest) = (client(&daemon, &alice).await, client(&daemon, &guest).await);
    let session = alice.start("echo ready; read -r line; echo \"got $line\"").await;
    alice.printed(&session, "ready").await;
    let ready = Cursor(7);
    let mut followed = guest.0.follow_session(&GrpcClient::call(), &session, ready).await.unwrap();
    let (_input, mut attached) = guest.0.attach(&GrpcClient::call(), &session, ready).await.unwrap();
    let mut watched = health.watch(request).await.unwrap().into_inner();
    assert_eq!(watched.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    let wait = Wait { time: Duration::from_secs(20), ..Wait::default() };
    let reading = ReadSession { session: session.session, target: session.target.clone(), cursor: ready, wait };
    let cx = GrpcClient::call();

    let (followed, shown, watched, waited) = tokio::join!(
        futures_util::StreamExt::next(&mut followed),
        attached.next(),
        watched.message(),
        guest.0.read_session(&cx, reading)
    );
    let ended = "this credential has just been taken back or has expired: what it had open has ended";
    let expected = sessiond_core::Error::permission_denied(ended);
    assert_eq!(followed.unwrap().unwrap_err(), expected);
    assert_eq!(shown.unwrap_err(), expected);
    assert_eq!(watched.unwrap_err().code(), Code::Unauthenticated);
    assert_eq!(waited.unwrap_err(), expected);
    assert!(targets(&guest.0).await.is_err());
    write(&alice, &session, "on\r").await;
    alice.printed(&session, "got on").await;
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
