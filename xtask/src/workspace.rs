//! Where the repository and its build folder are, and which files belong to it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The repository's root.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// A command that runs in the repository's root.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The cargo that runs this chore.
pub(crate) fn cargo() -> Command {
    command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
}

/// What a command prints on stdout; an error when it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("running {name}"))?;
    if !output.status.success() {
        bail!("{name} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("reading what {name} printed"))
}

/// The build folder, as cargo's configuration and environment decide it.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let metadata = output(cargo().args(["metadata", "--format-version", "1", "--no-deps", "--offline"]))?;
    target_directory(&metadata).context("cargo metadata names no target directory")
}

/// Finds the one field in cargo's metadata. A path with a character that JSON escapes is not understood.
fn target_directory(metadata: &str) -> Option<PathBuf> {
    let (_, rest) = metadata.split_once("\"target_directory\":\"")?;
    let (path, _) = rest.split_once('"')?;
    (!path.contains('\\')).then(|| PathBuf::from(path))
}

/// Every file of the repository, relative to its root: what git tracks or would add.
pub(crate) fn files() -> Result<Vec<String>> {
    let listed = output(command("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))
        .context("listing the repository's files (tidy needs git and a checkout)")?;
    let mut files: Vec<String> = listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    files.sort();
    files.dedup();
    // A file that is deleted but not committed is still listed.
    files.retain(|path| root().join(path).is_file());
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_directory_is_found_in_cargos_metadata() {
        let found = target_directory(r#"{"packages":[],"target_directory":"/a/b c/target","version":1}"#);
        assert_eq!(found, Some(PathBuf::from("/a/b c/target")));
        assert_eq!(target_directory(r#"{"target_directory":"C:\\x"}"#), None);
        assert_eq!(target_directory("{}"), None);
    }
}
