//! Whom a connection belongs to: an identity that its listener has proven.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use sessiond_core::Owner;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

/// A connection and the owner of every call on it.
pub struct Accepted<IO> {
    io: IO,
    owner: Owner,
}

impl<IO> Accepted<IO> {
    /// This connection is that owner's.
    pub fn new(io: IO, owner: Owner) -> Self {
        Self { io, owner }
    }
}

/// The owner, as the calls of a connection find it.
#[derive(Clone)]
pub struct Peer(pub(super) Owner);

impl<IO> Connected for Accepted<IO> {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        Peer(self.owner.clone())
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Accepted<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Accepted<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}
