//! `cargo xtask ci`: everything a change must pass beside the tests, cheapest first.

use anyhow::{Result, bail};

use crate::{conformance, needs, no_arguments, protocol, step, tidy, workspace};

pub(crate) const HELP: &str = "\
Checks everything a change must pass beside the tests, and stops at the first failure.

Usage: cargo xtask ci

In this order: the format, clippy with warnings denied, the rules of the house (`cargo xtask tidy`),
the documentation with warnings denied, what is depended on (cargo-deny), the gRPC files (`cargo xtask
protocol`), and the conformance table with its mutants (`cargo xtask conformance`).";

/// Runs the checks.
pub(crate) fn run(args: &[String]) -> Result<()> {
    no_arguments(args)?;
    step::run("format", workspace::cargo().args(["fmt", "--all", "--", "--check"]))?;
    step::run(
        "lints",
        workspace::cargo().args(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
    )?;
    println!("== rules: cargo xtask tidy");
    step::timed("rules", || tidy::run(&[]))?;
    step::run(
        "documentation",
        workspace::cargo().args(["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    let deny = needs::cargo::path(&workspace::target_dir()?, "cargo-deny");
    if !deny.is_file() {
        bail!("cargo-deny is not in the build folder: `cargo xtask test --install` puts it there");
    }
    let mut deny = workspace::command(&deny.to_string_lossy());
    step::run("dependencies", deny.args(["check", "bans", "licenses", "sources"]))?;
    protocol::run(&[])?;
    conformance::run(&[])?;
    conformance::run(&["--mutants".to_owned()])
}
