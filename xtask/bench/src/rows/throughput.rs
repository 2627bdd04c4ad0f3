//! How fast a session takes what its program prints.

use std::ffi::CString;
use std::fs;
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sessiond_core::{
    Backend, Call, Cursor, Exit, FixedTargets, Invocation, Launch, Limits, Owner, ReadSession, Registry, Service,
    StartSession, TargetInfo, TargetName, Until, Wait, WindowSize,
};
use sessiond_pty::{Config, Pty};
use tokio::runtime::Runtime;

use super::{Goal, Measured, Row};
use crate::raw::OnPty;
use crate::setup::Setup;
use crate::stats::Pairs;

pub(crate) const ROW: Row = Row {
    name: "throughput",
    what: "100 MB printed into a pty session in process, until its end is read, against a raw read loop",
    unit: "MB/s",
    goal: Goal::AtLeast(0.9),
    measure,
};

/// What the file holds again and again: text as programs print it.
const LINE: &[u8] = b"2026-11-30T12:00:00.000000Z  INFO build: compiled module 0123456789 in 42 ms\n";
const FILE_BYTES: usize = 100_000_000;
const ROUNDS: usize = 9;
/// As much as the terminal ever gives at once, many times over.
const RAW_BUFFER: usize = 64 << 10;

/// A file that goes with its owner.
struct Text {
    path: PathBuf,
    /// How many bytes a terminal makes of it: a carriage return more for each line.
    printed: u64,
}

impl Text {
    fn write() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("sessiond-bench-{}.txt", std::process::id()));
        let lines = FILE_BYTES / LINE.len();
        let mut file = BufWriter::new(fs::File::create(&path).with_context(|| format!("writing {}", path.display()))?);
        for _ in 0..lines {
            file.write_all(LINE)?;
        }
        file.flush()?;
        Ok(Self { path, printed: (lines * (LINE.len() + 1)) as u64 })
    }

    fn megabytes_a_second(&self, time: Duration) -> f64 {
        self.printed as f64 / 1e6 / time.as_secs_f64()
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn measure(setup: &Setup) -> Result<Measured> {
    let text = Text::write()?;
    // The runtime of the stdio binary.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (registry, target) = runtime.block_on(async { registry() })?;
    let ours = || {
        let time = session(&runtime, &registry, &target, &text)?;
        Ok(text.megabytes_a_second(time))
    };
    let mut buffer = vec![0; RAW_BUFFER];
    let raw = || {
        let time = raw_loop(&text, &mut buffer)?;
        Ok(text.megabytes_a_second(time))
    };
    let pairs = Pairs::take(setup.rounds(ROUNDS), ours, raw)?;
    runtime.block_on(registry.shutdown());
    Ok(pairs.compare()?.into())
}

fn registry() -> Result<(Arc<Registry>, TargetName)> {
    let pty: Arc<dyn Backend> = Pty::new(Config::default())?;
    let name = TargetName::new("local")?;
    let info = TargetInfo { name: name.clone(), client_id: "local".to_owned(), backend: "pty" };
    Ok((Registry::new(Arc::new(FixedTargets::new(vec![(info, pty)])), Limits::default()), name))
}

/// The time from the call that starts the session to the answer that says that it has ended.
fn session(runtime: &Runtime, registry: &Registry, target: &TargetName, text: &Text) -> Result<Duration> {
    runtime.block_on(async {
        let cx = Call::new(Owner::management("bench"));
        let begin = Instant::now();
        let started = registry.start_session(&cx, start(target, &text.path)).await?;
        let mut cursor = Cursor::START;
        let ended = loop {
            let until = Until { end: true, ..Until::default() };
            let wait = Wait { time: sessiond_core::MAX_WAIT, until: Some(until), max_bytes: None };
            let request = ReadSession { session: started.session, target: Some(target.clone()), cursor, wait };
            let slice = registry.read_session(&cx, request).await?.slice;
            cursor = slice.next;
            if let Some(end) = slice.ended {
                break end;
            }
        };
        let time = begin.elapsed();
        ensure!(ended.exit == Exit::Exited(0), "cat ended with {ended:?}");
        ensure!(cursor == Cursor(text.printed), "{cursor:?} bytes came of {}", text.printed);
        Ok(time)
    })
}

fn start(target: &TargetName, file: &Path) -> StartSession {
    StartSession {
        target: Some(target.clone()),
        client_id: None,
        what: Launch::Start(Invocation::new(format!("exec cat {}", file.display()))),
        time_limit: None,
        size: WindowSize::default(),
        label: None,
        login: false,
        wait: Wait::default(),
    }
}

fn raw_loop(text: &Text, buffer: &mut [u8]) -> Result<Duration> {
    let path = CString::new(text.path.as_os_str().as_bytes())?;
    let begin = Instant::now();
    let (bytes, code) = OnPty::spawn(&[c"cat", &path])?.drain(buffer)?;
    let time = begin.elapsed();
    ensure!(code == 0 && bytes == text.printed, "raw: {bytes} bytes came of {}, exit code {code}", text.printed);
    Ok(time)
}
