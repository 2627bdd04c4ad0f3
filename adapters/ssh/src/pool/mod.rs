//! An owner's connections to one host: channels on those that have room, another connection when none has, and what
//! the owner runs there. Nothing here is shared between owners.

mod links;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use russh::Channel;
use russh::client::Msg;
use sessiond_core::{Call, ConnectionFacts, ConnectionStatus, HostKey, Machine, Mark, Owner, Result, TaskKind, Tasks};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use self::links::{Links, Refused};
use crate::hosts::HostRoutes;
use crate::link::{Link, LinkFacts, Refusal};
use crate::process::Running;
use crate::shell::{Group, Reach};
use crate::{ask, error, stop};

/// How long a connection may take to prove that it lives before it is replaced.
const PROOF: Duration = Duration::from_secs(10);

/// How long a host may take to say what it is. It can be used without that.
const FACTS: Duration = Duration::from_secs(5);

/// The grace for what a lost connection has left behind on its host, and how long its end may keep others waiting.
const LEFTOVER_GRACE: Duration = Duration::from_secs(2);
const SWEEPING: Duration = Duration::from_secs(8);

/// Ends what a lost connection has left behind.
const SWEEP: TaskKind = TaskKind("ssh sweep");

/// How long the end of the server waits for launches that are under way.
const LAUNCHES: Duration = Duration::from_secs(2);

/// So many groups that lost connections have left are remembered.
const MOST_LEFT: usize = 1024;

/// What every connection and process of a host needs.
pub(crate) struct Host {
    /// The target's name.
    pub(crate) name: String,
    /// Tells the way, anew for each connection: what an operator edits holds from the next one on.
    pub(crate) routes: HostRoutes,
    /// See `Config`.
    pub(crate) max_connections: usize,
    pub(crate) linger: Duration,
    pub(crate) write_stall: Duration,
    /// Connections, and what makes and clears them.
    pub(crate) tasks: Tasks,
    /// What asks the host something, stops included.
    pub(crate) scripts: Tasks,
    /// What drains processes.
    pub(crate) pumps: Tasks,
}

/// What a channel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// To run something: connects where there is no room, and leaves one channel of each connection for scripts.
    Work,
    /// To run a script beside what runs: takes that room, and connects only where a connection stands already.
    Aside,
}

/// An open channel, and the room that it takes until this is dropped.
pub(crate) struct Lease {
    pub(crate) channel: Channel<Msg>,
    pub(crate) link: Arc<Link>,
    pub(crate) period: u64,
    pub(crate) slot: Slot,
}

/// A channel's room on its connection.
pub(crate) struct Slot {
    pool: Arc<Pool>,
    link: u64,
    opened: bool,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.pool.links().release(self.link, self.opened);
    }
}

/// An owner's connections to one host, and what runs on them.
pub(crate) struct Pool {
    pub(crate) host: Arc<Host>,
    owner: Owner,
    /// All marks of this pool are its siblings.
    mark: Mark,
    links: Mutex<Links>,
    /// One connection is made at a time: servers refuse those that come at once (`MaxStartups`).
    turn: Arc<Semaphore>,
    /// What was started and may still have somebody on the host.
    started: Mutex<Started>,
    /// How many launches are under way: what they start is not among what was started yet.
    launches: watch::Sender<usize>,
    /// What kind of machine the host was in which period.
    machine: Mutex<Option<(u64, Machine)>>,
}

/// A launch under way, until this is dropped.
pub(crate) struct Launching(Arc<Pool>);

impl Drop for Launching {
    fn drop(&mut self) {
        self.0.launches.send_modify(|launches| *launches = launches.saturating_sub(1));
    }
}

/// What was started on a host.
#[derive(Default)]
struct Started {
    /// Anything at all.
    any: bool,
    /// What somebody still knows of.
    known: Vec<Weak<Running>>,
    /// What ran on connections that are lost, until the next one has ended it; nothing when nothing did.
    left: Option<Vec<Group>>,
}

impl Pool {
    /// # Errors
    /// `internal` without randomness.
    pub(crate) fn new(host: Arc<Host>, owner: Owner) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            host,
            owner,
            mark: Mark::random()?,
            links: Mutex::default(),
            turn: Arc::new(Semaphore::new(1)),
            started: Mutex::default(),
            launches: watch::Sender::default(),
            machine: Mutex::default(),
        }))
    }

    fn links(&self) -> MutexGuard<'_, Links> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A fresh mark.
    ///
    /// # Errors
    /// `internal` without randomness.
    pub(crate) fn mark(&self) -> Result<Mark> {
        self.mark.sibling()
    }

    /// Opens a channel, unless the token is cancelled before that.
    ///
    /// # Errors
    /// Those of connecting; `limit_exceeded` when there is no room; `unavailable` for a script without a connection.
    pub(crate) async fn lease(self: &Arc<Self>, want: Want, cx: &Call, gone: &CancellationToken) -> Result<Lease> {
        let since = Instant::now();
        loop {
            let reserved = self.links().reserve(want);
            let Some((link, period)) = reserved else {
                if want == Want::Aside && self.links().standing() == 0 {
                    return Err(error::not_connected(&self.host.name));
                }
                self.connect_one(want, cx, since, gone).await?;
                continue;
            };
            let (id, link) = link;
            let mut slot = Slot { pool: self.clone(), link: id, opened: false };
            let opened = gone.run_until_cancelled(timeout_at(cx.deadline, link.open_channel())).await;
            let opened = opened.ok_or_else(|| error::broke_off(&self.host.name))?;
            match opened.map_err(|_| error::timed_out(&self.host.name))? {
                Ok(channel) => {
                    self.links().opened(id);
                    slot.opened = true;
                    return Ok(Lease { channel, link, period, slot });
                }
                Err(Refusal::Full(why)) => match self.links().refused(id) {
                    Refused::Never => return Err(error::no_channel(&self.host.name, &why)),
                    // There is room here or elsewhere, or there will be.
                    Refused::Again | Refused::Elsewhere => {}
                },
                // It is not chosen again.
                Err(Refusal::Lost(_)) => {}
                Err(Refusal::Other(why)) => return Err(error::no_channel(&self.host.name, &why)),
            }
        }
    }

    /// Makes a connection, unless another call has made room meanwhile.
    async fn connect_one(
        self: &Arc<Self>,
        want: Want,
        cx: &Call,
        since: Instant,
        gone: &CancellationToken,
    ) -> Result<()> {
        let name = &self.host.name;
        let turn = timeout_at(cx.deadline, self.turn.clone().acquire_owned());
        let turn = gone.run_until_cancelled(turn).await.ok_or_else(|| error::broke_off(name))?;
        let turn = turn.map_err(|_| error::timed_out(name))?.map_err(|_| error::broke_off(name))?;
        let limit = self.host.max_connections + usize::from(want == Want::Aside);
        {
            let mut links = self.links();
            if links.has_room(want) {
                return Ok(());
            }
            if let Some(failed) = links.failed_since(since) {
                return Err(failed);
            }
            if links.standing() >= limit {
                return Err(error::too_many_connections(name, self.host.max_connections));
            }
        }
        let begun = Instant::now();
        let opened = gone.run_until_cancelled(timeout_at(cx.deadline, self.open(cx))).await;
        let opened = opened.ok_or_else(|| error::broke_off(name))?.unwrap_or_else(|_| Err(error::timed_out(name)));
        match opened {
            Ok(link) => {
                if let Some(swept) = self.add(link, turn) {
                    // Whoever has no time to wait for it hears of that where it wants to start something.
                    let _ = timeout_at(cx.deadline, swept).await;
                }
                Ok(())
            }
            Err(error) => {
                self.links().failed(begun, error.clone());
                Err(error)
            }
        }
    }

    async fn open(&self, cx: &Call) -> Result<Arc<Link>> {
        let route = self.host.routes.route(cx).await?;
        self.links().tried(&route);
        Link::open(&route, cx, &self.host.tasks).await
    }

    /// Adds a connection. Where a period begins and an earlier one has left something on the host, that is ended
    /// before anything new is started, in a task that keeps the turn: it would be taken for the same.
    fn add(self: &Arc<Self>, link: Arc<Link>, turn: OwnedSemaphorePermit) -> Option<oneshot::Receiver<()>> {
        let mut links = self.links();
        let left = if links.is_down() { self.started().left.take() } else { None };
        links.set_sweeping(left.is_some());
        links.add(link);
        drop(links);
        let left = left?;
        let (done, swept) = oneshot::channel();
        let pool = self.clone();
        self.host.tasks.spawn(SWEEP, async move {
            let stop = stop::family(&pool, left.clone(), LEFTOVER_GRACE);
            let swept = timeout(SWEEPING, pool.host.tasks.token().run_until_cancelled(stop)).await;
            if !matches!(swept, Ok(Some(Ok(_)))) {
                pool.leave(left);
            }
            pool.links().set_sweeping(false);
            drop(turn);
            // Whoever waits may have gone meanwhile.
            let _ = done.send(());
        });
        Some(swept)
    }

    /// These may live on where nobody can be asked just now, and others with a mark of this pool too.
    pub(crate) fn leave(&self, groups: impl IntoIterator<Item = Group>) {
        let mut started = self.started();
        let left = started.left.get_or_insert_default();
        left.extend(groups);
        // Those that are forgotten have their mark.
        let surplus = left.len().saturating_sub(MOST_LEFT);
        left.drain(..surplus);
    }

    /// Connects, or makes sure that a connection still answers, and tells what is known of it.
    ///
    /// # Errors
    /// Those of connecting.
    pub(crate) async fn connect(self: &Arc<Self>, cx: &Call) -> Result<Arc<Link>> {
        let since = Instant::now();
        let gone = CancellationToken::new();
        let mut fresh = false;
        loop {
            let standing = self.links().first();
            let Some(link) = standing else {
                self.connect_one(Want::Work, cx, since, &gone).await?;
                fresh = true;
                continue;
            };
            if fresh {
                return Ok(link);
            }
            match timeout_at(cx.deadline.min(Instant::now() + PROOF), link.round_trip()).await {
                Ok(Ok(())) => return Ok(link),
                Ok(Err(_)) | Err(_) if Instant::now() < cx.deadline => link.close().await,
                _ => return Err(error::timed_out(&self.host.name)),
            }
        }
    }

    /// What kind of machine the host is; asked once a connection period.
    pub(crate) async fn machine(self: &Arc<Self>, deadline: Instant) -> Option<Machine> {
        let period = self.period()?;
        let known = self.machine.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, machine)) = known.filter(|(asked_in, _)| *asked_in == period) {
            return Some(machine);
        }
        let machine = ask::facts(self, deadline.min(Instant::now() + FACTS)).await.ok()?;
        *self.machine.lock().unwrap_or_else(PoisonError::into_inner) = Some((period, machine.clone()));
        Some(machine)
    }

    /// Whether nothing stands, runs or is remembered here.
    pub(crate) fn is_idle(&self) -> bool {
        // One lock at a time: elsewhere the links are locked first.
        let clean = {
            let started = self.started();
            !started.any && started.left.is_none()
        };
        clean && *self.launches.borrow() == 0 && self.links().standing() == 0
    }

    /// Whether a standing connection answers; nothing when none stands.
    pub(crate) async fn answers(&self, deadline: Instant) -> Option<bool> {
        let link = self.links().first()?;
        Some(matches!(timeout_at(deadline, link.round_trip()).await, Ok(Ok(()))))
    }

    /// How the connections stand; nothing when nobody has tried to connect.
    pub(crate) fn status(&self) -> Option<ConnectionStatus> {
        self.links().status(&self.host.name)
    }

    /// The number of the latest period.
    pub(crate) fn period(&self) -> Option<u64> {
        self.links().period()
    }

    /// Closes all connections. Returns whether one stood.
    pub(crate) async fn disconnect(&self) -> bool {
        let all = self.links().take_all();
        let stood = all.iter().any(|link| link.loss().is_none());
        for link in all {
            link.close().await;
        }
        stood
    }

    fn started(&self) -> MutexGuard<'_, Started> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something is about to be launched. It is known of, or taken back, when this is dropped.
    pub(crate) fn launch(self: &Arc<Self>) -> Launching {
        self.launches.send_modify(|launches| *launches += 1);
        Launching(self.clone())
    }

    /// Remembers what was started, as long as it may have somebody on the host.
    pub(crate) fn remember(&self, running: &Arc<Running>) {
        let mut started = self.started();
        started.any = true;
        if started.known.len() == started.known.capacity() {
            started.known.retain(|running| running.upgrade().is_some_and(|running| !running.is_alone()));
        }
        started.known.push(Arc::downgrade(running));
    }

    /// Ends everything that was started here, as far as a connection stands.
    pub(crate) async fn shutdown(self: &Arc<Self>, grace: Duration) {
        // Whoever asked for a launch has gone, so it is being taken back; who asked for none any more starts none.
        let mut launches = self.launches.subscribe();
        let _ = timeout(LAUNCHES, launches.wait_for(|launches| *launches == 0)).await;
        let groups: Vec<Group> = {
            let started = self.started();
            if !started.any {
                return;
            }
            let known = started.known.iter().rev().filter_map(Weak::upgrade);
            // Those that are left out have their mark.
            known.filter(|running| !running.is_alone()).map(|running| running.group()).take(MOST_LEFT).collect()
        };
        if self.links().standing() > 0 {
            let _ = stop::family(self, groups, grace).await;
        }
    }

    /// All that this pool has ever started.
    pub(crate) fn reach(&self) -> Reach {
        Reach::Family(self.mark)
    }

    /// A call of the owner that a script is asked in.
    pub(crate) fn call(&self, deadline: Instant) -> Call {
        Call { deadline, ..Call::new(self.owner.clone()) }
    }
}

/// What the core tells of a connection.
pub(crate) fn facts_of(facts: &LinkFacts, machine: Option<Machine>) -> ConnectionFacts {
    ConnectionFacts {
        host: facts.host.clone(),
        user: facts.user.clone(),
        port: facts.port,
        os: machine.and_then(|machine| machine.os),
        server_version: facts.server_version.clone(),
        host_key: HostKey {
            kind: facts.host_key.kind.clone(),
            fingerprint: facts.host_key.fingerprint.clone(),
            verified_by: facts.host_key.verified_by.clone(),
        },
        auth_method: facts.auth_method.clone(),
        hops: facts.hops.clone(),
    }
}
