//! A real OpenSSH server, started when the first stage wants a host and shared by all of a run, and the ways to reach it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sessiond_core::TargetName;
use sessiond_ssh::{ClientConfig, Config, HostConfig, Hosts};
use sessiond_ssh_peer::{Account, Keys, Sshd};

use super::Settings;

/// The account of every stage: an ordinary one.
const USER: &str = "agent";

/// The server of this run.
static SERVER: Mutex<Option<Arc<Server>>> = Mutex::new(None);

/// The server and what lets us in.
struct Server {
    sshd: Sshd,
    keys: Keys,
}

impl Server {
    fn start() -> Self {
        let keys = Keys::new().unwrap();
        let key = keys.ed25519("id_ed25519").unwrap();
        let sshd = Sshd::builder().account(Account::new(USER).authorized_key(&key)).start();
        let sshd = sshd.unwrap_or_else(|error| panic!("no SSH server: {error:#}"));
        std::fs::write(keys.dir().join("known_hosts"), sshd.known_hosts_lines().unwrap()).unwrap();
        Self { sshd, keys }
    }

    /// The server of this run; every stage reaches the same one, over connections of its own.
    fn of_this_run() -> Arc<Self> {
        let mut server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
        server.get_or_insert_with(|| Arc::new(Self::start())).clone()
    }

    fn host(&self, name: TargetName) -> HostConfig {
        HostConfig {
            name: name.to_string(),
            host: Some(self.sshd.address().ip().to_string()),
            port: Some(self.sshd.port()),
            user: Some(USER.to_owned()),
            identities: vec![self.key()],
            identities_only: Some(true),
            known_hosts: vec![self.known_hosts()],
            ..HostConfig::default()
        }
    }

    fn key(&self) -> PathBuf {
        self.keys.dir().join("id_ed25519")
    }

    fn known_hosts(&self) -> PathBuf {
        self.keys.dir().join("known_hosts")
    }
}

/// Ends the server of this run and whatever is left on it.
pub fn end() {
    drop(SERVER.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Hosts of these names as targets of this process. They are one and the same, under several names.
pub(super) fn hosts(names: impl Iterator<Item = TargetName>, settings: &Settings) -> Hosts {
    let config = Config {
        hosts: names.map(|name| Server::of_this_run().host(name)).collect(),
        client_config: ClientConfig::Nothing,
        linger: settings.linger,
        surroundings: std::env::vars_os().collect(),
        ..Config::default()
    };
    Hosts::new(config).unwrap()
}

/// The host as a target in the configuration of a server, below the heading of its name.
pub(super) fn configuration() -> String {
    let server = Server::of_this_run();
    let mut text = String::new();
    let _ = writeln!(text, "host = \"{}\"", server.sshd.address().ip());
    let _ = writeln!(text, "port = {}", server.sshd.port());
    let _ = writeln!(text, "user = \"{USER}\"");
    let _ = writeln!(text, "identity_files = [\"{}\"]", server.key().display());
    let _ = writeln!(text, "known_hosts_files = [\"{}\"]", server.known_hosts().display());
    text
}
