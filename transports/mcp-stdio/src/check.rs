//! `check`: what holds, where it comes from, and whether each target can run something.

use std::process::ExitCode;
use std::time::Duration;

use sessiond_bootstrap::report::Report;
use sessiond_bootstrap::{Bootstrap, Problems, exit::FAILURE, stdout};
use sessiond_core::{Call, ListTargets, Service, Target};
use tokio::time::Instant;

use crate::bridge::Bridge;
use crate::serve::owner;

/// How long a target may take to say how it does.
const PATIENCE: Duration = Duration::from_secs(20);

/// Prints what holds and what is wrong.
///
/// # Errors
/// stdout cannot be written to.
pub(crate) async fn check(loaded: Result<Bootstrap, Problems>, bridge: Option<&Bridge>) -> anyhow::Result<ExitCode> {
    let mut report = Report::new();
    match loaded {
        Ok(bootstrap) => {
            bootstrap.start_logs();
            report.configuration(&bootstrap);
            match bridge {
                Some(bridge) => upstream(&bootstrap, bridge, &mut report).await,
                None => own(&bootstrap, &mut report).await,
            }
        }
        Err(problems) => report.problems(&problems),
    }
    let (text, is_in_order) = report.finish();
    stdout::print(&text)?;
    Ok(if is_in_order { ExitCode::SUCCESS } else { ExitCode::from(FAILURE) })
}

/// How the server behind a bridge does, and its targets.
async fn upstream(bootstrap: &Bootstrap, bridge: &Bridge, report: &mut Report) {
    let targets = bridge.targets(bootstrap, &cx()).await;
    let state = match &targets {
        Ok(Some(_)) => "answers: sessions are its own, and so are these targets",
        Ok(None) => "is not there yet: a bridge starts it",
        Err(_) => "cannot be used",
    };
    report.say(&format!("the server on {} {state}", bridge.address()));
    match targets {
        Ok(targets) => targets.iter().flatten().for_each(|target| report.target(target)),
        Err(error) => report.wrong(&format!("{error:#}")),
    }
}

/// How the targets of this server do.
async fn own(bootstrap: &Bootstrap, report: &mut Report) {
    match targets(bootstrap).await {
        Ok(targets) => targets.iter().for_each(|target| report.target(target)),
        Err(error) => report.wrong(&error.to_string()),
    }
}

async fn targets(bootstrap: &Bootstrap) -> sessiond_core::Result<Vec<Target>> {
    let assembly = bootstrap.assemble()?;
    let targets = assembly.registry.list_targets(&cx(), ListTargets::default()).await;
    assembly.shutdown().await;
    targets
}

fn cx() -> Call {
    Call { deadline: Instant::now() + PATIENCE, ..Call::new(owner()) }
}
