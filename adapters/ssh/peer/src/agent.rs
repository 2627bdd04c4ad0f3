//! A real `ssh-agent`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::client::Askpass;
use crate::house::{self, House, Plan};
use crate::keys::Key;
use crate::program;

const PACKAGE: &str = "openssh-client";

/// An agent on a socket of its own. It ends with the value.
#[derive(Debug)]
pub struct Agent {
    house: House,
}

impl Agent {
    /// Starts an agent without keys and waits until it listens.
    ///
    /// # Errors
    /// This is not root, a program is missing, or the agent ended.
    pub fn start() -> Result<Self> {
        let state = house::state()?;
        let socket = state.path().join("agent");
        // It tells its socket once it listens there; stdout is where a house's first process answers.
        let script = r#"exec "$0" -D -a "$1" >&2"#;
        let agent = program::find("ssh-agent", PACKAGE)?;
        let words = ["sh".as_ref(), "-c".as_ref(), script.as_ref(), agent.as_os_str(), socket.as_os_str()];
        let command = words.map(|word| word.to_string_lossy().into_owned());
        let house = House::build(state, &Plan { setup: "mount -t proc proc /proc", network: false, server: &command })?;
        house.order("start")?;
        house.log().find(0, "where it listens", |line| line.starts_with("SSH_AUTH_SOCK=").then_some(()))?;
        Ok(Self { house })
    }

    /// The agent's socket, for `SSH_AUTH_SOCK`.
    pub fn socket(&self) -> PathBuf {
        self.house.state().join("agent")
    }

    /// Gives the agent a key, and its certificate where there is one.
    ///
    /// # Errors
    /// `ssh-add` refuses.
    pub fn add(&self, key: &Key) -> Result<()> {
        program::text("ssh-add", &self.ssh_add(key.path())?.output().context("running ssh-add")?).map(drop)
    }

    /// Gives the agent a key that is encrypted.
    ///
    /// # Errors
    /// `ssh-add` refuses.
    pub fn add_encrypted(&self, key: &Key, passphrase: &str) -> Result<()> {
        let askpass = Askpass::new(passphrase)?;
        let mut command = self.ssh_add(key.path())?;
        askpass.answer(&mut command);
        program::text("ssh-add", &command.output().context("running ssh-add")?).map(drop)
    }

    fn ssh_add(&self, key: &Path) -> Result<Command> {
        let mut command = program::command(&program::find("ssh-add", PACKAGE)?);
        command.arg("-q").arg(key).env("SSH_AUTH_SOCK", self.socket()).stdin(Stdio::null());
        Ok(command)
    }
}
