//! `cargo xtask conformance`: builds the server with the scripted backend in it, runs the conformance suite, and compares
//! the tools with the recorded schemas.

use anyhow::{Context, Result};

use crate::{step, workspace};

pub(crate) const HELP: &str = "\
Proves every requirement in force, through every transport, over every backend, and prints a table.
Then compares the tools with the recorded schemas: a change needs a step of the contract version.

Usage: cargo xtask conformance [OPTIONS]

Options:
  --backend NAME     only this backend
  --transport NAME   only this transport
  --filter TEXT      only requirements whose id or sentence contains this
  --list             name the requirements and their scenarios
  --mutants          break each requirement on purpose and see whether its scenarios notice
  --json FILE        where to write the table as JSON (conformance.json in the build folder)
  --accept           record the tools as they are now, with docs/schema-changelog.md, and run nothing else

Fails on a row that fails, on a requirement in force without a scenario, on a stale baseline, and on schemas that
differ from the record.";

/// Builds and runs; the arguments go to the suite.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let target = workspace::target_dir()?;
    let schemas = |verb: &str| {
        let program = target.join("debug/schemas");
        step::run("schemas", workspace::command(&program.to_string_lossy()).arg(verb))
    };
    let build = |package: &str, features: &str| {
        let mut cargo = workspace::cargo();
        cargo.args(["build", "--quiet", "--locked", "--package", package, "--features", features]);
        step::run(&format!("build {package}"), &mut cargo)
    };
    if args.iter().any(|arg| arg == "--accept") {
        build("sessiond-conformance", "suite")?;
        return schemas("accept");
    }
    build("sessiond-mcp-stdio", "fake")?;
    // Aside, because the next ordinary build puts the ordinary binary in this place.
    let server = target.join("conformance/sessiond-mcp-stdio");
    std::fs::create_dir_all(target.join("conformance"))?;
    std::fs::copy(target.join("debug/sessiond-mcp-stdio"), &server)
        .with_context(|| format!("putting the server at {}", server.display()))?;
    build("sessiond-conformance", "suite")?;

    let suite = target.join("debug/conformance");
    let mut command = workspace::command(&suite.to_string_lossy());
    command.arg("--server").arg(&server).args(args);
    if !args.iter().any(|arg| arg == "--json") {
        command.arg("--json").arg(target.join("conformance.json"));
    }
    step::run("conformance", &mut command)?;
    schemas("check")
}
