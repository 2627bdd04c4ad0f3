//! How fast a session takes what its program prints, and what that costs.

use std::cell::RefCell;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sessiond_core::{Cursor, Exit};

use super::{Bound, Check, Goal, Measured, Row};
use crate::inside::Inside;
use crate::raw::{OnPty, cpu_time};
use crate::setup::Setup;
use crate::stats::Pairs;
use crate::text::Text;

pub(crate) const ROW: Row = Row {
    name: "throughput",
    what: "100 MB printed into a pty session in process, until its end is read, against a raw read loop",
    unit: "MB/s",
    goal: Goal::Ratio(Bound::AtLeast(0.95)),
    measure,
};

const CPU: f64 = 1.6;
const ROUNDS: usize = 9;
/// As much as the terminal ever gives at once, many times over.
const RAW_BUFFER: usize = 64 << 10;

fn measure(setup: &Setup) -> Result<Measured> {
    let text = Text::lines()?;
    let inside = Inside::pty()?;
    let (our_cpu, raw_cpu) = (RefCell::default(), RefCell::default());
    let ours = || timed(&our_cpu, &text, || session(&inside, &text));
    let mut buffer = vec![0; RAW_BUFFER];
    let raw = || timed(&raw_cpu, &text, || raw_loop(&text, &mut buffer));
    let pairs = Pairs::take(setup.rounds(ROUNDS), ours, raw)?;
    inside.close();
    let cpu = Pairs::of(our_cpu.into_inner(), raw_cpu.into_inner()).compare()?;
    let mut measured = Measured::from(pairs.compare()?);
    measured.also.push(Check::at_most(CPU, "processor time, as a multiple of the raw loop's", cpu.ratio));
    measured.notes.push(format!("processor time {:.2} s, raw {:.2} s", cpu.ours, cpu.raw));
    Ok(measured)
}

/// Megabytes a second; the processor time is noted beside.
fn timed(cpu: &RefCell<Vec<f64>>, text: &Text, work: impl FnOnce() -> Result<Duration>) -> Result<f64> {
    let before = cpu_time();
    let time = work()?;
    cpu.borrow_mut().push((cpu_time() - before).as_secs_f64());
    Ok(text.printed as f64 / 1e6 / time.as_secs_f64())
}

/// The time from the call that starts the session to the answer that says that it has ended.
fn session(inside: &Inside, text: &Text) -> Result<Duration> {
    let command = format!("exec cat {}", text.word());
    let (cursor, end, time) = inside.run(|asker| async move {
        let begin = Instant::now();
        let session = asker.start(command).await?;
        let (cursor, end, _) = asker.read_to_end(session).await?;
        Ok((cursor, end, begin.elapsed()))
    })?;
    ensure!(end.exit == Exit::Exited(0), "cat ended with {end:?}");
    ensure!(cursor == Cursor(text.printed), "{cursor:?} bytes came of {}", text.printed);
    Ok(time)
}

fn raw_loop(text: &Text, buffer: &mut [u8]) -> Result<Duration> {
    let path = CString::new(text.path().as_os_str().as_bytes())?;
    let begin = Instant::now();
    let (bytes, code) = OnPty::spawn(&[c"cat", &path])?.drain(buffer)?;
    let time = begin.elapsed();
    ensure!(code == 0 && bytes == text.printed, "raw: {bytes} bytes came of {}, exit code {code}", text.printed);
    Ok(time)
}
