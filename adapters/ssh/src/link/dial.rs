//! The first leg of a connection: TCP to an address, or a program that carries the bytes (`ProxyCommand`).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use sessiond_core::{TaskKind, Tasks};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::wire::Carrier;
use crate::local::{self, Line, Program};
use crate::surroundings::Surroundings;

/// Carries the bytes of a connection for its whole life, and ends with it.
const PROXY: TaskKind = TaskKind("ssh proxy command");
/// How long one address may keep the next from being tried (RFC 8305, section 5: "Connection Attempt Delay").
const NEXT_ADDRESS: Duration = Duration::from_millis(250);

/// Dials every address of a name, one after the other and each without waiting long for the one before, and takes the
/// first that answers.
///
/// # Errors
/// Words that continue a sentence about the address.
pub(crate) async fn tcp(host: &str, port: u16) -> Result<(Box<dyn Carrier>, IpAddr), String> {
    let found = tokio::net::lookup_host((host, port)).await;
    let mut addresses = found.map_err(|error| format!("cannot be looked up: {error}"))?;
    let mut attempts = FuturesUnordered::new();
    let mut first_failure = None;
    loop {
        let next = addresses.next();
        let is_last = next.is_none();
        attempts.extend(next.map(connect));
        let answer = if is_last {
            attempts.next().await
        } else {
            match tokio::time::timeout(NEXT_ADDRESS, attempts.next()).await {
                Ok(answer) => answer,
                Err(_) => continue,
            }
        };
        match answer {
            Some(Ok((stream, address))) => return Ok((Box::new(Acknowledging(stream)), address)),
            Some(Err(failure)) => {
                first_failure.get_or_insert(failure);
            }
            None if is_last => return Err(first_failure.unwrap_or_else(|| "has no address".to_owned())),
            None => {}
        }
    }
}

async fn connect(address: SocketAddr) -> Result<(TcpStream, IpAddr), String> {
    let connected = TcpStream::connect(address).await;
    let stream = connected.map_err(|error| format!("does not answer at {address}: {error}"))?;
    // A key stroke is a packet of its own and must not wait for the answer to the one before.
    stream.set_nodelay(true).map_err(|error| format!("does not take TCP_NODELAY at {address}: {error}"))?;
    Ok((stream, address.ip()))
}

/// A socket that acknowledges little pieces at once.
///
/// OpenSSH's server leaves Nagle's algorithm on for whatever is no terminal: a little piece waits until the one before
/// is acknowledged, which a receiver puts off for 40 ms. Every first command of a connection would take that long.
struct Acknowledging(TcpStream);

/// What counts as little, in bytes: a flood is acknowledged soon enough.
const LITTLE: usize = 4096;

impl AsyncRead for Acknowledging {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.0).poll_read(cx, into);
        #[cfg(target_os = "linux")]
        if read.is_ready() && into.filled().len() - before < LITTLE {
            // Where it cannot be had, all that is lost is time.
            let _ = rustix::net::sockopt::set_tcp_quickack(&self.0, true);
        }
        read
    }
}

impl AsyncWrite for Acknowledging {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// What is known of a program that carries a connection.
pub(crate) struct Proxy {
    /// The end of what it has said on standard error.
    said: Arc<Mutex<Vec<u8>>>,
    /// How it ended.
    over: watch::Receiver<Option<String>>,
}

/// How much of what a program says is kept, in bytes.
const KEPT: usize = 400;

impl Proxy {
    /// Starts a command with the user's shell; its standard input and output are the connection. It ends when `cut` is
    /// cancelled or the server ends, and is waited for.
    ///
    /// # Errors
    /// There is no such shell, or the operating system refuses.
    pub(crate) fn start(
        command: &str,
        surroundings: &Surroundings,
        cut: CancellationToken,
        tasks: &Tasks,
    ) -> io::Result<(Box<dyn Carrier>, Self)> {
        // As ssh(1) does it: the command takes the shell's place, so that a signal reaches it.
        let shell = surroundings.variable("SHELL").unwrap_or("/bin/sh".as_ref());
        let line = Line { shell, text: &format!("exec {command}"), surroundings };
        let mut program = Program::line(line, Stdio::piped(), Stdio::piped())?;
        let child = program.child();
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let said = Arc::new(Mutex::new(Vec::new()));
        let (tell, over) = watch::channel(None);
        let proxy = Self { said: Arc::clone(&said), over };
        let shutdown = tasks.cancelled();
        let (Some(stdin), Some(stdout), Some(mut stderr)) = pipes else {
            tasks.spawn(PROXY, program.end());
            return Err(io::Error::other("the program has no pipes"));
        };
        tasks.spawn(PROXY, async move {
            let how = tokio::select! {
                how = watched(&mut program, &mut stderr, &said) => how,
                () = cut.cancelled() => "was ended here".to_owned(),
                () = shutdown => "was ended with this server".to_owned(),
            };
            program.end().await;
            tell.send_replace(Some(how));
        });
        Ok((Box::new(tokio::io::join(stdout, stdin)), proxy))
    }

    /// What the program says of itself, for an error: how it ended, if that comes to be known within a second, and its
    /// last words.
    pub(crate) async fn last_words(&self) -> String {
        let mut over = self.over.clone();
        let how = tokio::time::timeout(Duration::from_secs(1), over.wait_for(Option::is_some)).await;
        let how = match how {
            Ok(Ok(how)) => how.clone().unwrap_or_default(),
            _ => "still runs".to_owned(),
        };
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        match super::say::line(&String::from_utf8_lossy(&said), KEPT) {
            said if said.is_empty() => format!("the proxy command {how}"),
            said => format!("the proxy command {how} and said: {said}"),
        }
    }
}

/// Waits for the program's end, keeping the last of what it says.
async fn watched(program: &mut Program, stderr: &mut (impl AsyncRead + Unpin), said: &Mutex<Vec<u8>>) -> String {
    let how = tokio::select! {
        ended = program.ended() => ended,
        () = listen(stderr, said) => program.ended().await,
    };
    // What it said last may still be in the pipe; somebody else may hold the pipe open.
    let _ = tokio::time::timeout(Duration::from_millis(200), listen(stderr, said)).await;
    how.map_or_else(|error| format!("cannot be waited for: {error}"), local::said)
}

async fn listen(stderr: &mut (impl AsyncRead + Unpin), said: &Mutex<Vec<u8>>) {
    let mut heard = [0; KEPT];
    while let Ok(count @ 1..) = stderr.read(&mut heard).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend(heard.iter().take(count));
        let excess = said.len().saturating_sub(KEPT);
        said.drain(..excess);
    }
}
