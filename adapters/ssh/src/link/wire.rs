//! The bytes of one connection, whatever carries them: read ahead, cut at will, and not stuck in a write for ever.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use tokio_util::io::poll_read_buf;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// What can carry a connection: a socket, a program's pipes, a channel of another connection.
pub(crate) trait Carrier: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Carrier for T {}

/// How much is read ahead. A packet is read in two parts, its length and its rest; with this much, a system call
/// brings some packets instead of half of one.
const AHEAD: usize = 64 * 1024;

/// A carrier that ends when its token is cancelled.
///
/// The protocol runs in a task of its own, which ends when its stream does and never otherwise: this is how it is
/// ended. It has one task for both directions, so that a write that nobody takes would keep it from noticing that
/// nobody answers: a write that makes no progress for the stall time fails.
pub(crate) struct Wire {
    carrier: Box<dyn Carrier>,
    /// What has been read and not yet been taken. Has no memory while it waits for something.
    ahead: BytesMut,
    cut: CancellationToken,
    // Two, since each remembers one task, and reading and writing may be different ones.
    reading: Pin<Box<WaitForCancellationFutureOwned>>,
    writing: Pin<Box<WaitForCancellationFutureOwned>>,
    stall: Option<Duration>,
    stalling: Option<Pin<Box<Sleep>>>,
}

impl Wire {
    /// A carrier that ends when `cut` is cancelled, or when a write makes no progress for `stall`.
    pub(crate) fn new(carrier: Box<dyn Carrier>, cut: CancellationToken, stall: Option<Duration>) -> Self {
        let reading = Box::pin(cut.clone().cancelled_owned());
        let writing = Box::pin(cut.clone().cancelled_owned());
        Self { carrier, ahead: BytesMut::new(), cut, reading, writing, stall, stalling: None }
    }

    /// Reads ahead; `Ok(0)` is the end.
    fn poll_ahead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.cut.is_cancelled() {
            return Poll::Ready(Err(was_cut()));
        }
        self.ahead.reserve(AHEAD);
        let read = poll_read_buf(Pin::new(&mut self.carrier), cx, &mut self.ahead);
        if read.is_pending() {
            self.ahead = BytesMut::new();
            return self.reading.as_mut().poll(cx).map(|()| Err(was_cut()));
        }
        read
    }

    /// What ends an operation that makes no progress.
    fn poll_no_progress(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if self.writing.as_mut().poll(cx).is_ready() {
            return Poll::Ready(was_cut());
        }
        let Some(stall) = self.stall else { return Poll::Pending };
        let timer = self.stalling.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
        ready!(timer.as_mut().poll(cx));
        let seconds = stall.as_secs_f32();
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, format!("it has taken nothing for {seconds} s")))
    }

    fn poll_progress<T>(
        &mut self,
        cx: &mut Context<'_>,
        step: impl FnOnce(Pin<&mut dyn Carrier>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match step(Pin::new(&mut *self.carrier), cx) {
            Poll::Ready(done) => {
                self.stalling = None;
                Poll::Ready(done)
            }
            Poll::Pending => self.poll_no_progress(cx).map(Err),
        }
    }
}

fn was_cut() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "it was cut here")
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.ahead.is_empty() && ready!(this.poll_ahead(cx))? == 0 {
            return Poll::Ready(Ok(()));
        }
        let taken = this.ahead.split_to(this.ahead.len().min(into.remaining()));
        into.put_slice(&taken);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        if self.cut.is_cancelled() {
            return Poll::Ready(Err(was_cut()));
        }
        self.poll_progress(cx, |carrier, cx| carrier.poll_write(cx, from))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_progress(cx, |carrier, cx| carrier.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.cut.is_cancelled() {
            // Dropping the carrier is the end of it.
            return Poll::Ready(Ok(()));
        }
        self.poll_progress(cx, |carrier, cx| carrier.poll_shutdown(cx))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const STALL: Duration = Duration::from_millis(50);

    fn wire(capacity: usize) -> (Wire, tokio::io::DuplexStream, CancellationToken) {
        let (here, there) = duplex(capacity);
        let cut = CancellationToken::new();
        (Wire::new(Box::new(here), cut.clone(), Some(STALL)), there, cut)
    }

    #[tokio::test]
    async fn bytes_come_through_in_order_and_then_the_end() {
        let (mut wire, mut there, _cut) = wire(200_000);
        let sent: Vec<u8> = (0..150_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        there.write_all(&sent).await.unwrap();
        drop(there);
        let mut got = vec![0; 4];
        wire.read_exact(&mut got).await.unwrap();
        wire.read_to_end(&mut got).await.unwrap();
        assert_eq!(got, sent);
    }

    #[tokio::test]
    async fn an_idle_wire_keeps_no_buffer() {
        let (mut wire, mut there, _cut) = wire(64);
        there.write_all(b"abc").await.unwrap();
        let mut got = [0; 3];
        wire.read_exact(&mut got).await.unwrap();
        let mut more = [0; 1];
        let waiting = std::future::poll_fn(|cx| {
            let mut into = ReadBuf::new(&mut more);
            Poll::Ready(Pin::new(&mut wire).poll_read(cx, &mut into).is_pending())
        });
        assert!(waiting.await);
        assert_eq!(wire.ahead.capacity(), 0);
    }

    #[tokio::test]
    async fn a_cut_ends_whoever_reads_or_writes() {
        let (mut wire, _there, cut) = wire(4);
        let (mut reader, mut writer) = tokio::io::split(&mut wire);
        let mut got = [0; 1];
        let both = async { tokio::join!(reader.read(&mut got), writer.write_all(b"more than fits")) };
        let (both, ()) = tokio::join!(both, async { cut.cancel() });
        assert_eq!(both.0.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
        assert_eq!(both.1.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
    }

    #[tokio::test]
    async fn a_write_that_nobody_takes_fails_after_the_stall_time() {
        let (mut wire, mut there, _cut) = wire(4);
        let begun = tokio::time::Instant::now();
        let failed = wire.write_all(b"more than fits").await.unwrap_err();
        assert!(begun.elapsed() >= STALL);
        assert_eq!(
            (failed.kind(), failed.to_string().as_str()),
            (io::ErrorKind::TimedOut, "it has taken nothing for 0.05 s")
        );
        // Progress sets the clock back.
        let mut taken = [0; 4];
        there.read_exact(&mut taken).await.unwrap();
        assert_eq!(wire.write(b"more").await.unwrap(), 4);
    }
}
