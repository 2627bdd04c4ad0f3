//! The binary for stdio as a process of its own, with a configuration of its own.

use std::path::PathBuf;
use std::process::Stdio as Pipe;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use super::{BackendKind, Ends, Opener, Settings, platform, process};
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
}

#[async_trait]
impl Opener for Stdio {
    async fn open(&self, backend: BackendKind, settings: Settings) -> Stage {
        let configuration = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        let peers = platform::peers(backend, &settings);
        std::fs::write(configuration.path(), process::configuration(backend, &peers, &settings)).unwrap();
        let mut command = process::command(&self.server, configuration.path(), backend, &settings);
        command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::null());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}", process::absent(&self.server, &error)));
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            panic!("the server has no pipes")
        };
        let client = Client::connect(output, input, self.fault).await;
        let server = Server::until_its_input_ends(child);
        let (ending, its_client, its_peers) = (server.clone(), client.clone(), peers.clone());
        self.ends.add(async move {
            its_client.close().await;
            ending.end().await;
            drop(its_peers);
        });
        Stage::new(Arc::new(Remote::new(client.clone())), client, Hold::Process { server, others: Vec::new() })
            .on(peers)
    }

    fn ends(&self) -> Vec<BoxFuture<'static, ()>> {
        self.ends.take()
    }
}
