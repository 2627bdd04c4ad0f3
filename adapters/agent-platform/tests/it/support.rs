//! A scripted platform with the adapter in front of it.

use std::sync::Arc;
use std::time::Duration;

use sessiond_agent_peer::Peer;
use sessiond_agent_platform::{DialectName, Platform, PlatformConfig, Secret};
use sessiond_core::{AgentPlatform, AgentSessionDetail, Backend, Call, Owner, PlatformId, Result};
use tokio::time::Instant;

/// Long enough for whatever is not meant to fail.
pub(crate) const AMPLE: Duration = Duration::from_secs(20);

/// A platform, and the adapter that asks it.
pub(crate) struct Stage {
    pub(crate) peer: Peer,
    pub(crate) platform: Arc<Platform>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    /// With another configuration.
    pub(crate) fn with(change: impl FnOnce(&mut PlatformConfig)) -> Self {
        let peer = Peer::start().unwrap();
        let platform = platform(&peer, change);
        Self { peer, platform }
    }

    pub(crate) fn agents(&self) -> &dyn AgentPlatform {
        Backend::agents(self.platform.as_ref()).unwrap()
    }

    pub(crate) async fn describe(&self, session: &str) -> Result<AgentSessionDetail> {
        self.agents().describe(&call(), &id(session)).await
    }
}

/// Another adapter for the same platform.
pub(crate) fn platform(peer: &Peer, change: impl FnOnce(&mut PlatformConfig)) -> Arc<Platform> {
    let mut config = PlatformConfig::new(peer.url(), DialectName::Itential);
    config.keepalive = None;
    change(&mut config);
    Platform::new(&config).unwrap()
}

pub(crate) fn call() -> Call {
    within(AMPLE)
}

/// A call whose caller stops listening after this time.
pub(crate) fn within(time: Duration) -> Call {
    Call { deadline: Instant::now() + time, ..Call::new(Owner::management("test")) }
}

pub(crate) fn id(text: &str) -> PlatformId {
    PlatformId::new("session_id", text).unwrap()
}

pub(crate) fn secret(text: &str) -> Arc<Secret> {
    Arc::new(Secret::new(text))
}
