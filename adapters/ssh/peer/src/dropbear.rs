//! Dropbear, a second server by other people.

use std::fs;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::Path;

use anyhow::{Context, Result};

use crate::account::{self, Account};
use crate::house::{self, House, Plan};
use crate::keys::Key;
use crate::server::{Ready, Server, on_some_port};
use crate::sshd::LOOPBACK;
use crate::{port, program};

const SETUP: &str = include_str!("setup.sh");
const PACKAGE: &str = "dropbear-bin";

/// A server to be: see [`Dropbear::builder`].
#[derive(Debug, Default)]
pub struct DropbearBuilder {
    arguments: Vec<String>,
    accounts: Vec<Account>,
}

impl DropbearBuilder {
    /// An argument of dropbear(8).
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Someone who may log in.
    pub fn account(mut self, account: Account) -> Self {
        self.accounts.push(account);
        self
    }

    /// Starts the server and waits until it listens.
    ///
    /// # Errors
    /// This is not root, a program is missing, or the server ended: with its log.
    pub fn start(self) -> Result<Dropbear> {
        let program = program::find("dropbear", PACKAGE)?;
        on_some_port(|| {
            let state = house::state()?;
            account::write(state.path(), &self.accounts)?;
            let key = make_host_key(state.path())?;
            let address = SocketAddr::new(LOOPBACK, port::free()?);
            let mut command = vec![program.display().to_string()];
            // In the foreground, with its log on stderr.
            command.extend(["-F", "-E", "-p"].map(str::to_owned));
            command.extend([address.to_string(), "-r".to_owned(), key.path().display().to_string()]);
            command.extend(self.arguments.iter().cloned());
            let house = House::build(state, &Plan { setup: SETUP, network: false, server: &command })?;
            // Said once it listens.
            let ready = Ready { line: "Not backgrounding", count: 1 };
            let server = Server::new(house, address, vec![key], ready);
            server.listen()?;
            Ok(Dropbear { server })
        })
    }
}

/// Makes a host key in Dropbear's own format, with its public half in OpenSSH's.
fn make_host_key(state: &Path) -> Result<Key> {
    let key = Key::at(state.join("dropbear_host_key"));
    let file = key.path().display().to_string();
    let printed = program::run("dropbearkey", PACKAGE, ["-t", "ed25519", "-f", &file])?;
    let line = printed.lines().find(|line| line.starts_with("ssh-ed25519 "));
    let line = line.with_context(|| format!("dropbearkey printed no public key: {printed}"))?;
    fs::write(key.public_path(), format!("{line}\n")).context("writing the public host key")?;
    Ok(key)
}

/// A running Dropbear, which can do what every [`Server`] can.
#[derive(Debug)]
pub struct Dropbear {
    server: Server,
}

impl Dropbear {
    /// A server with Dropbear's defaults and an Ed25519 host key.
    pub fn builder() -> DropbearBuilder {
        DropbearBuilder::default()
    }
}

impl Deref for Dropbear {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
