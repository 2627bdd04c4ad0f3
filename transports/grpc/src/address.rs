//! Where a server listens: the unix socket of its user, another one, or a port.

use std::ffi::OsStr;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sessiond_core::{Error, Result, shown};

/// The socket's name in the directory of its user.
const SOCKET: &str = "sessiond.sock";

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A unix socket; only the user who runs the server gets in.
    Unix(PathBuf),
    /// A port.
    Tcp(SocketAddr),
    /// A host and a port that speaks TLS, to connect to: the certificate is to be that host's.
    Tls(String),
}

impl Address {
    /// Where a user's server listens unless told otherwise: `sessiond.sock` in `$XDG_RUNTIME_DIR`, where that is an
    /// absolute path, as the XDG Base Directory Specification demands; else in `sessiond-UID` under the temporary
    /// directory, which whoever uses it must find to be the user's own ([`check_directory`]).
    pub fn of_user(runtime_dir: Option<&OsStr>, temporary_dir: &Path, uid: u32) -> Self {
        let runtime_dir = runtime_dir.map(Path::new).filter(|path| path.is_absolute());
        let directory = runtime_dir.map_or_else(|| temporary_dir.join(format!("sessiond-{uid}")), Path::to_owned);
        Self::Unix(directory.join(SOCKET))
    }
}

impl FromStr for Address {
    type Err = Error;

    /// `unix:PATH`, `IP:PORT`, `http://IP:PORT` or `https://HOST:PORT`.
    fn from_str(text: &str) -> Result<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                return Err(Error::invalid_argument("unix: lacks the path of the socket"));
            }
            return Ok(Self::Unix(path.into()));
        }
        if let Some(host) = text.strip_prefix("https://") {
            return tls(host.strip_suffix('/').unwrap_or(host));
        }
        let port = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        port.parse().map(Self::Tcp).map_err(|_| {
            Error::invalid_argument(format!(
                "\"{}\" is no address: give unix:PATH, IP:PORT such as 127.0.0.1:7700, or https://HOST:PORT to connect to",
                shown(text)
            ))
        })
    }
}

/// A host and a port to speak TLS with.
fn tls(host: &str) -> Result<Address> {
    let port =
        host.rsplit_once(':').filter(|(name, _)| !name.is_empty()).and_then(|(_, port)| port.parse::<u16>().ok());
    // Neither a path nor somebody's name: nothing of that would be sent.
    let is_plain = host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']'));
    match port {
        Some(_) if is_plain => Ok(Address::Tls(host.to_owned())),
        _ => Err(Error::invalid_argument(format!("\"https://{}\" is no address: give https://HOST:PORT", shown(host)))),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "http://{address}"),
            Self::Tls(host) => write!(f, "https://{host}"),
        }
    }
}

/// Makes the directory of a socket where it is not there, and sees that it is its user's own.
///
/// # Errors
/// `unavailable` when it cannot be made; as for [`check_directory`].
#[cfg(unix)]
pub fn make_directory(directory: &Path, uid: u32) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    match std::fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(Error::unavailable(format!("cannot make {}: {error}", directory.display())))
        }
        _ => check_directory(directory, uid),
    }
}

/// Sees that nobody but this user can put a socket of their own where ours is looked for.
///
/// # Errors
/// `permission_denied` when the directory is a link, another's, or open to others; `not_found` when it is not there.
#[cfg(unix)]
pub fn check_directory(directory: &Path, uid: u32) -> Result<()> {
    use std::os::unix::fs::MetadataExt;

    let shown = directory.display();
    let refused = |why: &str| {
        Error::permission_denied(format!("{shown} {why}: remove it, or name a socket elsewhere with unix:PATH"))
    };
    let facts = directory.symlink_metadata().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(format!("there is no {shown}")),
        _ => Error::permission_denied(format!("{shown} cannot be looked at: {error}")),
    })?;
    if !facts.is_dir() {
        return Err(refused("is no directory"));
    }
    if facts.uid() != uid {
        return Err(refused(&format!("belongs to uid {}, not to uid {uid}", facts.uid())));
    }
    if facts.mode() & 0o022 != 0 {
        return Err(refused("can be written to by others"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_socket_lies_where_the_system_says_or_in_a_directory_of_their_own() {
        let of = |runtime: Option<&str>| Address::of_user(runtime.map(OsStr::new), Path::new("/tmp"), 7).to_string();
        assert_eq!(of(Some("/run/user/7")), "unix:/run/user/7/sessiond.sock");
        assert_eq!(of(None), "unix:/tmp/sessiond-7/sessiond.sock");
        assert_eq!(of(Some("")), "unix:/tmp/sessiond-7/sessiond.sock");
        assert_eq!(of(Some("run/user/7")), "unix:/tmp/sessiond-7/sessiond.sock");
    }

    #[test]
    fn an_address_is_read_as_it_is_written() {
        for text in [
            "unix:/run/x.sock",
            "http://127.0.0.1:7700",
            "http://[::1]:7700",
            "https://box.example:7700",
            "https://[::1]:1",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("unix:///run/x".parse(), Ok(Address::Unix("/run/x".into())));
        assert_eq!("127.0.0.1:1".parse::<Address>().unwrap().to_string(), "http://127.0.0.1:1");
        for text in [
            "",
            "unix:",
            "localhost",
            "https://box.example",
            "https://:1",
            "https://me@box:1",
            "https://box:1/x",
            "/run/x.sock",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_directory_that_others_can_reach_into_is_refused() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
        let place = tempfile::tempdir().unwrap();
        let uid = place.path().symlink_metadata().unwrap().uid();
        let own = place.path().join("own");
        assert!(check_directory(&own, uid).unwrap_err().message().starts_with("there is no"));
        std::fs::create_dir(&own).unwrap();
        let mode = |mode| std::fs::set_permissions(&own, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o700);
        assert_eq!(check_directory(&own, uid), Ok(()));
        assert!(check_directory(&own, uid + 1).unwrap_err().message().contains("belongs to uid"));
        mode(0o770);
        assert!(check_directory(&own, uid).unwrap_err().message().contains("can be written to by others"));
        mode(0o700);
        let link = place.path().join("link");
        symlink(&own, &link).unwrap();
        assert!(check_directory(&link, uid).unwrap_err().message().contains("is no directory"));
    }
}
