//! Keeps a call in touch with its caller: progress while it waits, and the end of the connection.

use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use sessiond_core::Progress;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

/// How long a call is silent before its first report, and between two. Many clients give up at 60 s (SF04).
const PERIOD: Duration = Duration::from_secs(10);

/// Runs a call to its end. Meanwhile reports progress, and takes the call back when the connection closes.
///
/// The call is never dropped: a call that is taken back still answers.
pub(crate) async fn accompany<T>(
    mut call: Pin<&mut impl Future<Output = T>>,
    report: Option<Reporter>,
    closing: &CancellationToken,
    cancel: &CancellationToken,
) -> T {
    // A call that needs no waiting costs no timer, no registration, and no room for either.
    match poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await {
        Poll::Ready(answer) => answer,
        Poll::Pending => Box::pin(keep_company(call, report, closing, cancel)).await,
    }
}

async fn keep_company<T>(
    call: Pin<&mut impl Future<Output = T>>,
    report: Option<Reporter>,
    closing: &CancellationToken,
    cancel: &CancellationToken,
) -> T {
    let reports = async {
        if let Some(report) = report {
            // Few calls have one: the others have no room for it.
            Box::pin(report.run()).await;
        }
        pending::<Infallible>().await
    };
    let closed = async {
        closing.cancelled().await;
        cancel.cancel();
        pending::<Infallible>().await
    };
    tokio::select! {
        biased;
        answer = call => answer,
        never = reports => match never {},
        never = closed => match never {},
    }
}

/// Stands for the bytes of a call that has not told of any, as one does not that is carried out by another server.
const UNTOLD: u64 = u64::MAX;

/// Sends progress notifications for one call.
pub(crate) struct Reporter {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    seen: Arc<AtomicU64>,
}

impl Reporter {
    pub(crate) fn new(peer: Peer<RoleServer>, token: ProgressToken) -> Self {
        Self { peer, token, seen: Arc::new(AtomicU64::new(UNTOLD)) }
    }

    /// What the call tells about the output it has seen.
    pub(crate) fn progress(&self) -> Progress {
        let seen = self.seen.clone();
        Progress::new(move |bytes| seen.store(bytes, Ordering::Relaxed))
    }

    /// Reports until nobody listens any more.
    async fn run(self) {
        let begin = Instant::now();
        let mut ticks = interval_at(begin + PERIOD, PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let seconds = begin.elapsed().as_secs();
            let message = match self.seen.load(Ordering::Relaxed) {
                UNTOLD => format!("{seconds} s"),
                bytes => format!("{seconds} s, {bytes} bytes of output"),
            };
            let report = ProgressNotificationParam::new(self.token.clone(), seconds as f64).with_message(message);
            if self.peer.notify_progress(report).await.is_err() {
                return;
            }
        }
    }
}
