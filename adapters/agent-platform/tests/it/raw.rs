//! Answers that no decent server sends.

use std::time::{Duration, Instant};

use sessiond_agent_platform::{Auth, DialectName, Platform, PlatformConfig};
use sessiond_core::{AgentAction, Backend, Error, ErrorKind, Result, TaskKind, Tasks};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{AMPLE, call, id, secret, within};

/// Describes a session on a server that sends this to each of its connections: a beginning, and then one piece again
/// and again.
async fn described(head: &'static str, piece: &'static [u8], limit: Duration) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = PlatformConfig::new(format!("http://{}", listener.local_addr().unwrap()), DialectName::Itential);
    config.keepalive = None;
    let tasks = Tasks::new();
    let (all, end) = (tasks.clone(), tasks.cancelled());
    tasks.spawn(TaskKind("test server"), async move {
        tokio::select! {
            () = serve(&listener, head, piece, &all) => {}
            () = end => {}
        }
    });
    let platform = Platform::new(&config).unwrap();
    let cx = within(limit);
    let described = Backend::agents(platform.as_ref()).unwrap().describe(&cx, &id("s")).await;
    assert!(tasks.shutdown(AMPLE).await);
    described.map(drop)
}

async fn serve(listener: &TcpListener, head: &'static str, piece: &'static [u8], tasks: &Tasks) {
    while let Ok((stream, _)) = listener.accept().await {
        let end = tasks.cancelled();
        tasks.spawn(TaskKind("test server connection"), async move {
            tokio::select! {
                () = answer(stream, head, piece) => {}
                () = end => {}
            }
        });
    }
}

async fn answer(mut stream: TcpStream, head: &str, piece: &[u8]) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request).await;
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    while !piece.is_empty() && stream.write_all(piece).await.is_ok() {}
    // The connection stays open: nothing more comes.
    std::future::pending::<()>().await;
}

fn too_large() -> Error {
    Error::unavailable("the platform's answer is larger than 64 MiB: ask for less")
}

#[tokio::test]
async fn an_answer_that_says_that_it_is_too_large_is_not_read() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 67108865\r\n\r\n[";
    let began = Instant::now();
    assert_eq!(described(head, b"", AMPLE).await, Err(too_large()));
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn an_answer_without_an_end_is_given_up_when_it_is_too_large() {
    const PIECE: &[u8] = &{
        let mut piece = [b' '; 65_536 + 9];
        let (head, end) = (*b"10000\r\n", *b"\r\n");
        let mut at = 0;
        while at < head.len() {
            piece[at] = head[at];
            at += 1;
        }
        (piece[65_536 + 7], piece[65_536 + 8]) = (end[0], end[1]);
        piece
    };
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(described(head, PIECE, AMPLE).await, Err(too_large()));
}

#[tokio::test]
async fn a_head_without_an_end_is_an_error() {
    let refused = described("HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n", AMPLE).await.unwrap_err();
    assert_eq!(refused, Error::unavailable("the connection to the platform broke off: try again"));
}

#[tokio::test]
async fn what_is_no_http_is_an_error() {
    let refused = described("SSH-2.0-OpenSSH_9.9\r\n", b"", AMPLE).await.unwrap_err();
    assert_eq!(refused, Error::unavailable("the connection to the platform broke off: try again"));
}

#[tokio::test]
async fn a_body_that_stops_in_the_middle_costs_the_deadline_and_no_more() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{";
    let began = Instant::now();
    let late = described(head, b"", Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::TimedOut);
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_token_goes_in_the_header_that_is_named_for_it_and_in_no_other() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = PlatformConfig::new(format!("http://{}", listener.local_addr().unwrap()), DialectName::Itential);
    config.keepalive = None;
    config.auth = Auth::Token(secret("t0ken"));
    config.token_header = Some("X-Api-Key".into());
    let platform = Platform::new(&config).unwrap();
    let answered = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).await.unwrap();
        let body = "{\"status\": \"PAUSED\"}";
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(request[..length].to_vec()).unwrap()
    };
    let (cx, session) = (call(), id("s"));
    let paused = Backend::agents(platform.as_ref()).unwrap().control(&cx, &session, AgentAction::Pause, None);
    let (paused, request) = tokio::join!(paused, answered);
    assert_eq!(paused.unwrap().status, "PAUSED");
    let carrying: Vec<_> = request.lines().filter(|line| line.contains("t0ken")).collect();
    assert_eq!(carrying, ["x-api-key: t0ken"]);
    assert!(!request.to_lowercase().contains("authorization"), "{request}");
    config.token_header = Some("X Api: Key".into());
    let refused = Platform::new(&config).map(drop).unwrap_err();
    assert_eq!(
        refused,
        Error::invalid_argument("the target's token_header is no header's name: write it like X-Api-Key")
    );
}
