//! Reaps the orphans that this server has adopted, and never a child that somebody else waits for.

use std::sync::{Arc, Weak};

use sessiond_core::TaskKind;
use tokio::signal::unix::Signal;
use tokio::sync::watch;

use crate::backend::Kit;
use crate::children::{self, Swept};

/// Looks for orphans behind somebody else's child.
const SWEEP: TaskKind = TaskKind("pty sweep");

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
        let swept = sweep().await;
        if let Some(kit) = kit.upgrade() {
            after(&kit, swept).await;
        }
    }
}

/// Reaps what it can reach, some at a time.
async fn sweep() -> Swept {
    loop {
        let swept = children::lock().sweep();
        if swept != Swept::More {
            return swept;
        }
        tokio::task::yield_now().await;
    }
}

/// What is only to be done by looking at all children, or at all processes.
async fn after(kit: &Arc<Kit>, swept: Swept) {
    let mut scan = children::lock().are_crowded();
    if swept == Swept::BehindStranger {
        // Where the system does not list children, a scan finds orphans one by one.
        scan |= kit.blocking(SWEEP, || children::lock().sweep_all()).await == Some(false);
    }
    if scan {
        kit.scans.look(|_| ()).await;
    }
}
