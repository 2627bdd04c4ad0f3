//! What is to be written: a queue that is filled at once, and the one place that writes it out.
//!
//! Nobody who answers waits for whoever reads the answers; a connection that ends does not either. What bounds the
//! queue is that nothing more is taken on while it is long ([`Level::has_room`]).

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::watch;

/// How many bytes of answers may wait to be written before nothing more is taken on.
const MAX_UNWRITTEN: u64 = 8 << 20;

/// Who has not taken a byte for so long does not read any more.
pub(super) const STALL: Duration = Duration::from_millis(500);

/// How long the last answers may take to be written, in all.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Where the output stands. The totals only grow.
///
/// An answer that finds room and is written at once is no news to whoever waits for room or for the writer's end, and
/// wakes nobody but the writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Level {
    queued: u64,
    written: u64,
    /// Bytes of answers that are made and not queued yet.
    coming: u64,
    /// The last answers are waited for: whatever is written is news.
    flushing: bool,
    /// Nothing can be written any more.
    pub(super) gone: bool,
}

impl Level {
    /// Whether there is room for more answers.
    pub(super) fn has_room(self) -> bool {
        self.unwritten() + self.coming <= MAX_UNWRITTEN
    }

    fn unwritten(self) -> u64 {
        self.queued.saturating_sub(self.written)
    }
}

/// The queue. A clone is the same one.
#[derive(Clone)]
pub(super) struct Outbox {
    queue: watch::Sender<Vec<u8>>,
    level: watch::Sender<Level>,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self { queue: watch::Sender::default(), level: watch::Sender::default() }
    }

    /// Queues a line, of which the end is still to come. What is queued after the writer's end is lost, since nobody is
    /// there to read it.
    pub(super) fn push(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        let mut lost = false;
        self.level.send_if_modified(|level| {
            lost = level.gone;
            if !lost {
                level.queued += line.len() as u64;
            }
            // Nobody waits for less room.
            false
        });
        if lost {
            return;
        }
        self.queue.send_modify(|queue| {
            if queue.is_empty() {
                *queue = line;
            } else {
                queue.extend_from_slice(&line);
            }
        });
    }

    /// Counts bytes of an answer from when it is made until it is queued.
    pub(super) fn expect(&self, bytes: u64) {
        self.level.send_if_modified(|level| {
            level.coming += bytes;
            // As above.
            false
        });
    }

    /// The end of what [`expect`](Self::expect) began.
    pub(super) fn expect_no_more(&self, bytes: u64) {
        self.level.send_if_modified(|level| {
            let had_room = level.has_room();
            level.coming = level.coming.saturating_sub(bytes);
            !had_room
        });
    }

    pub(super) fn level(&self) -> Level {
        *self.level.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Level> {
        self.level.subscribe()
    }

    /// Waits until there is room for more answers. Returns whether anybody reads them.
    pub(super) async fn room(&self) -> bool {
        // The sender is this object's own, so waiting does not fail.
        self.watch().wait_for(|level| level.has_room() || level.gone).await.is_ok_and(|level| !level.gone)
    }

    /// Waits until all is written, or nobody takes it.
    pub(super) async fn flushed(&self) {
        let flushed = async {
            self.level.send_modify(|level| level.flushing = true);
            let mut level = self.watch();
            loop {
                let now = *level.borrow_and_update();
                if now.gone || now.unwritten() == 0 {
                    return;
                }
                let progress = level.wait_for(|level| level.gone || level.written > now.written);
                if tokio::time::timeout(STALL, progress).await.is_err() {
                    return;
                }
            }
        };
        // Whoever reads this slowly must not keep sessions alive.
        let _ = tokio::time::timeout(LAST_ANSWERS, flushed).await;
    }

    fn take(&self) -> Vec<u8> {
        let mut taken = Vec::new();
        self.queue.send_if_modified(|queue| {
            taken = std::mem::take(queue);
            // Nobody waits for less.
            false
        });
        taken
    }

    fn written(&self, bytes: u64) {
        self.level.send_if_modified(|level| {
            let had_room = level.has_room();
            level.written += bytes;
            level.flushing || !had_room
        });
    }
}

/// Writes out what is queued. Dropped, it leaves word that nothing is written any more.
pub(super) struct Writer<W> {
    output: W,
    outbox: Outbox,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub(super) fn new(output: W, outbox: Outbox) -> Self {
        Self { output, outbox }
    }

    /// Writes until it cannot. It is dropped when there is nothing more to come.
    pub(super) async fn run(mut self) -> io::Error {
        let mut queue = self.outbox.queue.subscribe();
        loop {
            // The sender is this object's own, so waiting does not fail.
            let _ = queue.wait_for(|queue| !queue.is_empty()).await;
            let bytes = self.outbox.take();
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                match self.write(rest).await {
                    Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                    Err(error) => return error,
                }
            }
        }
    }

    /// What a write has taken is on its way only after the flush, where a thread does the writing.
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.output.flush().await?;
        self.outbox.written(written as u64);
        Ok(written)
    }
}

impl<W> Drop for Writer<W> {
    fn drop(&mut self) {
        self.outbox.level.send_modify(|level| level.gone = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_the_writer_has_ended_is_not_counted_as_queued() {
        let outbox = Outbox::new();
        let writer = Writer::new(tokio::io::sink(), outbox.clone());
        outbox.push(b"{}".to_vec());
        drop(writer);
        outbox.push(b"lost".to_vec());
        let level = Level { queued: 3, gone: true, ..Level::default() };
        assert_eq!((outbox.level(), outbox.take()), (level, b"{}\n".to_vec()));
    }
}
