//! Serves one connection: lines of JSON over a reader and a writer, such as standard input and output.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::time::Duration;

use rmcp::service::{QuitReason, ServerInitializeError, serve_server_with_ct};
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::handler::Handler;
use crate::wire::Lines;

/// How long calls go on after the input has ended, before they are taken back: enough for a script that pipes its
/// requests in and reads the answers, and short beside the 2 s that clients give a server to end.
const LINGER: Duration = Duration::from_millis(500);

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
    let lines = Lines::new(input, output, ended.clone());
    let handler = handler.closing_with(closing.clone());
    // A child, because the connection's end fires the token that it is given.
    let running = match serve_server_with_ct(handler, lines, shutdown.child_token()).await {
        Ok(running) => running,
        // The caller left before it had said anything.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    let take_back = async {
        ended.cancelled().await;
        tokio::time::sleep(LINGER).await;
        closing.cancel();
        pending::<Infallible>().await
    };
    tokio::select! {
        quit = running.waiting() => match quit {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(io::Error::other(error)),
            Ok(_) => Ok(()),
        },
        never = take_back => match never {},
    }
}
