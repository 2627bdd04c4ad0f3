//! `cargo xtask test`: sees to it that what the tests need is there, then runs them all.

use anyhow::{Result, bail};

use crate::{needs, step, workspace};

pub(crate) const HELP: &str = "\
Runs every test of the workspace, documentation examples included.

Usage: cargo xtask test [--install]

The tests drive real programs and clients that we did not write. Without --install, whatever is missing
is named with the command that installs it, and nothing runs.

Options:
  --install   install what is missing first: Debian packages with apt-get (as root, or through `sudo -n`),
              Python and Node packages into the build folder";

/// Checks or installs the needs and runs cargo.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let mut install = false;
    for arg in args {
        match arg.as_str() {
            "--install" => install = true,
            other => bail!("{other:?} is not an option of this chore; --help lists what there is"),
        }
    }
    if install {
        needs::install()?
    } else {
        needs::check()?
    }
    // Unit, integration and documentation tests; cargo builds the binaries that integration tests drive.
    step::run("tests", workspace::cargo().args(["test", "--workspace", "--locked"]))?;
    traces()
}

/// The tests of what is off by default: traces, which are of several programs together.
fn traces() -> Result<()> {
    let with_traces = |command: &str, package: &str| {
        let mut cargo = workspace::cargo();
        cargo.args([command, "--locked", "--package", package, "--features", "otlp"]);
        cargo
    };
    step::run("configuration of traces", &mut with_traces("test", "sessiond-bootstrap"))?;
    for package in ["sessiond-mcp-stdio", "sessiond-mcp-http"] {
        step::run(package, &mut with_traces("build", package))?;
    }
    step::run("traces", with_traces("test", "sessiond-grpc").args(["--test", "traces"]))
}
