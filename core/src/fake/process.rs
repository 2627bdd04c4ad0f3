//! A process of the fake: one task that carries out a script, and the handle to it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::links::{Link, Loss};
use super::script::{Script, Statement};
use super::terminal::Input;
use crate::backend::{Command, Facts, Process, Session, SignalTarget, Stopped, Written};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::output::{Exit, OutputSink, Stream};
use crate::spec::{Invocation, Signal, WindowSize};
use crate::task::{TaskKind, Tasks};

/// Carries out one script.
const SCRIPT: TaskKind = TaskKind("fake.script");

/// Where a script runs that is not told.
const HOME: &str = "/home/fake";

/// How long a write waits for a program that does not read.
const WRITE_STALL: Duration = Duration::from_secs(5);

/// What a script runs in.
pub(super) struct Surroundings {
    input: Input,
    size: Option<WindowSize>,
    invocation: Invocation,
    /// The connection that it runs on, where the fake is a host.
    link: Option<Link>,
}

impl Surroundings {
    pub(super) fn terminal(size: WindowSize, invocation: Invocation, link: Option<Link>) -> Self {
        Self { input: Input::open(), size: Some(size), invocation, link }
    }

    pub(super) fn pipes(stdin: &[u8], invocation: Invocation, link: Option<Link>) -> Self {
        Self { input: Input::whole(stdin), size: None, invocation, link }
    }
}

/// What is known of a process from outside and from inside, published as a level.
#[derive(Debug, Default)]
struct State {
    /// A signal that ends it.
    fatal: Option<Signal>,
    trapped: Vec<Signal>,
    unkillable: bool,
    ended: bool,
    descendants: Vec<u32>,
    size: Option<WindowSize>,
}

/// A running script.
pub(super) struct FakeProcess {
    pid: u32,
    period: Option<u64>,
    input: Input,
    state: watch::Sender<State>,
    /// The output goes through here too, so that what is typed is echoed.
    out: Arc<Mutex<Option<OutputSink>>>,
}

/// The inside of a running script.
struct Runner {
    pid: u32,
    input: Input,
    state: watch::Sender<State>,
    out: Arc<Mutex<Option<OutputSink>>>,
    terminal: bool,
    invocation: Invocation,
    link: Option<Link>,
    status: i32,
}

impl FakeProcess {
    pub(super) fn start(pid: u32, script: Script, around: Surroundings, out: OutputSink, tasks: &Tasks) -> Self {
        let state = watch::Sender::new(State { size: around.size, ..State::default() });
        let out = Arc::new(Mutex::new(Some(out)));
        let period = around.link.as_ref().map(|link| link.period);
        let mut channel = around.link.as_ref().map(Link::channel);
        let runner = Runner {
            pid,
            input: around.input.clone(),
            state: state.clone(),
            out: out.clone(),
            terminal: around.size.is_some(),
            invocation: around.invocation,
            link: around.link,
            status: 0,
        };
        let cancelled = tasks.cancelled();
        tasks.spawn(SCRIPT, async move {
            let mut runner = runner;
            let mut level = runner.state.subscribe();
            let exit = tokio::select! {
                exit = runner.run(script) => exit,
                why = broken(&mut channel) => Some(Exit::Lost(why)),
                signal = fatal(&mut level) => Some(Exit::Signaled(signal.name().to_owned())),
                () = cancelled => Some(Exit::Signaled(Signal::Kill.name().to_owned())),
            };
            runner.end(exit);
        });
        Self { pid, period, input: around.input, state, out }
    }

    fn living(&self) -> Result<()> {
        if self.state.borrow().ended {
            return Err(Error::failed_precondition("the process has ended"));
        }
        Ok(())
    }

    fn deliver(&self, signal: Signal) {
        self.state.send_modify(|state| {
            let harmless = matches!(
                signal,
                Signal::Chld
                    | Signal::Cont
                    | Signal::Stop
                    | Signal::Tstp
                    | Signal::Ttin
                    | Signal::Ttou
                    | Signal::Urg
                    | Signal::Winch
            );
            let ignored = harmless || signal != Signal::Kill && state.trapped.contains(&signal);
            if !ignored && !state.unkillable && state.fatal.is_none() {
                state.fatal = Some(signal);
            }
        });
    }

    async fn ended(&self) {
        // The sender is at hand, so the channel cannot be closed.
        let _ = self.state.subscribe().wait_for(|state| state.ended).await;
    }
}

/// Waits for a signal that ends the process.
async fn fatal(level: &mut watch::Receiver<State>) -> Signal {
    level.wait_for(|state| state.fatal.is_some()).await.ok().and_then(|state| state.fatal).unwrap_or(Signal::Kill)
}

/// Waits until the connection breaks; where there is none, for ever.
async fn broken(channel: &mut Option<watch::Receiver<Option<Loss>>>) -> String {
    if let Some(level) = channel
        && let Ok(why) = level.wait_for(Option::is_some).await
    {
        return why.as_ref().map_or("", Loss::as_str).to_owned();
    }
    std::future::pending().await
}

fn with_sink(out: &Mutex<Option<OutputSink>>, act: impl FnOnce(&mut OutputSink)) {
    if let Some(sink) = out.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        act(sink);
    }
}

impl Runner {
    /// Carries out the script; `None` when it lets go of its output without an end.
    async fn run(&mut self, script: Script) -> Option<Exit> {
        for statement in script {
            match statement {
                Statement::Exit(code) => return Some(Exit::Exited(code)),
                Statement::Lost(how) => return Some(Exit::Lost(how)),
                Statement::Drop => return None,
                Statement::Kill(signal) => return Some(Exit::Signaled(signal.name().to_owned())),
                statement => self.step(statement).await,
            }
        }
        Some(Exit::Exited(self.status))
    }

    async fn step(&mut self, statement: Statement) {
        self.status = 0;
        match statement {
            Statement::Print(stream, bytes) => {
                self.status = if bytes.starts_with(b"sh: ") { 127 } else { 0 };
                self.print(stream, &bytes);
            }
            Statement::PrintVariable(stream, name) => {
                self.print(stream, format!("{}\n", self.variable(&name)).as_bytes());
            }
            Statement::PrintDirectory(stream) => {
                let directory = self.invocation.cwd.as_deref().unwrap_or(HOME);
                self.print(stream, format!("{directory}\n").as_bytes());
            }
            Statement::Repeat { stream, byte, count } => self.print(stream, &vec![byte; count]),
            Statement::Sleep(seconds) => sleep(Duration::from_secs_f64(seconds.max(0.0))).await,
            Statement::Status(status) => self.status = status,
            Statement::Cat => {
                while let Some(line) = self.input.line().await {
                    self.print(Stream::Stdout, &line);
                }
            }
            Statement::ReadLine => self.status = i32::from(self.input.line().await.is_none()),
            Statement::SttySize => {
                let size = self.state.borrow().size.unwrap_or_default();
                self.print(Stream::Stdout, format!("{} {}\n", size.rows(), size.cols()).as_bytes());
            }
            Statement::Trap(signal) => self.state.send_modify(|state| state.trapped.push(signal)),
            Statement::Leave => self.state.send_modify(|state| state.descendants.push(self.pid + 1_000_000)),
            Statement::Lose(bytes) => with_sink(&self.out, |sink| sink.lost(Stream::Stdout, bytes)),
            Statement::Disconnect => {
                if let Some(link) = &self.link {
                    link.end(Loss::Cut);
                }
                std::future::pending().await
            }
            Statement::Unkillable => self.state.send_modify(|state| state.unkillable = true),
            Statement::Exit(_)
            | Statement::Kill(_)
            | Statement::Lost(_)
            | Statement::Drop
            | Statement::Fail(_)
            | Statement::Hang => {}
        }
    }

    fn variable(&self, name: &str) -> String {
        if name.is_empty() {
            return self.pid.to_string();
        }
        let mut given = self.invocation.env.iter().rev();
        given.find(|(given, _)| given == name).map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// Prints as a terminal shows it, or as a pipe carries it.
    fn print(&self, stream: Stream, bytes: &[u8]) {
        with_sink(&self.out, |sink| {
            if self.terminal { sink.push(Stream::Stdout, &shown(bytes)) } else { sink.push(stream, bytes) }
        });
    }

    fn end(self, exit: Option<Exit>) {
        let sink = self.out.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Nobody who sees the end may still see the process.
        self.state.send_modify(|state| state.ended = true);
        match (sink, exit) {
            (Some(sink), Some(exit)) => sink.finish(exit),
            (sink, _) => drop(sink),
        }
    }
}

/// Newlines as a terminal shows them.
fn shown(bytes: &[u8]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(bytes.len());
    for byte in bytes {
        if *byte == b'\n' {
            shown.push(b'\r');
        }
        shown.push(*byte);
    }
    shown
}

#[async_trait]
impl Process for FakeProcess {
    fn facts(&self) -> Facts {
        Facts { pid: Some(self.pid), native_id: None, period: self.period }
    }

    async fn signal(&self, _cx: &Call, signal: Signal, _to: SignalTarget) -> Result<()> {
        self.living()?;
        self.deliver(signal);
        Ok(())
    }

    async fn stop(&self, grace: Duration) -> Result<Stopped> {
        self.deliver(Signal::Term);
        if timeout(grace, self.ended()).await.is_err() {
            self.deliver(Signal::Kill);
            if self.state.borrow().unkillable {
                return Ok(Stopped::Unconfirmed { pids: vec![self.pid] });
            }
            self.ended().await;
        }
        self.state.send_modify(|state| state.descendants.clear());
        Ok(Stopped::Confirmed)
    }

    async fn descendants(&self) -> Vec<u32> {
        self.state.borrow().descendants.clone()
    }
}

#[async_trait]
impl Session for FakeProcess {
    async fn write(&self, cx: &Call, input: Bytes) -> Result<Written> {
        self.living()?;
        let mut typed: Vec<u8> = Vec::new();
        for byte in &input {
            match byte {
                b'\r' => typed.push(b'\n'),
                0x03 => self.deliver(Signal::Int),
                0x04 => self.input.end(),
                byte => typed.push(*byte),
            }
        }
        let controls = (input.len() - typed.len()) as u64;
        let mut taken = 0;
        let mut stalls_at = Instant::now() + WRITE_STALL;
        loop {
            let rest = typed.get(taken..).unwrap_or_default();
            let mut now = 0;
            // The sink is held meanwhile, so that what is typed is echoed before it is answered.
            with_sink(&self.out, |sink| {
                now = self.input.offer(rest);
                sink.push(Stream::Stdout, &shown(rest.get(..now).unwrap_or_default()));
            });
            if now > 0 {
                taken += now;
                stalls_at = Instant::now() + WRITE_STALL;
            }
            if taken == typed.len() {
                return Ok(Written { bytes: taken as u64 + controls, stalled: None });
            }
            let stalled = tokio::select! {
                () = self.input.room() => None,
                () = self.ended() => Some("the process has ended"),
                () = sleep_until(stalls_at.min(cx.deadline)) => Some("the program does not read its input"),
                () = cx.cancel.cancelled() => Some("the call was taken back"),
            };
            if let Some(why) = stalled {
                return Ok(Written { bytes: taken as u64, stalled: Some(why.to_owned()) });
            }
        }
    }

    async fn eof(&self, _cx: &Call) -> Result<()> {
        self.living()?;
        self.input.end();
        Ok(())
    }

    async fn resize(&self, _cx: &Call, size: WindowSize) -> Result<()> {
        self.living()?;
        self.state.send_modify(|state| state.size = Some(size));
        Ok(())
    }
}

impl Command for FakeProcess {}
