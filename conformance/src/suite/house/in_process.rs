//! The registry and the tool layer in this process; the wire is an in-memory pipe.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use sessiond_core::fake::Fake;
use sessiond_core::{Backend, Capability, FixedTargets, JoinedTargets, Owner, Registry, Service, TargetInfo, Targets};
use sessiond_mcp::{Family, Handler, TextStyle, serve};
use sessiond_pty::{Config, Pty};
use tokio::io::{duplex, split};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{BackendKind, Ends, Opener, Settings, ssh};
use crate::suite::client::Client;
use crate::suite::mutant::Fault;
use crate::suite::stage::{Hold, OWNER, Stage, named, target};
use crate::suite::verbs::Hooked;

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
        let families = families(kind, &settings);
        let registry = Registry::new(targets(kind, &settings), settings.limits);
        let service: Arc<dyn Service> = registry.clone();
        let service = match self.fault {
            Some(Fault::Service(wrap)) => wrap(service),
            Some(Fault::Hooks(hooks)) => Arc::new(Hooked { right: service, hooks }),
            _ => service,
        };
        let closing = CancellationToken::new();
        let owner = Owner::management(OWNER);
        let (client, serving) = connect(service.clone(), owner, families, self.fault, closing.clone()).await;
        let ending = registry.clone();
        self.ends.add(async move { ending.shutdown().await });
        let registry = (!matches!(self.fault, Some(Fault::NoEnd))).then_some(registry);
        Stage::new(service, client, Hold::InProcess { registry, families, closing, serving, after: None })
    }

    fn ends(&self) -> Vec<BoxFuture<'static, ()>> {
        self.ends.take()
    }
}

/// The families of tools of which there is a target.
pub(super) fn families(kind: BackendKind, settings: &Settings) -> &'static [Family] {
    let mut kinds = settings.more.iter().map(|(_, kind)| *kind).chain([kind]);
    if kinds.any(|kind| kind.capabilities().has(Capability::Connections)) {
        &[Family::Session, Family::Ssh]
    } else {
        &[Family::Session]
    }
}

/// The targets, put together as a server does: first those with a backend of their own, then the hosts.
pub(super) fn targets(kind: BackendKind, settings: &Settings) -> Arc<dyn Targets> {
    let all = || [(target(), kind)].into_iter().chain(settings.more.iter().map(|(name, kind)| (named(name), *kind)));
    let fixed = all().filter_map(|(name, kind)| {
        let made: (_, Arc<dyn Backend>) = match kind {
            BackendKind::Fake => (Fake::info(name), Fake::new()),
            BackendKind::Pty => {
                let environment = std::env::vars_os().collect();
                let config = Config { environment, linger: settings.linger, ..Config::default() };
                (TargetInfo::new(name, kind.as_str()), Pty::new(config).unwrap())
            }
            BackendKind::Ssh => return None,
        };
        Some(made)
    });
    let fixed = FixedTargets::new(fixed.collect());
    let names = all().filter(|(_, kind)| *kind == BackendKind::Ssh).map(|(name, _)| name);
    Arc::new(JoinedTargets::new(vec![Arc::new(fixed), Arc::new(ssh::hosts(names, settings))]))
}

/// A client of the tool layer in this process, as this owner.
pub(crate) async fn connect(
    service: Arc<dyn Service>,
    owner: Owner,
    families: &[Family],
    fault: Option<Fault>,
    closing: CancellationToken,
) -> (Client, JoinHandle<io::Result<()>>) {
    let handler = Handler::new(service, owner, families, TextStyle::Short);
    let (ours, theirs) = duplex(PIPE);
    let (input, output) = split(theirs);
    let serving = tokio::task::spawn(async move { serve(handler, input, output, closing).await });
    let (input, output) = split(ours);
    (Client::connect(input, output, fault).await, serving)
}
