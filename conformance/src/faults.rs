//! A backend that misbehaves by plan, over any backend: what the core must bear from an adapter or from a link.
//!
//! Each start draws its [`Plan`] from a seed, so that what went wrong once goes wrong again. The process behind it is
//! real (or scripted); its output goes through a log of its own and a relay that cuts it, delays it, loses bytes of it
//! and says so, and ends it as planned. Within what the traits allow, nothing is too odd:
//!
//! - a start that takes its time, fails at once, fails after the process has run, or never returns
//! - a start that returns only after the output has ended
//! - output byte by byte, and lost bytes that are counted
//! - a link that breaks in the middle, and a sink that is let go of without an end
//! - a stop whose outcome comes long before the end or long after it, is not confirmed, is refused at first, or breaks
//! - writes that stop half-way or are refused

mod plan;

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::{Either, join, select};
use sessiond_core::{
    Backend, Call, Capabilities, Command, CommandSpec, Connections, Cursor, Error, Facts, LogKind, NativeId, OutputLog,
    OutputSink, Owner, Process, Result, Retention, Session, SessionSpec, Signal, SignalTarget, Stopped, Stream,
    TargetStatus, TaskKind, Tasks, Wait, WindowSize, Written,
};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

pub use plan::{Dice, Ending, LONGEST_DELAY, Launching, Plan, Stopping, Writing};

/// Carries the output of one process on, with its faults.
const RELAY: TaskKind = TaskKind("faults.relay");

/// Stops a process that nobody has got a handle to.
const CLEAN: TaskKind = TaskKind("faults.clean");

/// The grace of stops that the decorator itself asks for.
const GRACE: Duration = Duration::from_millis(100);

/// How long one look at the output waits before it waits again.
const LOOK: Duration = Duration::from_secs(3600);

/// How many bytes of output wait for their relay.
const BACKLOG: usize = 1 << 20;

/// The misbehaving backend.
pub struct Faults {
    inner: Arc<dyn Backend>,
    plans: Box<dyn Fn(u64) -> Plan + Send + Sync>,
    started: AtomicU64,
    tasks: Tasks,
}

impl Faults {
    /// Over `inner`, with the plan that `plans` gives for the number of each start, from 0.
    pub fn over(inner: Arc<dyn Backend>, plans: impl Fn(u64) -> Plan + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { inner, plans: Box::new(plans), started: AtomicU64::new(0), tasks: Tasks::new() })
    }

    /// Over `inner`, with plans drawn from a seed.
    pub fn seeded(inner: Arc<dyn Backend>, seed: u64) -> Arc<Self> {
        Self::over(inner, move |number| Plan::drawn(seed, number))
    }

    /// How many of its own tasks run.
    pub fn running(&self) -> usize {
        self.tasks.len()
    }

    /// Draws the plan of a start and carries out what comes before the process.
    async fn admit(&self) -> Result<Plan> {
        let plan = (self.plans)(self.started.fetch_add(1, Ordering::Relaxed));
        sleep(plan.launch_delay).await;
        match plan.launching {
            Launching::Refused => Err(Error::unavailable("the target has refused the launch, as planned")),
            Launching::Hangs => pending().await,
            _ => Ok(plan),
        }
    }

    /// Connects a process that has started with its sink, and carries out what comes before its handle is there.
    async fn connect(&self, plan: Plan, link: Link, process: Arc<dyn Process>, out: OutputSink) -> Result<()> {
        let guard = Unclaimed { process: Some(process.clone()), tasks: self.tasks.clone() };
        let (finished, mut level) = watch::channel(false);
        let cancelled = self.tasks.cancelled();
        let relayed = process.clone();
        self.tasks.spawn(RELAY, async move {
            let relay = std::pin::pin!(relay(plan, link, relayed, out));
            select(relay, std::pin::pin!(cancelled)).await;
            finished.send_replace(true);
        });
        match plan.launching {
            Launching::EndsFirst => {
                let _ = timeout(LONGEST_DELAY, level.wait_for(|finished| *finished)).await;
            }
            Launching::FailsLate => {
                sleep(plan.launch_delay).await;
                // The guard stops it too when this future is dropped half-way.
                process.stop(GRACE).await?;
                return Err(Error::unavailable("the target has taken its launch back, as planned"));
            }
            _ => {}
        }
        guard.claim();
        Ok(())
    }
}

/// Stops a process whose start does not return its handle.
struct Unclaimed {
    process: Option<Arc<dyn Process>>,
    tasks: Tasks,
}

impl Unclaimed {
    fn claim(mut self) {
        self.process = None;
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            self.tasks.spawn(CLEAN, async move {
                // What a decorator cannot stop, the backend's own end stops.
                let _ = process.stop(GRACE).await;
            });
        }
    }
}

/// The log between a process and its relay.
struct Link(Arc<OutputLog>);

impl Link {
    fn new(kind: LogKind) -> (Self, OutputSink) {
        let log = OutputLog::new(kind, Retention::Newest(BACKLOG));
        (Self(log.clone()), OutputSink::new(log))
    }

    /// Carries one stream on to its end, or until the link breaks: returns whether it has not.
    async fn copy(&self, plan: Plan, stream: Stream, out: &Mutex<OutputSink>) -> bool {
        let cx = Call::new(Owner::management("faults"));
        let wait = Wait { time: LOOK, ..Wait::default() };
        let (mut from, mut passed, mut number) = (Cursor::START, 0, 0);
        loop {
            let Ok(read) = self.0.read_when(&cx, stream, from, &wait).await else { return false };
            let slice = read.slice;
            with(out, |out| out.lost(stream, slice.start.0 - from.0));
            for piece in slice.bytes.chunks(if plan.cut == 0 { usize::MAX } else { plan.cut }) {
                if matches!(plan.ending, Ending::BreaksAfter(bytes) if passed >= bytes) {
                    return false;
                }
                number += 1;
                passed += piece.len() as u64;
                if plan.lose_every > 0 && number % plan.lose_every == 0 {
                    with(out, |out| out.lost(stream, piece.len() as u64));
                } else {
                    with(out, |out| out.push(stream, piece));
                }
                if !plan.pause.is_zero() {
                    sleep(plan.pause).await;
                }
            }
            from = slice.next;
            if slice.ended.is_some() {
                return true;
            }
        }
    }
}

fn with(out: &Mutex<OutputSink>, act: impl FnOnce(&mut OutputSink)) {
    act(&mut out.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Carries the output of a process on to its end, as planned.
async fn relay(plan: Plan, link: Link, process: Arc<dyn Process>, out: OutputSink) {
    let out = Mutex::new(out);
    let whole = {
        let stdout = std::pin::pin!(link.copy(plan, Stream::Stdout, &out));
        let stderr = std::pin::pin!(link.copy(plan, Stream::Stderr, &out));
        match select(stdout, stderr).await {
            Either::Left((true, stderr)) => stderr.await,
            Either::Right((true, stdout)) => stdout.await,
            Either::Left((false, _)) | Either::Right((false, _)) => false,
        }
    };
    let out = out.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !whole {
        // A stop that fails leaves the process to the end of its backend.
        join(async { drop(out) }, process.stop(GRACE)).await.1.ok();
        return;
    }
    sleep(plan.end_delay).await;
    match plan.ending {
        Ending::Dropped => drop(out),
        _ => out.finish(link.0.ended().await.exit),
    }
}

#[async_trait]
impl Backend for Faults {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn status(&self, cx: &Call) -> TargetStatus {
        self.inner.status(cx).await
    }

    async fn start_session(&self, cx: &Call, spec: SessionSpec, out: OutputSink) -> Result<Box<dyn Session>> {
        let plan = self.admit().await?;
        let (link, sink) = Link::new(LogKind::Session(spec.size));
        let session: Arc<dyn Session> = self.inner.start_session(cx, spec, sink).await?.into();
        self.connect(plan, link, session.clone(), out).await?;
        Ok(Box::new(Faulty::new(session, plan)))
    }

    async fn attach_session(&self, cx: &Call, native: &NativeId, out: OutputSink) -> Result<Box<dyn Session>> {
        let plan = self.admit().await?;
        let (link, sink) = Link::new(LogKind::Session(WindowSize::default()));
        let session: Arc<dyn Session> = self.inner.attach_session(cx, native, sink).await?.into();
        self.connect(plan, link, session.clone(), out).await?;
        Ok(Box::new(Faulty::new(session, plan)))
    }

    async fn run_command(&self, cx: &Call, spec: CommandSpec, out: OutputSink) -> Result<Box<dyn Command>> {
        let plan = self.admit().await?;
        let (link, sink) = Link::new(LogKind::Command);
        let command: Arc<dyn Command> = self.inner.run_command(cx, spec, sink).await?.into();
        self.connect(plan, link, command.clone(), out).await?;
        Ok(Box::new(Faulty::new(command, plan)))
    }

    fn connections(&self) -> Option<&dyn Connections> {
        self.inner.connections()
    }

    async fn shutdown(&self, grace: Duration) {
        self.inner.shutdown(grace).await;
        self.tasks.shutdown(grace).await;
    }
}

/// A process that is stopped and written to as planned.
struct Faulty<P: ?Sized> {
    inner: Arc<P>,
    plan: Plan,
    stopped: AtomicBool,
}

impl<P: ?Sized> Faulty<P> {
    fn new(inner: Arc<P>, plan: Plan) -> Self {
        Self { inner, plan, stopped: AtomicBool::new(false) }
    }
}

#[async_trait]
impl<P: Process + ?Sized> Process for Faulty<P> {
    fn facts(&self) -> Facts {
        self.inner.facts()
    }

    async fn signal(&self, cx: &Call, signal: Signal, to: SignalTarget) -> Result<()> {
        self.inner.signal(cx, signal, to).await
    }

    async fn stop(&self, grace: Duration) -> Result<Stopped> {
        let is_first = !self.stopped.swap(true, Ordering::Relaxed);
        match self.plan.stopping {
            Stopping::RefusedOnce if is_first => {
                sleep(self.plan.outcome_delay).await;
                return Err(Error::unavailable("the target has refused the stop, as planned"));
            }
            Stopping::HangsOnce if is_first => return pending().await,
            // Unwinds without a word on stderr: nobody is to look for a fault here.
            Stopping::BreaksOnce if is_first => std::panic::resume_unwind(Box::new("the stop breaks, as planned")),
            _ => {}
        }
        let stopped = self.inner.stop(grace).await?;
        sleep(self.plan.outcome_delay).await;
        match self.plan.stopping {
            Stopping::Unconfirmed => Ok(Stopped::Unconfirmed { pids: self.facts().pid.into_iter().collect() }),
            _ => Ok(stopped),
        }
    }

    async fn descendants(&self) -> Vec<u32> {
        self.inner.descendants().await
    }
}

#[async_trait]
impl Session for Faulty<dyn Session> {
    async fn write(&self, cx: &Call, input: Bytes) -> Result<Written> {
        match self.plan.writing {
            Writing::Sound => self.inner.write(cx, input).await,
            Writing::Refused => Err(Error::unavailable("the target has refused the write, as planned")),
            Writing::Half => {
                let written = self.inner.write(cx, input.slice(..input.len() / 2)).await?;
                Ok(Written { stalled: Some("the target has taken half of it, as planned".to_owned()), ..written })
            }
        }
    }

    async fn eof(&self, cx: &Call) -> Result<()> {
        self.inner.eof(cx).await
    }

    async fn resize(&self, cx: &Call, size: WindowSize) -> Result<()> {
        self.inner.resize(cx, size).await
    }
}

impl Command for Faulty<dyn Command> {}
