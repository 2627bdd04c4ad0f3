//! OpenSSH's server.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};

use crate::account::{self, Account};
use crate::config::{self, Config};
use crate::house::{self, House, Plan};
use crate::keys::{self, Key, KeyKind};
use crate::network::Network;
use crate::server::{Ready, Server, on_some_port};
use crate::{port, program};

const SETUP: &str = include_str!("setup.sh");

/// A server to be: see [`Sshd::builder`].
#[derive(Debug, Default)]
pub struct SshdBuilder<'a> {
    options: Vec<(String, String)>,
    accounts: Vec<Account>,
    kinds: Vec<KeyKind>,
    host_keys: Vec<Key>,
    network: Network<'a>,
}

impl<'a> SshdBuilder<'a> {
    /// A line of sshd_config(5). It replaces what our servers do otherwise, but adds to what can be said several times.
    pub fn option(mut self, keyword: &str, value: &str) -> Self {
        self.options.push((keyword.to_owned(), value.to_owned()));
        self
    }

    /// Someone who may log in. Root may only where it is given as an account.
    pub fn account(mut self, account: Account) -> Self {
        self.accounts.push(account);
        self
    }

    /// A host key of this kind, made for the server. Without any, it has an Ed25519 key.
    pub fn host_key_kind(mut self, kind: KeyKind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// A host key that its owner keeps, preferred to those made for the server.
    pub fn host_key(mut self, key: &Key) -> Self {
        self.host_keys.push(key.clone());
        self
    }

    /// Asks for passwords by keyboard-interactive too, by way of PAM.
    pub fn keyboard_interactive(self) -> Self {
        self.option("UsePAM", "yes").option("KbdInteractiveAuthentication", "yes")
    }

    /// Puts the server into a network of its own, so that others can stand [behind](Self::behind) it. A relay leads in,
    /// on the port that [`Server::port`] tells.
    pub fn own_network(mut self) -> Self {
        self.network = Network::Own;
        self
    }

    /// Puts the server into a network of its own that only another server can reach, which has one of its own too.
    pub fn behind(mut self, other: &'a Server) -> Self {
        self.network = Network::Behind(other);
        self
    }

    /// Starts the server and waits until it listens.
    ///
    /// # Errors
    /// This is not root, a program is missing, or the server ended: with its log.
    pub fn start(self) -> Result<Sshd> {
        let program = program::find("sshd", "openssh-server")?;
        let version = version(&program)?;
        let plan = self.network.plan()?;
        on_some_port(|| {
            let state = house::state()?;
            account::write(state.path(), &self.accounts)?;
            let host_keys = self.make_host_keys(state.path())?;
            let port = if plan.own { 22 } else { port::free()? };
            let config = Config {
                port,
                listen: &plan.listen.to_string(),
                host_keys: &host_keys,
                options: &self.options,
                accounts: &self.accounts,
                version,
            };
            let ready = Ready { line: "Server listening on", count: config.addresses() };
            let file = state.path().join("sshd_config");
            fs::write(&file, config.text()).context("writing the server's configuration")?;
            let command =
                [program.display().to_string(), "-D".into(), "-e".into(), "-f".into(), file.display().to_string()];
            let setup = format!("{}{SETUP}", plan.setup);
            let house = House::build(state, &Plan { setup: &setup, network: plan.own, server: &command })?;
            let mut server = Server::new(house, SocketAddr::new(plan.address, port), host_keys, ready);
            server.listen()?;
            if plan.door {
                server.open_door()?;
            }
            Ok(Sshd { server })
        })
    }

    fn make_host_keys(&self, state: &Path) -> Result<Vec<Key>> {
        let mut all = self.host_keys.clone();
        let ed25519 = [KeyKind::Ed25519];
        let kinds = if all.is_empty() && self.kinds.is_empty() { &ed25519[..] } else { &self.kinds };
        for (at, kind) in kinds.iter().enumerate() {
            all.push(keys::make(state.join(format!("host_key_{at}")), *kind, "")?);
        }
        Ok(all)
    }
}

/// The version of the server's program: major, minor.
fn version(program: &Path) -> Result<(u32, u32)> {
    // Versions before `-V` was known print their version beside the complaint.
    let output = program::command(program).arg("-V").stdin(Stdio::null()).output().context("running sshd -V")?;
    let printed = String::from_utf8_lossy(&output.stderr);
    config::version(&printed).with_context(|| format!("sshd -V printed no version: {printed}"))
}

/// A running OpenSSH server, which can do what every [`Server`] can.
#[derive(Debug)]
pub struct Sshd {
    server: Server,
}

impl Sshd {
    /// A server with OpenSSH's defaults, save that it takes root's and everybody's password, connections without number,
    /// and says more in its log. Nobody can log in until there are accounts.
    pub fn builder<'a>() -> SshdBuilder<'a> {
        SshdBuilder::default()
    }

    /// Restarts the server with another first host key, of the same kind, on the same port: every connection is lost,
    /// and whoever knew the old key must refuse the new one. The new key takes the old one's files; returns the old
    /// key, from beside them.
    ///
    /// # Errors
    /// `ssh-keygen` fails, or the server does not come up.
    pub fn replace_host_key(&mut self) -> Result<Key> {
        let key = self.server.keys.first().context("the server has no host key")?.clone();
        let old = Key::at(with_suffix(key.path(), ".old"));
        fs::rename(key.path(), old.path()).context("keeping the old host key")?;
        fs::rename(key.public_path(), old.public_path()).context("keeping the old host key")?;
        let kind = KeyKind::of_line(&old.public_line()?)?;
        keys::make(key.path().to_owned(), kind, "")?;
        self.server.restart()?;
        Ok(old)
    }
}

impl Deref for Sshd {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// The loopback of the network that this process is in.
pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
