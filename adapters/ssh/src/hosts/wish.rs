//! Which host somebody wants to reach, and what is settled about it before its client configuration is asked.

use super::jump::Hop;
use super::settings::Settings;
use crate::config::HostConfig;

/// A host that is to be reached. What is set here wins over the client configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Wish {
    /// Its name.
    pub(super) name: String,
    /// The address to dial.
    pub(super) host: Option<String>,
    /// The port.
    pub(super) port: Option<u16>,
    /// The user on the host.
    pub(super) user: Option<String>,
    /// The hosts to go through, as `ProxyJump` takes them.
    pub(super) jump: Option<String>,
}

impl Wish {
    /// Somebody names a host.
    pub(super) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// A host on the way to another. `before` are those that come before it, if any: then its own are not asked.
    pub(super) fn hop(hop: Hop, before: &[Hop]) -> Self {
        let jump = (!before.is_empty()).then(|| before.iter().map(written).collect::<Vec<_>>().join(","));
        Self { name: hop.host, host: None, port: hop.port, user: hop.user, jump }
    }

    /// Takes from sessiond's own configuration what has been left open.
    pub(super) fn or(mut self, configured: Option<&HostConfig>) -> Self {
        if let Some(configured) = configured {
            self.host = self.host.or_else(|| configured.host.clone());
            self.port = self.port.or(configured.port);
            self.user = self.user.or_else(|| configured.user.clone());
            self.jump = self.jump.or_else(|| configured.jump.clone());
        }
        self
    }

    /// What is settled, as settings that win over those of a file.
    pub(super) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        let mut set = |keyword, value: Option<String>| value.into_iter().for_each(|value| settings.add(keyword, value));
        set("hostname", self.host.as_ref().map(|host| host.replace('%', "%%")));
        set("port", self.port.map(|port| port.to_string()));
        set("user", self.user.clone());
        set("proxyjump", self.jump.clone());
        settings
    }
}

/// A hop as `ProxyJump` takes it.
fn written(hop: &Hop) -> String {
    let user = hop.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
    let host = if hop.host.contains(':') { format!("[{}]", hop.host) } else { hop.host.clone() };
    let port = hop.port.map(|port| format!(":{port}")).unwrap_or_default();
    format!("{user}{host}{port}")
}
