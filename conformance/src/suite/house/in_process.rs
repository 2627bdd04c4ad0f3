//! The registry and the tool layer in this process; the wire is an in-memory pipe.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use sessiond_core::fake::Fake;
use sessiond_core::{Backend, FixedTargets, Owner, Registry, Service, TargetInfo};
use sessiond_mcp::{Family, Handler, TextStyle, serve};
use sessiond_pty::{Config, Pty};
use tokio::io::{duplex, split};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{BackendKind, Ends, Opener, Settings};
use crate::suite::client::Client;
use crate::suite::mutant::{Broken, Fault, Hooked};
use crate::suite::stage::{Hold, OWNER, Stage, target};

/// How much the in-memory pipe holds, in bytes.
const PIPE: usize = 64 * 1024;

/// Opens stages in this process.
#[derive(Default)]
pub(crate) struct InProcess {
    fault: Option<Fault>,
    ends: Ends,
}

impl InProcess {
    /// Every stage has this fault.
    pub(crate) fn faulty(fault: Fault) -> Self {
        Self { fault: Some(fault), ends: Ends::default() }
    }
}

#[async_trait]
impl Opener for InProcess {
    async fn open(&self, kind: BackendKind, mut settings: Settings) -> Stage {
        if let Some(Fault::Settings(change)) = self.fault {
            change(&mut settings);
        }
        let backend: Arc<dyn Backend> = match kind {
            BackendKind::Fake => Fake::new(),
            BackendKind::Pty => {
                let config =
                    Config { environment: std::env::vars_os().collect(), linger: settings.linger, ..Config::default() };
                Pty::new(config).unwrap()
            }
        };
        let info = TargetInfo { client_id: target().to_string(), name: target(), backend: kind.as_str() };
        let registry = Registry::new(Arc::new(FixedTargets::new(vec![(info, backend)])), settings.limits);
        let service: Arc<dyn Service> = registry.clone();
        let service = match self.fault {
            Some(Fault::Service(wrap)) => wrap(service),
            Some(Fault::Hooks(hooks)) => Arc::new(Broken(Hooked { right: service, hooks })),
            _ => service,
        };
        let closing = CancellationToken::new();
        let owner = Owner::management(OWNER);
        let (client, serving) = connect(service.clone(), owner, self.fault, closing.clone()).await;
        let ending = registry.clone();
        self.ends.add(async move { ending.shutdown().await });
        let registry = (!matches!(self.fault, Some(Fault::NoEnd))).then_some(registry);
        Stage::new(service, client, Hold::InProcess { registry, closing, serving })
    }

    fn ends(&self) -> Vec<BoxFuture<'static, ()>> {
        self.ends.take()
    }
}

/// A client of the tool layer in this process, as this owner.
pub(crate) async fn connect(
    service: Arc<dyn Service>,
    owner: Owner,
    fault: Option<Fault>,
    closing: CancellationToken,
) -> (Client, JoinHandle<io::Result<()>>) {
    let handler = Handler::new(service, owner, &[Family::Session], TextStyle::Short);
    let (ours, theirs) = duplex(PIPE);
    let (input, output) = split(theirs);
    let serving = tokio::task::spawn(async move { serve(handler, input, output, closing).await });
    let (input, output) = split(ours);
    (Client::connect(input, output, fault).await, serving)
}
