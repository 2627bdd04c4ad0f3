//! The only loop that waits for output.
//!
//! Every wait is the same question put to the log's level again and again as it changes: is the condition met by what
//! is there? Nothing can be missed between two looks, and a look costs only what is new.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::call::{Call, after};
use crate::error::Result;
use crate::output::{Cursor, End, Life, OutputLog, Reason, State, Stream, past_end};
use crate::pattern::Search;
use crate::service::{Fired, Read, Until, Wait};

/// How long a pattern may look before others get their turn, and how many bytes it looks at between two looks at the
/// clock.
const SEARCH_TURN: Duration = Duration::from_micros(500);
const SEARCH_STEP: usize = 512;

/// What was there when a call came is searched even when no time is left, but not for longer than this.
const SEARCH_SLACK: Duration = Duration::from_secs(1);

/// How long somebody waits for a process to come to its end.
pub(crate) struct Patience {
    /// Not longer than this.
    pub(crate) until: Instant,
    /// Nor while it has printed nothing for so long.
    pub(crate) silence: Option<Duration>,
}

impl Patience {
    /// Until a moment, whatever is printed.
    pub(crate) fn until(until: Instant) -> Self {
        Self { until, silence: None }
    }
}

/// What ended the wait for a process's end.
pub(crate) enum Settled {
    /// It has ended.
    Ended(End),
    /// It was to be stopped for this reason, and lives for all that is known.
    GaveUp(Reason),
    /// It has printed nothing for long enough.
    Silent,
    /// The time was up.
    Late,
}

impl OutputLog {
    /// Reads from `from` on once the condition of `wait` is met, its time is up, or the call is taken back.
    ///
    /// Without [`Wait::until`] that is new output or the end; a held-back incomplete character is not new output
    /// (SR24). With it, new output alone does not end the wait (EX01).
    ///
    /// # Errors
    /// `invalid_argument` when `from` is past the end of the stream (SR22).
    pub async fn read_when(&self, cx: &Call, stream: Stream, from: Cursor, wait: &Wait) -> Result<Read> {
        self.waiters.read();
        let max = wait.max_bytes.unwrap_or(usize::MAX);
        let mut condition = Condition::new(stream, from, max, wait.until.as_ref())?;
        // Most reads find what they want: they need no subscription, and not the room for the state of a wait.
        let fired = match self.with(|state| condition.look(state))? {
            Look::Fired(fired) => fired,
            look => Box::pin(self.wait(cx, &mut condition, wait, look)).await?,
        };
        let to = condition.matched.map(Cursor);
        Ok(Read { slice: self.read(stream, from, max, to)?, fired })
    }

    /// Waits for the end.
    pub async fn ended(&self) -> End {
        let mut level = self.subscribe();
        loop {
            if let Life::Ended(end) = level.borrow_and_update().life() {
                return end.clone();
            }
            next(&mut level).await;
        }
    }

    /// Waits for the end, until a stop has given up, or as long as the patience lasts. `report` hears how much output
    /// there is.
    pub(crate) async fn settled(&self, patience: Patience, report: impl Fn(u64)) -> Settled {
        let mut level = self.subscribe();
        let mut quiet = Quiet { since: Instant::now(), end: 0, time: patience.silence };
        loop {
            {
                let state = level.borrow_and_update();
                match state.life() {
                    Life::Ended(end) => return Settled::Ended(end.clone()),
                    Life::Stopping { reason, exit: None, confirmed: Some(false) } => return Settled::GaveUp(*reason),
                    Life::Running | Life::Stopping { .. } => report(state.printed()),
                }
                quiet.observe(state.printed());
            }
            let now = Instant::now();
            if quiet.is_over(now) {
                return Settled::Silent;
            }
            if now >= patience.until {
                return Settled::Late;
            }
            let until = quiet.at().map_or(patience.until, |at| at.min(patience.until));
            tokio::select! {
                () = next(&mut level) => {}
                () = sleep_until(until) => {}
            }
        }
    }

    /// Waits until the process is gone, also while its end waits for the outcome of a stop, at most until `until`.
    /// Returns whether it is.
    pub(crate) async fn gone(&self, until: Instant) -> bool {
        let mut level = self.subscribe();
        loop {
            if matches!(level.borrow_and_update().life(), Life::Ended(_) | Life::Stopping { exit: Some(_), .. }) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            tokio::select! {
                () = next(&mut level) => {}
                () = sleep_until(until) => {}
            }
        }
    }

    /// Waits after a first look that has not fired.
    async fn wait(&self, cx: &Call, condition: &mut Condition<'_>, wait: &Wait, mut look: Look) -> Result<Fired> {
        let _waiting = self.waiters.wait();
        let started = Instant::now();
        let deadline = after(started, wait.time).min(cx.deadline);
        let there_at_first = condition.end;
        let mut level: Option<watch::Receiver<State>> = None;
        let mut quiet =
            Quiet { since: started, end: condition.end, time: condition.until.and_then(|until| until.quiet) };
        loop {
            match look {
                Look::Fired(fired) => return Ok(fired),
                Look::Again => {
                    // A flood moves no deadline.
                    let slack = if condition.searched.1 < there_at_first { SEARCH_SLACK } else { Duration::ZERO };
                    if Instant::now() >= after(deadline, slack) || cx.cancel.is_cancelled() {
                        return Ok(Fired::Deadline);
                    }
                    tokio::task::yield_now().await;
                }
                Look::Wait => {
                    if let Some(progress) = &cx.progress {
                        progress.report(condition.end.saturating_sub(condition.from));
                    }
                    quiet.observe(condition.end);
                    let now = Instant::now();
                    if quiet.is_over(now) {
                        return Ok(Fired::Quiet);
                    }
                    if now >= deadline || cx.cancel.is_cancelled() {
                        return Ok(Fired::Deadline);
                    }
                    // Subscribing comes before the next look, so that no change can fall between the two.
                    if let Some(level) = &mut level {
                        tokio::select! {
                            () = next(level) => {}
                            () = sleep_until(quiet.at().map_or(deadline, |at| at.min(deadline))) => {}
                            () = cx.cancel.cancelled() => {}
                        }
                    }
                }
            }
            let level = level.get_or_insert_with(|| self.subscribe());
            look = condition.look(&level.borrow_and_update())?;
        }
    }
}

/// The next change of a level whose sender outlives the wait.
async fn next(level: &mut watch::Receiver<State>) {
    if level.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// What one look at the log says.
enum Look {
    Fired(Fired),
    /// There is more to look at; others may go first.
    Again,
    Wait,
}

/// A wait's condition and how far it has looked.
struct Condition<'a> {
    stream: Stream,
    from: u64,
    max: usize,
    until: Option<&'a Until>,
    search: Option<Search>,
    /// Where the search began, and how far it has come.
    searched: (u64, u64),
    /// Behind the match.
    matched: Option<u64>,
    /// The end of the stream at the latest look.
    end: u64,
}

impl<'a> Condition<'a> {
    fn new(stream: Stream, from: Cursor, max: usize, until: Option<&'a Until>) -> Result<Self> {
        let search = until.and_then(|until| until.pattern.as_ref()).map(Search::new).transpose()?;
        let from = from.0;
        Ok(Self { stream, from, max, until, search, searched: (from, from), matched: None, end: from })
    }

    fn look(&mut self, state: &State) -> Result<Look> {
        self.end = state.stream(self.stream).map_or(0, |log| log.end());
        if self.from > self.end {
            return Err(past_end(Cursor(self.from), self.end));
        }
        if self.until.is_some() { self.look_until(state) } else { Ok(self.look_any(state)) }
    }

    /// Without a condition: any output that can be shown, or the end.
    fn look_any(&self, state: &State) -> Look {
        let span = state.stream(self.stream).and_then(|log| log.span(self.from, self.max, None, state.closed()).ok());
        if span.is_some_and(|span| !span.is_empty()) {
            Look::Fired(Fired::Output)
        } else if state.closed() {
            Look::Fired(Fired::End)
        } else {
            Look::Wait
        }
    }

    fn look_until(&mut self, state: &State) -> Result<Look> {
        if !self.look_for_pattern(state)? {
            return Ok(Look::Again);
        }
        Ok(if self.matched.is_some() {
            Look::Fired(Fired::Pattern)
        } else if self.is_full(state) {
            Look::Fired(Fired::Full)
        } else if state.closed() {
            Look::Fired(Fired::End)
        } else {
            Look::Wait
        })
    }

    /// Whether the caller's `max` is reached, or a gap keeps the piece from growing.
    fn is_full(&self, state: &State) -> bool {
        let Some(log) = state.stream(self.stream) else { return false };
        let from = self.from.max(log.start());
        if log.end() - from >= self.max as u64 {
            return true;
        }
        log.span(self.from, self.max, None, true).is_ok_and(|span| span.next < log.end())
    }

    /// Feeds what is new to the search. Returns whether it has seen all that it may see.
    fn look_for_pattern(&mut self, state: &State) -> Result<bool> {
        let (Some(search), Some(log)) = (&mut self.search, state.stream(self.stream)) else { return Ok(true) };
        let limit = self.from.max(log.start()).saturating_add(self.max as u64);
        let began_looking = std::time::Instant::now();
        loop {
            let (began, at) = self.searched;
            let Ok(span) = log.span(at, SEARCH_STEP, Some(limit), true) else { return Ok(true) };
            if span.start > at {
                // What lies between is lost, and nothing matches across a loss.
                let pattern = self.until.and_then(|until| until.pattern.as_ref());
                if let Some(pattern) = pattern {
                    *search = Search::new(pattern)?;
                }
                self.searched = (span.start, span.start);
                continue;
            }
            for piece in log.pieces(span.start, span.next) {
                search.feed(piece)?;
            }
            self.searched.1 = span.next;
            if span.is_empty() || search.is_settled() {
                self.matched = search.found()?.map(|bytes| began + bytes);
                return Ok(true);
            }
            // Who has come to the end is not interrupted just before the answer.
            if self.searched.1 < self.end.min(limit) && began_looking.elapsed() >= SEARCH_TURN {
                return Ok(false);
            }
        }
    }
}

/// The clock of silence: it counts from the last byte or the call's start, whichever is later.
struct Quiet {
    since: Instant,
    end: u64,
    time: Option<Duration>,
}

impl Quiet {
    fn observe(&mut self, end: u64) {
        if end != self.end {
            self.end = end;
            self.since = Instant::now();
        }
    }

    fn at(&self) -> Option<Instant> {
        self.time.map(|time| after(self.since, time))
    }

    fn is_over(&self, now: Instant) -> bool {
        self.at().is_some_and(|at| now >= at)
    }
}
