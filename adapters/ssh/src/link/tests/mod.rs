//! Connections to real servers: who gets in, whose key is trusted, which way leads there, and how it all ends.

mod host_keys;
mod life;
mod login;
mod way;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use russh::ChannelMsg;
use sessiond_core::{Call, Error, Owner, Result, Tasks};
use sessiond_ssh_peer::{Account, Key, Keys, Server, Sshd};

use super::{Link, Refusal};
use crate::config::HostKeyPolicy;
use crate::route::{Route, Via};

/// Long enough for a machine that is busy with other tests, and never waited for in vain.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, the keys that belong to it, and a directory for whatever else a test needs.
struct Stand {
    sshd: Sshd,
    keys: Keys,
}

impl Stand {
    /// A server on which `alice` is at home, made by `build` from her account and with her key.
    fn new(build: impl FnOnce(&Keys) -> Sshd) -> Self {
        let keys = Keys::new().unwrap();
        Self { sshd: build(&keys), keys }
    }

    /// A server that lets `alice` in with one key, and that key.
    fn with_key() -> (Self, Key) {
        let stand = Self::new(|keys| {
            let key = keys.ed25519("id").unwrap();
            Sshd::builder().account(Account::new("alice").authorized_key(&key)).start().unwrap()
        });
        let key = Key::at(stand.keys.dir().join("id"));
        (stand, key)
    }

    /// A file in the test's directory.
    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.keys.dir().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The route to `alice` on the server, whose key is known; with no way to log in.
    fn route(&self) -> Route {
        let route = bare_route(&self.sshd);
        let known = self.file("known_hosts", &self.sshd.known_hosts_lines().unwrap());
        Route { known_hosts: vec![known], ..route }
    }

    /// The same with a key.
    fn route_with(&self, key: &Key) -> Route {
        Route { identities: vec![key.path().to_owned()], ..self.route() }
    }
}

/// The route to `alice` on a server of which nothing is known.
fn bare_route(server: &Server) -> Route {
    Route {
        name: "box".into(),
        host: server.address().ip().to_string(),
        port: server.port(),
        user: "alice".into(),
        key_alias: None,
        known_hosts: Vec::new(),
        learn_into: None,
        hash_known_hosts: false,
        revoked_keys: None,
        check_address: false,
        policy: HostKeyPolicy::Strict,
        identities: Vec::new(),
        certificates: Vec::new(),
        identities_only: false,
        agent: None,
        password: None,
        passphrase: None,
        via: Via::Direct,
        connect_timeout: PATIENCE,
        keepalive: None,
        keepalive_max: 3,
        surroundings: std::env::vars_os().collect(),
    }
}

fn call() -> Call {
    Call::new(Owner::management("me"))
}

async fn open(route: &Route) -> Result<Arc<Link>> {
    Link::open(route, &call(), &Tasks::new()).await
}

/// The methods that let us in.
async fn let_in(route: &Route) -> String {
    let link = open(route).await.unwrap();
    assert_eq!(output(&link, "whoami").await, (Some(0), b"alice\n".to_vec()));
    let method = link.facts().auth_method.clone();
    link.close().await;
    method
}

async fn refused(route: &Route) -> Error {
    match open(route).await {
        Ok(link) => panic!("it let us in: {:?}", link.facts()),
        Err(error) => error,
    }
}

/// What a command printed to its standard output, and its exit status.
async fn output(link: &Link, command: &str) -> (Option<u32>, Vec<u8>) {
    let mut channel = link.open_channel().await.unwrap();
    channel.exec(true, command).await.unwrap();
    let (mut status, mut printed) = (None, Vec::new());
    while let Some(message) = channel.wait().await {
        match message {
            ChannelMsg::Data { data } => printed.extend_from_slice(&data),
            ChannelMsg::ExitStatus { exit_status } => status = Some(exit_status),
            _ => {}
        }
    }
    (status, printed)
}
