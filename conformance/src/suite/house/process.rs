//! What every house has that starts a binary: a configuration of its own, and the settings in it.

use std::path::Path;

use tokio::process::Command;

use super::platform::{self, Peers};
use super::{BackendKind, Settings, ssh};

/// The configuration of a server with these targets.
pub(super) fn configuration(backend: BackendKind, peers: &Peers, settings: &Settings) -> String {
    let all = settings.more.iter().copied().chain([("local", backend)]);
    let targets: Vec<String> = all.map(|target| heading(target, peers, settings)).collect();
    // Nobody's own hosts get in.
    format!("[ssh]\nconfig = \"/dev/null\"\n{}", targets.concat())
}

/// A target as it stands in a configuration.
fn heading((name, kind): (&str, BackendKind), peers: &Peers, settings: &Settings) -> String {
    let more = match kind {
        BackendKind::Ssh => ssh::configuration(),
        BackendKind::AgentPlatform => platform::configuration(peers, name, settings),
        BackendKind::Fake | BackendKind::Pty => String::new(),
    };
    format!("[targets.{name}]\nbackend = \"{}\"\n{more}", kind.as_str())
}

/// The binary with a configuration of ours: none of whoever runs the suite gets in.
pub(super) fn command(server: &Path, configuration: &Path, backend: BackendKind, settings: &Settings) -> Command {
    let mut command = Command::new(server);
    command.env("SESSIOND_CONFIG", configuration).env("SESSIOND_LOG", "trace");
    command.env(platform::PASSWORD_VARIABLE, platform::PASSWORD);
    command.envs(overlay(backend, settings)).kill_on_drop(true);
    command
}

/// The settings as the environment variables that overlay a configuration.
fn overlay(backend: BackendKind, settings: &Settings) -> Vec<(String, String)> {
    let limits = &settings.limits;
    let mut all = vec![
        ("LIMITS__RUNNING_PER_OWNER", limits.running_per_owner.to_string()),
        ("LIMITS__FINISHED_PER_OWNER", limits.finished_per_owner.to_string()),
        ("LIMITS__FINISHED_BYTES_PER_OWNER", limits.finished_bytes_per_owner.to_string()),
        ("LIMITS__FINISHED_TTL_S", limits.finished_ttl.as_secs().to_string()),
        ("LIMITS__STOP_GRACE_MS", limits.stop_grace.as_millis().to_string()),
    ];
    let linger = settings.linger.as_millis().to_string();
    match backend {
        BackendKind::Fake | BackendKind::AgentPlatform => {}
        BackendKind::Pty => all.push(("TARGETS__LOCAL__LINGER_MS", linger)),
        BackendKind::Ssh => all.push(("SSH__LINGER_MS", linger)),
    }
    all.into_iter().map(|(name, value)| (format!("SESSIOND_{name}"), value)).collect()
}

/// What is said when a binary does not start.
pub(super) fn absent(server: &Path, error: &std::io::Error) -> String {
    format!("{} does not start: {error}; build it first, with the feature fake", server.display())
}
