//! Agent platforms: one for each target of a stage that is to be one, and the ways to reach it.

use std::fmt::Write as _;
use std::sync::Arc;

use sessiond_agent_peer::{Access, LoginBody, Peer};
use sessiond_agent_platform::{Auth, DialectName, PlatformConfig, Secret};

use super::{BackendKind, Settings};

/// The account of every stage.
const USER: &str = "sessiond";
/// Its password.
pub(super) const PASSWORD: &str = "correct horse battery staple";
/// The variable in which a server of its own finds the password.
pub(super) const PASSWORD_VARIABLE: &str = "CONFORMANCE_PLATFORM_PASSWORD";

/// The platforms of a stage, by the names of their targets.
pub(crate) type Peers = Vec<(&'static str, Arc<Peer>)>;

/// A platform for each target that is to be one. They ask for a login, which gives a cookie.
pub(super) fn peers(kind: BackendKind, settings: &Settings) -> Peers {
    let all = [("local", kind)].into_iter().chain(settings.more.iter().copied());
    let platforms = all.filter(|(_, kind)| *kind == BackendKind::AgentPlatform);
    platforms.map(|(name, _)| (name, Arc::new(peer()))).collect()
}

fn peer() -> Peer {
    let peer = Peer::start().unwrap_or_else(|error| panic!("no platform: {error}"));
    let (user, password) = (USER.to_owned(), PASSWORD.to_owned());
    peer.require(Access::Login { user, password, body: LoginBody::Either });
    peer
}

/// The platform of a target.
fn of<'a>(peers: &'a Peers, name: &str) -> &'a Peer {
    let found = peers.iter().find(|(known, _)| *known == name);
    &found.unwrap_or_else(|| panic!("{name} is no platform of this stage")).1
}

/// A platform as a target of this process.
pub(super) fn config(peers: &Peers, name: &str, settings: &Settings) -> PlatformConfig {
    PlatformConfig {
        auth: Auth::Login { user: USER.to_owned(), password: Arc::new(Secret::new(PASSWORD)) },
        timeout: settings.platform_timeout,
        keepalive: None,
        ..PlatformConfig::new(of(peers, name).url(), DialectName::Itential)
    }
}

/// A platform as a target in the configuration of a server, below the heading of its name.
pub(super) fn configuration(peers: &Peers, name: &str, settings: &Settings) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "dialect = \"itential\"\nurl = \"{}\"", of(peers, name).url());
    let _ = writeln!(text, "auth = \"login\"\nuser = \"{USER}\"\npassword_env = \"{PASSWORD_VARIABLE}\"");
    let _ = writeln!(text, "timeout_ms = {}\nkeepalive_ms = 0", settings.platform_timeout.as_millis());
    text
}
