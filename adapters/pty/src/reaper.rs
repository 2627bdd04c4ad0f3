//! Reaps the orphans that this server has adopted, and never a child that somebody else waits for.

use std::sync::Weak;

use tokio::signal::unix::Signal;
use tokio::sync::watch;

use crate::backend::Kit;
use crate::children::{self, Swept};

/// Sweeps whenever a child of this process has exited or a leader was reaped, until `cancelled`.
pub(crate) async fn run(
    kit: Weak<Kit>,
    cancelled: impl Future<Output = ()>,
    mut exits: Signal,
    mut reaped: watch::Receiver<()>,
) {
    tokio::pin!(cancelled);
    loop {
        tokio::select! {
            () = &mut cancelled => return,
            exit = exits.recv() => if exit.is_none() { return },
            // The sender goes with the backend.
            changed = reaped.changed() => if changed.is_err() { return },
        }
        let swept = children::lock().sweep();
        // A scan finds orphans one by one, also those behind somebody else's child.
        if swept == Swept::BehindStranger
            && let Some(kit) = kit.upgrade()
        {
            kit.scans.look(|_| ()).await;
        }
    }
}
