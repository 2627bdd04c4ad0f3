//! `list`: the sessions, as a table.

use std::fmt::Write;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use sessiond_bootstrap::{exit, stdout};
use sessiond_core::{End, Exit, SessionSummary, Status, shown};
use sessiond_grpc::client::GrpcClient;

use crate::found;

/// Prints every session of the caller: what runs, and in brackets what its target calls it.
///
/// # Errors
/// The server refuses or is lost, or stdout cannot be written to.
pub(crate) async fn list(client: &GrpcClient) -> anyhow::Result<ExitCode> {
    let sessions = found::all(client).await?;
    stdout::print(&table(&sessions, SystemTime::now()))?;
    Ok(ExitCode::SUCCESS)
}

fn table(sessions: &[SessionSummary], now: SystemTime) -> String {
    if sessions.is_empty() {
        return "no sessions\n".to_owned();
    }
    let mut text = format!("{:<26}  {:<14}  {:<8}  {:>5}  COMMAND\n", "ID", "STATUS", "TARGET", "AGE");
    for session in sessions {
        let label = session.label.as_ref().map(|label| format!("  ({})", shown(label))).unwrap_or_default();
        let native = session.native_id.as_ref().map(|native| format!("  [{}]", shown(&native.0))).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<26}  {:<14}  {:<8}  {:>5}  {}{label}{native}",
            session.session.to_string(),
            status(session),
            session.target.as_str(),
            age(now.duration_since(session.started_at).unwrap_or_default()),
            shown(&session.command),
        );
    }
    text
}

fn status(session: &SessionSummary) -> String {
    match (session.status, &session.end) {
        (Status::Running, _) if is_waiting(session) => "waiting".to_owned(),
        (Status::Running, _) => "running".to_owned(),
        (Status::Stopping, _) => "stopping".to_owned(),
        (Status::Lost, _) => "lost".to_owned(),
        // Why stands where it is watched; a platform's reasons are long.
        (Status::Finished, Some(End { exit: Exit::Failed(_), .. })) => "failed".to_owned(),
        (Status::Finished, Some(end)) => exit::told(end).split(':').next().unwrap_or_default().to_owned(),
        (Status::Finished, None) => "finished".to_owned(),
    }
}

/// Whether it waits for somebody, as far as that is known.
fn is_waiting(session: &SessionSummary) -> bool {
    session.input_state.as_ref().is_some_and(|state| state.waiting)
}

/// A time in its largest unit, rounded down.
fn age(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86_400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}
