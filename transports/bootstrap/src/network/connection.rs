//! A connection that has been accepted.

use std::fmt;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use super::permits::Permit;
use crate::identity::Certificate;

/// What a new connection must have said before its time is up: as much as an HTTP/2 preface is long (RFC 9113, section
/// 3.4). No request of HTTP/1.1 that names its host and what it accepts is shorter.
const GREETING: usize = 24;

/// How much longer than its greeting a new connection may take until somebody on it has proven who they are, as a factor.
/// Whoever proves nothing would else hold connections for as long as they like, and keep others out.
const PROOF: u32 = 6;

/// Where a connection comes from, and what TLS has verified of the caller.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The caller's address; a proxy's where one stands between.
    pub address: SocketAddr,
    /// Whether the bytes go through TLS.
    pub is_encrypted: bool,
    /// The caller's certificate, where one was shown: TLS has verified it against the authorities of the configuration.
    pub certificate: Option<Arc<Certificate>>,
    /// Whether somebody has proven who they are on this connection.
    proven: Arc<AtomicBool>,
}

impl Origin {
    /// Somebody on this connection has proven who they are, or need not: it may stay. Until then it may not for long.
    pub fn prove(&self) {
        self.proven.store(true, Ordering::Relaxed);
    }

    fn is_proven(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }

    /// The address that wrong credentials count for.
    pub fn ip(&self) -> IpAddr {
        self.address.ip()
    }
}

/// A connection.
pub struct Connection {
    stream: Stream,
    origin: Origin,
    trial: Option<Trial>,
    _permit: Permit,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// The time in which nobody has proven anything yet.
struct Trial {
    /// Bytes of the greeting that are still to come.
    missing: usize,
    /// Until when the greeting may take, and then the proof.
    patience: Pin<Box<Sleep>>,
    proof_by: Instant,
}

impl Connection {
    pub(super) fn plain(stream: TcpStream, address: SocketAddr, patience: Duration, permit: Permit) -> Self {
        let origin = Origin { address, is_encrypted: false, certificate: None, proven: Arc::default() };
        Self::new(Stream::Plain(stream), origin, patience, permit)
    }

    /// `trust` fires when whoever has verified the caller's certificate is trusted no more.
    pub(super) fn tls(
        stream: TlsStream<TcpStream>,
        trust: CancellationToken,
        address: SocketAddr,
        patience: Duration,
        permit: Permit,
    ) -> Self {
        let (_, session) = stream.get_ref();
        let shown = session.peer_certificates().and_then(<[_]>::first);
        let certificate = shown.and_then(|der| Certificate::of_der(der));
        let certificate = certificate.map(|certificate| Arc::new(certificate.trusted(trust)));
        let origin = Origin { address, is_encrypted: true, certificate, proven: Arc::default() };
        Self::new(Stream::Tls(Box::new(stream)), origin, patience, permit)
    }

    fn new(stream: Stream, origin: Origin, patience: Duration, permit: Permit) -> Self {
        let now = Instant::now();
        let proof_by = now + patience.saturating_mul(PROOF);
        let patience = Box::pin(tokio::time::sleep_until(now + patience));
        Self { stream, origin, trial: Some(Trial { missing: GREETING, patience, proof_by }), _permit: permit }
    }

    /// Where it comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connection({:?})", self.origin)
    }
}

impl Stream {
    fn as_mut(&mut self) -> Pin<&mut dyn Both> {
        match self {
            Self::Plain(stream) => Pin::new(stream),
            Self::Tls(stream) => Pin::new(stream.as_mut()),
        }
    }
}

/// What a stream of either kind is.
trait Both: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Both for T {}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { stream, origin, trial, .. } = &mut *self;
        if origin.is_proven() {
            *trial = None;
        }
        let Some(on_trial) = trial else { return stream.as_mut().poll_read(cx, buf) };
        // First, for whoever sends without a pause always has something to read.
        if on_trial.patience.as_mut().poll(cx).is_ready() {
            let why = if on_trial.missing > 0 { "the caller says nothing" } else { "nobody has proven who they are" };
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)));
        }
        let before = buf.filled().len();
        ready!(stream.as_mut().poll_read(cx, buf))?;
        if on_trial.missing > 0 {
            on_trial.missing = on_trial.missing.saturating_sub(buf.filled().len() - before);
            if on_trial.missing == 0 {
                on_trial.patience.as_mut().reset(on_trial.proof_by);
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
