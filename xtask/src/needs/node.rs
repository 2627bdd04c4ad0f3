//! Peer clients from npm and the Node that runs them, in the build folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Missing;
use crate::{step, workspace};

/// The pinned packages: every one by its version, so that there is no lock file, which would name a registry.
const MANIFEST: &str = "transports/mcp-stdio/tests/peers/typescript/package.json";

/// Where they live in the build folder; the peer tests look there.
const FOLDER: &str = "peers/node";

/// The copy of the manifest whose packages the folder holds, written last.
const STAMP: &str = "installed-package.json";

/// No script of a package runs at its installation.
const INSTALL: [&str; 6] =
    ["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"];

fn folder(target: &Path) -> PathBuf {
    target.join(FOLDER)
}

fn manifest() -> Result<String> {
    fs::read_to_string(workspace::root().join(MANIFEST)).with_context(|| format!("reading {MANIFEST}"))
}

/// Whether the folder holds exactly these packages.
fn is_current(folder: &Path, manifest: &str) -> bool {
    folder.join("node_modules").is_dir() && fs::read_to_string(folder.join(STAMP)).is_ok_and(|held| held == manifest)
}

/// Says when the packages are not there or are of other versions.
pub(super) fn missing(target: &Path) -> Result<Option<Missing>> {
    let folder = folder(target);
    if is_current(&folder, &manifest()?) {
        return Ok(None);
    }
    let (folder, install) = (folder.display(), INSTALL.join(" "));
    Ok(Some(Missing {
        what: format!("the official TypeScript client of MCP, as pinned in {MANIFEST}"),
        remedy: format!(
            "rm -rf {folder} && mkdir -p {folder} && cp {MANIFEST} {folder}/package.json \
             && (cd {folder} && npm {install} && cp package.json {STAMP})"
        ),
    }))
}

/// Makes the folder anew unless it holds the packages already.
pub(super) fn install(target: &Path) -> Result<()> {
    let (folder, manifest) = (folder(target), manifest()?);
    if is_current(&folder, &manifest) {
        println!("== Node packages: all are there");
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("clearing {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    fs::write(folder.join("package.json"), &manifest).context("placing the manifest")?;
    step::run("Node packages", workspace::command("npm").args(INSTALL).current_dir(&folder))?;
    fs::write(folder.join(STAMP), manifest).context("noting what is installed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_counts_only_with_the_very_manifest() {
        let folder = std::env::temp_dir().join(format!("sessiond-xtask-node-{}", std::process::id()));
        fs::create_dir_all(folder.join("node_modules")).unwrap();
        assert!(!is_current(&folder, "{1}"));
        fs::write(folder.join(STAMP), "{1}").unwrap();
        assert!(is_current(&folder, "{1}"));
        assert!(!is_current(&folder, "{2}"));
        fs::remove_dir_all(folder.join("node_modules")).unwrap();
        assert!(!is_current(&folder, "{1}"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_package_is_pinned() {
        let manifest = manifest().unwrap();
        let pins: Vec<&str> = manifest
            .lines()
            .filter_map(|line| line.strip_prefix("    ")?.split_once("\": \""))
            .map(|(_, version)| version.trim_end_matches(['"', ',']))
            .collect();
        assert!(pins.len() > 10, "{pins:?}");
        for pin in pins {
            assert!(pin.chars().all(|c| c.is_ascii_digit() || c == '.'), "{pin} is no exact version");
        }
    }
}
