//! Programs that must be there, and running them to their end.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

/// Where servers stand, which an ordinary search path leaves out.
const SYSTEM: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";

/// The absolute path of a program; `package` is the Debian package that brings it.
pub(crate) fn find(name: &str, package: &str) -> Result<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let dirs = path.split(':').chain(SYSTEM.split(':')).filter(|dir| dir.starts_with('/'));
    let found = dirs.map(|dir| Path::new(dir).join(name)).find(|file| file.is_file());
    found.with_context(|| format!("{name} is not here: `apt-get install {package}`"))
}

/// A command with nothing of the caller's environment but a search path, so that no agent and no configuration of
/// whoever runs the tests gets in.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", SYSTEM).env("LC_ALL", "C.UTF-8").current_dir("/");
    command
}

/// Runs a program of a package to its end and hands back what it printed on stdout.
///
/// # Errors
/// It is not there, or fails: with what it printed.
pub(crate) fn run<S: AsRef<OsStr>>(name: &str, package: &str, args: impl IntoIterator<Item = S>) -> Result<String> {
    let mut command = command(&find(name, package)?);
    let output = command.args(args).stdin(Stdio::null()).output().with_context(|| format!("running {name}"))?;
    text(name, &output)
}

/// What a program printed on stdout, when it ended well.
pub(crate) fn text(name: &str, output: &Output) -> Result<String> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{name} failed ({}): {}{}", output.status, stderr.trim(), stdout.trim());
    }
    Ok(stdout.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_named_with_its_package() {
        let error = find("no-such-program", "no-such-package").unwrap_err();
        assert_eq!(error.to_string(), "no-such-program is not here: `apt-get install no-such-package`");
    }

    #[test]
    fn a_failure_says_what_the_program_said() {
        let error = run("sh", "dash", ["-c", "echo why >&2; exit 3"]).unwrap_err();
        assert_eq!(error.to_string(), "sh failed (exit status: 3): why");
    }
}
