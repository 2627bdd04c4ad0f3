//! A port: connections are accepted, counted, and led through the TLS handshake, each by a task of its own, so that one
//! who dawdles keeps nobody waiting.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sessiond_core::{Error, Result, TaskKind, Tasks};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use super::connection::Connection;
use super::permits::{Permit, Permits};
use super::tls::Tls;
use crate::config::NetworkSettings;

/// Leads a connection through its handshake.
const HANDSHAKE: TaskKind = TaskKind("tls handshake");

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: u32 = 1024;

/// How long to leave a listener alone that cannot accept just now, as when the process has no descriptor left: it would
/// say so again at once, for ever.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections that have shaken hands and have not been taken yet.
const READY: usize = 64;

/// A port that is listened on.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    tls: Option<Tls>,
    permits: Arc<Permits>,
    handshake: Duration,
    greeting: Duration,
    tasks: Tasks,
    /// Connections that come out of their handshakes.
    shaken: mpsc::Receiver<Connection>,
    shake: mpsc::Sender<Connection>,
}

impl Listener {
    /// Binds a port. Needs a tokio runtime.
    ///
    /// # Errors
    /// `unavailable` when the system refuses.
    pub(super) fn bind(
        address: SocketAddr,
        tls: Option<Tls>,
        settings: &NetworkSettings,
        tasks: &Tasks,
    ) -> Result<Self> {
        let refused = |error: io::Error| Error::unavailable(format!("cannot listen on {address}: {error}"));
        let tcp = listen(address).map_err(refused)?;
        let (shake, shaken) = mpsc::channel(READY);
        Ok(Self {
            tcp,
            tls,
            permits: Permits::new(settings.max_connections, settings.max_connections_per_address),
            handshake: settings.handshake_timeout,
            greeting: settings.header_timeout,
            tasks: tasks.clone(),
            shaken,
            shake,
        })
    }

    /// Where it listens, the port that the system has chosen included.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Whether it speaks TLS.
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// The next connection. May be dropped and asked again: nothing is lost.
    pub async fn accept(&mut self) -> Connection {
        loop {
            tokio::select! {
                // This end keeps a sender, so the channel never closes.
                Some(connection) = self.shaken.recv() => return connection,
                accepted = self.tcp.accept() => match accepted {
                    Ok((stream, address)) => {
                        if let Some(connection) = self.begin(stream, address) {
                            return connection;
                        }
                    }
                    Err(error) => {
                        tracing::warn!("a connection could not be accepted: {error}");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
    }

    /// A connection that needs no handshake; one that does comes later.
    fn begin(&self, stream: TcpStream, address: SocketAddr) -> Option<Connection> {
        let permit = match self.permits.take(address.ip()) {
            Ok(permit) => permit,
            Err(why) => {
                tracing::debug!(%address, "turned a connection away: {why}");
                return None;
            }
        };
        // One that has gone again says so at its first read.
        let _ = stream.set_nodelay(true);
        match &self.tls {
            None => Some(Connection::plain(stream, address, self.greeting, permit)),
            Some(tls) => {
                self.shake_hands(tls, stream, address, permit);
                None
            }
        }
    }

    fn shake_hands(&self, tls: &Tls, stream: TcpStream, address: SocketAddr, permit: Permit) {
        let (config, trust) = tls.config();
        let acceptor = TlsAcceptor::from(config);
        let (limit, greeting, shake) = (self.handshake, self.greeting, self.shake.clone());
        let ended = self.tasks.cancelled();
        self.tasks.spawn(HANDSHAKE, async move {
            let shaken = tokio::select! {
                shaken = tokio::time::timeout(limit, acceptor.accept(stream)) => shaken,
                () = ended => return,
            };
            match shaken {
                // Nobody to take it: the listener is gone.
                Ok(Ok(stream)) => drop(shake.send(Connection::tls(stream, trust, address, greeting, permit)).await),
                Ok(Err(error)) => tracing::debug!(%address, "a TLS handshake failed: {error}"),
                Err(_) => tracing::debug!(%address, "a TLS handshake took too long"),
            }
        });
    }
}

/// Binds and listens. A port that an earlier server has just left can be had at once.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
