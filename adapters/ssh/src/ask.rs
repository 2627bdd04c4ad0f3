//! Runs scripts on a host, each on a channel of its own beside what runs there.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use sessiond_core::{Machine, Result, Stream, TaskKind};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::channel::{self, Event};
use crate::error;
use crate::pool::{Pool, Want};
use crate::shell::{self, Script};

/// Runs one script to its end, or until its time is up.
const SCRIPT: TaskKind = TaskKind("ssh script");

/// More than any answer is long; what comes behind it is dropped.
const LONGEST: usize = 1024 * 1024;

/// Runs a script and returns its answer. It runs to its end also when this is dropped.
///
/// A script needs a connection, and a new connection may need a script first: the type is named, since it could not
/// hold itself.
///
/// # Errors
/// `unavailable` when no connection stands or it is lost meanwhile, `timed_out` after the deadline,
/// `failed_precondition` when the host has no `sh` for it.
pub(crate) fn script(pool: &Arc<Pool>, script: Script, deadline: Instant) -> BoxFuture<'static, Result<String>> {
    let (answer, answered) = oneshot::channel();
    let asked = pool.clone();
    pool.host.scripts.spawn(SCRIPT, async move {
        let last = asked.host.scripts.token().clone();
        if let Some(output) = last.run_until_cancelled(run(&asked, &script, deadline)).await {
            // Whoever asked may have gone meanwhile.
            let _ = answer.send(output);
        }
    });
    let name = pool.host.name.clone();
    Box::pin(async move {
        match timeout_at(deadline, answered).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(error::broke_off(&name))),
            Err(_) => Err(error::timed_out(&name)),
        }
    })
}

async fn run(pool: &Arc<Pool>, script: &Script, deadline: Instant) -> Result<String> {
    let name = &pool.host.name;
    let lease = pool.lease(Want::Aside, &pool.call(deadline), &CancellationToken::new()).await?;
    let (mut reader, writer) = channel::split(lease.channel);
    let input = Bytes::copy_from_slice(script.input().as_bytes());
    let output = timeout_at(deadline, async {
        let feed = writer.clone().feed([input, Bytes::new()]);
        tokio::pin!(feed);
        writer.exec(script.exec()).await.ok()?;
        let mut output = Vec::new();
        let mut fed = false;
        loop {
            let event = tokio::select! {
                event = reader.next() => event,
                _ = &mut feed, if !fed => {
                    fed = true;
                    continue;
                }
            };
            match event {
                Event::Output(Stream::Stdout, bytes) if output.len() < LONGEST => output.extend_from_slice(&bytes),
                // What is refused prints nothing, and its channel is not closed by the host.
                Event::Closed | Event::Answer(false) => return Some(output),
                _ => {}
            }
        }
    });
    let ended = output.await;
    // Where the host has closed it already, nothing is said.
    writer.close().await;
    drop(lease.slot);
    let output = ended.map_err(|_| error::timed_out(name))?.ok_or_else(|| error::broke_off(name))?;
    let output = String::from_utf8_lossy(&output);
    match script.answer(&output) {
        Some(answer) => Ok(answer.to_owned()),
        None if lease.link.loss().is_some() => Err(error::broke_off(name)),
        None => Err(error::no_shell(name, Some(&*output).filter(|output| !output.trim().is_empty()))),
    }
}

/// Asks what kind of machine the host is.
///
/// # Errors
/// As for [`script`].
pub(crate) async fn facts(pool: &Arc<Pool>, deadline: Instant) -> Result<Machine> {
    let answer = script(pool, shell::facts::script()?, deadline).await?;
    Ok(shell::facts::read(&answer))
}
