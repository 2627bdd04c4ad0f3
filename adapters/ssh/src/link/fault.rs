//! What can go wrong on a connection, in words that continue a sentence about it, and as errors of connecting.

use std::io;

use sessiond_core::{Error, shown};

use crate::route::Route;

/// Why the protocol's task ends.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The protocol, or what carries it.
    Protocol(russh::Error),
    /// The host's key is not to be trusted.
    Refused(Error),
}

impl From<russh::Error> for Fault {
    fn from(error: russh::Error) -> Self {
        Self::Protocol(error)
    }
}

/// Why a connection that stood has ended.
pub(crate) fn ending(fault: &Fault) -> String {
    use russh::Error as E;

    match fault {
        Fault::Refused(error) => error.message().to_owned(),
        Fault::Protocol(E::IO(error)) => match error.kind() {
            io::ErrorKind::UnexpectedEof => "the host closed it".to_owned(),
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "the host broke it off".to_owned(),
            _ => error.to_string(),
        },
        Fault::Protocol(E::HUP) => "the host closed it".to_owned(),
        // Of a connection that stood; before that it is the host's doing.
        Fault::Protocol(E::Disconnect) => "it was closed here".to_owned(),
        Fault::Protocol(E::NoAuthMethod) => "the host offers no way to log in any more".to_owned(),
        Fault::Protocol(E::KeepaliveTimeout) => "the host does not answer any more".to_owned(),
        Fault::Protocol(E::PacketAuth | E::DecryptionError) => "what arrived has been tampered with".to_owned(),
        Fault::Protocol(error) => format!("the protocol was broken ({error})"),
    }
}

/// Why no connection came about after the bytes were flowing, before anybody logged in.
pub(crate) fn handshake(fault: Fault, route: &Route) -> Error {
    use russh::Error as E;

    let (name, host, port) = (shown(&route.name), shown(&route.host), route.port);
    match fault {
        Fault::Refused(error) => error,
        Fault::Protocol(E::NoCommonAlgo { kind, ours, theirs }) => Error::unsupported(format!(
            "{name} has no {} in common with us: it offers {}, we have {}; allow one of ours in its server's \
             configuration",
            what(&kind),
            shown(&theirs.join(",")),
            ours.join(",")
        )),
        Fault::Protocol(E::Version) => Error::unavailable(format!(
            "what answers for {name} at {host} port {port} does not speak SSH 2: check the address and the port"
        )),
        Fault::Protocol(E::WrongServerSig) => Error::permission_denied(format!(
            "{name} does not prove that it has the host key it shows: somebody may be intercepting the connection"
        )),
        Fault::Protocol(E::Disconnect | E::HUP) => closed(&name, host, port),
        Fault::Protocol(E::IO(error)) if is_closed(&error) => closed(&name, host, port),
        fault => Error::unavailable(format!("the connection to {name} failed: {}; try again", ending(&fault))),
    }
}

fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind as K;

    matches!(error.kind(), K::UnexpectedEof | K::ConnectionReset | K::BrokenPipe)
}

fn closed(name: &str, host: String, port: u16) -> Error {
    Error::unavailable(format!(
        "what answers for {name} at {host} port {port} closed the connection at once: check that an SSH server listens \
         there, and that it is not too busy for another connection"
    ))
}

fn what(kind: &russh::AlgorithmKind) -> &'static str {
    match kind {
        russh::AlgorithmKind::Kex => "key exchange",
        russh::AlgorithmKind::Key => "type of host key",
        russh::AlgorithmKind::Cipher => "cipher",
        russh::AlgorithmKind::Compression => "compression",
        russh::AlgorithmKind::Mac => "message authentication code",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_continues_a_sentence() {
        let io = |kind: io::ErrorKind| Fault::Protocol(russh::Error::IO(io::Error::new(kind, "why")));
        assert_eq!(ending(&io(io::ErrorKind::UnexpectedEof)), "the host closed it");
        assert_eq!(ending(&io(io::ErrorKind::ConnectionReset)), "the host broke it off");
        assert_eq!(ending(&io(io::ErrorKind::TimedOut)), "why");
        assert_eq!(ending(&Fault::Protocol(russh::Error::KeepaliveTimeout)), "the host does not answer any more");
        assert_eq!(ending(&Fault::Protocol(russh::Error::Disconnect)), "it was closed here");
        assert_eq!(ending(&Fault::Refused(Error::permission_denied("not this one"))), "not this one");
    }
}
