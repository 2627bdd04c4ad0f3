//! The way to a server on this machine: one HTTP/2 connection over its unix socket, which all calls share.

use std::fmt;
use std::future::Future;
use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::rt::Executor;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tonic::ConnectError;
use tonic::body::Body;
use tonic::codegen::http::header::{HeaderValue, USER_AGENT};
use tonic::codegen::http::uri::{Authority, Scheme};
use tonic::codegen::http::{Request, Response, Uri};
use tonic::codegen::{Service, StdError};

use super::{CONNECTION_WINDOW, STREAM_WINDOW};

/// What a request is for, which for a socket says nothing.
const AUTHORITY: &str = "localhost";

const AGENT: HeaderValue = HeaderValue::from_static(concat!("sessiond/", env!("CARGO_PKG_VERSION")));

/// A server at the other end of a unix socket. The connection is made with the first call, and anew when it has broken.
/// Clones share it.
///
/// tonic's own channel hands each call to a task of its own and takes the answer back from there: that would be a good
/// part of what a call takes on the same machine.
#[derive(Clone)]
pub(super) struct Local(Arc<Shared>);

struct Shared {
    path: PathBuf,
    line: Mutex<Option<SendRequest<Body>>>,
}

impl Local {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(Arc::new(Shared { path, line: Mutex::new(None) }))
    }

    /// Connects, when it is not connected.
    ///
    /// # Errors
    /// When nobody answers.
    pub(super) async fn connect(&self) -> Result<(), ConnectError> {
        self.open().await.map(drop)
    }

    /// The open connection, or a new one. Two calls that find none may both make one: the later one stays.
    async fn open(&self) -> Result<SendRequest<Body>, ConnectError> {
        if let Some(open) = self.line().as_ref().filter(|line| !line.is_closed()) {
            return Ok(open.clone());
        }
        let socket = UnixStream::connect(&self.0.path).await.map_err(|error| ConnectError(error.into()))?;
        let socket = TokioIo::new(Gathering { socket, waited: false });
        let mut builder = Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW);
        let (line, connection) = builder.handshake(socket).await.map_err(|error| ConnectError(error.into()))?;
        // It ends with the last clone of the line, or with the server; each call that this breaks is told.
        TokioExecutor::new().execute(async {
            let _ = connection.await;
        });
        *self.line() = Some(line.clone());
        Ok(line)
    }

    /// Makes one call. A request that turns out not to have been sent, because the server has left since the call before,
    /// is sent once more.
    async fn ask(self, mut request: Request<Body>) -> Result<Response<Body>, StdError> {
        complete(&mut request)?;
        let mut sent = self.open().await?.try_send_request(request).await;
        if let Err(failed) = &mut sent
            && let Some(request) = failed.take_message()
        {
            self.line().take();
            sent = self.open().await?.try_send_request(request).await;
        }
        Ok(sent.map_err(|failed| failed.into_error())?.map(Body::new))
    }

    fn line(&self) -> MutexGuard<'_, Option<SendRequest<Body>>> {
        self.0.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds what HTTP/2 and gRPC want in each request.
fn complete(request: &mut Request<Body>) -> Result<(), StdError> {
    let mut uri = std::mem::take(request.uri_mut()).into_parts();
    uri.scheme = Some(Scheme::HTTP);
    uri.authority = Some(Authority::from_static(AUTHORITY));
    *request.uri_mut() = Uri::from_parts(uri)?;
    request.headers_mut().insert(USER_AGENT, AGENT);
    Ok(())
}

impl Service<Request<Body>> for Local {
    type Response = Response<Body>;
    type Error = StdError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, StdError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StdError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().ask(request))
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Local").field(&self.0.path).finish()
    }
}

/// A socket that lets the runtime take one turn before it writes what comes after a flush.
///
/// hyper hands over the body of a request once its head is on the way. The head would go out alone: it would wake the
/// server, which would find no body and sleep again. After that turn the body is there, and both go out at once.
struct Gathering {
    socket: UnixStream,
    waited: bool,
}

impl Gathering {
    fn poll_gathered(&mut self, cx: &Context<'_>) -> Poll<()> {
        if self.waited {
            return Poll::Ready(());
        }
        self.waited = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl AsyncRead for Gathering {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }
}

impl AsyncWrite for Gathering {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_gathered(cx));
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_gathered(cx));
        Pin::new(&mut self.socket).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.waited = false;
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::AsyncWriteExt;

    use super::*;

    /// How often a write is polled until it is done.
    async fn polls(socket: &mut Gathering, bytes: &[u8]) -> u32 {
        let mut polls = 0;
        poll_fn(|cx| {
            polls += 1;
            Pin::new(&mut *socket).poll_write(cx, bytes)
        })
        .await
        .unwrap();
        polls
    }

    #[tokio::test]
    async fn the_first_write_after_a_flush_waits_for_one_turn_of_the_runtime() {
        let (socket, _there) = UnixStream::pair().unwrap();
        let mut socket = Gathering { socket, waited: false };
        let (head, body) = (polls(&mut socket, b"head").await, polls(&mut socket, b"body").await);
        socket.flush().await.unwrap();
        assert_eq!((head, body, polls(&mut socket, b"next").await), (2, 1, 2));
    }
}
