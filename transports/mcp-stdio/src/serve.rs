//! The server: from its first byte to the end of the last process it has started.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use sessiond_bootstrap::{Assembly, Bootstrap, TextStyle, end_on_signals};
use sessiond_core::{Owner, Tasks};
use sessiond_mcp::{Family, Handler};

use crate::greeting::greet;
use crate::trace::traced;

/// How long the tasks of this binary may take to end; they have nothing to finish.
pub(crate) const TASKS_END: Duration = Duration::from_secs(1);

/// Serves until stdin ends or a signal comes, then stops every session and command.
///
/// # Errors
/// A target cannot be made, or the transport breaks.
pub(crate) async fn serve(bootstrap: Bootstrap) -> anyhow::Result<ExitCode> {
    let tasks = Tasks::new();
    let ending = end_on_signals(&tasks).context("listening for signals")?;
    bootstrap.export_traces(&tasks)?;
    let assembly = bootstrap.assemble()?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "serving on stdin and stdout");
    greet();
    let served = sessiond_mcp::serve_stdio(handler(&bootstrap, &assembly), ending).await;
    tracing::info!("the last call is in: ending what still runs");
    assembly.shutdown().await;
    tasks.shutdown(TASKS_END).await;
    tracing::info!("ended");
    served.context("serving on stdin and stdout")?;
    Ok(ExitCode::SUCCESS)
}

/// The tools, for the one caller that this binary has: whoever holds the other end of its pipes. They run it, so they
/// reach all that it reaches.
pub(crate) fn handler(bootstrap: &Bootstrap, assembly: &Assembly) -> Handler {
    let families = Family::present([(Family::Ssh, assembly.has_hosts), (Family::Agent, assembly.has_platforms)]);
    traced(Handler::new(assembly.service_for_one(), owner(), &families, style(bootstrap)))
}

/// How results are put into words.
pub(crate) fn style(bootstrap: &Bootstrap) -> sessiond_mcp::TextStyle {
    match bootstrap.configuration.text {
        TextStyle::Short => sessiond_mcp::TextStyle::Short,
        TextStyle::Full => sessiond_mcp::TextStyle::Full,
    }
}

/// The caller on stdin.
pub(crate) fn owner() -> Owner {
    Owner::management("stdio")
}
