//! The backend of one host: what the core asks of it, for each owner on connections of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use sessiond_core::{
    Availability, Backend, Call, Capabilities, Capability, Command, CommandSpec, ConnectionFacts, ConnectionStatus,
    Connections, Error, OutputSink, Owner, Result, Session, SessionSpec, TargetStatus, TaskKind, Tasks,
};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::command::SshCommand;
use crate::error;
use crate::hosts::HostRoutes;
use crate::pool::{self, Host, Pool};
use crate::process::Running;
use crate::run::{self, Caller, Job, Place};
use crate::session::SshSession;
use crate::shell::Launch;

/// Runs one session from its launch to its end.
const SESSION: TaskKind = TaskKind("ssh session");
/// Runs one command from its launch to its end.
const COMMAND: TaskKind = TaskKind("ssh command");

/// How long a look at a host may take that nobody waits for by itself.
const LOOK: Duration = Duration::from_secs(2);

/// How long the tasks have to end once everything else has.
const LAST_BYTES: Duration = Duration::from_millis(500);

/// One host.
pub(crate) struct SshBackend {
    host: Arc<Host>,
    /// By the owner's name: two owners of one name are the same.
    pools: Mutex<HashMap<Arc<str>, Arc<Pool>>>,
    /// Nothing starts any more.
    closing: AtomicBool,
}

impl SshBackend {
    /// The host to which these routes lead. Nothing is connected yet.
    pub(crate) fn new(routes: HostRoutes) -> Arc<Self> {
        let config = routes.config();
        let host = Host {
            name: routes.name().to_owned(),
            max_connections: config.max_connections.max(1),
            linger: config.linger,
            write_stall: config.write_stall,
            routes,
            tasks: Tasks::new(),
            scripts: Tasks::new(),
            pumps: Tasks::new(),
        };
        Arc::new(Self { host: Arc::new(host), pools: Mutex::default(), closing: AtomicBool::new(false) })
    }

    fn pools(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Pool>>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody has anything here: another backend in its place would do as well.
    pub(crate) fn is_idle(&self) -> bool {
        self.pools().values().all(|pool| Arc::strong_count(pool) == 1 && pool.is_idle())
    }

    fn known(&self, owner: &Owner) -> Option<Arc<Pool>> {
        self.pools().get(owner.name()).cloned()
    }

    /// The owner's own pool.
    ///
    /// # Errors
    /// `unavailable` when the server shuts down: nobody would end what is started now.
    fn pool(&self, owner: &Owner) -> Result<Arc<Pool>> {
        let mut pools = self.pools();
        if self.closing.load(Ordering::SeqCst) {
            return Err(Error::unavailable("the server is shutting down: start again when it is back"));
        }
        if let Some(pool) = pools.get(owner.name()) {
            return Ok(pool.clone());
        }
        let pool = Pool::new(self.host.clone(), owner.clone())?;
        pools.insert(owner.name().clone(), pool.clone());
        Ok(pool)
    }

    /// Starts a process in a task of its own, which takes it back when nobody waits for it any more.
    async fn start(
        &self,
        kind: TaskKind,
        cx: &Call,
        (pool, job): (Arc<Pool>, Job),
        out: OutputSink,
    ) -> Result<Arc<Running>> {
        let (answer, answered) = oneshot::channel();
        let gone = CancellationToken::new();
        let waits = gone.clone().drop_guard();
        let caller = Caller { cx: cx.clone(), gone, answer };
        let last = self.host.pumps.token().clone();
        // Every future that is handed a future keeps room for it twice; a boxed one is small enough for that.
        let task = Box::pin(run::run(pool, job, caller, out));
        self.host.pumps.spawn(kind, async move {
            last.run_until_cancelled_owned(task).await;
        });
        let name = &self.host.name;
        let started = timeout_at(cx.deadline, answered).await.map_err(|_| error::timed_out(name))?;
        let running = started.map_err(|_| error::broke_off(name))??.claim();
        // It must not be taken back now.
        drop(waits.disarm());
        running.ok_or_else(|| error::broke_off(name))
    }
}

#[async_trait]
impl Backend for SshBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of(&[
            Capability::Sessions,
            Capability::Commands,
            Capability::Write,
            Capability::Eof,
            Capability::Resize,
            Capability::Signals,
            Capability::Connections,
        ])
    }

    async fn status(&self, cx: &Call) -> TargetStatus {
        let unknown = |detail| TargetStatus { availability: Availability::Unknown, detail, machine: None };
        let Some(pool) = self.known(&cx.owner) else { return unknown(None) };
        let deadline = cx.deadline.min(Instant::now() + LOOK);
        match pool.answers(deadline).await {
            Some(true) => {
                let machine = pool.machine(deadline).await;
                TargetStatus { availability: Availability::Online, detail: None, machine }
            }
            Some(false) => TargetStatus {
                availability: Availability::Offline,
                detail: Some("it is connected, but does not answer".to_owned()),
                machine: None,
            },
            None => {
                let detail = pool.status().and_then(|status| status.last_error);
                match detail {
                    Some(_) => TargetStatus { availability: Availability::Offline, detail, machine: None },
                    None => unknown(None),
                }
            }
        }
    }

    async fn start_session(&self, cx: &Call, spec: SessionSpec, out: OutputSink) -> Result<Box<dyn Session>> {
        spec.invocation.check()?;
        let pool = self.pool(&cx.owner)?;
        let mark = pool.mark()?;
        let launch = Launch::on_terminal(&spec.invocation, mark, spec.login)?;
        let job = Job { mark, launch, cwd: spec.invocation.cwd, place: Place::Terminal(spec.size) };
        Ok(Box::new(SshSession::new(self.start(SESSION, cx, (pool, job), out).await?)))
    }

    async fn run_command(&self, cx: &Call, spec: CommandSpec, out: OutputSink) -> Result<Box<dyn Command>> {
        spec.invocation.check()?;
        let pool = self.pool(&cx.owner)?;
        let mark = pool.mark()?;
        let launch = Launch::piped(&spec.invocation, mark)?;
        let job = Job { mark, launch, cwd: spec.invocation.cwd, place: Place::Pipes(spec.stdin) };
        Ok(Box::new(SshCommand::new(self.start(COMMAND, cx, (pool, job), out).await?)))
    }

    fn connections(&self) -> Option<&dyn Connections> {
        Some(self)
    }

    async fn shutdown(&self, grace: Duration) {
        let pools: Vec<Arc<Pool>> = {
            let pools = self.pools();
            self.closing.store(true, Ordering::SeqCst);
            pools.values().cloned().collect()
        };
        futures_util::future::join_all(pools.iter().map(|pool| pool.shutdown(grace))).await;
        // Stops that others have asked for come to their own end: each is to have its outcome.
        self.host.scripts.settled(grace + LAST_BYTES).await;
        self.host.scripts.shutdown(LAST_BYTES).await;
        // What was stopped is drained to its end; then whatever still hangs is let go of, which ends its log.
        self.host.pumps.settled(LAST_BYTES).await;
        self.host.pumps.shutdown(LAST_BYTES).await;
        futures_util::future::join_all(pools.iter().map(|pool| pool.disconnect())).await;
        self.host.tasks.shutdown(LAST_BYTES).await;
    }
}

#[async_trait]
impl Connections for SshBackend {
    async fn connect(&self, cx: &Call) -> Result<ConnectionFacts> {
        let pool = self.pool(&cx.owner)?;
        let link = pool.connect(cx).await?;
        let machine = pool.machine(cx.deadline).await;
        Ok(pool::facts_of(link.facts(), machine))
    }

    fn status(&self, owner: &Owner) -> Option<ConnectionStatus> {
        self.known(owner)?.status()
    }

    fn period(&self, owner: &Owner) -> Option<u64> {
        self.known(owner)?.period()
    }

    async fn disconnect(&self, cx: &Call) -> bool {
        match self.known(&cx.owner) {
            Some(pool) => pool.disconnect().await,
            None => false,
        }
    }
}
