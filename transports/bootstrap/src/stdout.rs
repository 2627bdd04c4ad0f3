//! The only place where a binary prints to stdout. A reader who has gone away, as `head` does, is not a failure.

use std::io::{ErrorKind, Result, Write};

use tokio::io::AsyncWriteExt;

/// Prints text and a newline where it lacks one.
///
/// # Errors
/// stdout cannot be written to, for another reason than that nobody reads it any more.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.write_all(end.as_bytes()));
    still_read(written.and_then(|()| stdout.flush())).map(drop)
}

/// Passes bytes on as they are, while other work goes on. Returns whether anybody reads them.
///
/// # Errors
/// As for [`print()`].
pub async fn pass(bytes: &[u8]) -> Result<bool> {
    let mut stdout = tokio::io::stdout();
    let written = stdout.write_all(bytes).await;
    still_read(match written {
        Ok(()) => stdout.flush().await,
        failed => failed,
    })
}

fn still_read(written: Result<()>) -> Result<bool> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}
