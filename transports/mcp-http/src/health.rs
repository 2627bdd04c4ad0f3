//! Whether the server lives, and whether it can do what it is for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use http::{Response, StatusCode};
use serde_json::json;
use sessiond_core::{Availability, Call, ListTargets, Owner, Service};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::answers;

/// How long an answer holds. Whoever asks often costs no more.
const HOLDS: Duration = Duration::from_secs(5);

/// How long a target may take to say how it does.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks the targets, now and then.
pub(crate) struct Health {
    service: Arc<dyn Service>,
    /// Fires when the server takes no more work.
    ending: CancellationToken,
    last: Mutex<Option<Look>>,
}

/// One look, which everybody shares who asks while it holds.
struct Look {
    begun: Instant,
    found: Shared<BoxFuture<'static, Found>>,
}

/// How many targets can run something now, can not, and do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Targets { online: usize, offline: usize, unknown: usize },
    Nothing,
}

impl Health {
    pub(crate) fn new(service: Arc<dyn Service>, ending: CancellationToken) -> Self {
        Self { service, ending, last: Mutex::default() }
    }

    /// Ready means: it takes work, and not every target is down.
    pub(crate) async fn ready(&self) -> Response<Body> {
        if self.ending.is_cancelled() {
            return answers::json(
                StatusCode::SERVICE_UNAVAILABLE,
                &json!({ "ready": false, "reason": "the server ends" }),
            );
        }
        match self.look().await {
            Found::Targets { online, offline, unknown } => {
                let is_ready = online + unknown > 0;
                let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                let targets = json!({ "online": online, "offline": offline, "unknown": unknown });
                answers::json(status, &json!({ "ready": is_ready, "targets": targets }))
            }
            Found::Nothing => answers::json(
                StatusCode::SERVICE_UNAVAILABLE,
                &json!({ "ready": false, "reason": "the targets do not answer" }),
            ),
        }
    }

    fn look(&self) -> Shared<BoxFuture<'static, Found>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(look) if look.begun.elapsed() < HOLDS => look.found.clone(),
            _ => {
                let found = ask(self.service.clone()).boxed().shared();
                *last = Some(Look { begun: Instant::now(), found: found.clone() });
                found
            }
        }
    }
}

async fn ask(service: Arc<dyn Service>) -> Found {
    let cx = Call { deadline: Instant::now() + PATIENCE, ..Call::new(Owner::management("server:readyz")) };
    let Ok(targets) = service.list_targets(&cx, ListTargets::default()).await else { return Found::Nothing };
    let of = |availability| targets.iter().filter(|target| target.status.availability == availability).count();
    Found::Targets {
        online: of(Availability::Online),
        offline: of(Availability::Offline),
        unknown: of(Availability::Unknown),
    }
}
