//! sessiond within this process: a registry over one backend, on the runtime of the stdio binary.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use sessiond_core::fake::Fake;
use sessiond_core::{
    Backend, Call, Cursor, End, FixedTargets, Invocation, Launch, Limits, MAX_WAIT, Owner, Pattern, Read, ReadSession,
    Registry, Service, SessionId, StartSession, TargetInfo, TargetName, Targets, Until, Wait, WindowSize, WriteSession,
};
use sessiond_pty::{Config, Pty};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// A registry and the runtime it lives on.
pub(crate) struct Inside {
    runtime: Runtime,
    asker: Asker,
}

/// Who asks the registry.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) registry: Arc<Registry>,
    pub(crate) target: TargetName,
    pub(crate) cx: Call,
}

impl Inside {
    /// Over this machine.
    ///
    /// # Errors
    /// The system refuses what the backend needs.
    pub(crate) fn pty() -> Result<Self> {
        Self::over("pty", Limits::default(), || Ok(Pty::new(Config::default())?))
    }

    /// Over the scripted backend, where sessions cost nothing but what the core keeps.
    ///
    /// # Errors
    /// There is no runtime.
    pub(crate) fn fake(limits: Limits) -> Result<Self> {
        Self::over("fake", limits, || Ok(Fake::new()))
    }

    fn over(kind: &'static str, limits: Limits, backend: impl FnOnce() -> Result<Arc<dyn Backend>>) -> Result<Self> {
        let target = TargetName::new("local")?;
        let info = TargetInfo::new(target.clone(), kind);
        Self::among(target, limits, || Ok(Arc::new(FixedTargets::new(vec![(info, backend()?)]))))
    }

    /// Over other targets, of which one is asked.
    ///
    /// # Errors
    /// There is no runtime, or there are no such targets.
    pub(crate) fn among(
        target: TargetName,
        limits: Limits,
        targets: impl FnOnce() -> Result<Arc<dyn Targets>>,
    ) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let registry = runtime.block_on(async { anyhow::Ok(Registry::new(targets()?, limits)) })?;
        Ok(Self { runtime, asker: Asker { registry, target, cx: Call::new(Owner::management("bench")) } })
    }

    /// Runs something as a task, as a server runs its calls; only then does time pass for the sessions too.
    ///
    /// # Errors
    /// What the work fails with.
    pub(crate) fn run<T, F>(&self, work: impl FnOnce(Asker) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let mut task = JoinSet::new();
        let work = work(self.asker.clone());
        self.runtime.block_on(async {
            task.spawn(work);
            task.join_next().await.context("the work was never begun")??
        })
    }

    /// Ends every session, and the tasks of the registry.
    pub(crate) fn close(self) {
        self.runtime.block_on(self.asker.registry.shutdown());
    }
}

impl Asker {
    /// Starts a session.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) async fn start(&self, command: String) -> Result<SessionId> {
        Ok(self.registry.start_session(&self.cx, self.launch(command, Wait::default())).await?.session)
    }

    /// Starts a session and waits until it has printed just this text.
    ///
    /// # Errors
    /// It does not start, or prints something else.
    pub(crate) async fn start_until(&self, command: &str, text: &str) -> Result<SessionId> {
        let until = Until { pattern: Some(Pattern::new(text)?), ..Until::default() };
        let wait = Wait { time: MAX_WAIT, until: Some(until), max_bytes: None };
        let started = self.registry.start_session(&self.cx, self.launch(command.to_owned(), wait)).await?;
        let printed = started.read.map(|read| read.slice.bytes).unwrap_or_default();
        ensure!(printed == text.as_bytes(), "{command:?} printed {printed:?}");
        Ok(started.session)
    }

    fn launch(&self, command: String, wait: Wait) -> StartSession {
        StartSession {
            target: Some(self.target.clone()),
            client_id: None,
            what: Launch::Start(Invocation::new(command)),
            time_limit: None,
            size: WindowSize::default(),
            label: None,
            login: false,
            wait,
        }
    }

    /// Reads from a cursor on.
    ///
    /// # Errors
    /// There is no such session.
    pub(crate) async fn read(&self, session: SessionId, cursor: Cursor, wait: Wait) -> Result<Read> {
        let request = ReadSession { session, target: Some(self.target.clone()), cursor, wait };
        Ok(self.registry.read_session(&self.cx, request).await?)
    }

    /// Reads until the end, and returns where that is, how it came, and what the last read gave.
    ///
    /// # Errors
    /// There is no such session.
    pub(crate) async fn read_to_end(&self, session: SessionId) -> Result<(Cursor, End, Bytes)> {
        let mut cursor = Cursor::START;
        loop {
            let until = Until { end: true, ..Until::default() };
            let wait = Wait { time: MAX_WAIT, until: Some(until), max_bytes: None };
            let slice = self.read(session, cursor, wait).await?.slice;
            cursor = slice.next;
            if let Some(end) = slice.ended {
                return Ok((cursor, end, slice.bytes));
            }
        }
    }

    /// Types a line to a session, and waits for nothing.
    ///
    /// # Errors
    /// It takes none.
    pub(crate) async fn type_line(&self, session: SessionId) -> Result<()> {
        let written = self.registry.write_session(&self.cx, self.typing(session, Wait::default())).await?.bytes;
        ensure!(written == TYPED.len() as u64, "{written} bytes were taken");
        Ok(())
    }

    /// Types a line to a session that answers with it, and reads the answer, nearly always in one call; again and
    /// again. Returns the microseconds of each.
    ///
    /// # Errors
    /// Something else comes back.
    pub(crate) async fn echoes(self, session: SessionId, count: usize) -> Result<Vec<f64>> {
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let begin = Instant::now();
            self.echo(session).await?;
            times.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        Ok(times)
    }

    async fn echo(&self, session: SessionId) -> Result<()> {
        let wait = Wait { time: MAX_WAIT, ..Wait::default() };
        let outcome = self.registry.write_session(&self.cx, self.typing(session, wait.clone())).await?;
        let mut slice = outcome.read.context("a write that was to wait has read nothing")?.slice;
        let mut rest = ECHOED;
        // A terminal may hand a line over in pieces.
        loop {
            rest = rest.strip_prefix(&*slice.bytes).with_context(|| format!("{:?} came back", slice.bytes))?;
            if rest.is_empty() {
                return Ok(());
            }
            slice = self.read(session, slice.next, wait.clone()).await?.slice;
        }
    }

    fn typing(&self, session: SessionId, wait: Wait) -> WriteSession {
        WriteSession { session, target: Some(self.target.clone()), input: Bytes::from_static(TYPED), wait }
    }
}

/// A session that gives each line back once it says that it is ready.
pub(crate) const ECHO: &str = "stty -echo; echo ready; exec cat";
/// What it says.
pub(crate) const READY: &str = "ready\r\n";
/// A line for it, and what comes back.
pub(crate) const TYPED: &[u8] = b"x\n";
pub(crate) const ECHOED: &[u8] = b"x\r\n";

/// A path as one word of a shell.
pub(crate) fn word(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
