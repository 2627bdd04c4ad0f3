//! What every row needs: the binaries under measurement and how often to measure.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::client::Client;

/// The binary that is measured, and its floor.
const SERVER: &str = "sessiond-mcp-stdio";
const EMPTY: &str = "sessiond-bench-empty";
/// The program that says when it ended.
const STAMP: &str = "sessiond-bench-stamp";

/// Where things are.
pub(crate) struct Setup {
    folder: PathBuf,
    server: PathBuf,
    empty: PathBuf,
    pub(crate) stamp: PathBuf,
    rounds: Option<usize>,
}

impl Setup {
    /// Finds the binaries beside this one.
    ///
    /// # Errors
    /// They have not been built, or this is not a release build.
    pub(crate) fn new(rounds: Option<usize>) -> Result<Self> {
        if cfg!(debug_assertions) {
            bail!("a debug build measures nothing: run `cargo xtask bench`");
        }
        let own = std::env::current_exe().context("finding this binary")?;
        let folder = own.parent().context("this binary is in no folder")?;
        let beside = |name: &str| built(folder, name);
        let (server, empty, stamp) = (beside(SERVER)?, beside(EMPTY)?, beside(STAMP)?);
        Ok(Self { folder: folder.to_owned(), server, empty, stamp, rounds })
    }

    /// Another binary that has been built.
    ///
    /// # Errors
    /// It has not.
    pub(crate) fn beside(&self, name: &str) -> Result<PathBuf> {
        built(&self.folder, name)
    }

    /// How many rounds a row takes that would take `default`.
    pub(crate) fn rounds(&self, default: usize) -> usize {
        self.rounds.unwrap_or(default)
    }

    /// Starts sessiond with these variables; without them it is configured by nothing.
    ///
    /// # Errors
    /// It does not start or does not answer.
    pub(crate) fn server(&self, env: &[(&str, &str)]) -> Result<Client> {
        Client::start(&self.server, &[], env)
    }

    /// Starts sessiond as a bridge to what listens there.
    ///
    /// # Errors
    /// As for [`server`](Self::server).
    pub(crate) fn bridge(&self, address: &str) -> Result<Client> {
        Client::start(&self.server, &["--connect", address], &[])
    }

    /// Starts the empty server.
    ///
    /// # Errors
    /// It does not start or does not answer.
    pub(crate) fn empty(&self) -> Result<Client> {
        Client::start(&self.empty, &[], &[])
    }
}

fn built(folder: &Path, name: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    if path.is_file() { Ok(path) } else { bail!("{name} is not built: run `cargo xtask bench`") }
}
