//! gRPC against an empty tonic server of the same messages: a call, a stream, a thousand of either.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use futures_util::future::{join_all, try_join_all};
use sessiond_grpc::proto::ReadSessionResponse;

use super::{Bound, Check, Goal, Measured, Row};
use crate::grpc::{Grpc, Stub, drain, follow, read, session, stop, type_line};
use crate::pin::Pinned;
use crate::setup::Setup;
use crate::stats::{Pairs, median};

pub(crate) const READ: Row = Row {
    name: "grpc-read",
    what: "a ReadSession that returns at once against an empty tonic call, both over a unix socket on one processor",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.2)),
    measure: measure_read,
};

pub(crate) const FOLLOW: Row = Row {
    name: "grpc-follow",
    what: "following 1 GB of kept output against an empty tonic stream of the same chunks",
    unit: "MB/s",
    goal: Goal::Ratio(Bound::AtLeast(0.8)),
    measure: measure_follow,
};

pub(crate) const FOLLOWERS: Row = Row {
    name: "grpc-followers",
    what: "the server's memory for each of 1,000 followers that wait, against as many empty tonic streams that do",
    unit: "KiB",
    goal: Goal::More(Bound::AtMost(16.0)),
    measure: measure_followers,
};

pub(crate) const WAITS: Row = Row {
    name: "grpc-waits",
    what: "the server's memory for each of 1,000 reads that wait 20 s, against as many empty tonic calls that do",
    unit: "KiB",
    goal: Goal::More(Bound::AtMost(4.0)),
    measure: measure_waits,
};

const ROUNDS: usize = 15;
const CALLS: usize = 2_000;
/// What is followed at once, and how often: a gigabyte in all.
const KEPT: usize = 64 << 20;
const FOLLOWS: usize = 16;
const CHUNK: usize = 32 << 10;
const MANY: usize = 1_000;
/// Rounds of what needs fresh servers each time.
const FRESH: usize = 5;
/// How long after the output the last of a thousand waiting calls may be answered.
const ANSWERED: f64 = 50.0;
/// What waits for a line of input before it prints.
const WAITS_FOR_INPUT: &str = "echo ready; read -r line; echo $line";
const READY: u64 = 7;

pub(super) fn pair(setup: &Setup, kept: usize) -> Result<(Grpc, Grpc)> {
    let ours = Grpc::sessiond(&setup.beside("sessiond-grpc")?, kept)?;
    Ok((ours, Grpc::empty(&setup.beside("sessiond-bench-grpc-empty")?)?))
}

fn measure_read(setup: &Setup) -> Result<Measured> {
    let _pinned = Pinned::here()?;
    let (ours, empty) = pair(setup, 1 << 20)?;
    let id = ours.run(|stub| async { session(stub, "echo ready; exec cat", Some("ready\r\n")).await })?;
    let pairs = Pairs::take(setup.rounds(ROUNDS), || microseconds(&ours, &id), || empty_call(&empty))?;
    Ok(pairs.compare()?.into())
}

fn microseconds(server: &Grpc, id: &str) -> Result<f64> {
    server.run(|mut stub| async move {
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let begin = Instant::now();
            let answer = stub.read_session(read(id, 0, 0)).await?.into_inner();
            times.push(begin.elapsed().as_secs_f64() * 1e6);
            ensure!(next(&answer) == Some(READY), "a read gave {answer:?}");
        }
        median(&times).context("nothing was measured")
    })
}

/// Microseconds for a call of the empty server.
pub(super) fn empty_call(empty: &Grpc) -> Result<f64> {
    microseconds(empty, "now")
}

fn next(answer: &ReadSessionResponse) -> Option<u64> {
    Some(answer.read.as_ref()?.slice.as_ref()?.next)
}

fn measure_follow(setup: &Setup) -> Result<Measured> {
    let (ours, empty) = pair(setup, 2 * KEPT)?;
    let command = format!("stty -opost; head -c {KEPT} /dev/zero");
    let id = ours.run(|stub| async move { session(stub, &command, None).await })?;
    let chunks = (KEPT / CHUNK).to_string();
    let pairs = Pairs::take(setup.rounds(FRESH), || rate(&ours, &id), || rate(&empty, &chunks))?;
    Ok(pairs.compare()?.into())
}

/// Megabytes a second of a gigabyte.
fn rate(server: &Grpc, id: &str) -> Result<f64> {
    server.run(|stub| async move {
        let begin = Instant::now();
        let mut bytes = 0;
        for _ in 0..FOLLOWS {
            let items = follow(&stub, id, 0, 1).await?.pop().context("no stream")?;
            let (came, gone) = drain(items).await?;
            ensure!(came == KEPT as u64 && gone == 0, "{came} bytes came and {gone} are gone");
            bytes += came;
        }
        Ok(bytes as f64 / 1e6 / begin.elapsed().as_secs_f64())
    })
}

fn measure_followers(setup: &Setup) -> Result<Measured> {
    let (mut ours, mut raw, mut threads) = (Vec::new(), Vec::new(), 0);
    for _ in 0..setup.rounds(FRESH) {
        let (server, empty) = pair(setup, 1 << 20)?;
        let id = server.run(|stub| async { session(stub, WAITS_FOR_INPUT, Some("ready\r\n")).await })?;
        let before = server.usage()?.threads;
        ours.push(followers(&server, &id, READY, |stub| async { stop(stub, &id).await })?);
        threads = threads.max(server.usage()?.threads.saturating_sub(before));
        raw.push(followers(&empty, "wait", 0, |stub| async { go(stub).await })?);
    }
    let mut measured = Measured::from(Pairs::of(ours, raw).compare()?);
    measured.also.push(Check::at_most(0.0, "threads more", threads as f64));
    Ok(measured)
}

/// KiB for each of many streams that wait, which `end` ends.
fn followers<F: Future<Output = Result<()>>>(
    server: &Grpc,
    id: &str,
    cursor: u64,
    end: impl FnOnce(Stub) -> F,
) -> Result<f64> {
    let before = server.usage()?.resident_kib;
    let streams = server.run(|stub| async move { follow(&stub, id, cursor, MANY).await })?;
    // A call behind all of them: they have been taken by then.
    let during = server.run(|stub| async move { follow(&stub, id, cursor, 1).await })?;
    let growth = server.usage()?.resident_kib.saturating_sub(before);
    server.run(|stub| async move {
        end(stub).await?;
        try_join_all(streams.into_iter().chain(during).map(drain)).await?;
        Ok(growth as f64 / MANY as f64)
    })
}

fn measure_waits(setup: &Setup) -> Result<Measured> {
    let (mut ours, mut raw, mut last, mut burst) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..setup.rounds(FRESH) {
        let (server, empty) = pair(setup, 1 << 20)?;
        let id = server.run(|stub| async { session(stub, WAITS_FOR_INPUT, Some("ready\r\n")).await })?;
        let (memory, answered) = waits(&server, (&id, READY), &id, |stub| async { type_line(stub, &id).await })?;
        ours.push(memory);
        last.push(answered);
        let (memory, answered) = waits(&empty, ("wait", 0), "now", |stub| async { go(stub).await })?;
        raw.push(memory);
        burst.push(answered);
    }
    let mut measured = Measured::from(Pairs::of(ours, raw).compare()?);
    let middle = |figures: &[f64]| median(figures).context("nothing was measured");
    measured.also.push(Check::at_most(ANSWERED, "milliseconds until the last is answered", middle(&last)?));
    measured.notes.push(format!("the last empty call: {:.2} ms", middle(&burst)?));
    Ok(measured)
}

/// KiB for each of many calls that wait, and the milliseconds from just before what `end` does to the last answer. A
/// read of `now` from its beginning on waits for nothing.
fn waits<F: Future<Output = Result<()>>>(
    server: &Grpc,
    (id, cursor): (&str, u64),
    now: &str,
    end: impl FnOnce(Stub) -> F,
) -> Result<(f64, f64)> {
    let before = server.usage()?.resident_kib;
    let (growth, answered) = server.run(|stub| async move {
        let calls = (0..MANY).map(|_| {
            let (mut stub, request) = (stub.clone(), read(id, cursor, 20));
            async move { stub.read_session(request).await.map(|_| Instant::now()) }
        });
        let calls = join_all(calls);
        tokio::pin!(calls);
        // Polled once, they are on their way; a call that is answered behind them has seen them all arrive.
        let mut behind = stub.clone();
        let waited = async {
            behind.read_session(read(now, 0, 0)).await?;
            tokio::task::yield_now().await;
            anyhow::Ok(())
        };
        tokio::select! {
            biased;
            _ = &mut calls => anyhow::bail!("the calls did not wait"),
            waited = waited => waited?,
        }
        let growth = server.usage()?.resident_kib.saturating_sub(before);
        let begin = Instant::now();
        let (answers, ended) = tokio::join!(calls, end(stub.clone()));
        ended?;
        let mut last = begin;
        for answer in answers {
            last = last.max(answer?);
        }
        anyhow::Ok((growth, last.duration_since(begin)))
    })?;
    Ok((growth as f64 / MANY as f64, answered.as_secs_f64() * 1e3))
}

/// Lets what waits on the empty server go on.
async fn go(mut stub: Stub) -> Result<()> {
    stub.read_session(read("go", 0, 0)).await?;
    Ok(())
}
