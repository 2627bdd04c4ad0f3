//! Listening on a network, the same for every transport: TCP, TLS, how many may come, and how long they may dawdle.
//!
//! 1. [`Network`] holds what the configuration says: who is let in, TLS, limits. It reads its files again on SIGHUP.
//! 2. [`Network::listen`] binds a port, when whoever comes there will be asked who they are (`listener`).
//! 3. A [`Connection`] comes out (`connection`): bytes, the address they come from, and the certificate that TLS has
//!    verified, where the caller has shown one. Who the caller is, a transport asks for each request.
//!
//! - `tls`: certificates, read again without closing a connection
//! - `permits`: connections at one time, in all and from each address

mod connection;
mod listener;
mod permits;
mod tls;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sessiond_core::{Error, Result, Tasks};
use zeroize::Zeroizing;

pub use connection::{Connection, Origin};
pub use listener::Listener;
pub use tls::{ClientTls, Tls};

use crate::assembly::Bootstrap;
use crate::config::{ConnectSettings, JwtSettings, NetworkSettings, SecretSetting};
use crate::environment::{CONNECT_KEY, Environment};
use crate::identity::Identities;
use crate::problem::Problems;
use crate::secrets;

pub(crate) use permits::{site, subnet};

/// What a port asks of whoever comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Door {
    /// To prove who they are; beyond this machine over TLS, so that no key goes through a network in the clear.
    #[default]
    Asked,
    /// To prove who they are, where something in front of the server speaks TLS.
    AskedInTheClear,
    /// Nothing. For this machine only: every account of it gets in.
    Open,
}

/// What a transport on a network needs. Clones are the same, a reload included.
#[derive(Clone, Debug)]
pub struct Network {
    /// Who is let in.
    pub identities: Identities,
    /// TLS; `None` where no certificate is configured.
    pub tls: Option<Tls>,
    settings: Arc<NetworkSettings>,
    tasks: Tasks,
}

impl Bootstrap {
    /// Reads what the configuration names for the network: the keys file, key sets, certificates. `alpn` are the
    /// protocols that the transport speaks over TLS, the best first: `h2`, `http/1.1`. `tasks` carry handshakes and the
    /// fetching of key sets.
    ///
    /// # Errors
    /// Every problem of these files.
    pub fn network(&self, alpn: &[&str], tasks: &Tasks) -> std::result::Result<Network, Problems> {
        let settings = absolute(&self.configuration.network, &self.environment);
        let identities = Identities::load(&settings, tasks)?;
        let tls = Tls::load(&settings, alpn)?;
        Ok(Network { identities, tls, settings: Arc::new(settings), tasks: tasks.clone() })
    }

    /// What proves to another server who we are, and whom we trust there: `[connect]`, and the key of
    /// [`CONNECT_KEY`](crate::CONNECT_KEY) where no other one is configured. `tasks` carry the command that prints a key.
    ///
    /// # Errors
    /// Something that is configured cannot be had. The message never quotes it.
    pub async fn connect(&self, tasks: &Tasks) -> Result<Connect> {
        let tls = ClientTls::load(&self.connect_settings())?;
        let source = match &self.configuration.connect.key {
            Some(setting) => secrets::source(setting, &self.environment),
            None if self.environment.get(CONNECT_KEY).is_none() => return Ok(Connect { key: None, tls }),
            None => secrets::source(&SecretSetting::Variable(CONNECT_KEY.to_owned()), &self.environment),
        };
        let surroundings = secrets::surroundings(&self.configuration, &self.environment);
        let key = source.read(&surroundings, tasks).await?;
        Ok(Connect { key: Some(Zeroizing::new(key.expose().to_owned())), tls })
    }

    /// The settings for reaching another server, with absolute paths.
    fn connect_settings(&self) -> ConnectSettings {
        let at = |path: &PathBuf| self.environment.below_home(path);
        let of = &self.configuration.connect;
        ConnectSettings {
            key: of.key.clone(),
            ca_file: of.ca_file.as_ref().map(at),
            certificate_file: of.certificate_file.as_ref().map(at),
            certificate_key_file: of.certificate_key_file.as_ref().map(at),
        }
    }
}

/// What proves to another server who we are, and whom we trust there.
pub struct Connect {
    key: Option<Zeroizing<String>>,
    /// Authorities and our certificate.
    pub tls: ClientTls,
}

impl Connect {
    /// Our key.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref().map(String::as_str)
    }
}

impl fmt::Debug for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connect")
    }
}

impl Network {
    /// How long the head of a request may take, for whoever reads requests.
    pub fn header_timeout(&self) -> Duration {
        self.settings.header_timeout
    }

    /// Whether there is anything that a SIGHUP could change.
    pub fn can_reload(&self) -> bool {
        self.tls.is_some() || self.settings.keys_file.is_some() || self.settings.jwt.is_there()
    }

    /// Reads every file again. What is broken stays as it was, and the log says so; connections and sessions stay in
    /// any case.
    pub fn reload(&self) {
        match self.identities.reload() {
            Ok(now) => tracing::info!("read the keys again: {now}"),
            Err(problems) => tracing::error!("the keys stay as they were, because there are problems: {problems}"),
        }
        match self.tls.as_ref().map(Tls::reload) {
            Some(Ok(())) => tracing::info!("read the certificates again"),
            Some(Err(problem)) => tracing::error!("the certificates stay as they were: {problem}"),
            None => {}
        }
    }

    /// Listens on a port, behind this door.
    ///
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// `failed_precondition` when it would let anybody in, or nobody, or would send keys in the clear; `unavailable` when
    /// the system refuses.
    pub fn listen(&self, address: SocketAddr, door: Door) -> Result<Listener> {
        let local = address.ip().to_canonical().is_loopback();
        if door == Door::Open && !local {
            return Err(Error::failed_precondition(format!(
                "{address} can be reached from other machines, and --no-password would let all of them in: listen on \
                 127.0.0.1 or [::1], or make a keys file and leave --no-password out"
            )));
        }
        if door != Door::Open && self.identities.is_empty() {
            return Err(Error::failed_precondition(format!(
                "{address} lets nobody in: network.keys_file names no key. Make one with `key new NAME --role full`, \
                 put the entry that it prints into the file{}",
                if local { ", or say --no-password when every account of this machine is meant" } else { "" }
            )));
        }
        if !local && door == Door::Asked && self.tls.is_none() {
            return Err(Error::failed_precondition(format!(
                "keys would go to {address} in the clear: set network.certificate_file and \
                 network.certificate_key_file, or say --plain when a proxy in front of this server speaks TLS"
            )));
        }
        Listener::bind(address, self.tls.clone(), &self.settings, &self.tasks)
    }
}

/// The settings with `~` as the home directory.
fn absolute(settings: &NetworkSettings, environment: &Environment) -> NetworkSettings {
    let at = |path: &Option<PathBuf>| path.as_deref().map(|path| environment.below_home(path));
    NetworkSettings {
        keys_file: at(&settings.keys_file),
        certificate_file: at(&settings.certificate_file),
        certificate_key_file: at(&settings.certificate_key_file),
        client_ca_file: at(&settings.client_ca_file),
        jwt: JwtSettings {
            jwks_file: at(&settings.jwt.jwks_file),
            ca_file: at(&settings.jwt.ca_file),
            ..settings.jwt.clone()
        },
        ..settings.clone()
    }
}
