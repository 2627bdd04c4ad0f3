//! A relay in front of a server that can stop relaying: a link that is cut without a word, or closed.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// What a relay does with what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// Hands it on.
    Open,
    /// Keeps it, and reads no more: neither side hears anything of the other, not even that it has closed.
    Silent,
    /// The relay is being taken down.
    Ended,
}

#[derive(Debug)]
struct State {
    flow: Flow,
    /// Both ends of every connection that was relayed.
    streams: Vec<TcpStream>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, flow: Flow) {
        self.lock().flow = flow;
        self.changed.notify_all();
    }

    /// Waits while the relay is silent; whether it is open then.
    fn pass(&self) -> bool {
        let state = self.lock();
        let state = self.changed.wait_while(state, |state| state.flow == Flow::Silent);
        state.unwrap_or_else(PoisonError::into_inner).flow == Flow::Open
    }
}

/// A TCP relay on a port of the loopback. It ends, with its connections, with the value.
#[derive(Debug)]
pub struct Cut {
    address: SocketAddr,
    listener: TcpListener,
    shared: Arc<Shared>,
}

impl Cut {
    /// A relay to an address.
    ///
    /// # Errors
    /// No port can be had.
    pub fn before(address: SocketAddr) -> Result<Self> {
        Self::relay(None, address)
    }

    /// A relay to an address of another network.
    pub(crate) fn into_network(network: File, address: SocketAddr) -> Result<Self> {
        Self::relay(Some(network), address)
    }

    fn relay(network: Option<File>, target: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("listening for a relay")?;
        let address = listener.local_addr()?;
        let state = State { flow: Flow::Open, streams: Vec::new() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let (accept, gate) = (listener.try_clone()?, Arc::clone(&shared));
        thread::spawn(move || {
            // A socket belongs to the network of the thread that makes it. Staying outside would connect to the
            // machine's own server, so a thread that cannot move relays nothing.
            let inside = network.is_none_or(|network| {
                move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network)).is_ok()
            });
            while let Some(client) = inside.then(|| next(&accept)).flatten() {
                if let Ok(server) = TcpStream::connect(target) {
                    join(client, server, &gate);
                }
            }
        });
        Ok(Self { address, listener, shared })
    }

    /// Where to connect to instead.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port of that address.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Relays nothing any more, in neither direction and for no connection, and closes nothing: what a cable does that
    /// is pulled out. Connecting still works, but nobody answers.
    pub fn silence(&self) {
        self.shared.set(Flow::Silent);
    }

    /// Goes on relaying where it stopped.
    pub fn resume(&self) {
        self.shared.set(Flow::Open);
    }

    /// Closes every connection on both sides. New ones are relayed as before.
    pub fn close(&self) {
        let streams = std::mem::take(&mut self.shared.lock().streams);
        for stream in streams {
            // Already closed is as good.
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        self.shared.set(Flow::Ended);
        // Wakes the thread that accepts; a listener that cannot be shut down is gone already.
        rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both).ok();
        self.close();
    }
}

/// The next connection; `None` once the relay has ended.
fn next(listener: &TcpListener) -> Option<TcpStream> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Some(stream),
            // Who gave up before being accepted, or was interrupted, is no reason to end.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
            Err(_) => return None,
        }
    }
}

/// Relays between two ends until both have closed.
fn join(client: TcpStream, server: TcpStream, shared: &Arc<Shared>) {
    let clones = (client.try_clone(), server.try_clone());
    let (Ok(client_again), Ok(server_again)) = clones else { return };
    // Nothing waits in this process for more to send with it.
    drop(client.set_nodelay(true).and_then(|()| server.set_nodelay(true)));
    let mut state = shared.lock();
    state.streams.extend([client.try_clone(), server.try_clone()].into_iter().flatten());
    drop(state);
    let (there, back) = (Arc::clone(shared), Arc::clone(shared));
    thread::spawn(move || copy(client, server, &there));
    thread::spawn(move || copy(server_again, client_again, &back));
}

/// Relays one direction to its end.
fn copy(mut from: TcpStream, mut to: TcpStream, shared: &Shared) {
    let mut buffer = [0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer);
        if !shared.pass() {
            return;
        }
        match read {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
            Ok(count) => {
                let sent = buffer.get(..count).map(|bytes| to.write_all(bytes));
                if !matches!(sent, Some(Ok(()))) {
                    break;
                }
            }
        }
    }
    drop(to.shutdown(Shutdown::Write));
}
