//! Programs from crates.io that the checks run, in the build folder.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Missing;
use crate::{step, workspace};

/// A program, pinned.
struct Tool {
    name: &'static str,
    version: &'static str,
    purpose: &'static str,
}

const TOOLS: [Tool; 1] = [Tool { name: "cargo-deny", version: "0.20.2", purpose: "checks licences and sources" }];

/// Where a program of this kind stands in the build folder.
pub(crate) fn path(target: &Path, name: &str) -> PathBuf {
    target.join("tools/bin").join(name)
}

/// The arguments that make cargo install a tool. Without optimization, because compiling takes far longer than running.
fn arguments(tool: &Tool, target: &Path) -> Vec<String> {
    let root = target.join("tools").display().to_string();
    ["install", "--debug", "--locked", tool.name, "--version", tool.version, "--root", &root].map(str::to_owned).into()
}

/// Names the programs that are not there, or are of another version.
pub(super) fn missing(target: &Path) -> Vec<Missing> {
    let absent = TOOLS.iter().filter(|tool| !is_current(tool, target));
    absent
        .map(|tool| Missing {
            what: format!("{} {} ({})", tool.name, tool.version, tool.purpose),
            remedy: format!("cargo {}", arguments(tool, target).join(" ")),
        })
        .collect()
}

/// Installs the programs that are not there.
pub(super) fn install(target: &Path) -> Result<()> {
    for tool in TOOLS.iter().filter(|tool| !is_current(tool, target)) {
        step::run(tool.name, workspace::cargo().args(arguments(tool, target)))?;
    }
    Ok(())
}

fn is_current(tool: &Tool, target: &Path) -> bool {
    let program = path(target, tool.name);
    let said = workspace::output(workspace::command(&program.to_string_lossy()).arg("--version"));
    said.is_ok_and(|said| said.split_whitespace().any(|word| word == tool.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_is_not_there_is_named_with_its_command() {
        let target = Path::new("/no/such/folder");
        let missing = missing(target);
        assert_eq!(missing.len(), TOOLS.len());
        assert_eq!(missing[0].what, "cargo-deny 0.20.2 (checks licences and sources)");
        assert!(missing[0].remedy.starts_with("cargo install --debug --locked cargo-deny --version 0.20.2 --root"));
    }
}
