//! What servers of every make have in common once they run.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};

use crate::cut::Cut;
use crate::house::House;
use crate::keys::Key;
use crate::program;

/// What a server says when it listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) line: &'static str,
    /// How many of these lines there are.
    pub(crate) count: usize,
}

/// What servers say when another has their port.
const TAKEN: [&str; 2] = ["Address already in use", "Cannot bind any address"];

/// A server in a house of its own. Everything in the house ends with the value.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    pub(crate) keys: Vec<Key>,
    ready: Ready,
    /// How often it has been started.
    starts: AtomicUsize,
    /// What leads into a network of its own. Goes before the house.
    door: Option<Cut>,
    house: House,
}

impl Server {
    /// A server that listens on an address of its house's network. Not started yet.
    pub(crate) fn new(house: House, address: SocketAddr, keys: Vec<Key>, ready: Ready) -> Self {
        Self { address, keys, ready, starts: AtomicUsize::new(0), door: None, house }
    }

    /// Lets in whoever connects to the loopback of this process's network; [`Self::address`] is the door's then.
    pub(crate) fn open_door(&mut self) -> Result<()> {
        let door = Cut::into_network(self.house.network()?, self.address)?;
        self.address = door.address();
        self.door = Some(door);
        Ok(())
    }

    pub(crate) fn house(&self) -> &House {
        &self.house
    }

    /// Where it listens, for those who may reach it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Its host keys, the first one first. Only the public halves are sure to be in OpenSSH's format.
    pub fn host_keys(&self) -> &[Key] {
        &self.keys
    }

    /// The fingerprint of the first host key, as OpenSSH prints it.
    ///
    /// # Errors
    /// `ssh-keygen` fails.
    pub fn host_key_fingerprint(&self) -> Result<String> {
        self.keys.first().context("the server has no host key")?.fingerprint()
    }

    /// Lines for a known_hosts file, one a host key, by the server's address.
    ///
    /// # Errors
    /// A public key cannot be read.
    pub fn known_hosts_lines(&self) -> Result<String> {
        self.known_hosts_lines_as(&known_hosts_name(self.address))
    }

    /// Lines for a known_hosts file, one a host key, with this in front.
    ///
    /// # Errors
    /// A public key cannot be read.
    pub fn known_hosts_lines_as(&self, names: &str) -> Result<String> {
        let line = |key: &Key| Ok(format!("{names} {}\n", key.public_line()?));
        self.keys.iter().map(line).collect()
    }

    /// Everything it has said so far, for the message of a test that fails.
    pub fn log(&self) -> String {
        self.house.log().text()
    }

    /// Waits until a line of its log, from the beginning on, holds a text.
    ///
    /// # Errors
    /// None did within half a minute: with the log.
    pub fn await_log(&self, text: &str) -> Result<()> {
        self.house.log().find(0, &format!("{text:?}"), |line| line.contains(text).then_some(()))
    }

    /// The files of an account's home, seen from outside the house.
    pub fn home(&self, account: &str) -> PathBuf {
        self.house.state().join("home").join(account)
    }

    /// A command that runs `sh -c script` where the server is, as root: it sees the processes that sessions see, by the
    /// ids that they have there.
    ///
    /// # Errors
    /// `nsenter` is missing.
    pub fn inside(&self, script: &str) -> Result<Command> {
        self.house.inside(script)
    }

    /// Runs `sh -c script` where the server is to its end, as root, and hands back what it printed on stdout.
    ///
    /// # Errors
    /// It failed: with what it said.
    pub fn look(&self, script: &str) -> Result<String> {
        let output = self.inside(script)?.output().context("running nsenter")?;
        program::text("the look inside", &output)
    }

    /// Kills every process of the server but the one that listens, in the midst of whatever they do. What they had
    /// started lives on, unless losing its terminal or its pipes ends it.
    ///
    /// # Errors
    /// The house has ended.
    pub fn kill_connections(&self) -> Result<()> {
        self.house.order("cut")
    }

    /// Ends the process that listens. Open connections live on.
    ///
    /// # Errors
    /// The house has ended.
    pub fn stop_listening(&self) -> Result<()> {
        self.house.order("stop")
    }

    /// Starts the process that listens, on the same port as before, and waits until it does.
    ///
    /// # Errors
    /// It ended, or another has taken the port: with its log.
    pub fn listen(&self) -> Result<()> {
        let from = self.house.log().len();
        let start = self.starts.fetch_add(1, Ordering::Relaxed) + 1;
        let ended = format!("server {start} ended with status");
        self.house.order("start")?;
        let mut missing = self.ready.count;
        let started = self.house.log().find(from, "that it listens", |line| {
            missing -= usize::from(line.contains(self.ready.line));
            match TAKEN.iter().any(|taken| line.contains(taken)) {
                true => Some(Err(anyhow::Error::new(PortTaken))),
                false if line.contains(&ended) => Some(Err(anyhow::anyhow!("the server did not start"))),
                false => (missing == 0).then_some(Ok(())),
            }
        })?;
        started.with_context(|| format!("its log:\n{}", self.log()))
    }

    /// Ends the server, kills its connections as [`Self::kill_connections`] does, and starts it anew on the same port.
    ///
    /// # Errors
    /// It does not come up: with its log.
    pub fn restart(&self) -> Result<()> {
        self.stop_listening()?;
        self.kill_connections()?;
        self.listen()
    }
}

/// Another listens where the server was to.
#[derive(Debug)]
pub(crate) struct PortTaken;

impl std::fmt::Display for PortTaken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("another listens on the server's port")
    }
}

impl std::error::Error for PortTaken {}

/// How often a server is given another port before its owner hears that there is none.
const PORTS: usize = 8;

/// Tries to start a server until the port that it was given is its own.
pub(crate) fn on_some_port<T>(mut start: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 0..PORTS {
        match start() {
            Err(error) if error.is::<PortTaken>() => {}
            settled => return settled,
        }
    }
    bail!("{PORTS} ports that were free were taken before the server had them")
}

/// How known_hosts files name a server: the port is written where it is not 22 (sshd(8), SSH_KNOWN_HOSTS).
fn known_hosts_name(address: SocketAddr) -> String {
    match address.port() {
        22 => address.ip().to_string(),
        port => format!("[{}]:{port}", address.ip()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_other_than_22_is_part_of_the_name() {
        assert_eq!(known_hosts_name(([127, 0, 0, 1], 22).into()), "127.0.0.1");
        assert_eq!(known_hosts_name(([127, 0, 0, 1], 2022).into()), "[127.0.0.1]:2022");
    }

    #[test]
    fn a_port_that_is_taken_is_given_up_for_another() {
        let mut tries = 0;
        let started = on_some_port(|| {
            tries += 1;
            if tries < 3 { Err(anyhow::Error::new(PortTaken).context("its log")) } else { Ok(tries) }
        });
        assert_eq!(started.unwrap(), 3);
        assert!(on_some_port(|| -> Result<()> { bail!(PortTaken) }).is_err());
    }
}
