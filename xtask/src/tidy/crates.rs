//! Manifests, and which crate may know which.

use anyhow::Result;

use super::{Finding, numbered};
use crate::workspace;

/// What every crate takes from the workspace, so that it is said once.
const INHERITED: [&str; 5] = ["version", "edition", "rust-version", "license", "publish"];

/// Where a crate stands. What it may know follows from that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Core,
    Adapter,
    /// The one crate that names adapters and serves transports.
    Bootstrap,
    Transport,
    /// What tests and benches drive ours against.
    Peer,
    /// Suites and benches look at everything.
    Observer,
    Chores,
}

impl Layer {
    /// The layer of a crate by its folder, relative to the root.
    fn of(folder: &str) -> Option<Self> {
        match folder {
            "core" => Some(Self::Core),
            "transports/bootstrap" => Some(Self::Bootstrap),
            "conformance" | "core/model" | "xtask/bench" => Some(Self::Observer),
            "xtask" => Some(Self::Chores),
            "adapters/ssh/peer" | "adapters/agent-platform/peer" => Some(Self::Peer),
            _ if folder.starts_with("adapters/") => Some(Self::Adapter),
            _ if folder.starts_with("transports/") => Some(Self::Transport),
            _ => None,
        }
    }

    fn may_know(self, other: Self) -> bool {
        match self {
            Self::Core | Self::Peer | Self::Chores => false,
            Self::Adapter => other == Self::Core,
            Self::Bootstrap => matches!(other, Self::Core | Self::Adapter),
            Self::Transport => matches!(other, Self::Core | Self::Bootstrap | Self::Transport),
            Self::Observer => other != Self::Chores,
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Self::Core => "the core knows no other crate of ours",
            Self::Peer => "what ours is tested against knows nothing of ours",
            Self::Chores => "the chores know no other crate of ours",
            Self::Adapter => "an adapter knows the core only",
            Self::Bootstrap => "bootstrap knows the core and the adapters",
            Self::Transport => "a transport knows the core, bootstrap and transports, never an adapter",
            Self::Observer => "suites and benches know anything but the chores",
        }
    }
}

/// Every crate describes itself and takes the rest from the workspace.
pub(super) fn check_manifest(path: &str, content: &str) -> Vec<Finding> {
    let Some((head, line)) = numbered(content).find(|(_, line)| *line == "[package]") else {
        return Vec::new();
    };
    // A workspace of its own, such as that of the fuzz targets, has nothing to take from ours.
    if content.lines().any(|line| line == "[workspace]") {
        return Vec::new();
    }
    let package: Vec<&str> = content.lines().skip(head).take_while(|line| !line.starts_with('[')).collect();
    let mut findings = Vec::new();
    let described = package.iter().any(|line| line.starts_with("description = \"") && line.len() > 17);
    if !described {
        findings.push(Finding::new(path, head, format!("{line} has no description: say what the crate is for")));
    }
    for field in INHERITED {
        if !package.contains(&format!("{field}.workspace = true").as_str()) {
            findings.push(Finding::new(path, head, format!("{line} lacks `{field}.workspace = true`: add it")));
        }
    }
    let linted =
        content.split_once("[lints]").is_some_and(|(_, rest)| rest.trim_start().starts_with("workspace = true"));
    if !linted {
        findings.push(Finding::new(
            path,
            head,
            "the crate does not take the workspace's lints: add `[lints] workspace = true`",
        ));
    }
    findings
}

/// Asks cargo who depends on whom, tests aside, and checks the direction.
pub(super) fn check_tree() -> Result<Vec<Finding>> {
    let args = ["tree", "--workspace", "--depth", "1", "--edges", "normal,build", "--target", "all"];
    let format = ["--prefix", "depth", "--format", " {p}", "--locked", "--no-dedupe", "--all-features"];
    let tree = workspace::output(workspace::cargo().args(args).args(format))?;
    Ok(check_direction(&tree, &workspace::root().to_string_lossy()))
}

/// `tree` has a line for each crate, `0 NAME vVERSION (PATH)`, and below it one for each dependency, with `1`.
fn check_direction(tree: &str, root: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut current = None;
    for line in tree.lines() {
        let Some((depth, package)) = line.split_once(' ') else { continue };
        let Some(folder) = folder(package, root) else { continue };
        let manifest = format!("{folder}/Cargo.toml");
        let Some(layer) = Layer::of(folder) else {
            findings.push(Finding::new(
                &manifest,
                1,
                "this folder has no layer: give it one in xtask/src/tidy/crates.rs",
            ));
            continue;
        };
        match (depth, current) {
            ("0", _) => current = Some((folder, layer)),
            (_, Some((dependent, above))) if !above.may_know(layer) => {
                let message = format!("depends on {folder}, but {}", above.rule());
                findings.push(Finding::new(&format!("{dependent}/Cargo.toml"), 1, message));
            }
            _ => {}
        }
    }
    findings
}

/// The folder of a crate of ours; `None` for one from elsewhere.
fn folder<'a>(package: &'a str, root: &str) -> Option<&'a str> {
    let (_, path) = package.split_once('(')?;
    let (path, _) = path.split_once(')')?;
    path.strip_prefix(root)?.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directions(tree: &str) -> Vec<String> {
        check_direction(tree, "/r").into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_dependency_against_the_direction_is_found() {
        let tree = "\
            0 sessiond-core v0.1.0 (/r/core)\n\
            1 bytes v1.0.0\n\
            1 sessiond-pty v0.1.0 (/r/adapters/pty)\n\
            \n\
            0 sessiond-mcp v0.1.0 (/r/transports/mcp)\n\
            1 sessiond-core v0.1.0 (/r/core)\n\
            1 sessiond-pty v0.1.0 (/r/adapters/pty)\n\
            0 sessiond-bootstrap v0.1.0 (/r/transports/bootstrap)\n\
            1 sessiond-pty v0.1.0 (/r/adapters/pty)\n\
            1 sessiond-mcp v0.1.0 (/r/transports/mcp)\n";
        assert_eq!(
            directions(tree),
            [
                "core/Cargo.toml:1: depends on adapters/pty, but the core knows no other crate of ours",
                "transports/mcp/Cargo.toml:1: depends on adapters/pty, but a transport knows the core, bootstrap and \
                 transports, never an adapter",
                "transports/bootstrap/Cargo.toml:1: depends on transports/mcp, but bootstrap knows the core and the \
                 adapters",
            ]
        );
    }

    #[test]
    fn what_ours_is_tested_against_is_known_to_suites_only_and_knows_nothing_of_ours() {
        let tree = "\
            0 sessiond-conformance v0.1.0 (/r/conformance)\n\
            1 sessiond-ssh-peer v0.1.0 (/r/adapters/ssh/peer)\n\
            0 sessiond-ssh v0.1.0 (/r/adapters/ssh)\n\
            1 sessiond-ssh-peer v0.1.0 (/r/adapters/ssh/peer)\n\
            0 sessiond-ssh-peer v0.1.0 (/r/adapters/ssh/peer)\n\
            1 sessiond-core v0.1.0 (/r/core)\n";
        assert_eq!(
            directions(tree),
            [
                "adapters/ssh/Cargo.toml:1: depends on adapters/ssh/peer, but an adapter knows the core only",
                "adapters/ssh/peer/Cargo.toml:1: depends on core, but what ours is tested against knows nothing of ours",
            ]
        );
    }

    #[test]
    fn a_crate_without_a_layer_is_found() {
        let found = directions("0 x v0.1.0 (/r/elsewhere)\n");
        assert_eq!(
            found,
            ["elsewhere/Cargo.toml:1: this folder has no layer: give it one in xtask/src/tidy/crates.rs"]
        );
    }

    #[test]
    fn a_manifest_that_says_too_little_is_found() {
        let whole = "[package]\nname = \"x\"\ndescription = \"What it is for\"\nversion.workspace = true\n\
            edition.workspace = true\nrust-version.workspace = true\nlicense.workspace = true\n\
            publish.workspace = true\n\n[lints]\nworkspace = true\n";
        assert_eq!(check_manifest("Cargo.toml", whole), []);
        assert_eq!(check_manifest("Cargo.toml", "[workspace]\n"), []);
        for field in ["description = \"What it is for\"\n", "license.workspace = true\n", "[lints]\nworkspace = true\n"]
        {
            assert_eq!(check_manifest("Cargo.toml", &whole.replace(field, "")).len(), 1, "{field}");
        }
        assert_eq!(check_manifest("Cargo.toml", &whole.replace("What it is for", "")).len(), 1);
    }
}
