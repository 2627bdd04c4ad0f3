//! Peer clients from npm and the Node that runs them, in the build folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Missing;
use crate::{step, workspace};

/// Packages that belong together, and the folder that holds them.
struct Set {
    /// The pinned packages: every one by its version, so that there is no lock file, which would name a registry.
    manifest: &'static str,
    /// Where they live in the build folder; the peer tests look there.
    folder: &'static str,
    /// What they are.
    what: &'static str,
}

const SETS: [Set; 3] = [
    Set {
        manifest: "transports/mcp-stdio/tests/peers/typescript/package.json",
        folder: "peers/node",
        what: "the official TypeScript client of MCP",
    },
    Set {
        manifest: "transports/grpc/tests/peers/buf/package.json",
        folder: BUF,
        what: "buf, which checks and calls gRPC",
    },
    Set {
        manifest: "transports/mcp-http/tests/peers/conformance/package.json",
        folder: "peers/conformance",
        what: "the official conformance runner and inspector of MCP",
    },
];

/// Where buf lives in the build folder.
const BUF: &str = "peers/buf";

/// The copy of the manifest whose packages the folder holds, written last.
const STAMP: &str = "installed-package.json";

/// No script of a package runs at its installation.
const INSTALL: [&str; 6] =
    ["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"];

impl Set {
    fn manifest(&self) -> Result<String> {
        let path = self.manifest;
        fs::read_to_string(workspace::root().join(path)).with_context(|| format!("reading {path}"))
    }

    fn missing(&self, target: &Path) -> Result<Option<Missing>> {
        let folder = target.join(self.folder);
        if is_current(&folder, &self.manifest()?) {
            return Ok(None);
        }
        let (folder, install, manifest) = (folder.display(), INSTALL.join(" "), self.manifest);
        Ok(Some(Missing {
            what: format!("{}, as pinned in {manifest}", self.what),
            remedy: format!(
                "rm -rf {folder} && mkdir -p {folder} && cp {manifest} {folder}/package.json \
                 && (cd {folder} && npm {install} && cp package.json {STAMP})"
            ),
        }))
    }

    fn install(&self, target: &Path) -> Result<()> {
        let (folder, manifest) = (target.join(self.folder), self.manifest()?);
        if is_current(&folder, &manifest) {
            println!("== Node packages: {} is there", self.what);
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
}

/// Whether the folder holds exactly these packages.
fn is_current(folder: &Path, manifest: &str) -> bool {
    folder.join("node_modules").is_dir() && fs::read_to_string(folder.join(STAMP)).is_ok_and(|held| held == manifest)
}

/// Says which packages are not there or are of other versions.
pub(super) fn missing(target: &Path) -> Result<Vec<Missing>> {
    SETS.iter().filter_map(|set| set.missing(target).transpose()).collect()
}

/// Makes each folder anew unless it holds its packages already.
pub(super) fn install(target: &Path) -> Result<()> {
    SETS.iter().try_for_each(|set| set.install(target))
}

/// The buf that checks `.proto` files, once it is installed.
pub(crate) fn buf(target: &Path) -> PathBuf {
    target.join(BUF).join("node_modules/.bin/buf")
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
        for set in SETS {
            let manifest = set.manifest().unwrap();
            let pins: Vec<&str> = manifest
                .lines()
                .filter_map(|line| line.strip_prefix("    ")?.split_once("\": \""))
                .map(|(_, version)| version.trim_end_matches(['"', ',']))
                .collect();
            assert!(!pins.is_empty(), "{manifest}");
            for pin in pins {
                // A release before the first one has a word behind a hyphen.
                let (release, _) = pin.split_once('-').unwrap_or((pin, ""));
                assert!(release.chars().all(|c| c.is_ascii_digit() || c == '.'), "{pin} is no exact version");
            }
        }
    }
}
