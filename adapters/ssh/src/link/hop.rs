//! One hop of the way to a host: a connection whose key is checked and on which somebody is logged in.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use russh::client::{self, Handle};
use russh::{ChannelOpenFailure, Disconnect};
use sessiond_core::{Error, Result, TaskKind, Tasks, shown};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::algorithms;
use super::dial::Proxy;
use super::fault::{self, Fault};
use super::loss::{self, Loss};
use super::watcher::{self, Seen, Watcher};
use super::wire::{Carrier, Wire};
use crate::auth::{self, Login};
use crate::known_hosts::HostKeys;
use crate::local;
use crate::route::Route;

/// The known_hosts files being read.
const KNOWN_HOSTS: TaskKind = TaskKind("ssh known_hosts");

/// How long the end of a connection may take before it is cut.
const CLOSING: Duration = Duration::from_secs(1);

/// A hop that stands.
pub(crate) struct Hop {
    /// Its name.
    pub(crate) name: String,
    pub(crate) handle: Arc<Handle<Watcher>>,
    pub(crate) seen: Seen,
    pub(crate) loss: Loss,
    /// The methods that let us in.
    pub(crate) auth_method: String,
    cut: CancellationToken,
    _cut_on_drop: DropGuard,
}

/// What carries a hop, not yet spoken over.
pub(crate) struct Leg {
    pub(crate) carrier: Box<dyn Carrier>,
    /// Where it was dialled, where that is known.
    pub(crate) address: Option<IpAddr>,
    /// The program that carries it, if one does.
    pub(crate) proxy: Option<Proxy>,
    /// Ends what carries it.
    pub(crate) cut: CancellationToken,
}

impl Hop {
    /// Speaks the protocol over a leg, as far as being logged in. `stage` is told how far it has come.
    ///
    /// # Errors
    /// As for [`Link::open`](super::Link::open).
    pub(crate) async fn over(leg: Leg, route: &Route, tasks: &Tasks, stage: &Stage) -> Result<Self> {
        let Leg { carrier, address, proxy, cut } = leg;
        let cut_on_drop = cut.clone().drop_guard();
        stage.set(|name| format!("waiting for {name} to speak SSH"), route);
        let read = route.clone();
        let host_keys = local::blocking(tasks, KNOWN_HOSTS, move || HostKeys::read(&read, address)).await??;
        let config = Arc::new(algorithms::config(route, &host_keys));
        let wire = Wire::new(carrier, cut.clone(), algorithms::stall(route));
        let (seen, (ending, loss)) = (Seen::default(), loss::ending());
        let watcher = Watcher { host_keys: Arc::new(host_keys), seen: seen.clone(), ending, tasks: tasks.clone() };
        let mut handle = match client::connect_stream(config, wire, watcher).await {
            Ok(handle) => handle,
            Err(fault) => return Err(failed(fault, route, proxy).await),
        };
        stage.set(|name| format!("logging in to {name} as {}", shown(&route.user)), route);
        let login = Login { session: &mut handle, route, seen: &seen, loss: &loss, tasks };
        let auth_method = auth::log_in(login).await?;
        let name = shown(&route.name);
        Ok(Self { name, handle: Arc::new(handle), seen, loss, auth_method, cut, _cut_on_drop: cut_on_drop })
    }

    /// Has this hop connect to the next, and makes a leg of that.
    ///
    /// # Errors
    /// `unavailable`, with what the hop says.
    pub(crate) async fn forward(&self, next: &Route) -> Result<Leg> {
        // The originator is for the hop's log; it hears of no address of ours.
        let opened = self.handle.channel_open_direct_tcpip(&next.host, next.port.into(), "127.0.0.1", 0).await;
        let (from, name, port) = (&self.name, shown(&next.name), next.port);
        let failed = |why: String| {
            let host = shown(&next.host);
            Error::unavailable(format!("{from} does not connect us to {name} at {host} port {port}: {why}"))
        };
        match opened {
            Ok(channel) => {
                let carrier = Box::new(channel.into_stream());
                Ok(Leg { carrier, address: None, proxy: None, cut: CancellationToken::new() })
            }
            Err(russh::Error::ChannelOpenFailure(reason)) => {
                let why = watcher::refused(&reason, &self.seen);
                let advice = match reason {
                    ChannelOpenFailure::AdministrativelyProhibited => "allow TCP forwarding there (AllowTcpForwarding)",
                    _ => "check that the host is up, and its address as seen from there",
                };
                Err(failed(format!("{why}; {advice}")))
            }
            Err(_) => Err(failed(format!("the connection was lost ({})", self.loss.wait().await))),
        }
    }

    /// Ends the connection and waits for its end.
    pub(crate) async fn close(&self) {
        let said = async {
            // A connection that has ended takes no word any more.
            let _ = self.handle.disconnect(Disconnect::ByApplication, "closed", "").await;
            self.loss.wait().await;
        };
        if tokio::time::timeout(CLOSING, said).await.is_err() {
            self.cut.cancel();
            self.loss.wait().await;
        }
    }
}

/// The error of a handshake; a program that carried it may know more.
async fn failed(fault: Fault, route: &Route, proxy: Option<Proxy>) -> Error {
    let error = fault::handshake(fault, route);
    match proxy {
        Some(proxy) if error.kind() == sessiond_core::ErrorKind::Unavailable => {
            Error::unavailable(format!("{}; {}", error.message(), proxy.last_words().await))
        }
        _ => error,
    }
}

/// How far the opening of a connection has come, for whoever has to say why it took too long.
#[derive(Debug, Default)]
pub(crate) struct Stage(Mutex<String>);

impl Stage {
    /// Says how far it has come with a host.
    pub(crate) fn set(&self, words: impl FnOnce(&str) -> String, route: &Route) {
        let words = words(&shown(&route.name));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }

    /// How far it has come.
    pub(crate) fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
