//! Peers from PyPI, clients and a server, in virtual environments in the build folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Missing;
use crate::{step, workspace};

/// Packages that belong together, and the environment that holds them.
struct Set {
    /// The pinned packages.
    requirements: &'static str,
    /// Where the environment lives in the build folder; the peer tests look there.
    venv: &'static str,
    /// What they are.
    what: &'static str,
}

const SETS: [Set; 3] = [
    Set {
        requirements: "transports/mcp-stdio/tests/peers/requirements.txt",
        venv: "peers/venv",
        what: "the official Python client of MCP",
    },
    Set {
        requirements: "transports/grpc/tests/peers/requirements.txt",
        venv: "peers/grpc-venv",
        what: "gRPC for Python and its compiler",
    },
    Set {
        requirements: "adapters/agent-platform/tests/it/langgraph/requirements.txt",
        venv: "peers/langgraph-venv",
        what: "a LangGraph server in memory",
    },
];

/// The copy of the requirements that the environment holds, written last.
const STAMP: &str = "installed-requirements.txt";

impl Set {
    fn venv(&self, target: &Path) -> PathBuf {
        target.join(self.venv)
    }

    fn requirements(&self) -> Result<String> {
        let path = self.requirements;
        fs::read_to_string(workspace::root().join(path)).with_context(|| format!("reading {path}"))
    }

    fn missing(&self, target: &Path) -> Result<Option<Missing>> {
        let venv = self.venv(target);
        if is_current(&venv, &self.requirements()?) {
            return Ok(None);
        }
        let (venv, requirements) = (venv.display(), self.requirements);
        Ok(Some(Missing {
            what: format!("{}, as pinned in {requirements}", self.what),
            remedy: format!(
                "python3 -m venv --clear {venv} && {venv}/bin/pip install --requirement {requirements} \
                 && cp {requirements} {venv}/{STAMP}"
            ),
        }))
    }

    fn install(&self, target: &Path) -> Result<()> {
        let (venv, requirements) = (self.venv(target), self.requirements()?);
        if is_current(&venv, &requirements) {
            println!("== Python packages: {} is there", self.what);
            return Ok(());
        }
        step::run("Python environment", workspace::command("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        let python = venv.join("bin/python");
        step::run(
            "Python packages",
            workspace::command(&python.to_string_lossy()).args([
                "-m",
                "pip",
                "install",
                "--disable-pip-version-check",
                "--no-input",
                "--progress-bar=off",
                "--requirement",
                self.requirements,
            ]),
        )?;
        fs::write(venv.join(STAMP), requirements).context("noting what is installed")
    }
}

/// Whether the environment holds exactly these requirements.
fn is_current(venv: &Path, requirements: &str) -> bool {
    // The interpreter is a link; it dangles when the Python it was made with is gone.
    venv.join("bin/python").is_file() && fs::read_to_string(venv.join(STAMP)).is_ok_and(|held| held == requirements)
}

/// Says which environments are not there or hold other versions.
pub(super) fn missing(target: &Path) -> Result<Vec<Missing>> {
    SETS.iter().filter_map(|set| set.missing(target).transpose()).collect()
}

/// Makes each environment anew unless it holds its requirements already.
pub(super) fn install(target: &Path) -> Result<()> {
    SETS.iter().try_for_each(|set| set.install(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_counts_only_with_the_very_requirements() {
        let venv = std::env::temp_dir().join(format!("sessiond-xtask-venv-{}", std::process::id()));
        fs::create_dir_all(venv.join("bin")).unwrap();
        assert!(!is_current(&venv, "a==1\n"));
        fs::write(venv.join("bin/python"), "").unwrap();
        assert!(!is_current(&venv, "a==1\n"));
        fs::write(venv.join(STAMP), "a==1\n").unwrap();
        assert!(is_current(&venv, "a==1\n"));
        assert!(!is_current(&venv, "a==2\n"));
        fs::remove_dir_all(&venv).unwrap();
    }
}
