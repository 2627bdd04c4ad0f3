//! What ends the server from outside.

use sessiond_core::{TaskKind, Tasks};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Waits for the signals that end the server.
const SIGNALS: TaskKind = TaskKind("signals");

/// Listens for SIGTERM, SIGINT and SIGHUP (the terminal has closed). The first one fires the token, so that the
/// server can end what it has running; a second one ends the process at once, with the shell's code for that signal.
///
/// From here on none of the three ends the process by itself. Needs a tokio runtime.
///
/// # Errors
/// The operating system refuses a handler.
pub fn end_on_signals(tasks: &Tasks) -> std::io::Result<CancellationToken> {
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let mut listening = Vec::with_capacity(kinds.len());
    for kind in kinds {
        listening.push((kind, signal(kind)?));
    }
    let token = CancellationToken::new();
    let fired = token.clone();
    let ended = tasks.cancelled();
    tasks.spawn(SIGNALS, async move {
        tokio::select! {
            () = ended => {}
            second = second_signal(&mut listening, &fired) => std::process::exit(128 + second.as_raw_value()),
        }
    });
    Ok(token)
}

async fn second_signal(listening: &mut [(SignalKind, Signal)], first: &CancellationToken) -> SignalKind {
    let signal = next(listening).await;
    tracing::info!(signal = signal.as_raw_value(), "ending on a signal; a second one ends at once");
    first.cancel();
    next(listening).await
}

async fn next(listening: &mut [(SignalKind, Signal)]) -> SignalKind {
    std::future::poll_fn(|cx| {
        for (kind, stream) in listening.iter_mut() {
            if stream.poll_recv(cx).is_ready() {
                return std::task::Poll::Ready(*kind);
            }
        }
        std::task::Poll::Pending
    })
    .await
}
