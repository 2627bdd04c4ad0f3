//! Keeping the way to a platform and its login alive while somebody uses it.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use sessiond_core::{TaskKind, Tasks};
use tokio::time::Instant;

use crate::backend::Site;
use crate::request::Request;

/// Asks a platform from time to time whether it is there.
const KEEPALIVE: TaskKind = TaskKind("agent platform keepalive");

/// How many times a platform is asked after its last use: who has not come back by then logs in anew.
const TIMES: u32 = 3;

/// When a platform was used, and whether it is being asked.
pub(crate) struct Keepalive {
    every: Option<Duration>,
    use_: Arc<Mutex<Use>>,
}

struct Use {
    last: Instant,
    asked: bool,
}

impl Keepalive {
    /// Asks so often; `None` never does.
    pub(crate) fn new(every: Option<Duration>) -> Self {
        Self { every, use_: Arc::new(Mutex::new(Use { last: Instant::now(), asked: false })) }
    }

    /// Somebody uses the platform now.
    pub(crate) fn used(&self, site: &Arc<Site>) {
        let Some(every) = self.every else { return };
        let mut used = self.use_.lock().unwrap_or_else(PoisonError::into_inner);
        used.last = Instant::now();
        if !std::mem::replace(&mut used.asked, true) {
            let task = ask(every, self.use_.clone(), Arc::downgrade(site), site.tasks.clone());
            site.tasks.spawn(KEEPALIVE, task);
        }
    }
}

/// Asks for as long as the last use is not too long ago.
async fn ask(every: Duration, used: Arc<Mutex<Use>>, site: Weak<Site>, tasks: Tasks) {
    let mut unused = 0;
    let mut next = Instant::now() + every;
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            () = tasks.cancelled() => return,
        }
        match due(&used, every, &mut unused) {
            Due::Later(at) => next = at,
            Due::Never => return,
            Due::Now => {
                let Some(site) = site.upgrade() else { return };
                let request = Request::follower(site.timeout, tasks.token().clone());
                if let Err(error) = site.dialect.check(&request).await {
                    tracing::warn!(%error, "an agent platform does not answer");
                }
                next = Instant::now() + every;
            }
        }
    }
}

enum Due {
    Now,
    Later(Instant),
    Never,
}

fn due(used: &Mutex<Use>, every: Duration, unused: &mut u32) -> Due {
    let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
    let next = used.last + every;
    if Instant::now() < next {
        *unused = 0;
        return Due::Later(next);
    }
    *unused += 1;
    if *unused > TIMES {
        used.asked = false;
        return Due::Never;
    }
    Due::Now
}
