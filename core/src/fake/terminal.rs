//! The fake's input: a terminal's line discipline or a pipe, as a level that both sides wait on.

use tokio::sync::watch;

/// How much unread input is taken before a writer has to wait, in bytes.
pub(super) const ROOM: usize = 4096;

/// Input that nobody has read yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    bytes: Vec<u8>,
    ended: bool,
}

/// The input of one process.
#[derive(Clone, Debug)]
pub(super) struct Input(watch::Sender<Pending>);

impl Input {
    /// All there will ever be.
    pub(super) fn whole(bytes: &[u8]) -> Self {
        Self(watch::Sender::new(Pending { bytes: bytes.to_vec(), ended: true }))
    }

    /// Nothing yet.
    pub(super) fn open() -> Self {
        Self(watch::Sender::default())
    }

    /// Takes what fits; returns how many bytes that were.
    pub(super) fn offer(&self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        self.0.send_modify(|pending| {
            taken = bytes.len().min(ROOM.saturating_sub(pending.bytes.len()));
            pending.bytes.extend(bytes.iter().take(taken));
        });
        taken
    }

    /// Waits until something fits.
    pub(super) async fn room(&self) {
        // The sender is at hand, so the channel cannot be closed.
        let _ = self.0.subscribe().wait_for(|pending| pending.bytes.len() < ROOM).await;
    }

    /// Says that nothing more comes.
    pub(super) fn end(&self) {
        self.0.send_modify(|pending| pending.ended = true);
    }

    /// The next line with its end, or the rest at the end of input; `None` behind that.
    pub(super) async fn line(&self) -> Option<Vec<u8>> {
        let mut level = self.0.subscribe();
        let ready = |pending: &Pending| pending.ended || pending.bytes.contains(&b'\n');
        let _ = level.wait_for(ready).await;
        let mut line = Vec::new();
        self.0.send_modify(|pending| {
            let length = pending.bytes.iter().position(|byte| *byte == b'\n').map_or(pending.bytes.len(), |at| at + 1);
            line = pending.bytes.drain(..length).collect();
        });
        (!line.is_empty()).then_some(line)
    }
}
