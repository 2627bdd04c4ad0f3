//! A connection that has been accepted.

use std::fmt;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use tokio_rustls::server::TlsStream;

use super::permits::Permit;
use crate::identity::Certificate;

/// What a new connection must have said before its time is up: as much as an HTTP/2 preface is long (RFC 9113, section
/// 3.4). No request of HTTP/1.1 that names its host and what it accepts is shorter.
const GREETING: usize = 24;

/// Where a connection comes from, and what TLS has verified of the caller.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The caller's address; a proxy's where one stands between.
    pub address: SocketAddr,
    /// Whether the bytes go through TLS.
    pub is_encrypted: bool,
    /// The caller's certificate, where one was shown: TLS has verified it against the authorities of the configuration.
    pub certificate: Option<Arc<Certificate>>,
}

impl Origin {
    /// The address that wrong credentials count for.
    pub fn ip(&self) -> IpAddr {
        self.address.ip()
    }
}

/// A connection.
pub struct Connection {
    stream: Stream,
    origin: Origin,
    greeting: Option<Greeting>,
    _permit: Permit,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// The wait for the first bytes.
struct Greeting {
    missing: usize,
    patience: Pin<Box<Sleep>>,
}

impl Connection {
    pub(super) fn plain(stream: TcpStream, address: SocketAddr, patience: Duration, permit: Permit) -> Self {
        let origin = Origin { address, is_encrypted: false, certificate: None };
        Self::new(Stream::Plain(stream), origin, patience, permit)
    }

    pub(super) fn tls(stream: TlsStream<TcpStream>, address: SocketAddr, patience: Duration, permit: Permit) -> Self {
        let (_, session) = stream.get_ref();
        let shown = session.peer_certificates().and_then(<[_]>::first);
        let certificate = shown.and_then(|der| Certificate::of_der(der)).map(Arc::new);
        let origin = Origin { address, is_encrypted: true, certificate };
        Self::new(Stream::Tls(Box::new(stream)), origin, patience, permit)
    }

    fn new(stream: Stream, origin: Origin, patience: Duration, permit: Permit) -> Self {
        let patience = Box::pin(tokio::time::sleep_until(Instant::now() + patience));
        let greeting = Some(Greeting { missing: GREETING, patience });
        Self { stream, origin, greeting, _permit: permit }
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
        let before = buf.filled().len();
        let read = self.stream.as_mut().poll_read(cx, buf);
        let Some(greeting) = &mut self.greeting else { return read };
        if read.is_pending() {
            ready!(greeting.patience.as_mut().poll(cx));
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the caller says nothing")));
        }
        greeting.missing = greeting.missing.saturating_sub(buf.filled().len() - before);
        if greeting.missing == 0 {
            self.greeting = None;
        }
        read
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
