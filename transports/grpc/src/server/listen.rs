//! Listening: on a unix socket that only its user can reach, or on a port, where callers must prove who they are.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{Stream, stream};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use sessiond_bootstrap::identity::Identity;
use sessiond_bootstrap::network::{self, Connection, Door, Network};
use sessiond_core::{Error, Result};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::either::Either;

use super::peer::Accepted;
use crate::{Address, make_directory};

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;

/// How long to leave a listener alone that cannot accept just now, as when the process has no descriptor left: it
/// would say so again at once, for ever.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The account that this process acts for.
pub fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Something that accepts connections. When it is dropped it takes its socket with it.
pub struct Listener(Kind);

enum Kind {
    Unix(UnixListener, Place),
    Port(network::Listener, Door),
}

impl Listener {
    /// Listens here. On a unix socket every caller is asked for its uid, and only our own gets in. A port has a door:
    /// what that asks of callers, `network` judges.
    ///
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// `failed_precondition` when another server listens here, or as for [`Network::listen`]; `invalid_argument` for an
    /// address to connect to; `permission_denied` for a directory that is not safe; `unavailable` when the system refuses.
    pub fn bind(address: &Address, network: &Network, door: Door) -> Result<Self> {
        match address {
            Address::Unix(path) => Self::unix(path),
            Address::Tcp(address) => Ok(Self(Kind::Port(network.listen(*address, door)?, door))),
            Address::Tls(_) => Err(Error::invalid_argument(format!(
                "{address} is where to connect to: listen on IP:PORT, with network.certificate_file for TLS"
            ))),
        }
    }

    fn unix(path: &Path) -> Result<Self> {
        let refused = |error: io::Error| Error::unavailable(format!("cannot listen on {}: {error}", path.display()));
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        make_directory(directory, uid())?;
        let lock = lock(path)?;
        clear(path)?;
        let listener = bind(path).and_then(UnixListener::from_std).map_err(refused)?;
        tell(&lock).map_err(refused)?;
        let place = Place::of(path, lock).map_err(refused)?;
        Ok(Self(Kind::Unix(listener, place)))
    }

    /// Where it listens, the port that the system has chosen included.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<Address> {
        Ok(match &self.0 {
            Kind::Unix(_, place) => Address::Unix(place.path.clone()),
            Kind::Port(listener, _) if listener.is_encrypted() => Address::Tls(listener.address()?.to_string()),
            Kind::Port(listener, _) => Address::Tcp(listener.address()?),
        })
    }

    /// The connections that come, each with what is known of its caller. Dropping the stream ends the listening.
    pub fn incoming(self) -> impl Stream<Item = io::Result<Accepted<Either<UnixStream, Connection>>>> + Send {
        stream::unfold(self, async |mut listener| Some((Ok(listener.accept().await), listener)))
    }

    async fn accept(&mut self) -> Accepted<Either<UnixStream, Connection>> {
        loop {
            let accepted = match &mut self.0 {
                Kind::Unix(listener, _) => listener.accept().await.and_then(|(stream, _)| ours(stream)),
                Kind::Port(listener, door) => return through(*door, listener.accept().await),
            };
            match accepted {
                Ok(Some(accepted)) => return accepted,
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// A connection to the unix socket, when its other end is this user's. Nobody else can open the socket but root, who
/// can become this user and then is.
fn ours(stream: UnixStream) -> io::Result<Option<Accepted<Either<UnixStream, Connection>>>> {
    let peer = stream.peer_cred()?.uid();
    if peer != uid() {
        tracing::warn!(uid = peer, "turned a connection away: it comes from another account");
        return Ok(None);
    }
    Ok(Some(Accepted::proven(Either::Left(stream), Identity::unix(peer))))
}

/// A connection to the port.
fn through(door: Door, connection: Connection) -> Accepted<Either<UnixStream, Connection>> {
    let origin = connection.origin().clone();
    let stream = Either::Right(connection);
    match door {
        Door::Open => {
            origin.prove();
            Accepted::proven(stream, Identity::no_password())
        }
        Door::Asked | Door::AskedInTheClear => Accepted::asked(stream, origin),
    }
}

/// Takes the lock that stands beside a socket for as long as somebody serves on it, so that two servers that start at
/// the same time do not both take the other's socket for a left-over. The kernel lets go of it with the process.
fn lock(path: &Path) -> Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let refused = |error: &dyn std::fmt::Display| {
        Error::unavailable(format!("cannot lock {}: {error}", Path::new(&name).display()))
    };
    let file = File::options().write(true).create(true).truncate(false).open(&name).map_err(|error| refused(&error))?;
    file.set_permissions(Permissions::from_mode(0o600)).map_err(|error| refused(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => {
            // Whoever hears that another server listens is to find it listening.
            file.lock_shared().map_err(|error| refused(&error))?;
            Err(in_use(path))
        }
        Err(error) => Err(refused(&error)),
    }
}

/// Tells whoever waits for the lock that its holder listens: it is shared from now on, and still nobody else's to take
/// alone. flock(2) turns the lock that a file has into the other kind; who slips in between finds a server that answers.
fn tell(lock: &File) -> io::Result<()> {
    Ok(rustix::fs::flock(lock, rustix::fs::FlockOperation::LockShared)?)
}

fn in_use(path: &Path) -> Error {
    Error::failed_precondition(format!(
        "another server listens on {}: use that one, or name another socket with --listen unix:PATH",
        path.display()
    ))
}

/// Removes what an earlier server has left behind: a socket that nobody answers on.
fn clear(path: &Path) -> Result<()> {
    let Ok(facts) = path.symlink_metadata() else { return Ok(()) };
    if !facts.file_type().is_socket() {
        return Err(Error::failed_precondition(format!(
            "{} is there and is no socket: remove it, or name another one with --listen unix:PATH",
            path.display()
        )));
    }
    if StdUnixStream::connect(path).is_ok() {
        return Err(in_use(path));
    }
    std::fs::remove_file(path).map_err(|error| {
        Error::unavailable(format!("cannot remove {}, which an earlier server has left: {error}", path.display()))
    })
}

/// Binds with mode 0600 from the first moment: Linux gives a socket's file the mode that the socket had before.
fn bind(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::fs::fchmod(&socket, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    if path.symlink_metadata()?.mode() & 0o177 != 0 {
        std::fs::remove_file(path)?;
        return Err(io::Error::other("this system does not make sockets for their owner only"));
    }
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// A socket's file, gone with the server that made it.
struct Place {
    path: PathBuf,
    /// Which file it is: one that another server has put there since stays.
    file: (u64, u64),
    _lock: File,
}

impl Place {
    fn of(path: &Path, lock: File) -> io::Result<Self> {
        let facts = path.symlink_metadata()?;
        Ok(Self { path: path.to_owned(), file: (facts.dev(), facts.ino()), _lock: lock })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let facts = self.path.symlink_metadata();
        if facts.is_ok_and(|facts| (facts.dev(), facts.ino()) == self.file) {
            // It may be gone by now, and that is as good.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
