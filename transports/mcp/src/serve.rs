//! Serves one connection: lines of JSON over a reader and a writer, such as standard input and output.

use std::io;
use std::time::Duration;

use rmcp::service::{QuitReason, ServerInitializeError, serve_server_with_ct};
use rmcp::transport::io::stdio_pipes;
use sessiond_core::{TaskKind, Tasks};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::handler::Handler;
use crate::wire::{Lines, lines};

/// How long calls go on after the input has ended, before they are taken back: enough for a script that pipes its
/// requests in and reads the answers, and short beside the 2 s that clients give a server to end.
const LINGER: Duration = Duration::from_millis(500);

/// How long the calls that are taken back may take to answer, and the answers to be read: a little more than the usual
/// grace between asking a command to end and killing it. Then the connection ends whatever they do, because sessions
/// are to be ended too.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Writes out the answers of one connection.
const WRITER: TaskKind = TaskKind("mcp.writer");

/// Serves standard input and output until the input ends or the token fires, and every pending call has been
/// answered or taken back.
///
/// Must run where the runtime's I/O and time are enabled. Nothing else may use the two streams.
///
/// # Errors
/// When the connection breaks.
pub async fn serve_stdio(handler: Handler, shutdown: CancellationToken) -> io::Result<()> {
    let (input, output) = stdio_pipes();
    serve(handler, input, output, shutdown).await
}

/// The same over any reader and writer.
///
/// # Errors
/// When the connection breaks.
pub async fn serve<R, W>(handler: Handler, input: R, output: W, shutdown: CancellationToken) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (ended, closing) = (CancellationToken::new(), CancellationToken::new());
    let (lines, writer) = lines(input, output, ended.clone());
    let handler = handler.on(closing.clone(), lines.flight());
    // A task, because the runtime looks for events before it comes back to whoever waits for all of this.
    let tasks = Tasks::new();
    let (ends, mut broken) = oneshot::channel();
    let stop = tasks.cancelled();
    tasks.spawn(WRITER, async move {
        tokio::select! {
            error = writer.run() => drop(ends.send(error)),
            () = stop => {}
        }
    });
    let winding_up = async {
        tokio::select! {
            () = ended.cancelled() => {}
            () = shutdown.cancelled() => {}
        }
        sleep(LINGER).await;
        closing.cancel();
        sleep(LAST_WORDS).await;
        tracing::warn!("some calls have not been answered in time");
    };
    let served = tokio::select! {
        // A child, because the connection's end fires the token that it is given.
        served = converse(handler, lines, shutdown.child_token()) => served,
        () = winding_up => Ok(()),
    };
    let broken = broken.try_recv().ok();
    tasks.shutdown(LINGER).await;
    match broken {
        // A reader who goes away is how some clients leave.
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            tracing::info!("nobody reads the answers any more");
            served
        }
        Some(error) => Err(error),
        None => served,
    }
}

/// Takes requests and answers them to the end, the last answers included.
async fn converse<R>(handler: Handler, lines: Lines<R>, shutdown: CancellationToken) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
{
    let last_answers = lines.last_answers();
    let served = match serve_server_with_ct(handler, lines, shutdown).await {
        Ok(running) => match running.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(io::Error::other(error)),
            Ok(_) => Ok(()),
        },
        // The caller left before it had said anything.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    };
    last_answers.written().await;
    served
}
