//! The binary for HTTP as a process of its own, with keys for two owners: each has one for everything and one for the
//! target of every stage alone.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio as Pipe;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use sessiond_bootstrap::identity::NewKey;
use sessiond_core::{Owner, TargetName};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use super::{Access, BackendKind, Ends, Opener, Settings, platform, process};
use crate::suite::client::Client;
use crate::suite::client::http::Endpoint;
use crate::suite::mutant::Fault;
use crate::suite::remote::Remote;
use crate::suite::stage::{Hold, OWNER, STRANGER, Server, Stage, target};

/// What the configuration says of the network: no limit is in the way of a suite that asks fast and much.
const LIMITS: &str = "[http]\nrequests_per_second = 100000\nconcurrent_per_identity = 4096\n";

/// Opens stages by starting the binary.
pub(crate) struct Http {
    server: PathBuf,
    access: Access,
    fault: Option<Fault>,
    ends: Ends,
}

/// A key that lets somebody in.
pub struct Key {
    /// Whose it is.
    pub owner: &'static str,
    /// The one target that it reaches; `None` reaches every target.
    pub target: Option<TargetName>,
    secret: NewKey,
}

impl Key {
    fn new(owner: &'static str, access: Access) -> Self {
        let secret = NewKey::random().unwrap_or_else(|error| panic!("no key: {error}"));
        let target = match access {
            Access::Management => None,
            Access::Scoped => Some(target()),
        };
        Self { owner, target, secret }
    }

    /// The entry of the keys file.
    fn entry(&self, place: usize) -> String {
        let reach = self.target.as_ref().map_or("role = 'full'".to_owned(), |target| format!("target = '{target}'"));
        format!("[keys.key-{place}]\nowner = '{}'\nsha256 = '{}'\n{reach}\n", self.owner, self.secret.digest())
    }
}

impl Http {
    /// Every stage is reached with a key of this access.
    pub(crate) fn new(server: PathBuf, access: Access) -> Self {
        Self { server, access, fault: None, ends: Ends::default() }
    }

    /// Every stage has this fault.
    pub(crate) fn faulty(server: PathBuf, fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::new(server, Access::Management) }
    }

    /// The four keys, and whom each is for.
    fn keys(&self, place: &Path) -> Vec<(Owner, String)> {
        let all = [OWNER, STRANGER].into_iter().flat_map(|owner| Access::ALL.map(|access| (owner, access)));
        let mut keys: Vec<_> = all.clone().map(|(owner, access)| Key::new(owner, access)).collect();
        let owners = all.map(|(owner, access)| access.owner(owner));
        if let Some(Fault::Keys(change)) = self.fault {
            keys.iter_mut().for_each(change);
        }
        let mut text = String::new();
        for (place, key) in keys.iter().enumerate() {
            let _ = writeln!(text, "{}", key.entry(place));
        }
        std::fs::write(place, text).unwrap();
        // Where others could read it, the server takes none of it.
        std::fs::set_permissions(place, Permissions::from_mode(0o600)).unwrap();
        owners.zip(keys.iter().map(|key| key.secret.expose().to_owned())).collect()
    }
}

#[async_trait]
impl Opener for Http {
    async fn open(&self, backend: BackendKind, settings: Settings) -> Stage {
        let place = tempfile::tempdir().unwrap();
        let (configuration, keys_file) = (place.path().join("config.toml"), place.path().join("keys.toml"));
        let keys = self.keys(&keys_file);
        let peers = platform::peers(backend, &settings);
        let targets = process::configuration(backend, &peers, &settings);
        let network = format!("[network]\nkeys_file = '{}'\n{LIMITS}", keys_file.display());
        std::fs::write(&configuration, format!("{network}{targets}")).unwrap();
        let mut command = process::command(&self.server, &configuration, backend, &settings);
        command.args(["--listen", "127.0.0.1:0"]);
        if matches!(self.fault, Some(Fault::NoPassword)) {
            command.arg("--no-password");
        }
        command.stdin(Pipe::null()).stdout(Pipe::piped()).stderr(Pipe::null());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}", process::absent(&self.server, &error)));
        let endpoint = Endpoint::new(address(&mut child).await, None);
        let server = Server::until_a_signal(child);

        let client_of = |key: &String| Client::over_http(endpoint.with(Some(key.clone())));
        let others: Vec<_> = keys.iter().map(|(owner, key)| (owner.clone(), client_of(key))).collect();
        let owner = self.access.owner(OWNER);
        let own = others.iter().find(|(known, _)| *known == owner).map(|(_, client)| client.clone());
        let client = self.access.spoken(own.unwrap_or_else(|| panic!("{owner:?} has a key")));
        let (ending, its_clients, its_peers) = (server.clone(), others.clone(), peers.clone());
        self.ends.add(async move {
            for (_, client) in its_clients {
                client.close().await;
            }
            ending.end().await;
            drop((its_peers, place));
        });
        let elsewhere: Vec<_> = others.iter().filter(|(known, _)| *known != owner).cloned().collect();
        let service = Arc::new(Remote::new(client.clone()).with(elsewhere));
        Stage::new(service, client, Hold::Process { server, others }).on(peers).owned_by(owner).at(endpoint)
    }

    fn ends(&self) -> Vec<BoxFuture<'static, ()>> {
        self.ends.take()
    }
}

/// Where a server listens, as soon as it does.
async fn address(child: &mut Child) -> String {
    let Some(output) = child.stdout.take() else { panic!("the server has no pipe") };
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).await.unwrap();
    match line.trim_end().strip_prefix("listening on ") {
        Some(url) => url.to_owned(),
        None => panic!("the server does not say where it listens: {line:?}"),
    }
}
