//! Whether somebody wants output: for sources that have to be asked for it.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// How long a read counts after it has returned: whoever reads piece by piece, waiting or not, comes back.
const LINGER: Duration = Duration::from_secs(2);

/// Who wants a log's output. Nothing is counted until a source wants to know.
#[derive(Debug, Default)]
pub(crate) struct Waiters(OnceLock<watch::Sender<Interest>>);

/// What is known of those who read.
#[derive(Clone, Copy, Debug, Default)]
struct Interest {
    /// How many wait now.
    waiting: usize,
    /// When somebody has read last.
    latest: Option<Instant>,
}

impl Interest {
    fn is_fresh(&self) -> bool {
        self.waiting > 0 || self.latest.is_some_and(|latest| latest.elapsed() < LINGER)
    }
}

impl Waiters {
    /// The count from now on.
    pub(crate) fn demand(&self) -> Demand {
        let level = self.0.get_or_init(|| watch::channel(Interest::default()).0).subscribe();
        Demand { level, answered: None, until: None }
    }

    /// Somebody reads.
    pub(crate) fn read(&self) {
        if let Some(interest) = self.0.get() {
            interest.send_modify(|interest| interest.latest = Some(Instant::now()));
        }
    }

    /// Somebody waits for as long as the guard lives.
    pub(crate) fn wait(&self) -> Option<Waiting<'_>> {
        let interest = self.0.get()?;
        interest.send_modify(|interest| interest.waiting += 1);
        Some(Waiting(interest))
    }
}

/// One who waits.
pub(crate) struct Waiting<'a>(&'a watch::Sender<Interest>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|interest| {
            interest.waiting = interest.waiting.saturating_sub(1);
            interest.latest = Some(Instant::now());
        });
    }
}

/// Tells a source whether somebody wants its output: waits for it, or has read a moment ago.
///
/// A level, so that a read is never missed: who has read while the source was busy is still there for
/// [`wanted`](Self::wanted) to find.
#[derive(Clone, Debug)]
pub struct Demand {
    level: watch::Receiver<Interest>,
    /// The latest read that [`wanted`](Self::wanted) has told of.
    answered: Option<Instant>,
    /// Until when that read counts.
    until: Option<Instant>,
}

impl Demand {
    /// Whether somebody waits now, or has read within the last 2 s, or a read that [`wanted`](Self::wanted) has told
    /// of is as young as that.
    pub fn is_wanted(&self) -> bool {
        self.level.borrow().is_fresh() || self.is_told()
    }

    fn is_told(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }

    /// Waits until somebody wants output. For ever, once nobody can.
    ///
    /// Returns at once for as long as [`is_wanted`](Self::is_wanted), and for a read that came since the last time:
    /// a source that asks again and again paces itself.
    pub async fn wanted(&mut self) {
        let (answered, is_told) = (self.answered, self.is_told());
        let wanted = |interest: &Interest| is_told || interest.is_fresh() || interest.latest != answered;
        let Ok(latest) = self.level.wait_for(wanted).await.map(|found| found.latest) else {
            return std::future::pending().await;
        };
        if latest != answered {
            self.answered = latest;
            self.until = Some(Instant::now() + LINGER);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::time::advance;

    use super::*;

    fn is_wanted_at_once(demand: &mut Demand) -> bool {
        demand.wanted().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_counted_and_lingers() {
        let waiters = Waiters::default();
        let mut demand = waiters.demand();
        assert!(!demand.is_wanted() && !is_wanted_at_once(&mut demand));
        let (first, second) = (waiters.wait(), waiters.wait());
        advance(LINGER * 10).await;
        assert!(demand.is_wanted() && is_wanted_at_once(&mut demand));
        drop(first);
        advance(LINGER * 10).await;
        assert!(demand.is_wanted() && is_wanted_at_once(&mut demand));
        drop(second);
        assert!(demand.is_wanted() && is_wanted_at_once(&mut demand));
        advance(LINGER).await;
        assert!(!demand.is_wanted() && !is_wanted_at_once(&mut demand));
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_that_nobody_heeded_is_found_later_once() {
        let waiters = Waiters::default();
        let mut demand = waiters.demand();
        waiters.read();
        assert!(demand.is_wanted());
        advance(LINGER * 10).await;
        assert!(!demand.is_wanted());
        assert!(is_wanted_at_once(&mut demand));
        assert!(demand.is_wanted(), "what has just been told of is wanted");
        advance(LINGER).await;
        assert!(!demand.is_wanted() && !is_wanted_at_once(&mut demand));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_comes_wakes_the_source() {
        let waiters = Waiters::default();
        let mut demand = waiters.demand();
        let mut waits = Box::pin(demand.wanted());
        assert!((&mut waits).now_or_never().is_none());
        drop(waiters.wait());
        assert!((&mut waits).now_or_never().is_some(), "also one who was gone before the source looked");
    }

    #[tokio::test]
    async fn a_log_that_nobody_asked_about_counts_nothing() {
        let waiters = Waiters::default();
        waiters.read();
        assert!(waiters.wait().is_none());
        assert!(waiters.0.get().is_none());
    }

    #[tokio::test]
    async fn nobody_can_want_what_is_gone() {
        let waiters = Waiters::default();
        let mut demand = waiters.demand();
        drop(waiters);
        assert!(!demand.is_wanted() && !is_wanted_at_once(&mut demand));
    }
}
