//! The one declaration of every key. Checking, variables' names, the `check` command and the test of the documented
//! example all read it.
//!
//! - `server`: the keys of the server as a whole; `ssh`: those of all hosts, and of one
//! - `network`: those of who is let in, of TLS, and of the way to another server; `http`: those of MCP over HTTP
//! - `telemetry`: those of traces
//! - `pty`: those of this machine; `platform`: those of an agent platform

mod http;
mod network;
mod platform;
mod pty;
mod server;
mod ssh;
mod telemetry;

use std::time::Duration;

use crate::config::{BackendSettings, Configuration, PlatformSettings, PtySettings, SshHostSettings, TargetSettings};
use crate::key_path::KeyPath;
use crate::setting::{Kind, Raw, Setting};

pub(crate) use self::network::ALTERNATIVES as OF_SERVER_ALTERNATIVES;
pub(crate) use self::telemetry::{problem as problem_of_telemetry, take_common_variables};

/// Keys of a target that say the same thing in different ways: of each row one can be set.
pub(crate) fn alternatives() -> impl Iterator<Item = &'static [&'static str; 3]> {
    ssh::ALTERNATIVES.iter().chain(&platform::ALTERNATIVES)
}

/// The backends by the name that `backend` takes, with their settings.
pub(crate) const BACKENDS: &[&str] =
    if cfg!(feature = "fake") { &["pty", "ssh", "agent-platform", "fake"] } else { &["pty", "ssh", "agent-platform"] };

/// A backend's settings by its name.
pub(crate) fn backend(name: &str) -> Option<BackendSettings> {
    match name {
        "pty" => Some(BackendSettings::Pty(PtySettings::default())),
        "ssh" => Some(BackendSettings::Ssh(Box::default())),
        "agent-platform" => Some(BackendSettings::AgentPlatform(Box::default())),
        #[cfg(feature = "fake")]
        "fake" => Some(BackendSettings::Fake),
        _ => None,
    }
}

/// The keys of the server as a whole, in the order of the documentation.
pub(crate) fn of_server() -> impl Iterator<Item = &'static Setting<Configuration>> {
    server::KEYS.iter().chain(telemetry::KEYS).chain(network::KEYS).chain(http::KEYS).chain(ssh::KEYS)
}

/// The keys of every target.
pub(crate) const TARGET: &[Setting<TargetSettings>] = &[
    Setting {
        name: "backend",
        about: "The kind of place: pty is this machine, ssh another one, agent-platform one where agents run.",
        kind: Kind::Choice {
            words: BACKENDS,
            get: |target| Some(target.backend.name()),
            // A backend brings its own keys, so the file's word for it is taken before any of them is set.
            set: |_, _| (),
        },
    },
    Setting {
        name: "enabled",
        about: "Whether the target is there.",
        kind: Kind::Switch { get: |target| Some(target.enabled), set: |target, value| target.enabled = value },
    },
];

/// A key with the value that it has, for who looks.
pub(crate) struct Row {
    /// The key's name.
    pub(crate) name: &'static str,
    /// What it is for.
    pub(crate) about: &'static str,
    /// Its value, as [`Setting::show`] writes it.
    pub(crate) value: Option<String>,
}

impl<C> Setting<C> {
    fn row(&self, part: &C) -> Row {
        Row { name: self.name, about: self.about, value: self.show(part) }
    }
}

impl BackendSettings {
    /// Its keys with their values, in the order of the documentation.
    pub(crate) fn rows(&self) -> Vec<Row> {
        match self {
            Self::Pty(part) => pty::KEYS.iter().map(|key| key.row(part)).collect(),
            Self::Ssh(part) => ssh::HOST_KEYS.iter().map(|key| key.row(part)).collect(),
            Self::AgentPlatform(part) => platform::keys().map(|key| key.row(part)).collect(),
            #[cfg(feature = "fake")]
            Self::Fake => Vec::new(),
        }
    }

    /// Puts a value where it belongs; `None` when there is no such key.
    ///
    /// # Errors
    /// As for [`Setting::apply`].
    pub(crate) fn apply(&mut self, key: &str, rest: &[&str], raw: &Raw) -> Option<Result<(), String>> {
        match self {
            Self::Pty(part) => apply(pty::KEYS, part, key, rest, raw),
            Self::Ssh(part) => apply(ssh::HOST_KEYS, part.as_mut(), key, rest, raw),
            Self::AgentPlatform(part) => apply(platform::keys(), part.as_mut(), key, rest, raw),
            #[cfg(feature = "fake")]
            Self::Fake => None,
        }
    }

    /// What is wrong with its keys as a whole: the key that it is about, and what about it.
    pub(crate) fn problems(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::AgentPlatform(part) => platform::problems(part),
            _ => Vec::new(),
        }
    }
}

fn apply<C: 'static>(
    keys: impl IntoIterator<Item = &'static Setting<C>>,
    part: &mut C,
    key: &str,
    rest: &[&str],
    raw: &Raw,
) -> Option<Result<(), String>> {
    let setting = keys.into_iter().find(|setting| setting.name == key && (rest.is_empty() || setting.is_table()))?;
    Some(setting.apply(part, rest, raw))
}

/// The paths of every key there is, with these targets.
pub(crate) fn paths<'a>(targets: impl IntoIterator<Item = (&'a str, &'a BackendSettings)>) -> Vec<KeyPath> {
    let mut paths: Vec<_> = of_server().map(|setting| KeyPath::of(setting.name)).collect();
    for (name, backend) in targets {
        paths.extend(TARGET.iter().map(|setting| KeyPath::of_target(name, setting.name)));
        paths.extend(backend.rows().iter().map(|row| KeyPath::of_target(name, row.name)));
    }
    paths
}

/// The full name of every key, as the documented example has them: `local` is this machine, `build-box` a host, and
/// `agents` an agent platform.
pub fn known_keys() -> Vec<String> {
    let pty = BackendSettings::Pty(PtySettings::default());
    let ssh = BackendSettings::Ssh(Box::<SshHostSettings>::default());
    let platform = BackendSettings::AgentPlatform(Box::<PlatformSettings>::default());
    paths([("agents", &platform), ("build-box", &ssh), (crate::config::LOCAL, &pty)])
        .iter()
        .map(KeyPath::to_string)
        .collect()
}

fn count(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
