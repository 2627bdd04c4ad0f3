//! No order of steps loses a wakeup, an end or a reason; and each planted fault is found within the same number of
//! schedules, so that finding nothing in the sound log means something.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a check reports by panicking, and says the seed"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use sessiond_model::doors::{begin_stop, conclude_stop, hooked};
use sessiond_model::plants::{self, Fault};
use sessiond_model::{
    Call, Cause, Cursor, End, Exit, Fired, LogKind, OutputLog, OutputSink, Owner, Pattern, Retention, Stream, Until,
    Wait,
};
use shuttle::future::block_on;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread;
use shuttle::{Config, FailurePersistence, Runner};
use tokio::time::Instant;

/// The seed of every schedule.
const SEED: u64 = 20_261_130;

/// How many schedules each check tries with each scheduler.
const SCHEDULES: usize = 3000;

/// How many unlucky preemptions the second scheduler places.
const DEPTH: usize = 3;

/// So far away that time ends no wait: who is not woken sleeps for ever, which the scheduler tells as a deadlock.
const NEVER: Duration = Duration::from_secs(3 * 365 * 24 * 3600);

/// How the scheduler tells that somebody sleeps for ever.
const SLEEPS: &str = "deadlock";

/// What breaks when a step of the lifecycle undoes another.
const STAYS: &str = "an end that has been seen stays";

fn run(scheduler: impl Scheduler + 'static, check: fn()) {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    Runner::new(scheduler, config).run(check);
}

/// Tries the orders in which the threads of a check can meet; panics in the first one that breaks it.
fn explore(check: fn()) {
    run(RandomScheduler::new_from_seed(SEED, SCHEDULES), check);
    run(PctScheduler::new_from_seed(SEED, DEPTH, SCHEDULES), check);
}

/// The check holds as the log is. When the fault grows it does not, and says so in these words.
fn holds_unless(fault: Fault, words: &str, check: fn()) {
    explore(check);
    let Err(found) = catch_unwind(AssertUnwindSafe(|| plants::with(fault, || explore(check)))) else {
        panic!("{fault:?} grew in {SCHEDULES} schedules of each kind, and nothing was found");
    };
    let said = found.downcast_ref::<String>().map(String::as_str).or(found.downcast_ref::<&str>().copied());
    assert!(said.is_some_and(|said| said.contains(words)), "{fault:?} was to be found by {words:?}, not by {said:?}");
}

fn call() -> Call {
    Call { deadline: Instant::now() + NEVER, ..Call::new(Owner::management("checker")) }
}

fn log() -> (Arc<OutputLog>, OutputSink) {
    let log = OutputLog::new(LogKind::Command, Retention::Newest(64));
    (log.clone(), OutputSink::new(log))
}

/// One read as a client asks for it; how it ends is up to the log alone.
fn read(log: &OutputLog, from: Cursor, until: Option<Until>) -> (Vec<u8>, Cursor, Fired, Option<End>) {
    let wait = Wait { time: NEVER, until, max_bytes: None };
    let read = block_on(log.read_when(&call(), Stream::Stdout, from, &wait)).unwrap();
    (read.slice.bytes.to_vec(), read.slice.next, read.fired, read.slice.ended)
}

/// Reads on and on, to the end.
fn follow(log: &OutputLog) -> (Vec<u8>, End) {
    let (mut stream, mut cursor) = (Vec::new(), Cursor::START);
    loop {
        let (bytes, next, fired, ended) = read(log, cursor, None);
        assert!(!bytes.is_empty() || ended.is_some(), "a wait without a deadline ends for a reason: {fired:?}");
        stream.extend(bytes);
        cursor = next;
        if let Some(end) = ended {
            return (stream, end);
        }
    }
}

fn own(code: i32) -> End {
    End { exit: Exit::Exited(code), cause: Cause::Own }
}

#[test]
fn readers_at_any_time_get_the_whole_stream_and_its_end() {
    holds_unless(Fault::SubscribesTooLate, SLEEPS, || {
        let (log, mut sink) = log();
        let writer = thread::spawn(move || {
            sink.push(Stream::Stdout, b"one ");
            sink.push(Stream::Stdout, b"\xe2\x82");
            sink.push(Stream::Stdout, b"\xac two");
            sink.finish(Exit::Exited(0));
        });
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let log = log.clone();
                thread::spawn(move || follow(&log))
            })
            .collect();
        for reader in readers {
            assert_eq!(reader.join().unwrap(), ("one € two".as_bytes().to_vec(), own(0)));
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_pattern_is_seen_whenever_it_comes() {
    holds_unless(Fault::SubscribesTooLate, SLEEPS, || {
        let (log, mut sink) = log();
        let writer = thread::spawn(move || {
            sink.push(Stream::Stdout, b"log");
            sink.push(Stream::Stdout, b"in: ");
            // Nothing follows, so that who has missed it sleeps for ever.
            sink
        });
        let until = Until { pattern: Some(Pattern::new("login:").unwrap()), ..Until::default() };
        let (bytes, next, fired, ended) = read(&log, Cursor::START, Some(until));
        assert_eq!((&bytes[..], next, fired, ended), (&b"login:"[..], Cursor(6), Fired::Pattern, None));
        drop(writer.join().unwrap());
    });
}

#[test]
fn the_end_wakes_whoever_waits_for_it() {
    holds_unless(Fault::MarksTooLate, SLEEPS, || {
        let (log, sink) = log();
        let waiter = thread::spawn({
            let log = log.clone();
            move || block_on(log.ended())
        });
        sink.finish(Exit::Exited(3));
        assert_eq!(waiter.join().unwrap(), own(3));
    });
}

#[test]
fn an_end_and_a_stop_that_meet_give_one_end_with_its_reason() {
    holds_unless(Fault::StepsFromThePast, STAYS, || {
        let (log, sink) = log();
        let process = thread::spawn(move || sink.finish(Exit::Exited(0)));
        let stop = thread::spawn({
            let log = log.clone();
            move || {
                begin_stop(&log);
                conclude_stop(&log, true);
            }
        });
        let reader = thread::spawn({
            let log = log.clone();
            move || read(&log, Cursor::START, Some(Until { end: true, ..Until::default() }))
        });
        let (_, _, fired, ended) = reader.join().unwrap();
        let stopped = End { exit: Exit::Exited(0), cause: Cause::Stop { confirmed: true } };
        let end = ended.expect(STAYS);
        assert!(fired == Fired::End && (end == own(0) || end == stopped), "{fired:?} {end:?}");
        process.join().unwrap();
        stop.join().unwrap();
        assert_eq!(log.end(), Some(end), "{STAYS}");
    });
}

#[test]
fn whoever_must_hear_of_the_end_first_has_heard_when_it_can_be_seen() {
    holds_unless(Fault::TellsTooLate, "before the end is seen", || {
        let told = Arc::new(AtomicBool::new(false));
        let log = hooked({
            let told = told.clone();
            move |_| told.store(true, Ordering::SeqCst)
        });
        let sink = OutputSink::new(log.clone());
        let process = thread::spawn(move || drop(sink));
        let end = block_on(log.ended());
        assert!(told.load(Ordering::SeqCst), "the place is given back before the end is seen");
        assert!(end.lost());
        process.join().unwrap();
    });
}

#[test]
fn a_call_that_is_taken_back_is_woken() {
    explore(|| {
        let (log, sink) = log();
        let cx = call();
        let cancel = cx.cancel.clone();
        let canceller = thread::spawn(move || cancel.cancel());
        let wait = Wait { time: NEVER, ..Wait::default() };
        let read = block_on(log.read_when(&cx, Stream::Stdout, Cursor::START, &wait)).unwrap();
        assert_eq!((read.fired, read.slice.ended), (Fired::Deadline, None));
        canceller.join().unwrap();
        drop(sink);
    });
}
