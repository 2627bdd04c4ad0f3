//! A real OpenSSH server on loopback, and two ways to it: sessiond within this process, and the OpenSSH client.
//!
//! Both ways find the host in one client configuration, log in with one key, and use one key exchange and one cipher.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sessiond_core::{
    CommandRun, ConnectHost, DisconnectHost, Invocation, Limits, RunCommand, RunStatus, Service, TargetName,
};
use sessiond_ssh::{ClientConfig, Config, Hosts};
use sessiond_ssh_peer::{Account, Client, Key, Keys, Sshd};

use crate::inside::{Asker, Inside};

/// The host's name in the client configuration.
const HOST: &str = "box";
/// The account on it.
const USER: &str = "bench";

/// A server, and the files of whoever wants to reach it. Nothing of it stays.
pub(crate) struct Server {
    sshd: Sshd,
    client: Client,
    keys: Keys,
    key: Key,
}

impl Server {
    /// Starts the server, which takes so many channels on a connection.
    ///
    /// # Errors
    /// This is not root, or OpenSSH is not installed.
    pub(crate) fn start(max_sessions: usize) -> Result<Self> {
        let keys = Keys::new()?;
        let key = keys.ed25519("id")?;
        let account = Account::new(USER).authorized_key(&key);
        let sshd = Sshd::builder()
            .option("MaxSessions", &max_sessions.to_string())
            // Newer ones take much time, and neither side has all of those that the other has.
            .option("KexAlgorithms", "curve25519-sha256")
            .account(account)
            .start()?;
        let own = Self { sshd, client: Client::new()?, keys, key };
        own.name(HOST)?;
        Ok(own)
    }

    /// Gives the server another name in the client configuration.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn name(&self, name: &str) -> Result<()> {
        let identity = format!("IdentityFile {}", self.key.path().display());
        self.client.host(name, &self.sshd, USER, &[&identity])
    }

    /// The client configuration.
    pub(crate) fn config(&self) -> PathBuf {
        self.client.config_path()
    }

    /// Where the server listens, who logs in, and the file of the private key.
    pub(crate) fn login(&self) -> (std::net::SocketAddr, &'static str, &Path) {
        (self.sshd.address(), USER, self.key.path())
    }

    /// sessiond with the hosts of the client configuration.
    ///
    /// # Errors
    /// There is no runtime.
    pub(crate) fn inside(&self) -> Result<Inside> {
        let limits = Limits { running_per_owner: 1_000, ..Limits::default() };
        let config = Config {
            client_config: ClientConfig::File(self.client.config_path()),
            // What `ssh -G` needs.
            surroundings: std::env::vars_os().filter(|(name, _)| name == "HOME" || name == "PATH").collect(),
            ..Config::default()
        };
        Inside::among(TargetName::new(HOST)?, limits, || Ok(Arc::new(Hosts::new(config)?)))
    }

    /// `ssh` on a connection of its own, ready to be started.
    ///
    /// # Errors
    /// There is no `ssh`.
    pub(crate) fn ssh(&self, command: &str) -> Result<Command> {
        self.client.ssh(["-c", cipher(), HOST, command])
    }

    /// An OpenSSH client that others send their commands through.
    ///
    /// # Errors
    /// It does not connect.
    pub(crate) fn master(&self) -> Result<Master<'_>> {
        let socket = self.keys.dir().join("mux");
        let ready = "LocalCommand=echo ready";
        let options = ["-M", "-N", "-c", cipher(), "-o", "PermitLocalCommand=yes", "-o", ready, "-S"];
        let mut command = self.client.ssh(options)?;
        let mut child = command.arg(&socket).arg(HOST).stdout(Stdio::piped()).spawn().context("starting ssh")?;
        let stdout = child.stdout.take();
        let master = Master { host: self, socket, child };
        let mut said = [0; 5];
        stdout.context("ssh has no stdout")?.read_exact(&mut said).context("the OpenSSH client did not connect")?;
        ensure!(said == *b"ready", "the OpenSSH client said {said:?}");
        Ok(master)
    }
}

/// The first cipher of sessiond, as the OpenSSH client names it: what is fast on this processor.
fn cipher() -> &'static str {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    let fast_aes = std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq");
    #[cfg(target_arch = "aarch64")]
    let fast_aes = std::arch::is_aarch64_feature_detected!("aes");
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    let fast_aes = false;
    if fast_aes { "aes128-gcm@openssh.com" } else { "chacha20-poly1305@openssh.com" }
}

/// The OpenSSH client with an open connection (`ControlMaster`). Ends with the value.
pub(crate) struct Master<'a> {
    host: &'a Server,
    socket: PathBuf,
    child: Child,
}

impl Master<'_> {
    /// `ssh` through it, ready to be started. Without it, it fails instead of connecting by itself.
    ///
    /// # Errors
    /// There is no `ssh`.
    pub(crate) fn ssh(&self, command: &str) -> Result<Command> {
        let socket = format!("ControlPath={}", self.socket.display());
        self.host.client.ssh(["-o", &socket, "-o", "ProxyCommand=false", HOST, command])
    }
}

impl Drop for Master<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Asker {
    /// Connects to the host.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) async fn connect(&self) -> Result<()> {
        let request = ConnectHost { target: Some(self.target.clone()) };
        self.registry.connect_host(&self.cx, request).await?;
        Ok(())
    }

    /// Lets go of the host.
    ///
    /// # Errors
    /// It was not connected.
    pub(crate) async fn disconnect(&self) -> Result<()> {
        let request = DisconnectHost { target: Some(self.target.clone()) };
        let outcome = self.registry.disconnect_host(&self.cx, request).await?;
        ensure!(outcome.was_connected, "the host was not connected");
        Ok(())
    }

    /// Runs a command on the host, as `ssh_cmd_run` does, to its end.
    ///
    /// # Errors
    /// It does not end well.
    pub(crate) async fn run(&self, command: &str) -> Result<CommandRun> {
        let request = RunCommand {
            target: Some(self.target.clone()),
            invocation: Invocation::new(command),
            stdin: bytes::Bytes::new(),
            silence: Duration::from_secs(30),
            wait: None,
            time_limit: None,
        };
        let run = self.registry.run_command(&self.cx, request).await?;
        ensure!(run.status == RunStatus::Success, "{command:?} came to {run:?}");
        Ok(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_lead_to_the_host() {
        let server = Server::start(10).unwrap();
        let (inside, master) = (server.inside().unwrap(), server.master().unwrap());
        let run = inside.run(|asker| async move { asker.run("echo hi").await }).unwrap();
        assert_eq!(&*run.stdout.bytes, b"hi\n");
        inside.run(|asker| async move { asker.disconnect().await }).unwrap();
        inside.close();
        for mut ssh in [master.ssh("echo hi").unwrap(), server.ssh("echo hi").unwrap()] {
            assert_eq!(ssh.output().unwrap().stdout, b"hi\n");
        }
        let mut orphan = master.ssh("echo hi").unwrap();
        drop(master);
        assert!(!orphan.output().unwrap().status.success(), "it connected by itself");
    }
}
