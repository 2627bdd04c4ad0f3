//! `cargo xtask ci`: everything a change must pass beside the tests, cheapest first.

use anyhow::Result;

use crate::{conformance, no_arguments, step, tidy, workspace};

pub(crate) const HELP: &str = "\
Checks everything a change must pass beside the tests, and stops at the first failure.

Usage: cargo xtask ci

In this order: the format, clippy with warnings denied, the rules of the house (`cargo xtask tidy`),
the documentation with warnings denied, and the conformance table (`cargo xtask conformance`) with its mutants.";

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
    conformance::run(&[])?;
    conformance::run(&["--mutants".to_owned()])
}
