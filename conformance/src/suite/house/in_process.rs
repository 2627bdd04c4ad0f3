//! The registry and the tool layer in this process; the wire is an in-memory pipe.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use sessiond_agent_platform::Platform;
use sessiond_core::fake::Fake;
use sessiond_core::{Backend, Capability, FixedTargets, JoinedTargets, Owner, Registry, Service, TargetInfo, Targets};
use sessiond_mcp::{Family, Handler, TextStyle, serve};
use sessiond_pty::{Config, Pty};
use tokio::io::{duplex, split};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::platform::{self, Peers};
use super::{Access, BackendKind, Ends, Opener, Settings, ssh};
use crate::suite::client::Client;
use crate::suite::mutant::Fault;
use crate::suite::stage::{Hold, OWNER, Stage, named, target};
use crate::suite::verbs::Hooked;

/// How much the in-memory pipe holds, in bytes.
const PIPE: usize = 64 * 1024;

/// Opens stages in this process.
pub(crate) struct InProcess {
    access: Access,
    fault: Option<Fault>,
    ends: Ends,
}

impl InProcess {
    /// Every stage is acted on with this access.
    pub(crate) fn under(access: Access) -> Self {
        Self { access, fault: None, ends: Ends::default() }
    }

    /// Every stage has this fault.
    pub(crate) fn faulty(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::under(Access::Management) }
    }
}

#[async_trait]
impl Opener for InProcess {
    async fn open(&self, kind: BackendKind, mut settings: Settings) -> Stage {
        if let Some(Fault::Settings(change)) = self.fault {
            change(&mut settings);
        }
        let families = families(kind, &settings);
        let peers = platform::peers(kind, &settings);
        let registry = Registry::new(targets(kind, &settings, &peers), settings.limits);
        let service: Arc<dyn Service> = registry.clone();
        let service = match self.fault {
            Some(Fault::Service(wrap)) => wrap(service),
            Some(Fault::Hooks(hooks)) => Arc::new(Hooked { right: service, hooks }),
            _ => service,
        };
        let closing = CancellationToken::new();
        let owner = self.access.owner(OWNER);
        let (client, serving) = connect(service.clone(), owner.clone(), &families, self.fault, closing.clone()).await;
        let client = self.access.spoken(client);
        let (ending, its_peers) = (registry.clone(), peers.clone());
        self.ends.add(async move {
            ending.shutdown().await;
            // The runs that are still to be cancelled need it.
            drop(its_peers);
        });
        let registry = (!matches!(self.fault, Some(Fault::NoEnd))).then_some(registry);
        let hold =
            Hold::InProcess { registry, families, closing, serving, after: None, fault: self.fault.map(Box::new) };
        Stage::new(service, client, hold).on(peers).owned_by(owner)
    }

    fn ends(&self) -> Vec<BoxFuture<'static, ()>> {
        self.ends.take()
    }
}

/// The families of tools of which there is a target.
pub(super) fn families(kind: BackendKind, settings: &Settings) -> Vec<Family> {
    let has = |capability| {
        let mut kinds = settings.more.iter().map(|(_, kind)| *kind).chain([kind]);
        kinds.any(|kind| kind.capabilities().has(capability))
    };
    Family::present([(Family::Ssh, has(Capability::Connections)), (Family::Agent, has(Capability::Agents))])
}

/// The targets, put together as a server does: first those with a backend of their own, then the hosts.
pub(super) fn targets(kind: BackendKind, settings: &Settings, peers: &Peers) -> Arc<dyn Targets> {
    let all = || [(target(), kind)].into_iter().chain(settings.more.iter().map(|(name, kind)| (named(name), *kind)));
    let fixed = all().filter_map(|(name, kind)| {
        let made: (_, Arc<dyn Backend>) = match kind {
            BackendKind::Fake => (Fake::info(name), Fake::new()),
            BackendKind::Pty => {
                let environment = std::env::vars_os().collect();
                let config = Config { environment, linger: settings.linger, ..Config::default() };
                (TargetInfo::new(name, kind.as_str()), Pty::new(config).unwrap())
            }
            BackendKind::AgentPlatform => {
                let config = platform::config(peers, name.as_str(), settings);
                let info = TargetInfo::new(name, kind.as_str());
                (TargetInfo { platform: Some(Platform::info(&config)), ..info }, Platform::new(&config).unwrap())
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
