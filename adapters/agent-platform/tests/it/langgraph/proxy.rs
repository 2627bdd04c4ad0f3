//! Stands before a server, shows what is asked of it, and cuts what goes through it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The way to a server, for as long as this value lives.
pub(super) struct Proxy {
    address: SocketAddr,
    /// Moves on when everything is cut, and closes with this value.
    cuts: watch::Sender<u64>,
    heads: Arc<Heads>,
}

/// The request lines and headers that went through.
#[derive(Default)]
struct Heads {
    text: Mutex<String>,
    grown: watch::Sender<u64>,
}

impl Heads {
    fn add(&self, bytes: &[u8]) {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).push_str(&String::from_utf8_lossy(bytes));
        self.grown.send_modify(|count| *count += 1);
    }
}

impl Proxy {
    pub(super) async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (cuts, cut) = watch::channel(0);
        let heads = Arc::new(Heads::default());
        spawn(serve(listener, server, cut, heads.clone()));
        Self { address, cuts, heads }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks every connection that there is. New ones go through.
    pub(super) fn cut(&self) {
        self.cuts.send_modify(|count| *count += 1);
    }

    /// Waits until so many requests with this in their head have gone through.
    pub(super) async fn passed(&self, what: &str, times: usize) {
        let mut grown = self.heads.grown.subscribe();
        while self.count(what) < times {
            grown.changed().await.unwrap();
        }
    }

    /// How often this stands in what was asked.
    pub(super) fn count(&self, what: &str) -> usize {
        self.heads.text.lock().unwrap_or_else(PoisonError::into_inner).matches(what).count()
    }
}

async fn serve(listener: TcpListener, server: SocketAddr, mut cut: watch::Receiver<u64>, heads: Arc<Heads>) {
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { return };
                spawn(pass(client, server, cut.clone(), heads.clone()));
            }
            changed = cut.changed() => if changed.is_err() { return },
        }
    }
}

/// Hands on what both say until one of them ends or everything is cut.
async fn pass(mut client: TcpStream, server: SocketAddr, mut cut: watch::Receiver<u64>, heads: Arc<Heads>) {
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    cut.borrow_and_update();
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            biased;
            _ = cut.changed() => return,
            read = client.read(&mut asked) => match read {
                Ok(read @ 1..) => {
                    heads.add(&asked[..read]);
                    if server.write_all(&asked[..read]).await.is_err() { return }
                }
                _ => return,
            },
            read = server.read(&mut answered) => match read {
                Ok(read @ 1..) => if client.write_all(&answered[..read]).await.is_err() { return },
                _ => return,
            },
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(task);
}
