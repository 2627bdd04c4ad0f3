//! Listing targets and how they do.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep_until};

use crate::backend::{Availability, TargetInfo, TargetStatus, Targets};
use crate::call::{Call, after};
use crate::error::{Error, Result};
use crate::owner::{Access, Owner};
use crate::service::{ListTargets, MAX_WAIT, Target};

/// How often targets are asked while none is online and somebody waits. A target has no other way to tell.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// The targets that the caller may use, waiting while none is online when asked to.
pub(super) async fn list(targets: &dyn Targets, cx: &Call, request: ListTargets) -> Result<Vec<Target>> {
    if request.wait > MAX_WAIT {
        return Err(Error::invalid_argument(format!("wait_ms must be 0 to {}", MAX_WAIT.as_millis())));
    }
    let infos = match request.target.as_ref().or(cx.owner.only()) {
        Some(name) => vec![targets.resolve(&cx.owner.select(Some(name))?).await?.info],
        None => all(targets, &cx.owner).await,
    };
    let until = after(Instant::now(), request.wait).min(cx.deadline);
    loop {
        let found = join_all(infos.iter().map(|info| ask(targets, cx, info))).await;
        let online = found.iter().any(|target| target.status.availability == Availability::Online);
        if online || Instant::now() >= until || cx.cancel.is_cancelled() {
            return Ok(found);
        }
        tokio::select! {
            () = sleep_until((Instant::now() + ASK_AGAIN).min(until)) => {}
            () = cx.cancel.cancelled() => {}
        }
    }
}

/// All that the owner may use. Who has some targets of its own sees also those of them that no list names.
async fn all(targets: &dyn Targets, owner: &Owner) -> Vec<TargetInfo> {
    let mut infos = targets.list();
    infos.retain(|info| owner.reaches(&info.name));
    if let Access::Targets(own) = owner.access() {
        for name in own.iter() {
            if !infos.iter().any(|info| info.name == *name)
                && let Ok(target) = targets.resolve(name).await
            {
                infos.push(target.info);
            }
        }
    }
    infos
}

async fn ask(targets: &dyn Targets, cx: &Call, info: &TargetInfo) -> Target {
    let status = match targets.resolve(&info.name).await {
        Ok(target) => target.backend.status(cx).await,
        Err(error) => TargetStatus {
            availability: Availability::Offline,
            detail: Some(error.message().to_owned()),
            machine: None,
        },
    };
    Target { info: info.clone(), status }
}
