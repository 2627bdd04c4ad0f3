//! Whether the registry notices how many sessions it keeps.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use sessiond_core::{Cursor, Limits, ListSessions, MAX_PAGE, Service, SessionId, Wait};

use super::{Bound, Check, Goal, Measured, Row};
use crate::inside::{Asker, Inside};
use crate::setup::Setup;
use crate::stats::{Compared, Pairs, median};
use crate::usage::Usage;

pub(crate) const ROW: Row = Row {
    name: "many",
    what: "the call in process that suffers most from 100,000 fake sessions, against the same call with hardly any",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.2)),
    measure,
};

const SESSIONS: usize = 100_000;
/// Sessions before the first look, in which what earlier rows have left of memory is used up.
const BEFORE: usize = 20_000;
const ROUNDS: usize = 15;
const CALLS: usize = 1_000;
/// How much more the last ones may cost than the first where both should cost the same.
const LINEAR: f64 = 1.2;
const WAITS_FOR_INPUT: &str = "cat";

fn measure(setup: &Setup) -> Result<Measured> {
    let limits = || Limits { running_per_owner: SESSIONS, ..Limits::default() };
    let (many, one) = (Inside::fake(limits())?, Inside::fake(limits())?);
    let alone = one.run(|asker| async move {
        // The other one is only there so that a page of one has a page behind it on both sides.
        asker.start(WAITS_FOR_INPUT.to_owned()).await?;
        asker.start(WAITS_FOR_INPUT.to_owned()).await
    })?;
    let middle = BEFORE + (SESSIONS - BEFORE) / 2;
    let mut ids = Vec::with_capacity(SESSIONS);
    fill(&many, &mut ids, BEFORE)?;
    let early = fill(&many, &mut ids, middle)?;
    let late = fill(&many, &mut ids, SESSIONS)?;
    let one_of_many = *ids.get(middle).context("no session was started")?;

    let mut calls = Vec::new();
    for call in [Call::Read, Call::List, Call::Write] {
        let ours = || microseconds(&many, one_of_many, call);
        let pairs = Pairs::take(setup.rounds(ROUNDS), ours, || microseconds(&one, alone, call))?;
        calls.push((call, pairs.compare()?));
    }
    let listed = count_by_page(&many)?;
    ensure!(listed == SESSIONS, "{listed} sessions were listed of {SESSIONS}");
    many.close();
    one.close();
    let mut measured = worst(&calls)?;
    measured.also.push(Check::at_most(
        LINEAR,
        "time of a late start, as a multiple of an early one's",
        late.0 / early.0,
    ));
    measured.also.push(Check::at_most(
        LINEAR,
        "memory of a late start, as a multiple of an early one's",
        late.1 / early.1,
    ));
    measured.notes.push(format!("a start takes {:.2} us and {:.2} KiB", late.0, late.1));
    Ok(measured)
}

/// The calls that are compared.
#[derive(Clone, Copy, Debug)]
enum Call {
    /// A read that returns at once.
    Read,
    /// A list of one session.
    List,
    /// A write that waits for nothing.
    Write,
}

/// The call with the worst ratio; all of them are noted.
fn worst(calls: &[(Call, Compared)]) -> Result<Measured> {
    let worst = calls.iter().max_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio)).context("no call was measured")?;
    let mut measured = Measured::from(worst.1);
    let note = |(call, compared): &(Call, Compared)| {
        let Compared { ours, raw, ratio, .. } = compared;
        format!("{call:?}: {ours:.2} us, with hardly any sessions {raw:.2} us, {ratio:.3} times")
    };
    measured.notes.extend(calls.iter().map(note));
    Ok(measured)
}

/// Starts sessions until there are `up_to`; returns the microseconds and the KiB of each.
fn fill(inside: &Inside, ids: &mut Vec<SessionId>, up_to: usize) -> Result<(f64, f64)> {
    let count = up_to.saturating_sub(ids.len());
    let before = Usage::own()?.resident_kib;
    let begin = Instant::now();
    let started = inside.run(move |asker| async move {
        let mut started = Vec::with_capacity(count);
        for _ in 0..count {
            started.push(asker.start(WAITS_FOR_INPUT.to_owned()).await?);
            // Each session's own task has its turn, as it has where calls arrive one by one.
            tokio::task::yield_now().await;
        }
        Ok(started)
    })?;
    let time = begin.elapsed().as_secs_f64() * 1e6;
    ids.extend(started);
    let growth = Usage::own()?.resident_kib.saturating_sub(before);
    Ok((time / count as f64, growth as f64 / count as f64))
}

fn microseconds(inside: &Inside, session: SessionId, call: Call) -> Result<f64> {
    let times = inside.run(move |asker| async move {
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let begin = Instant::now();
            make(&asker, session, call).await?;
            times.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        Ok(times)
    })?;
    median(&times).context("nothing was measured")
}

async fn make(asker: &Asker, session: SessionId, call: Call) -> Result<()> {
    match call {
        Call::Read => {
            asker.read(session, Cursor::START, Wait::default()).await?;
        }
        Call::List => {
            let page = asker.registry.list_sessions(&asker.cx, page(1, None)).await?;
            ensure!(page.sessions.len() == 1, "a page had {} sessions", page.sessions.len());
        }
        Call::Write => asker.type_line(session).await?,
    }
    Ok(())
}

fn page(limit: usize, page_token: Option<String>) -> ListSessions {
    ListSessions { limit: Some(limit), page_token, ..ListSessions::default() }
}

fn count_by_page(inside: &Inside) -> Result<usize> {
    inside.run(|asker| async move {
        let (mut count, mut token) = (0, None);
        loop {
            let page = asker.registry.list_sessions(&asker.cx, page(MAX_PAGE, token)).await?;
            count += page.sessions.len();
            token = page.next_page_token;
            if token.is_none() {
                return Ok(count);
            }
        }
    })
}
