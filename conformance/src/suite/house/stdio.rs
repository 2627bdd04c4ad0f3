//! The real binary as a process of its own, with a configuration of its own.

use std::path::PathBuf;
use std::process::Stdio as Pipe;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tokio::process::Command;

use super::{BackendKind, Ends, Opener, Settings, ssh};
use crate::suite::client::Client;
use crate::suite::mutant::Fault;
use crate::suite::remote::Remote;
use crate::suite::stage::{Hold, Server, Stage};

/// Opens stages by starting the binary.
pub(crate) struct Stdio {
    server: PathBuf,
    fault: Option<Fault>,
    ends: Ends,
}

impl Stdio {
    pub(crate) fn new(server: PathBuf) -> Self {
        Self { server, fault: None, ends: Ends::default() }
    }

    /// Every stage has this fault.
    pub(crate) fn faulty(server: PathBuf, fault: Fault) -> Self {
        Self { server, fault: Some(fault), ends: Ends::default() }
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
            BackendKind::Fake => {}
            BackendKind::Pty => all.push(("TARGETS__LOCAL__LINGER_MS", linger)),
            BackendKind::Ssh => all.push(("SSH__LINGER_MS", linger)),
        }
        all.into_iter().map(|(name, value)| (format!("SESSIOND_{name}"), value)).collect()
    }
}

/// A target as it stands in a configuration.
fn heading((name, kind): (&str, BackendKind)) -> String {
    let more = if kind == BackendKind::Ssh { ssh::configuration() } else { String::new() };
    format!("[targets.{name}]\nbackend = \"{}\"\n{more}", kind.as_str())
}

#[async_trait]
impl Opener for Stdio {
    async fn open(&self, backend: BackendKind, settings: Settings) -> Stage {
        let mut command = Command::new(&self.server);
        // A configuration of our own: none of whoever runs the suite gets in.
        let configuration = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        let text: Vec<String> = settings.more.iter().copied().chain([("local", backend)]).map(heading).collect();
        // Nobody's own hosts get in either.
        std::fs::write(configuration.path(), format!("[ssh]\nconfig = \"/dev/null\"\n{}", text.concat())).unwrap();
        command.env("SESSIOND_CONFIG", configuration.path()).env("SESSIOND_LOG", "trace");
        command.envs(Self::overlay(backend, &settings)).kill_on_drop(true);
        command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::null());
        let mut child = command.spawn().unwrap_or_else(|error| {
            panic!("{} does not start: {error}; build it first, with the feature fake", self.server.display())
        });
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            panic!("the server has no pipes")
        };
        let client = Client::connect(output, input, self.fault).await;
        let child = Server::new(child);
        let (ending, its_client) = (child.clone(), client.clone());
        self.ends.add(async move {
            its_client.close().await;
            ending.wait().await;
        });
        Stage::new(Arc::new(Remote::new(client.clone())), client, Hold::Process(child))
    }

    fn ends(&self) -> Vec<BoxFuture<'static, ()>> {
        self.ends.take()
    }
}
