//! What ends the server from outside.

use std::sync::Arc;

use sessiond_core::{TaskKind, Tasks};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Waits for the signals that end the server.
const SIGNALS: TaskKind = TaskKind("signals");
/// Reads files again.
const RELOAD: TaskKind = TaskKind("reload");

/// Listens for SIGTERM, SIGINT and SIGHUP (the terminal has closed). The first one fires the token, so that the
/// server can end what it has running; a second one ends the process at once, with the shell's code for that signal.
///
/// From here on none of the three ends the process by itself. Needs a tokio runtime.
///
/// # Errors
/// The operating system refuses a handler.
pub fn end_on_signals(tasks: &Tasks) -> std::io::Result<CancellationToken> {
    end_on(tasks, &[SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()])
}

/// As [`end_on_signals`], for a server that has files to read again: SIGHUP does `reload` instead, each time, on a thread
/// that may block.
///
/// # Errors
/// The operating system refuses a handler.
pub fn end_or_reload_on_signals(
    tasks: &Tasks,
    reload: impl Fn() + Send + Sync + 'static,
) -> std::io::Result<CancellationToken> {
    let mut hangups = signal(SignalKind::hangup())?;
    let (reload, of_reloads, ended) = (Arc::new(reload), tasks.clone(), tasks.cancelled());
    tasks.spawn(SIGNALS, async move {
        let each = async {
            while hangups.recv().await.is_some() {
                let reload = Arc::clone(&reload);
                of_reloads.spawn_blocking(RELOAD, move || reload());
            }
        };
        tokio::select! {
            () = ended => {}
            () = each => {}
        }
    });
    end_on(tasks, &[SignalKind::terminate(), SignalKind::interrupt()])
}

fn end_on(tasks: &Tasks, kinds: &[SignalKind]) -> std::io::Result<CancellationToken> {
    let mut listening = Vec::with_capacity(kinds.len());
    for kind in kinds {
        listening.push((*kind, signal(*kind)?));
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
