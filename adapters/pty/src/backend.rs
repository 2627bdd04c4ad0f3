//! This machine as a backend: starts sessions and commands, and says honestly whether it can.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use rustix::process::Pid;
use sessiond_core::{
    Availability, Backend, Call, Capabilities, Capability, Command, CommandSpec, Error, Invocation, Machine, Mark,
    OutputSink, Result, Session, SessionSpec, TargetStatus, TaskKind, Tasks,
};
use tokio::io::Interest;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use crate::children::Children;
use crate::command::PtyCommand;
use crate::config::Config;
use crate::launch::{Base, Launch, Place};
use crate::pipes::Ours;
use crate::running::{Group, Running, Watched, watch_process};
use crate::scans::Scans;
use crate::session::PtySession;
use crate::sys::Stdio;
use crate::{children, clock, error, launch, pipes, process, pump, reaper, stat, stop, sys, terminal, view};

/// Pumps one session from its start to its end.
const SESSION: TaskKind = TaskKind("pty session");
/// Pumps one command from its start to its end.
const COMMAND: TaskKind = TaskKind("pty command");
/// Reaps orphans until the backend shuts down.
const REAPER: TaskKind = TaskKind("pty reaper");

/// Reads into nothing what an ended command has left behind prints.
const SPILL: TaskKind = TaskKind("pty spill");
/// Looks at a directory.
const DIRECTORY: TaskKind = TaskKind("pty directory");

/// How long a directory may take to answer, and how many may be waited for at once: each holds a thread meanwhile.
const ANSWER: Duration = Duration::from_secs(10);
const LOOKS: usize = 16;

/// How long the tasks have to end once everything else has.
const LAST_BYTES: Duration = Duration::from_millis(500);

/// How many backends this process has: nearly always one.
static BACKENDS: AtomicUsize = AtomicUsize::new(0);

/// This machine.
pub struct Pty {
    kit: Arc<Kit>,
}

/// What every session and command needs of its backend.
pub(crate) struct Kit {
    pub(crate) config: Config,
    base: Base,
    /// The sibling of every mark that this backend gives.
    pub(crate) mark: Mark,
    pub(crate) scans: Scans,
    pub(crate) started: u64,
    /// What serves all sessions, and the stops.
    pub(crate) tasks: Tasks,
    /// The pumps. They end with what they pump; after a shutdown, with `tasks` at the latest.
    pumps: Tasks,
    reaped: watch::Sender<()>,
    /// For looks at directories.
    looks: Arc<Semaphore>,
    /// Nothing starts any more. Set with the children locked: a start is seen by the shutdown or refused.
    closing: AtomicBool,
}

impl Kit {
    /// A leader was reaped: orphans may have waited behind it.
    pub(crate) fn leader_reaped(&self) {
        self.reaped.send_replace(());
    }

    /// Whether no other backend of this process can have started anything.
    pub(crate) fn is_alone(&self) -> bool {
        BACKENDS.load(Ordering::SeqCst) == 1
    }

    /// Runs what may block on a thread that may be blocked. Nothing when it could not be run to its end.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        kind: TaskKind,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.tasks.spawn_blocking(kind, move || {
            // Whoever asked may have gone meanwhile.
            let _ = answer.send(work());
        });
        answered.await.ok()
    }

    /// What is wrong with a directory. One on a file system that does not answer would hold the thread that starts
    /// things, and with it the lock of all children.
    async fn wrong_directory(&self, directory: PathBuf, deadline: Instant) -> Option<Error> {
        let shown = directory.display().to_string();
        let looks = self.looks.clone();
        let look = async {
            let permit = looks.acquire_owned().await.ok()?;
            self.blocking(DIRECTORY, move || {
                let wrong = error::wrong_directory(&directory);
                drop(permit);
                wrong
            })
            .await?
        };
        timeout_at(deadline.min(clock::after(ANSWER)), look).await.unwrap_or_else(|_| {
            Some(Error::unavailable(format!(
                "directory {shown} does not answer, perhaps because its file system is away: name another in cwd"
            )))
        })
    }

    /// Checks where something is to run.
    async fn enter(&self, invocation: &Invocation, cx: &Call) -> Result<()> {
        let directory = launch::directory(&self.config, invocation.cwd.as_deref())?;
        self.wrong_directory(directory, cx.deadline).await.map_or(Ok(()), Err)
    }

    /// Keeps reading what an ended command's children print, until the end of the backend.
    pub(crate) fn spill(&self, pipes: Ours) {
        let last = self.tasks.token().clone();
        self.tasks.spawn(SPILL, async move {
            last.run_until_cancelled_owned(pipes.spill()).await;
        });
    }

    fn pump(self: &Arc<Self>, kind: TaskKind, pump: impl Future<Output = ()> + Send + 'static) {
        let last = self.tasks.token().clone();
        // Every future that is handed a future keeps room for it twice; a boxed one is small enough for that.
        let pump = Box::pin(pump);
        self.pumps.spawn(kind, async move {
            last.run_until_cancelled_owned(pump).await;
        });
    }

    /// # Errors
    /// `unavailable` when the server shuts down: nobody would end what is started now.
    fn children(&self) -> Result<MutexGuard<'static, Children>> {
        let children = children::lock();
        if self.closing.load(Ordering::SeqCst) {
            return Err(Error::unavailable("the server is shutting down: start again when it is back"));
        }
        Ok(children)
    }
}

impl Drop for Kit {
    fn drop(&mut self) {
        BACKENDS.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Pty {
    /// This machine, ready to start things. To be called inside a runtime, whose signal handling it uses, after
    /// [`prepare_process`](crate::prepare_process).
    ///
    /// # Errors
    /// `invalid_argument` when the configuration has a NUL character; `internal` when the system refuses what a
    /// server needs.
    pub fn new(config: Config) -> Result<Arc<Self>> {
        process::prepare_process()?;
        let base = Base::new(&config)?;
        let exits = signal(SignalKind::child()).map_err(|error| error::refused("watching for exits", &error))?;
        let tasks = Tasks::new();
        let reaped = watch::Sender::new(());
        let nudged = reaped.subscribe();
        let scans = Scans::new(tasks.clone());
        let mark = Mark::random()?;
        BACKENDS.fetch_add(1, Ordering::SeqCst);
        let kit = Arc::new(Kit {
            config,
            base,
            mark,
            scans,
            started: stat::now(),
            tasks,
            pumps: Tasks::new(),
            reaped,
            looks: Arc::new(Semaphore::new(LOOKS)),
            closing: AtomicBool::new(false),
        });
        kit.tasks.spawn(REAPER, reaper::run(Arc::downgrade(&kit), kit.tasks.cancelled(), exits, nudged));
        Ok(Arc::new(Self { kit }))
    }

    /// Everything from the first descriptor to the pump, in one step that cannot be interrupted by a dropped call.
    fn start_terminal(&self, spec: &SessionSpec, out: OutputSink) -> Result<PtySession> {
        let kit = &self.kit;
        let mark = kit.mark.sibling()?;
        let place = Place::Terminal { login: spec.login };
        let launch = Launch::new(&kit.config, &kit.base, &spec.invocation, place, mark)?;
        let started = stat::now();
        let mut children = kit.children()?;
        let fresh = terminal::open(spec.size).map_err(|error| error::refused("opening a terminal", &error))?;
        let master = sys::watch(fresh.master, Interest::READABLE)
            .map_err(|error| error::refused("watching a terminal", &error))?;
        let master = Arc::new(master);
        let leader = launch
            .with_program(Stdio::Terminal(&fresh.name), |program| children.spawn(program, mark))
            .map_err(|error| error::launch(&error, launch.shell(), launch.directory()))?;
        drop(fresh.slave);
        let running = adopt(&mut children, leader, (mark, started), Some(master.clone()))?;
        drop(children);
        kit.pump(SESSION, pump::session(kit.clone(), running.clone(), master, out));
        Ok(PtySession::new(kit.clone(), running))
    }

    fn start_pipes(&self, spec: &CommandSpec, out: OutputSink) -> Result<PtyCommand> {
        let kit = &self.kit;
        let mark = kit.mark.sibling()?;
        let launch = Launch::new(&kit.config, &kit.base, &spec.invocation, Place::Pipes, mark)?;
        let started = stat::now();
        let mut children = kit.children()?;
        let pipes =
            pipes::open(spec.stdin.clone()).map_err(|error| error::refused("opening the command's pipes", &error))?;
        let leader = launch
            .with_program(Stdio::Pipes(pipes.child_ends()), |program| children.spawn(program, mark))
            .map_err(|error| error::launch(&error, launch.shell(), launch.directory()))?;
        let ours = pipes.into_ours();
        let running = adopt(&mut children, leader, (mark, started), None)?;
        drop(children);
        kit.pump(COMMAND, pipes::command(kit.clone(), running.clone(), ours, out));
        Ok(PtyCommand::new(kit.clone(), running))
    }
}

/// Puts what was just started under watch, or takes it back.
fn adopt(
    children: &mut Children,
    leader: Pid,
    (mark, started): (Mark, u64),
    terminal: Option<Arc<Watched>>,
) -> Result<Arc<Running>> {
    let watched = watch_process(leader).map_err(|error| {
        children.abort(leader);
        error::refused("watching the new process", &error)
    })?;
    Ok(Arc::new(Running::new(Group { leader, started, mark }, watched, terminal)))
}

#[async_trait]
impl Backend for Pty {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of(&[
            Capability::Sessions,
            Capability::Commands,
            Capability::Write,
            Capability::Eof,
            Capability::Resize,
            Capability::Signals,
        ])
    }

    async fn status(&self, cx: &Call) -> TargetStatus {
        let config = &self.kit.config;
        let wrong = match launch::directory(config, None) {
            Ok(directory) => {
                let wrong = self.kit.wrong_directory(directory, cx.deadline).await;
                wrong.or_else(|| error::wrong_shell(config.shell()))
            }
            Err(error) => Some(error),
        };
        let hidden = || (!view::is_whole()).then(|| view::HIDDEN.to_owned());
        let system = rustix::system::uname();
        let text = |text: &std::ffi::CStr| Some(text.to_string_lossy().into_owned());
        TargetStatus {
            availability: if wrong.is_none() { Availability::Online } else { Availability::Offline },
            detail: wrong.map(|error| error.message().to_owned()).or_else(hidden),
            machine: Some(Machine {
                os: text(system.sysname()).map(|name| name.to_lowercase()),
                arch: text(system.machine()),
                hostname: text(system.nodename()),
                shell: Some(config.shell().display().to_string()),
            }),
        }
    }

    async fn start_session(&self, cx: &Call, spec: SessionSpec, out: OutputSink) -> Result<Box<dyn Session>> {
        spec.invocation.check()?;
        self.kit.enter(&spec.invocation, cx).await?;
        Ok(Box::new(self.start_terminal(&spec, out)?))
    }

    async fn run_command(&self, cx: &Call, spec: CommandSpec, out: OutputSink) -> Result<Box<dyn Command>> {
        spec.invocation.check()?;
        self.kit.enter(&spec.invocation, cx).await?;
        Ok(Box::new(self.start_pipes(&spec, out)?))
    }

    async fn shutdown(&self, grace: Duration) {
        {
            let _children = children::lock();
            self.kit.closing.store(true, Ordering::SeqCst);
        }
        stop::everything(&self.kit, grace).await;
        // What was stopped is pumped to its end; then whatever still hangs is let go of, which ends its log.
        self.kit.pumps.shutdown(LAST_BYTES).await;
        self.kit.tasks.shutdown(LAST_BYTES).await;
        self.kit.pumps.shutdown(LAST_BYTES).await;
    }
}
