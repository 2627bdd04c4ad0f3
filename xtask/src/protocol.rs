//! `cargo xtask protocol`: the gRPC files keep buf's rules, and break nobody who was built against the last release.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{needs, step, workspace};

pub(crate) const HELP: &str = "\
Checks the gRPC files with buf: rules, format, and changes against the last release.

Usage: cargo xtask protocol [--release]

Options:
  --release   when everything holds, keep the files as they are now as the last release";

/// The crate whose `buf.yaml` says where the files are.
const CRATE: &str = "transports/grpc";

/// The descriptors of the last release, relative to the crate.
const RELEASED: &str = "proto/released.binpb";

/// Runs the checks.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let release = match args {
        [] => false,
        [arg] if arg == "--release" => true,
        _ => bail!("{args:?} are not options of this chore; --help lists what there is"),
    };
    let buf = needs::node::buf(&workspace::target_dir()?);
    if !buf.exists() {
        bail!("buf is not in the build folder: `cargo xtask test --install` puts it there");
    }
    step::run("protocol rules", command(&buf).arg("lint"))?;
    step::run("protocol format", command(&buf).args(["format", "--diff", "--exit-code"]))?;
    step::run("protocol changes", command(&buf).args(["breaking", "--against", RELEASED]))?;
    if release {
        step::run("protocol release", command(&buf).args(["build", "--exclude-source-info", "--output", RELEASED]))?;
    }
    Ok(())
}

fn command(buf: &Path) -> Command {
    let mut command = workspace::command(&buf.to_string_lossy());
    command.current_dir(workspace::root().join(CRATE));
    command
}
