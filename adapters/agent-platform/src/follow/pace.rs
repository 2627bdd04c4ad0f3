//! When a followed run is looked at: the clockwork alone, without a clock or a request of its own.

use std::time::Duration;

use tokio::time::Instant;

/// The first look at a run that was just started and that nobody waits for; every further one waits twice as long …
const FIRST: Duration = Duration::from_secs(1);
/// … up to this.
const IDLE: Duration = Duration::from_secs(30);
/// Between two looks while somebody waits for the run's output and the platform tells nothing by itself.
const WATCHED: Duration = Duration::from_millis(500);
/// The same while it does: only in case it forgets to.
const TOLD: Duration = Duration::from_secs(5);
/// Between two looks in any case.
const GAP: Duration = Duration::from_millis(250);
/// The longest pause before a platform that fails is asked again for somebody who waits.
const FAILING: Duration = Duration::from_secs(5);
/// For how long somebody who waited counts as waiting still: readers come back for the next piece.
const LINGER: Duration = Duration::from_secs(2);
/// How many looks follow soon on what a platform told by itself: it may tell before its own records show it.
const RESTLESS: u8 = 3;

/// The pace of one follower.
///
/// - While nobody waits there is at most one look in 30 s, once the run is not new any more.
/// - Somebody who begins to wait is worth a look at once, and one every 500 ms from then on.
/// - Whatever asks for a look: between two there are 250 ms, and more where the platform fails.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// When the latest look began.
    last: Instant,
    /// The pause while nobody waits.
    idle: Duration,
    /// Thousandths by which this run's long pauses are longer, so that a thousand runs do not fall into step.
    spread: u32,
    /// Somebody waits, or did until just now.
    watched: bool,
    /// Until when somebody who has ceased to wait counts as waiting.
    linger: Instant,
    /// Something asks for a look as soon as may be.
    asked: bool,
    /// The platform tells by itself what happens.
    told: bool,
    /// Looks that are due soon after what it told.
    restless: u8,
    failures: u32,
    failing_since: Option<Instant>,
}

impl Pace {
    /// A run that begins now. `seed` is any number of its own.
    pub(super) fn new(now: Instant, seed: u64) -> Self {
        Self {
            last: now,
            idle: FIRST,
            spread: u32::try_from(seed % 100).unwrap_or_default(),
            watched: false,
            linger: now,
            asked: false,
            told: false,
            restless: 0,
            failures: 0,
            failing_since: None,
        }
    }

    /// When to look next, as far as is known now.
    pub(super) fn due(&self) -> Instant {
        let usual = match (self.watched, self.failures) {
            (true, 0) if self.told && self.restless == 0 => TOLD,
            (true, 0) => WATCHED,
            (true, failures) => (WATCHED * 2_u32.saturating_pow(failures.min(8) - 1)).min(FAILING),
            (false, _) => self.idle + self.idle * self.spread / 1000,
        };
        let pause = if self.asked && self.failures == 0 { GAP } else { usual };
        self.last + pause
    }

    /// When to think again although nothing is due: whoever waited may not be waiting any more.
    pub(super) fn until(&self, now: Instant) -> Instant {
        if self.watched && self.linger > now { self.due().min(self.linger) } else { self.due() }
    }

    /// Whether somebody waits, or did until just now.
    pub(super) fn is_watched(&self) -> bool {
        self.watched
    }

    /// Somebody waits now, or nobody does.
    pub(super) fn wanted(&mut self, now: Instant, wanted: bool) {
        if wanted {
            self.asked |= !self.watched;
            self.watched = true;
            self.linger = now + LINGER;
        } else if now >= self.linger {
            self.watched = false;
        }
    }

    /// Somebody knows that there is something to see.
    pub(super) fn ask(&mut self) {
        self.asked = true;
    }

    /// The platform has told that the run has changed.
    pub(super) fn stirred(&mut self) {
        self.asked = true;
        self.restless = RESTLESS;
    }

    /// Whether the platform tells by itself from now on what happens.
    pub(super) fn told(&mut self, told: bool) {
        self.told = told;
    }

    /// A look begins.
    pub(super) fn began(&mut self, now: Instant) {
        self.last = now;
        self.asked = false;
        self.restless = self.restless.saturating_sub(1);
        if !self.watched {
            self.idle = (self.idle * 2).min(IDLE);
        }
    }

    /// The look has shown how the run stands.
    pub(super) fn answered(&mut self) {
        (self.failures, self.failing_since) = (0, None);
    }

    /// The look has failed. Returns for how long all have.
    pub(super) fn failed(&mut self, now: Instant) -> Duration {
        self.failures = self.failures.saturating_add(1);
        now.saturating_duration_since(*self.failing_since.get_or_insert(now))
    }

    /// Since when every look has failed.
    pub(super) fn failing_since(&self) -> Option<Instant> {
        self.failing_since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// When the looks of the next `time` are, in milliseconds, when each succeeds.
    fn looks(pace: &mut Pace, from: Instant, time: Duration) -> Vec<u128> {
        let mut at = Vec::new();
        let mut now = from;
        loop {
            now = pace.due().max(now);
            if now >= from + time {
                return at;
            }
            look(pace, now);
            at.push((now - from).as_millis());
        }
    }

    fn look(pace: &mut Pace, now: Instant) {
        pace.began(now);
        pace.answered();
    }

    /// A run that is 70 s old, and now.
    fn old() -> (Pace, Instant) {
        let start = Instant::now();
        let mut pace = Pace::new(start, 0);
        looks(&mut pace, start, 70_000 * MS);
        (pace, start + 70_000 * MS)
    }

    #[test]
    fn a_run_that_nobody_waits_for_is_left_alone_more_and_more() {
        let now = Instant::now();
        let first: Vec<_> = [1, 3, 7, 15, 31, 61, 91, 121].map(|s| s * 1000).into();
        assert_eq!(looks(&mut Pace::new(now, 0), now, 150_000 * MS), first);
        let hour = looks(&mut Pace::new(now, 0), now, 3_600_000 * MS);
        assert!(hour.windows(2).skip(4).all(|pair| pair[1] - pair[0] >= 30_000), "{hour:?}");
    }

    #[test]
    fn runs_that_begin_together_do_not_stay_in_step() {
        let now = Instant::now();
        let hour = |seed| looks(&mut Pace::new(now, seed), now, 3_600_000 * MS);
        assert_ne!(hour(1).last(), hour(2).last());
        assert!(hour(99).len() >= 100 && hour(99).len() <= hour(100).len());
    }

    #[test]
    fn somebody_who_waits_is_worth_a_look_at_once_and_two_a_second() {
        let (mut pace, now) = old();
        pace.wanted(now, true);
        assert!(pace.is_watched() && pace.due() <= now);
        look(&mut pace, now);
        assert_eq!(looks(&mut pace, now, 1_900 * MS), [500, 1000, 1500]);
    }

    #[test]
    fn readers_that_come_and_go_cause_no_storm() {
        let start = Instant::now();
        let mut pace = Pace::new(start, 0);
        let mut count = 0;
        for step in 0..10_000 {
            let now = start + step * MS;
            pace.wanted(now, step % 3 == 0);
            if step % 100 == 0 {
                pace.ask();
            }
            if pace.due() <= now {
                look(&mut pace, now);
                count += 1;
            }
        }
        assert!((20..=40).contains(&count), "{count} looks in 10 s");
    }

    #[test]
    fn once_nobody_waits_any_more_the_old_pause_is_back() {
        let (mut pace, now) = old();
        pace.wanted(now, true);
        look(&mut pace, now);
        pace.wanted(now + 1_000 * MS, false);
        assert_eq!((pace.is_watched(), pace.until(now)), (true, now + WATCHED));
        pace.wanted(now + LINGER, false);
        assert_eq!((pace.is_watched(), pace.until(now + LINGER)), (false, now + IDLE));
    }

    #[test]
    fn somebody_who_goes_on_waiting_is_no_news() {
        let (mut pace, now) = old();
        pace.told(true);
        pace.wanted(now, true);
        look(&mut pace, now);
        assert_eq!(pace.until(now), now + LINGER);
        pace.wanted(now + LINGER, true);
        assert_eq!(pace.due(), now + TOLD);
    }

    #[test]
    fn a_platform_that_tells_by_itself_is_asked_rarely_until_it_tells() {
        let (mut pace, now) = old();
        pace.wanted(now, true);
        look(&mut pace, now);
        pace.told(true);
        assert_eq!(pace.due(), now + TOLD);
        // It tells: a look at once, and two more, because its records may lag behind what it says.
        pace.stirred();
        assert_eq!(looks(&mut pace, now, 8_000 * MS), [250, 750, 1250, 6250]);
        pace.told(false);
        assert_eq!(looks(&mut pace, now + 8_000 * MS, 1_000 * MS), [0, 500]);
    }

    #[test]
    fn a_platform_that_fails_is_asked_more_and_more_rarely_also_for_somebody_who_waits() {
        let start = Instant::now();
        let mut pace = Pace::new(start, 0);
        pace.wanted(start, true);
        let mut now = start;
        let mut pauses = Vec::new();
        for failure in 0..7 {
            pace.began(now);
            assert_eq!(pace.failed(now), now - start, "failure {failure}");
            pace.ask();
            pauses.push((pace.due() - now).as_millis());
            now = pace.due();
        }
        assert_eq!(pauses, [500, 1000, 2000, 4000, 5000, 5000, 5000]);
        assert_eq!(pace.failing_since(), Some(start));
        pace.answered();
        assert_eq!((pace.failing_since(), pace.due() - pace.last), (None, GAP));
    }
}
