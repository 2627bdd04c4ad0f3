//! `tail`: a session's output until its end.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use futures_util::StreamExt;
use sessiond_bootstrap::{exit, stdout};
use sessiond_core::{Cursor, Exit};
use sessiond_grpc::Item;
use sessiond_grpc::client::{GrpcClient, SessionRef};

use crate::{cli, found};

/// Prints a session's output as it comes, says on stderr what is gone, and exits with the session's exit code.
///
/// # Errors
/// There is no such session, the server is lost, or stdout cannot be written to.
pub(crate) async fn tail(client: &GrpcClient, tail: &cli::Tail) -> Result<ExitCode> {
    let found = found::one(client, &tail.id).await?;
    let session = SessionRef { session: found.session, target: Some(found.target) };
    let mut items = client.follow_session(&GrpcClient::call(), &session, Cursor(tail.from)).await?;
    while let Some(item) = items.next().await {
        match item? {
            Item::Chunk { bytes, .. } => {
                if !stdout::pass(&bytes).await? {
                    return Ok(ExitCode::SUCCESS);
                }
            }
            Item::Gap { bytes, .. } => say(&format!("{bytes} bytes of output are no longer kept")),
            Item::End(end) => {
                let canceled = (end.exit == Exit::Canceled).then(|| exit::told(&end));
                if let Some(why) = end.error().or(canceled) {
                    say(&format!("session {}: {why}", found.session));
                }
                return Ok(exit::exit_code(&end));
            }
        }
    }
    Ok(ExitCode::from(exit::FAILURE))
}

/// Says something beside the output.
fn say(text: &str) {
    // Nobody to read it is no failure.
    let _ = writeln!(std::io::stderr(), "{text}");
}
