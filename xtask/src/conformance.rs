//! `cargo xtask conformance`: builds the servers with the scripted backend in it, runs the conformance suite, and compares
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

/// The binaries that the suite starts, each given to it as the option of its name.
const SERVERS: [&str; 2] = ["sessiond-mcp-stdio", "sessiond-mcp-http"];

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
    let aside = target.join("conformance");
    std::fs::create_dir_all(&aside)?;
    for server in SERVERS {
        build(server, "fake")?;
        // Aside, because the next ordinary build puts the ordinary binary in this place.
        std::fs::copy(target.join("debug").join(server), aside.join(server))
            .with_context(|| format!("putting {server} into {}", aside.display()))?;
    }
    build("sessiond-conformance", "suite")?;

    let suite = target.join("debug/conformance");
    let mut command = workspace::command(&suite.to_string_lossy());
    for server in SERVERS {
        command.arg(server.replace("sessiond-", "--")).arg(aside.join(server));
    }
    command.args(args);
    if !args.iter().any(|arg| arg == "--json") {
        command.arg("--json").arg(target.join("conformance.json"));
    }
    step::run("conformance", &mut command)?;
    schemas("check")
}
