//! The log of one process: its streams, its lifecycle, and the level that readers wait on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::watch;

use super::demand::Waiters;
use super::modes::Modes;
use super::stream::{PastEnd, StreamLog};
use super::tally::Tally;
use super::{Cause, Cursor, End, Exit, Slice, Stream};
use crate::error::{Error, Result};
use crate::spec::WindowSize;

/// More size marks than this, and the oldest goes.
const MAX_MARKS: usize = 64;

/// Which bytes a log keeps when there are more than it may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// The newest so many bytes of each stream.
    Newest(usize),
    /// The first so many bytes of all streams together.
    Oldest(usize),
}

/// What a log is for, which decides what it follows beside the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// One combined stream from a terminal of this size.
    Session(WindowSize),
    /// Separate stdout and stderr.
    Command,
}

/// Where a process stands, for whoever lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It runs.
    Running,
    /// A stop is on its way and not confirmed yet, or gave up.
    Stopping,
    /// It has ended.
    Finished,
    /// It was lost; nobody knows how it ended.
    Lost,
}

/// Who ends a process that does not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    TimeLimit(Duration),
    Stop,
    Shutdown,
}

impl Reason {
    pub(crate) fn cause(self, confirmed: bool) -> Cause {
        match self {
            Self::TimeLimit(limit) => Cause::TimeLimit { limit, confirmed },
            Self::Stop => Cause::Stop { confirmed },
            Self::Shutdown => Cause::Shutdown { confirmed },
        }
    }
}

/// The lifecycle of a process. The end is published once, when it is known how *and* why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Running,
    /// A stop has begun. `exit` when the process is gone already, `confirmed` when the stop's outcome is known.
    Stopping {
        reason: Reason,
        exit: Option<Exit>,
        confirmed: Option<bool>,
    },
    Ended(End),
}

/// Called once with the number of kept bytes, just before anybody can see the end.
type EndHook = Box<dyn FnOnce(usize) + Send + Sync>;

/// Everything a log knows, published as one level.
pub(crate) struct State {
    retention: Retention,
    stdout: StreamLog,
    stderr: Option<Box<StreamLog>>,
    life: Life,
    terminal: Option<Box<Terminal>>,
}

/// What a session's log follows of its terminal.
#[derive(Debug, Default)]
struct Terminal {
    modes: Modes,
    sizes: Vec<(Cursor, WindowSize)>,
}

impl State {
    pub(crate) fn stream(&self, stream: Stream) -> Option<&StreamLog> {
        match stream {
            Stream::Stdout => Some(&self.stdout),
            Stream::Stderr => self.stderr.as_deref(),
        }
    }

    pub(crate) fn life(&self) -> &Life {
        &self.life
    }

    pub(crate) fn closed(&self) -> bool {
        matches!(self.life, Life::Ended(_))
    }

    fn stream_mut(&mut self, stream: Stream) -> &mut StreamLog {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => self.stderr.get_or_insert_default(),
        }
    }

    /// How many bytes the process has printed on all streams, kept or not.
    pub(crate) fn printed(&self) -> u64 {
        let streams = [Some(&self.stdout), self.stderr.as_deref()];
        streams.into_iter().flatten().map(|log| log.end() + log.discarded()).sum()
    }

    fn kept(&self) -> usize {
        self.stdout.len() + self.stderr.as_ref().map_or(0, |stderr| stderr.len())
    }

    fn push(&mut self, stream: Stream, bytes: &[u8]) {
        if self.closed() {
            // It was let go of while its source was still talking: what has ended gets no more output.
            return;
        }
        if let (Stream::Stdout, Some(terminal)) = (stream, &mut self.terminal) {
            terminal.modes.push(bytes);
        }
        match self.retention {
            Retention::Newest(limit) => self.stream_mut(stream).push_newest(bytes, limit),
            Retention::Oldest(limit) => {
                let room = limit.saturating_sub(self.kept());
                self.stream_mut(stream).push_oldest(bytes, room);
            }
        }
    }
}

/// The bounded record of what a process printed, and how it ended.
///
/// Writers never wait for readers. Whatever changes is published as a level: a reader that comes late sees the same
/// as one that waited.
pub struct OutputLog {
    state: watch::Sender<State>,
    on_end: Mutex<Option<EndHook>>,
    /// Where its bytes are counted; `None` where nobody counts.
    tally: Option<Arc<Tally>>,
    pub(crate) waiters: Waiters,
}

impl OutputLog {
    /// An empty log of a process that runs.
    pub fn new(kind: LogKind, retention: Retention) -> Arc<Self> {
        Self::build(kind, retention, None, None)
    }

    /// A log whose end somebody must hear of before anybody can see it, and whose bytes are counted there.
    pub(crate) fn with_end_hook(
        kind: LogKind,
        retention: Retention,
        tally: Arc<Tally>,
        hook: impl FnOnce(usize) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::build(kind, retention, Some(tally), Some(Box::new(hook)))
    }

    fn build(kind: LogKind, retention: Retention, tally: Option<Arc<Tally>>, on_end: Option<EndHook>) -> Arc<Self> {
        let terminal = match kind {
            LogKind::Session(size) => {
                Some(Box::new(Terminal { modes: Modes::default(), sizes: vec![(Cursor::START, size)] }))
            }
            LogKind::Command => None,
        };
        let state = State { retention, stdout: StreamLog::default(), stderr: None, life: Life::Running, terminal };
        Arc::new(Self {
            state: watch::Sender::new(state),
            on_end: Mutex::new(on_end),
            tally,
            waiters: Waiters::default(),
        })
    }

    pub(super) fn push(&self, stream: Stream, bytes: &[u8]) {
        self.state.send_modify(|state| {
            self.counting(state, bytes.len(), |state| state.push(stream, bytes));
        });
    }

    pub(super) fn push_gap(&self, stream: Stream, bytes: u64) {
        self.state.send_modify(|state| {
            self.counting(state, 0, |state| match state.retention {
                _ if state.closed() => {}
                Retention::Newest(_) => state.stream_mut(stream).push_gap(bytes),
                Retention::Oldest(_) => state.stream_mut(stream).discard(bytes),
            });
        });
    }

    /// Does what brings `got` bytes, and counts them with those that had to go. A log that has ended gets none.
    fn counting(&self, state: &mut State, got: usize, change: impl FnOnce(&mut State)) {
        let counted = self.tally.as_ref().filter(|_| !state.closed());
        let before = state.kept();
        change(state);
        if let Some(tally) = counted {
            tally.passed(got, (before + got).saturating_sub(state.kept()));
        }
    }

    /// Counts bytes that its process has taken as input.
    pub(crate) fn took(&self, bytes: u64) {
        if let Some(tally) = &self.tally {
            tally.took(bytes);
        }
    }

    /// Marks that the terminal has had this size from here on.
    pub(crate) fn resized(&self, size: WindowSize) {
        self.state.send_if_modified(|state| {
            let at = Cursor(state.stdout.end());
            let earliest = Cursor(state.stdout.start());
            if let Some(terminal) = &mut state.terminal {
                terminal.mark(at, size, earliest);
            }
            false
        });
    }

    /// The process is gone. Publishes the end, or waits with it for the outcome of the stop that is on its way.
    pub(crate) fn exited(&self, exit: Exit) {
        self.advance(|life| match life {
            Life::Running => Life::Ended(End { exit, cause: Cause::Own }),
            Life::Stopping { reason, exit: None, confirmed: Some(confirmed) } => {
                Life::Ended(End { exit, cause: reason.cause(confirmed) })
            }
            Life::Stopping { reason, exit: None, confirmed: None } => {
                Life::Stopping { reason, exit: Some(exit), confirmed: None }
            }
            life => life,
        });
    }

    /// A stop begins: from here on the end waits for its outcome. The first reason stays.
    pub(crate) fn begin_stop(&self, reason: Reason) {
        self.advance(|life| match life {
            Life::Running => Life::Stopping { reason, exit: None, confirmed: None },
            Life::Stopping { reason, exit, .. } => Life::Stopping { reason, exit, confirmed: None },
            Life::Ended(end) => Life::Ended(end),
        });
    }

    /// The outcome of the stop that has begun.
    pub(crate) fn conclude_stop(&self, confirmed: bool) {
        self.advance(|life| match life {
            Life::Stopping { reason, exit: Some(exit), .. } => {
                Life::Ended(End { exit, cause: reason.cause(confirmed) })
            }
            Life::Stopping { reason, exit: None, .. } => {
                Life::Stopping { reason, exit: None, confirmed: Some(confirmed) }
            }
            life => life,
        });
    }

    /// Takes back a stop that has no outcome and wants none: what has ended meanwhile has ended by itself.
    pub(crate) fn retract_stop(&self) {
        self.advance(|life| match life {
            Life::Stopping { exit: Some(exit), .. } => Life::Ended(End { exit, cause: Cause::Own }),
            Life::Stopping { exit: None, .. } => Life::Running,
            life => life,
        });
    }

    /// One step of the lifecycle. Entering the end gives unused memory back and runs the hook first.
    fn advance(&self, step: impl FnOnce(Life) -> Life) {
        self.state.send_modify(|state| {
            let ended_before = state.closed();
            let life = std::mem::replace(&mut state.life, Life::Running);
            state.life = step(life);
            let kept = state.kept();
            if ended_before || !state.closed() {
                return;
            }
            state.stdout.shrink();
            if let Some(stderr) = &mut state.stderr {
                stderr.shrink();
            }
            let hook = self.on_end.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(hook) = hook {
                hook(kept);
            }
        });
    }

    /// The bytes from `from` on: at most `max` (at least 4), up to `to` where it is given.
    ///
    /// Looks only at what is there; [`Slice`] says what its fields mean.
    ///
    /// # Errors
    /// `invalid_argument` when `from` is past the end of the stream; the message names the end (SR22).
    pub fn read(&self, stream: Stream, from: Cursor, max: usize, to: Option<Cursor>) -> Result<Slice> {
        let state = self.state.borrow();
        let empty = StreamLog::default();
        let log = state.stream(stream).unwrap_or(&empty);
        let to = to.map(|to| to.0);
        let span = log.span(from.0, max, to, state.closed()).map_err(|PastEnd { end }| past_end(from, end))?;
        let [head, tail] = log.pieces(span.start, span.next);
        let mut bytes = BytesMut::with_capacity(head.len() + tail.len());
        bytes.extend_from_slice(head);
        bytes.extend_from_slice(tail);
        let end = log.end();
        let ended = match &state.life {
            Life::Ended(how) if span.next == end => Some(how.clone()),
            _ => None,
        };
        Ok(Slice {
            start: Cursor(span.start),
            next: Cursor(span.next),
            end: Cursor(end),
            lost: span.lost,
            bytes: bytes.freeze(),
            ended,
        })
    }

    /// Where the earliest kept byte of a stream stands, and behind its last one.
    pub fn bounds(&self, stream: Stream) -> (Cursor, Cursor) {
        let state = self.state.borrow();
        state.stream(stream).map_or((Cursor::START, Cursor::START), |log| (Cursor(log.start()), Cursor(log.end())))
    }

    /// How many bytes are kept, of all streams together.
    pub(crate) fn kept(&self) -> usize {
        self.state.borrow().kept()
    }

    /// How many bytes a full keep-oldest log has turned away.
    pub fn discarded(&self, stream: Stream) -> u64 {
        self.state.borrow().stream(stream).map_or(0, StreamLog::discarded)
    }

    /// How many lines a stream has had; the last unterminated piece is one.
    pub fn line_count(&self, stream: Stream) -> u64 {
        self.state.borrow().stream(stream).map_or(0, StreamLog::line_count)
    }

    /// The number of the first line that can still be read whole, from 1. A single line longer than the retention
    /// counts, with its newest bytes (CO21).
    pub fn first_line(&self, stream: Stream) -> u64 {
        self.state.borrow().stream(stream).map_or(1, StreamLog::first_line)
    }

    /// The number of the line that the byte at `cursor` is part of, from 1; `None` when it is not kept.
    pub fn line_at(&self, stream: Stream, cursor: Cursor) -> Option<u64> {
        self.state.borrow().stream(stream).and_then(|log| log.line_at(cursor.0))
    }

    /// Where a line begins; `None` when it is dropped or not there yet.
    pub fn line_start(&self, stream: Stream, line: u64) -> Option<Cursor> {
        self.state.borrow().stream(stream).and_then(|log| log.line_start(line)).map(Cursor)
    }

    /// The sizes that the terminal has had, each with the cursor from which it held. The first one is that of the
    /// earliest kept byte. Empty for a command.
    pub fn sizes(&self) -> Vec<(Cursor, WindowSize)> {
        self.state.borrow().terminal.as_ref().map(|terminal| terminal.sizes.clone()).unwrap_or_default()
    }

    /// Whether the program has asked for cursor keys in application form.
    pub fn application_keys(&self) -> bool {
        self.state.borrow().terminal.as_ref().is_some_and(|terminal| terminal.modes.application_keys())
    }

    /// Where the process stands.
    pub fn status(&self) -> Status {
        match &self.state.borrow().life {
            Life::Running => Status::Running,
            Life::Stopping { .. } => Status::Stopping,
            Life::Ended(end) if end.lost() => Status::Lost,
            Life::Ended(_) => Status::Finished,
        }
    }

    /// How the process ended, once it has.
    pub fn end(&self) -> Option<End> {
        match &self.state.borrow().life {
            Life::Ended(end) => Some(end.clone()),
            _ => None,
        }
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    pub(crate) fn with<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        look(&self.state.borrow())
    }
}

impl Terminal {
    fn mark(&mut self, at: Cursor, size: WindowSize, earliest: Cursor) {
        // One mark a position, and of those before the earliest kept byte only the one that still holds there.
        self.sizes.pop_if(|last| last.0 == at);
        self.sizes.push((at, size));
        let outdated = self.sizes.partition_point(|mark| mark.0 <= earliest).saturating_sub(1);
        let excess = self.sizes.len().saturating_sub(MAX_MARKS);
        self.sizes.drain(..outdated.max(excess));
    }
}

impl std::fmt::Debug for OutputLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state.borrow();
        f.debug_struct("OutputLog").field("end", &state.stdout.end()).field("life", &state.life).finish_non_exhaustive()
    }
}

/// The refusal of a cursor that nobody can have been given.
pub(crate) fn past_end(asked: Cursor, end: u64) -> Error {
    Error::invalid_argument(format!(
        "cursor {asked} is past the end of the output, which is {end}: go on from the last next_cursor, or from 0"
    ))
}
