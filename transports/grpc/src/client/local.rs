//! The way to a server on this machine.

use std::future::Future;
use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tonic::codegen::http::Uri;
use tower_service::Service;

/// Connects to the unix socket at this path, again whenever the connection has broken.
pub(super) struct Local(pub(super) PathBuf);

impl Service<Uri> for Local {
    type Response = TokioIo<Gathering>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<Gathering>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Wherever the request is to go, which for a socket says nothing.
    fn call(&mut self, _: Uri) -> Self::Future {
        let path = self.0.clone();
        Box::pin(async move {
            let socket = UnixStream::connect(path).await?;
            Ok(TokioIo::new(Gathering { socket, waited: false }))
        })
    }
}

/// A socket that lets the runtime take one turn before it writes what comes after a flush.
///
/// hyper hands over the body of a request once its head is on the way. The head would go out alone: it would wake the
/// server, which would find no body and sleep again. After that turn the body is there, and both go out at once.
pub(super) struct Gathering {
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
