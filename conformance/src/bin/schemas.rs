//! Holds what callers see against what is recorded of it, records it anew, and compares two records.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people: it prints what it finds")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};
use sessiond_conformance::schema::{
    CONTRACT_VERSION, Class, Content, Set, Store, Version, collect, contents, today, verdict,
};

/// What callers of the tools see: checked, recorded, compared.
#[derive(Debug, Parser)]
#[command(name = "schemas")]
struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Fail unless everything that callers see is recorded, and each change has stepped the contract version.
    Check,
    /// Record what callers see now: the set of the contract version, the changelog, and the snapshots of the tests.
    Accept {
        /// Write over the set of the contract version whatever has changed: nobody has been given that version yet.
        #[arg(long)]
        replace: bool,
    },
    /// Say what has changed from one set to another, and what it means for callers.
    Diff {
        /// A recorded version, the file of a set, or `now`.
        old: String,
        /// A recorded version, the file of a set, or `now`.
        new: String,
        /// Print the differences as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match Args::parse().action {
        Action::Check => check().await,
        Action::Accept { replace } => accept(replace).await,
        Action::Diff { old, new, json } => diff(&old, &new, json).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of this crate: what is recorded belongs to the sources that this binary was built from.
fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn store() -> Store {
    let root = home().parent().unwrap_or(home());
    Store { sets: home().join("schemas"), changelog: root.join("docs/schema-changelog.md") }
}

async fn check() -> Result<(), String> {
    let now = collect().await?;
    let problems = store().check(CONTRACT_VERSION, &now);
    if problems.is_empty() {
        println!("contract version {CONTRACT_VERSION}: {} as recorded", count(&now));
        return Ok(());
    }
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(problems.join("\n"))
}

fn count(content: &Content) -> String {
    format!("{} tools and {} kinds of errors", content.management.len(), content.errors.len())
}

async fn accept(replace: bool) -> Result<(), String> {
    let now = collect().await?;
    store().accept(CONTRACT_VERSION, &now, &today(), replace).map_err(|problem| problem.to_string())?;
    println!("contract version {CONTRACT_VERSION}: {} recorded", count(&now));
    snapshots(&now)
}

/// Lets the tests write their snapshots anew, and takes away those of what is gone.
fn snapshots(now: &Content) -> Result<(), String> {
    let folder = home().join("tests/schema/snapshots");
    let kept: Vec<String> = now.parts().into_iter().map(|(name, _)| format!("{name}.snap")).collect();
    for file in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        if !kept.iter().any(|name| file.file_name() == name.as_str()) {
            std::fs::remove_file(file.path()).map_err(|error| format!("{}: {error}", file.path().display()))?;
        }
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let test = ["test", "--package", "sessiond-conformance", "--features", "suite", "--test", "schema", "snapshots::"];
    let status = Command::new(cargo).args(test).current_dir(home()).env("INSTA_UPDATE", "always").status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the snapshots were not written: cargo test ended with {status}")),
        Err(error) => Err(format!("the snapshots were not written: cargo: {error}")),
    }
}

async fn diff(old: &str, new: &str, json: bool) -> Result<(), String> {
    let (old, new) = (named(old).await?, named(new).await?);
    let changes = contents(&old.content, &new.content);
    let class = verdict(changes.iter().map(|change| &change.entry));
    if json {
        let all = serde_json::to_string_pretty(&changes).map_err(|error| error.to_string())?;
        println!("{all}");
        return Ok(());
    }
    for change in &changes {
        println!("{change}");
    }
    match class {
        None => println!("no difference"),
        Some(Class::Wording) => println!("wording: the contract version may stay {}", old.version),
        Some(class) => println!("{class}: after {} comes {} at least", old.version, old.version.after(class)),
    }
    Ok(())
}

/// The set of this name.
async fn named(name: &str) -> Result<Set, String> {
    if name == "now" {
        return Ok(Set { version: CONTRACT_VERSION, first_seen: today(), content: collect().await? });
    }
    let file = match name.parse::<Version>() {
        Ok(version) => store().sets.join(format!("{version}.json")),
        Err(_) => PathBuf::from(name),
    };
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    Set::parse(&text).map_err(|why| format!("{}: {why}", file.display()))
}
