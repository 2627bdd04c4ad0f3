//! Whom a connection belongs to, as far as its listener can tell.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use sessiond_bootstrap::identity::{Identity, Kind};
use sessiond_bootstrap::network::Origin;
use sessiond_core::Owner;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

/// A connection, with what is known of whoever is at its other end.
pub struct Accepted<IO> {
    io: IO,
    peer: Peer,
}

impl<IO> Accepted<IO> {
    /// Every call on this connection is that owner's.
    pub fn new(io: IO, owner: Owner) -> Self {
        Self::proven(io, Identity::proven(owner, Kind::Unix))
    }

    /// Every call on this connection is theirs.
    pub fn proven(io: IO, identity: Identity) -> Self {
        Self { io, peer: Peer::Proven(identity) }
    }

    /// Each call must prove whose it is, or the connection's certificate does.
    pub fn asked(io: IO, origin: Origin) -> Self {
        Self { io, peer: Peer::Asked(origin) }
    }
}

/// Who is at the other end, as the calls of a connection find it.
#[derive(Clone)]
pub enum Peer {
    /// Somebody whom the listener has proven.
    Proven(Identity),
    /// Somebody from there, who is asked with each call.
    Asked(Origin),
}

impl<IO> Connected for Accepted<IO> {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
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
