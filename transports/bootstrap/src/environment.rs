//! The process's environment, read once and then passed on, so that tests need not change the real one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Variables of ours begin like this.
pub(crate) const PREFIX: &str = "SESSIOND_";

/// Which file to read.
pub(crate) const CONFIG: &str = "SESSIOND_CONFIG";
/// The log level.
pub(crate) const LOG: &str = "SESSIOND_LOG";
/// Which server to work in the sessions of, for a binary that can stand before one: what its `--connect` takes.
pub const CONNECT: &str = "SESSIOND_CONNECT";
/// The key for the server that [`CONNECT`] names.
pub const CONNECT_KEY: &str = "SESSIOND_CONNECT_KEY";
/// The mark that the pty adapter gives its children. A server that is started inside a session carries it.
const SESSION: &str = "SESSIOND_SESSION";

/// A snapshot of environment variables.
#[derive(Clone, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// The process's own.
    pub fn capture() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// Exactly these.
    pub fn of<N: Into<OsString>, V: Into<OsString>>(variables: impl IntoIterator<Item = (N, V)>) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// A variable's value; one that is set to nothing counts as not set.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// The server that [`CONNECT`] names.
    pub fn connect(&self) -> Option<&OsStr> {
        self.get(CONNECT)
    }

    /// Where the configuration lies when nobody names a file: under `$XDG_CONFIG_HOME` when that is an absolute path,
    /// as its specification demands, else under `~/.config`. `None` without a home.
    pub(crate) fn default_file(&self) -> Option<PathBuf> {
        let xdg = self.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let base = xdg.or_else(|| Some(PathBuf::from(self.get("HOME")?).join(".config")))?;
        Some(base.join("sessiond/config.toml"))
    }

    /// A path of the configuration, with `~` as the home directory. Without a home it stays as it is, and whoever
    /// uses it says that there is no such directory.
    pub(crate) fn below_home(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.get("HOME")) {
            (Ok(below), Some(home)) => Path::new(home).join(below),
            _ => path.to_owned(),
        }
    }

    /// The variables that carry configuration: all of ours but those with a meaning of their own.
    pub(crate) fn overlay(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0
            .iter()
            .filter(|(name, _)| is_ours(name))
            .filter(|(name, _)| ![CONFIG, LOG, CONNECT, CONNECT_KEY, SESSION].iter().any(|own| name == own))
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// What every child gets: the server's environment without the server's own affairs. Those are all `SESSIOND_`
    /// variables, and `secrets`, the names of variables that the configuration reads credentials from (SF01).
    pub fn for_children(&self, secrets: &[OsString]) -> Vec<(OsString, OsString)> {
        self.0.iter().filter(|(name, _)| !is_ours(name) && !secrets.contains(name)).cloned().collect()
    }
}

impl std::fmt::Debug for Environment {
    /// Names only: values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

fn is_ours(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}
