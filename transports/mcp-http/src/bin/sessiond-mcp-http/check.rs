//! `check`: what holds, where it comes from, who would be let in, and whether each target can run something.

use std::process::ExitCode;
use std::time::Duration;

use sessiond_bootstrap::exit::FAILURE;
use sessiond_bootstrap::report::Report;
use sessiond_bootstrap::{Bootstrap, Problems, stdout};
use sessiond_core::{Call, ListTargets, Owner, Service, Tasks};
use sessiond_mcp_http::{Admission, Server};
use tokio::time::Instant;

use crate::cli;
use crate::serve::{PROTOCOLS, address, settings};

/// How long a target may take to say how it does.
const PATIENCE: Duration = Duration::from_secs(20);

/// Prints what holds and what is wrong.
///
/// # Errors
/// stdout cannot be written to.
pub(crate) async fn check(loaded: Result<Bootstrap, Problems>) -> anyhow::Result<ExitCode> {
    let mut report = Report::new();
    match loaded {
        Ok(bootstrap) => {
            bootstrap.start_logs();
            report.configuration(&bootstrap);
            network(&bootstrap, &mut report);
            targets(&bootstrap, &mut report).await;
        }
        Err(problems) => report.problems(&problems),
    }
    let (text, is_in_order) = report.finish();
    stdout::print(&text)?;
    Ok(if is_in_order { ExitCode::SUCCESS } else { ExitCode::from(FAILURE) })
}

/// Who would be let in, and under which names.
fn network(bootstrap: &Bootstrap, report: &mut Report) {
    let how = cli::Serve { listen: None, plain: true, no_password: false };
    match address(bootstrap, &how) {
        Ok(address) => report.say(&format!("it would listen on {address}")),
        Err(error) => report.wrong(&format!("{error:#}")),
    }
    match bootstrap.network(&PROTOCOLS, &Tasks::new()) {
        Ok(network) if network.identities.is_empty() => {
            report.wrong("nobody would be let in: make a key with `sessiond-mcp-http key new NAME --role full`");
        }
        Ok(network) => report.say(&format!("let in: {}", network.identities)),
        Err(Problems(problems)) => problems.iter().for_each(|problem| report.wrong(&problem.to_string())),
    }
}

/// How the targets do, and whether a server could be made of all this.
async fn targets(bootstrap: &Bootstrap, report: &mut Report) {
    let assembly = match bootstrap.assemble() {
        Ok(assembly) => assembly,
        Err(error) => return report.wrong(&error.to_string()),
    };
    if let Err(error) = Server::new(&assembly.registry, assembly.service(), Admission::Everybody, settings(bootstrap)) {
        report.wrong(&error.to_string());
    }
    let cx = Call { deadline: Instant::now() + PATIENCE, ..Call::new(Owner::management("check")) };
    match assembly.registry.list_targets(&cx, ListTargets::default()).await {
        Ok(targets) => targets.iter().for_each(|target| report.target(target)),
        Err(error) => report.wrong(&error.to_string()),
    }
    assembly.shutdown().await;
}
