//! How fast a command's pipe is emptied.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use sessiond_core::{ExecuteCommand, Exit, Invocation, Limits, Service};

use super::{Bound, Goal, Measured, Row};
use crate::inside::Inside;
use crate::raw::drain_pipe;
use crate::setup::Setup;
use crate::stats::Pairs;
use crate::text::Text;

pub(crate) const ROW: Row = Row {
    name: "pipe",
    what: "1 GB through the pipe of execute_command in process, against a raw read loop on a pipe as the system gives it",
    unit: "MB/s",
    goal: Goal::Ratio(Bound::AtLeast(1.0)),
    measure,
};

const ROUNDS: usize = 7;
/// How often the file is printed.
const TIMES: usize = 10;
const RAW_BUFFER: usize = 64 << 10;

fn measure(setup: &Setup) -> Result<Measured> {
    let text = Text::lines()?;
    let inside = Inside::pty()?;
    let megabytes = text.bytes as f64 * TIMES as f64 / 1e6;
    let mut buffer = vec![0; RAW_BUFFER];
    let pairs = Pairs::take(
        setup.rounds(ROUNDS),
        || Ok(megabytes / command(&inside, &text)?.as_secs_f64()),
        || Ok(megabytes / raw_loop(&text, &mut buffer)?.as_secs_f64()),
    )?;
    inside.close();
    Ok(pairs.compare()?.into())
}

fn command(inside: &Inside, text: &Text) -> Result<Duration> {
    let command = format!("exec cat{}", format!(" {}", text.word()).repeat(TIMES));
    let (result, time) = inside.run(|asker| async move {
        let request = ExecuteCommand {
            target: Some(asker.target.clone()),
            client_id: None,
            invocation: Invocation::new(command),
            stdin: Bytes::new(),
            time_limit: None,
        };
        let begin = Instant::now();
        let result = asker.registry.execute_command(&asker.cx, request).await?;
        Ok((result, begin.elapsed()))
    })?;
    ensure!(result.end.exit == Exit::Exited(0), "cat ended with {:?}", result.end);
    let kept = Limits::default().command_output;
    ensure!(result.truncated && result.stdout.len() == kept, "{} bytes were kept of {kept}", result.stdout.len());
    Ok(time)
}

fn raw_loop(text: &Text, buffer: &mut [u8]) -> Result<Duration> {
    let path = text.path().to_str().context("the temporary directory has a name that is no text")?;
    let begin = Instant::now();
    let (bytes, code) = drain_pipe("cat", &[path; TIMES], buffer)?;
    let time = begin.elapsed();
    ensure!(code == Some(0) && bytes == text.bytes * TIMES as u64, "raw: {bytes} bytes came, exit code {code:?}");
    Ok(time)
}
