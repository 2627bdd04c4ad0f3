//! Peer clients from PyPI, in a virtual environment in the build folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Missing;
use crate::{step, workspace};

/// The pinned packages.
const REQUIREMENTS: &str = "transports/mcp-stdio/tests/peers/requirements.txt";

/// Where the environment lives in the build folder; the peer tests look there.
const VENV: &str = "peers/venv";

/// The copy of the requirements that the environment holds, written last.
const STAMP: &str = "installed-requirements.txt";

fn venv(target: &Path) -> PathBuf {
    target.join(VENV)
}

fn requirements() -> Result<String> {
    fs::read_to_string(workspace::root().join(REQUIREMENTS)).with_context(|| format!("reading {REQUIREMENTS}"))
}

/// Whether the environment holds exactly these requirements.
fn is_current(venv: &Path, requirements: &str) -> bool {
    // The interpreter is a link; it dangles when the Python it was made with is gone.
    venv.join("bin/python").is_file() && fs::read_to_string(venv.join(STAMP)).is_ok_and(|held| held == requirements)
}

/// Says when the environment is not there or holds other versions.
pub(super) fn missing(target: &Path) -> Result<Option<Missing>> {
    let venv = venv(target);
    if is_current(&venv, &requirements()?) {
        return Ok(None);
    }
    let venv = venv.display();
    Ok(Some(Missing {
        what: format!("the official Python client of MCP, as pinned in {REQUIREMENTS}"),
        remedy: format!(
            "python3 -m venv --clear {venv} && {venv}/bin/pip install --requirement {REQUIREMENTS} \
             && cp {REQUIREMENTS} {venv}/{STAMP}"
        ),
    }))
}

/// Makes the environment anew unless it holds the requirements already.
pub(super) fn install(target: &Path) -> Result<()> {
    let (venv, requirements) = (venv(target), requirements()?);
    if is_current(&venv, &requirements) {
        println!("== Python packages: all are there");
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
            REQUIREMENTS,
        ]),
    )?;
    fs::write(venv.join(STAMP), requirements).context("noting what is installed")
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
