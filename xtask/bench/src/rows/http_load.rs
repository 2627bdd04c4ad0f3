//! MCP over HTTP under load: beside a flood, and with as many calls as two processors can take.

use std::cell::Cell;
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::future::{join_all, try_join_all};
use hyper::StatusCode;
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use super::http::{READ_MARK, session};
use super::{Bound, Check, Goal, Measured, Row};
use crate::http::{Ask, Http, Line, answered};
use crate::setup::Setup;
use crate::stats::{Pairs, median, percentile_99};
use crate::text::Text;

pub(crate) const FLOOD: Row = Row {
    name: "http-flood",
    what: "the slowest hundredth of calls over MCP's HTTP while 200 MB come in another session, against the same without",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(2.0)),
    measure: measure_flood,
};

pub(crate) const LOAD: Row = Row {
    name: "http-load",
    what: "growth of the server's memory under 10,000 calls a second over MCP's HTTP, from 10 s to 60 s; no errors",
    unit: "KiB",
    goal: Goal::Ours(Bound::AtMost(GROWTH)),
    measure: measure_load,
};

const ROUNDS: usize = 7;
/// Clients beside the flood, each with a session of its own, and how long each rests between its calls.
const CLIENTS: usize = 8;
const REST: Duration = Duration::from_millis(8);
/// How long they call without a flood: about as long as one lasts.
const QUIET: Duration = Duration::from_secs(3);

/// Clients that share the load, and the sessions that they read.
const LINES: u32 = 100;
const SESSIONS: usize = 16;
const CALLS_PER_SECOND: u32 = 10_000;
/// In seconds.
const WHOLE: u64 = 60;
/// Looks at the server's memory, one a second: so many before the growth counts, and so many for each of its ends. What
/// one burst of calls takes for a moment is no growth: the middle of the looks does not see it.
const BEFORE: usize = 10;
const LOOKS: usize = 10;
/// KiB that memory may differ by without having grown: half a byte for each call.
const GROWTH: f64 = 256.0;

/// Starts sessions; a read of each.
async fn reads(server: &Http, count: usize) -> Result<Vec<Ask>> {
    let mut line = server.open().await?;
    let mut reads = Vec::with_capacity(count);
    for _ in 0..count {
        let id = session(&mut line, "exec cat").await?;
        reads.push(Ask::new("session_read", &json!({"session_id": id, "client_token": "local"})));
    }
    Ok(reads)
}

/// A connection for each of so many clients, and what it asks.
async fn clients<'a>(server: &Http, reads: &'a [Ask], count: usize) -> Result<Vec<(Line, &'a Ask)>> {
    let mut clients = Vec::with_capacity(count);
    for read in reads.iter().cycle().take(count) {
        clients.push((server.open().await?, read));
    }
    Ok(clients)
}

fn measure_flood(setup: &Setup) -> Result<Measured> {
    let server = Http::sessiond(setup)?;
    let reads = server.run(reads(&server, CLIENTS))?;
    let text = Text::lines()?;
    let word = text.word();
    let flood = json!({
        "command": format!("cat {word} {word}"), "client_token": "local", "wait_ms": 20_000, "until": {"end": true},
    });
    let flood = Ask::new("session_start", &flood);
    let (mut flooded_medians, mut quiet_medians) = (Vec::new(), Vec::new());
    let slowest = |times: &[f64], medians: &mut Vec<f64>| {
        medians.push(median(times).context("nothing was measured")?);
        percentile_99(times).context("nothing was measured")
    };
    let flooded = || {
        let times = server.run(async {
            let mut line = server.open().await?;
            beside(&server, &reads, line.call(&flood, r#""done":true"#)).await
        });
        slowest(&times?, &mut flooded_medians)
    };
    let quiet = || {
        let quiet = async {
            sleep(QUIET).await;
            anyhow::Ok(())
        };
        let times = server.run(beside(&server, &reads, quiet));
        slowest(&times?, &mut quiet_medians)
    };
    let pairs = Pairs::take(setup.rounds(ROUNDS), flooded, quiet)?;
    let mut measured = Measured::from(pairs.compare()?);
    let middle = Pairs::of(flooded_medians, quiet_medians).compare()?;
    measured.notes.push(format!("the median call takes {:.1} us, {:.1} us without", middle.ours, middle.raw));
    Ok(measured)
}

/// Calls of clients while something goes on, in microseconds.
async fn beside(server: &Http, reads: &[Ask], work: impl Future<Output = Result<()>>) -> Result<Vec<f64>> {
    let mut clients = clients(server, reads, CLIENTS).await?;
    let over = Cell::new(false);
    let working = async {
        let worked = work.await;
        over.set(true);
        worked
    };
    let calling = try_join_all(clients.iter_mut().map(async |(line, read)| {
        let mut times = Vec::new();
        while !over.get() {
            let begin = Instant::now();
            line.call(read, READ_MARK).await?;
            times.push(begin.elapsed().as_secs_f64() * 1e6);
            sleep(REST).await;
        }
        anyhow::Ok(times)
    }));
    let ((), times) = tokio::try_join!(working, calling)?;
    Ok(times.concat())
}

/// What came of the calls of one client, or of all.
#[derive(Default)]
struct Outcome {
    /// From when each was due, in milliseconds.
    times: Vec<f64>,
    limited: u64,
    failed: u64,
}

fn measure_load(setup: &Setup) -> Result<Measured> {
    let server = Http::sessiond(setup)?;
    let (outcome, looks, peak) = server.run(async {
        let reads = reads(&server, SESSIONS).await?;
        let clients = clients(&server, &reads, LINES as usize).await?;
        let begin = Instant::now();
        let calling = (0..).zip(clients).map(|(place, (line, read))| offer(line, read, place, begin));
        let (outcomes, looks) = tokio::join!(join_all(calling), look(&server, begin));
        let mut outcome = Outcome::default();
        for one in outcomes {
            outcome.times.extend(one.times);
            outcome.limited += one.limited;
            outcome.failed += one.failed;
        }
        Ok((outcome, looks?, server.usage()?.peak_kib))
    })?;
    let early = looks.get(BEFORE..BEFORE + LOOKS).and_then(median).context("memory was not looked at")?;
    let late = looks.last_chunk::<LOOKS>().and_then(|looks| median(looks)).context("memory was not looked at")?;
    let mut measured = Measured::alone(late - early);
    measured.also.push(Check::at_most(0.0, "calls that failed", outcome.failed as f64));
    let middle = median(&outcome.times).context("nothing was answered")?;
    let slowest = percentile_99(&outcome.times).context("nothing was answered")?;
    measured.notes.push(format!(
        "{} calls answered, {} over the limit; {middle:.2} ms from when they were due, the slowest hundredth {slowest:.2} ms",
        outcome.times.len(),
        outcome.limited
    ));
    measured.notes.push(format!("{early:.0} KiB after 10 s, {late:.0} KiB at the end; the peak: {peak} KiB"));
    Ok(measured)
}

/// What the server's memory is, in KiB, each second.
async fn look(server: &Http, begin: Instant) -> Result<Vec<f64>> {
    let mut looks = Vec::new();
    for second in 1..WHOLE {
        sleep_until(begin + Duration::from_secs(second)).await;
        looks.push(server.usage()?.resident_kib as f64);
    }
    Ok(looks)
}

/// The share of one client: calls that are due at their times, whether those before are answered or not. One that is
/// late is sent as soon as the one before it is answered, and its time counts from when it was due.
async fn offer(mut line: Line, ask: &Ask, place: u32, begin: Instant) -> Outcome {
    let mut outcome = Outcome::default();
    let (own, interval) =
        (Duration::from_secs(1) / CALLS_PER_SECOND * place, Duration::from_secs(1) * LINES / CALLS_PER_SECOND);
    let mut due = begin + own;
    while due < begin + Duration::from_secs(WHOLE) {
        sleep_until(due).await;
        match line.ask(ask).await {
            Ok(answer) if answered(&answer, READ_MARK) => outcome.times.push(due.elapsed().as_secs_f64() * 1e3),
            Ok(answer) if answer.status() == StatusCode::TOO_MANY_REQUESTS => outcome.limited += 1,
            Ok(_) | Err(_) => outcome.failed += 1,
        }
        due += interval;
    }
    outcome
}
