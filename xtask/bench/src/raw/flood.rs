//! A flood in a process of its own: `yes` on a terminal and a loop that reads it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::OnPty;

/// The option by which the bench starts itself as the flood.
pub(crate) const FLOOD: &str = "--raw-flood";

/// What the flood says once it flows.
const FLOWS: &str = "flows\n";

/// A running flood, which ends with its owner.
pub(crate) struct Flood {
    process: Child,
}

impl Flood {
    /// Starts it and waits until it flows.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn start() -> Result<Self> {
        let own = std::env::current_exe().context("finding this binary")?;
        let process = Command::new(own).arg(FLOOD).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut flood = Self { process };
        let mut said = String::new();
        BufReader::new(flood.process.stdout.take().context("the flood has no stdout")?).read_line(&mut said)?;
        ensure!(said == FLOWS, "the flood does not flow");
        Ok(flood)
    }
}

impl Drop for Flood {
    /// With its reader the terminal goes, and with the terminal `yes`.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the process does: reads until it is killed.
///
/// # Errors
/// `yes` does not start or ends.
pub(crate) fn flood() -> Result<()> {
    let yes = OnPty::spawn(&[c"yes"])?;
    let mut buffer = vec![0; 64 << 10];
    let mut read = yes.read(&mut buffer);
    std::io::stdout().write_all(FLOWS.as_bytes())?;
    while read > 0 {
        read = yes.read(&mut buffer);
    }
    anyhow::bail!("yes has ended")
}
