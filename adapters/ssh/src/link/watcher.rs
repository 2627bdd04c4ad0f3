//! What the protocol's task tells of a connection: the host's key, the host's words, the end. And what it must not let
//! a host do.

use std::sync::{Arc, Mutex, PoisonError};

use russh::client::{ChannelOpenHandle, DisconnectReason, Handler, Msg, Session};
use russh::keys::PublicKeyOrCertificate;
use russh::{Channel, ChannelId, ChannelOpenFailure, Names};
use sessiond_core::{TaskKind, Tasks};

use super::fault::{self, Fault};
use super::loss::Ending;
use super::say;
use crate::known_hosts::{HostKeys, Trusted};
use crate::local;

/// A host's key being judged, which may write it down.
const HOST_KEY: TaskKind = TaskKind("ssh host key");
/// How much of what a host says is kept, in characters.
const KEPT: usize = 200;

/// What has been seen of a host so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sight {
    /// What the server says of itself, `OpenSSH_9.2p1 Debian-2` and the like.
    pub(crate) server: String,
    /// The cipher of both directions.
    pub(crate) cipher: String,
    /// The host's key.
    pub(crate) host_key: Option<Trusted>,
    /// What the host says to whoever wants to log in.
    pub(crate) banner: String,
    /// Its words to the latest channel that it did not open.
    pub(crate) refusal: String,
}

/// What has been seen of a host, shared with the protocol's task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Arc<Mutex<Sight>>);

impl Seen {
    /// A copy of it.
    pub(crate) fn get(&self) -> Sight {
        self.with(|sight| sight.clone())
    }

    fn with<T>(&self, look: impl FnOnce(&mut Sight) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Watches one connection from within the protocol's task. Nothing in it waits but the judgement of the host's key,
/// before which nothing else happens.
pub(crate) struct Watcher {
    pub(crate) host_keys: Arc<HostKeys>,
    pub(crate) seen: Seen,
    pub(crate) ending: Ending,
    pub(crate) tasks: Tasks,
}

impl Handler for Watcher {
    type Error = Fault;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, Fault> {
        let (host_keys, shown) = (Arc::clone(&self.host_keys), copy(shown));
        let judged = local::blocking(&self.tasks, HOST_KEY, move || host_keys.verify(&shown)).await;
        let trusted = judged.and_then(|judged| judged).map_err(Fault::Refused)?;
        self.seen.with(|sight| sight.host_key = Some(trusted));
        Ok(true)
    }

    async fn kex_done(
        &mut self,
        _shared_secret: Option<&[u8]>,
        names: &Names,
        session: &mut Session,
    ) -> Result<(), Fault> {
        let id = String::from_utf8_lossy(session.remote_sshid());
        // SSH-protoversion-softwareversion SP comments (RFC 4253, section 4.2).
        let server = id.splitn(3, '-').nth(2).unwrap_or_default();
        let (server, cipher) = (say::line(server, KEPT), names.cipher.as_ref().to_owned());
        self.seen.with(|sight| (sight.server, sight.cipher) = (server, cipher));
        Ok(())
    }

    async fn auth_banner(&mut self, banner: &str, _session: &mut Session) -> Result<(), Fault> {
        self.seen.with(|sight| sight.banner = say::line(banner, KEPT));
        Ok(())
    }

    async fn channel_open_failure(
        &mut self,
        _channel: ChannelId,
        _reason: ChannelOpenFailure,
        description: &str,
        _language: &str,
        _session: &mut Session,
    ) -> Result<(), Fault> {
        self.seen.with(|sight| sight.refusal = say::line(description, KEPT));
        Ok(())
    }

    async fn disconnected(&mut self, reason: DisconnectReason<Fault>) -> Result<(), Fault> {
        match reason {
            DisconnectReason::ReceivedDisconnect(said) => {
                self.ending.tell(|| format!("the host ended it: {}", say::line(&said.message, KEPT)));
                Ok(())
            }
            DisconnectReason::Error(fault) => {
                self.ending.tell(|| fault::ending(&fault));
                Err(fault)
            }
        }
    }

    // A host has no business opening channels to us: nothing here has asked for any. The library accepts them unless
    // told otherwise; a reply that is dropped refuses.

    async fn server_channel_open_forwarded_tcpip(
        &mut self,
        _channel: Channel<Msg>,
        _connected_address: &str,
        _connected_port: u32,
        _originator_address: &str,
        _originator_port: u32,
        _reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Fault> {
        Ok(())
    }

    async fn server_channel_open_forwarded_streamlocal(
        &mut self,
        _channel: Channel<Msg>,
        _socket_path: &str,
        _reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Fault> {
        Ok(())
    }

    async fn server_channel_open_agent_forward(
        &mut self,
        _channel: Channel<Msg>,
        _reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Fault> {
        Ok(())
    }

    async fn server_channel_open_session(
        &mut self,
        _channel: Channel<Msg>,
        _reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Fault> {
        Ok(())
    }

    async fn server_channel_open_direct_tcpip(
        &mut self,
        _channel: Channel<Msg>,
        _host_to_connect: &str,
        _port_to_connect: u32,
        _originator_address: &str,
        _originator_port: u32,
        _reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Fault> {
        Ok(())
    }

    async fn server_channel_open_direct_streamlocal(
        &mut self,
        _channel: Channel<Msg>,
        _socket_path: &str,
        _reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Fault> {
        Ok(())
    }

    async fn server_channel_open_x11(
        &mut self,
        _channel: Channel<Msg>,
        _originator_address: &str,
        _originator_port: u32,
        _reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Fault> {
        Ok(())
    }
}

/// The library lends what it shows and has no copy of it.
fn copy(shown: &PublicKeyOrCertificate) -> PublicKeyOrCertificate {
    match shown {
        PublicKeyOrCertificate::PublicKey { key, hash_alg } => {
            PublicKeyOrCertificate::PublicKey { key: key.clone(), hash_alg: *hash_alg }
        }
        PublicKeyOrCertificate::Certificate(certificate) => PublicKeyOrCertificate::Certificate(certificate.clone()),
    }
}

/// Why a channel was refused, in the host's words and the protocol's.
pub(crate) fn refused(reason: &ChannelOpenFailure, seen: &Seen) -> String {
    let meaning = match reason {
        ChannelOpenFailure::AdministrativelyProhibited => "administratively prohibited",
        ChannelOpenFailure::ConnectFailed => "connect failed",
        ChannelOpenFailure::UnknownChannelType => "unknown channel type",
        ChannelOpenFailure::ResourceShortage => "resource shortage",
        ChannelOpenFailure::Other { .. } => "another reason",
    };
    match seen.get().refusal {
        said if said.is_empty() => meaning.to_owned(),
        said => format!("{meaning}: {said}"),
    }
}
