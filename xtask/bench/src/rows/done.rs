//! How long after a process's end a waiting read knows of it.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use anyhow::{Context, Result, ensure};
use sessiond_core::Exit;

use super::{Bound, Goal, Measured, Row};
use crate::inside::{Inside, word};
use crate::raw::OnPty;
use crate::raw::clock::nanoseconds;
use crate::setup::Setup;
use crate::stats::{Pairs, median};

pub(crate) const ROW: Row = Row {
    name: "done",
    what: "from a program's last act until a read in process that waits for its end has returned, against a raw read \
           loop and a wait",
    unit: "us",
    goal: Goal::More(Bound::AtMost(100.0)),
    measure,
};

const ROUNDS: usize = 11;
const ENDS: usize = 100;
/// How long the program sleeps before its last act, in milliseconds: until then everybody waits.
const DELAY: &str = "2";
/// What the program ends with.
const CODE: i32 = 7;

fn measure(setup: &Setup) -> Result<Measured> {
    let inside = Inside::pty()?;
    let command = format!("exec {} {DELAY}", word(&setup.stamp));
    let program = CString::new(setup.stamp.as_os_str().as_bytes())?;
    let delay = CString::new(DELAY)?;
    let pairs = Pairs::take(
        setup.rounds(ROUNDS),
        || middle(|| session(&inside, &command)),
        || middle(|| raw_loop(&[&program, &delay])),
    )?;
    inside.close();
    Ok(pairs.compare()?.into())
}

fn middle(mut end: impl FnMut() -> Result<f64>) -> Result<f64> {
    let ends = (0..ENDS).map(|_| end()).collect::<Result<Vec<_>>>()?;
    median(&ends).context("nothing was measured")
}

fn session(inside: &Inside, command: &str) -> Result<f64> {
    let command = command.to_owned();
    inside.run(|asker| async move {
        let session = asker.start(command).await?;
        let (_, end, printed) = asker.read_to_end(session).await?;
        let seen = nanoseconds();
        ensure!(end.exit == Exit::Exited(CODE), "the program ended with {end:?}");
        since(&printed, seen)
    })
}

fn raw_loop(argv: &[&std::ffi::CStr]) -> Result<f64> {
    let mut buffer = [0; 4096];
    let (bytes, code) = OnPty::spawn(argv)?.drain_into(&mut buffer)?;
    let seen = nanoseconds();
    ensure!(code == CODE, "raw: the program ended with {code}");
    since(buffer.get(..bytes).unwrap_or_default(), seen)
}

/// The microseconds from the printed time to that in which it was seen.
fn since(printed: &[u8], seen: i64) -> Result<f64> {
    let stamp: i64 = std::str::from_utf8(printed)?.trim().parse().context("the program printed no time")?;
    Ok((seen - stamp) as f64 / 1e3)
}
