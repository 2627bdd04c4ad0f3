//! A session's output on stdout until its end, which gives the exit code.

use std::io::Write;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use sessiond_bootstrap::{exit, stdout};
use sessiond_core::{
    Call, Cursor, End, MAX_READ, MAX_WAIT, ReadSession, Service, SessionId, StopSession, TargetName, Wait,
};
use tokio_util::sync::CancellationToken;

use crate::serve::owner;

/// How much of a session's output is kept while it is followed, in bytes. Nobody else reads it, and a program must not
/// wait for a reader; so this is how far whoever reads stdout may fall behind a flood before some of it is lost.
pub(crate) const SLACK: usize = 64 << 20;

/// How long the last output of a stopped session may take to be read by whoever reads stdout.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Passes a session's output on until it ends. When `ending` fires, the session is stopped.
///
/// # Errors
/// The session is not there, or stdout cannot be written to.
pub(crate) async fn follow(
    service: &dyn Service,
    session: &str,
    target: Option<String>,
    ending: &CancellationToken,
) -> anyhow::Result<ExitCode> {
    let session: SessionId = session.parse().ok().context("the session's id cannot be read")?;
    let target = target.map(TargetName::new).transpose()?;
    let followed = Followed { service, session, target };
    let mut passing = pin!(followed.pass_on());
    let ended = tokio::select! {
        ended = &mut passing => Some(ended?),
        () = followed.stop_when(ending) => tokio::time::timeout(LAST_WORDS, passing).await.ok().transpose()?,
    };
    Ok(ended.flatten().as_ref().map_or(ExitCode::from(exit::FAILURE), exit::exit_code))
}

struct Followed<'a> {
    service: &'a dyn Service,
    session: SessionId,
    target: Option<TargetName>,
}

impl Followed<'_> {
    /// Passes on until the end, or until nobody reads any more.
    async fn pass_on(&self) -> anyhow::Result<Option<End>> {
        let cx = Call::new(owner());
        let wait = Wait { time: MAX_WAIT, until: None, max_bytes: Some(MAX_READ) };
        let (mut cursor, mut lost) = (Cursor::START, 0);
        loop {
            let request =
                ReadSession { session: self.session, target: self.target.clone(), cursor, wait: wait.clone() };
            let slice = self.service.read_session(&cx, request).await?.slice;
            lost += slice.lost;
            if !stdout::pass(&slice.bytes).await? {
                return Ok(None);
            }
            if let Some(end) = slice.ended {
                self.report(&end, lost);
                return Ok(Some(end));
            }
            cursor = slice.next;
        }
    }

    /// Waits for `ending`, then stops the session. Returns when that is done or given up.
    async fn stop_when(&self, ending: &CancellationToken) {
        ending.cancelled().await;
        let request = StopSession { session: self.session, target: self.target.clone(), wait: MAX_WAIT };
        if let Err(error) = self.service.stop_session(&Call::new(owner()), request).await {
            tracing::warn!("the session could not be stopped: {error}");
        }
    }

    /// Says on stderr what neither the output nor the exit code can.
    fn report(&self, end: &End, lost: u64) {
        let mut stderr = std::io::stderr().lock();
        // Nobody to read it is no failure.
        if lost > 0 {
            let _ = writeln!(stderr, "{lost} bytes of output came faster than they were read, and were dropped");
        }
        if let Some(error) = end.error() {
            let _ = writeln!(stderr, "session {}: {error}", self.session);
        }
    }
}
