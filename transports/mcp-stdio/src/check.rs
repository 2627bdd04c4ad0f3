//! `check`: what holds, where it comes from, and whether each target can run something.

use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

use sessiond_bootstrap::{Bootstrap, Problems, exit::FAILURE, stdout};
use sessiond_core::{Availability, Call, ListTargets, Machine, Service, Target, TargetStatus};
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
    let (text, wrong) = match loaded {
        Ok(bootstrap) => report(&bootstrap, bridge).await,
        Err(Problems(problems)) => {
            let lines: Vec<_> = problems.iter().map(|problem| format!("  {problem}\n")).collect();
            (format!("the configuration is wrong:\n{}", lines.concat()), lines.len())
        }
    };
    let verdict = match wrong {
        0 => "everything is in order".to_owned(),
        1 => "1 thing is wrong".to_owned(),
        many => format!("{many} things are wrong"),
    };
    stdout::print(&format!("{text}\n{verdict}\n"))?;
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::from(FAILURE) })
}

async fn report(bootstrap: &Bootstrap, bridge: Option<&Bridge>) -> (String, usize) {
    bootstrap.start_logs();
    let mut text = configuration(bootstrap);
    text.push('\n');
    let targets = match bridge {
        Some(bridge) => bridge.targets(bootstrap, &cx()).await,
        None => targets(bootstrap).await.map(Some).map_err(anyhow::Error::from),
    };
    if let Some(bridge) = bridge {
        let state = match &targets {
            Ok(Some(_)) => "answers: sessions are its own, and so are these targets",
            Ok(None) => "is not there yet: a bridge starts it",
            Err(_) => "cannot be used",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "the server on {} {state}", bridge.address());
    }
    let wrong = match targets {
        Ok(targets) => {
            let targets = targets.unwrap_or_default();
            for target in &targets {
                let _ = writeln!(text, "{}", line(target));
            }
            targets.iter().filter(|target| target.status.availability == Availability::Offline).count()
        }
        Err(error) => {
            let _ = writeln!(text, "{error:#}");
            1
        }
    };
    (text, wrong)
}

/// Each key with its value, and who set it where that is not the default.
fn configuration(bootstrap: &Bootstrap) -> String {
    let file = bootstrap.file.as_ref().map(|path| path.display().to_string());
    let mut text = match file {
        Some(path) if bootstrap.has_file() => format!("configuration: {path}\n"),
        Some(path) => format!("configuration: defaults (there is no {path})\n"),
        None => "configuration: defaults (no home directory to look in)\n".to_owned(),
    };
    for shown in bootstrap.configuration.shown() {
        let value = shown.value.unwrap_or_else(|| "(not set)".to_owned());
        let origin = shown.origin.map(|origin| format!("  from {origin}")).unwrap_or_default();
        let _ = writeln!(text, "  {:<34} {value}{origin}", shown.key);
    }
    text
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

fn line(Target { info, status }: &Target) -> String {
    let TargetStatus { availability, detail, machine } = status;
    let state = match availability {
        Availability::Online => "online",
        Availability::Offline => "offline",
        Availability::Unknown => "not asked",
    };
    let facts = machine.iter().flat_map(facts).chain(detail.clone()).collect::<Vec<_>>().join(", ");
    let separator = if facts.is_empty() { "" } else { ": " };
    format!("target {} ({}) is {state}{separator}{facts}", info.name, info.backend)
}

fn facts(machine: &Machine) -> impl Iterator<Item = String> {
    let Machine { os, arch, hostname, shell } = machine.clone();
    let named = |name: &'static str| move |value: String| format!("{name} {value}");
    [os, arch, hostname.map(named("host")), shell.map(named("shell"))].into_iter().flatten()
}
