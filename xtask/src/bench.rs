//! `cargo xtask bench`: builds the bench and what it measures with the release profile, and runs it.

use anyhow::Result;

use crate::{step, workspace};

pub(crate) const HELP: &str = "\
Measures sessiond against raw baselines that the bench carries itself, as ratios within one run.

Usage: cargo xtask bench [-- OPTIONS OF THE BENCH]

Builds with the release profile first. Options of the bench:
  --only ROW      only this row; may be given several times
  --rounds N      so many interleaved rounds of each pair
  --json FILE     write the figures as JSON too
  --list          name the rows

A goal that is missed is printed and is no failure: speed is judged by people, on a quiet machine.";

/// The packages whose release binaries take part.
const PACKAGES: [&str; 4] = ["sessiond-mcp-stdio", "sessiond-mcp-http", "sessiond-grpc", "sessiond-bench"];

/// Builds and runs; every argument but a leading `--` goes to the bench.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let mut build = workspace::cargo();
    build.args(["build", "--release", "--locked"]);
    for package in PACKAGES {
        build.args(["--package", package]);
    }
    step::run("build", &mut build)?;

    let release = workspace::target_dir()?.join("release");
    let args = match args.split_first() {
        Some((first, rest)) if first == "--" => rest,
        _ => args,
    };
    let bench = release.join("sessiond-bench");
    step::run("bench", workspace::command(&bench.to_string_lossy()).args(args))
}
