//! What agent platforms cost: describing a long session, and following many.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::json;
use sessiond_agent_peer::{Peer, Route};
use sessiond_agent_platform::{DialectName, Platform, PlatformConfig};
use sessiond_core::{Backend, DescribeAgentSession, FixedTargets, Limits, Service, TargetInfo, TargetName};

use super::{Bound, Check, Goal, Measured, Row};
use crate::client::Client;
use crate::inside::Inside;
use crate::setup::Setup;
use crate::stats::Pairs;
use crate::usage::Usage;

pub(crate) const DESCRIBE: Row = Row {
    name: "agent-describe",
    what: "describing a session of 10,000 messages, against fetching and parsing the same pages",
    unit: "ms",
    goal: Goal::Ratio(Bound::AtMost(1.3)),
    measure: describe,
};

pub(crate) const IDLE: Row = Row {
    name: "agent-idle",
    what: "the server's memory for each of 1,000 followed runs that nobody waits for; no thread each",
    unit: "KiB",
    goal: Goal::Ours(Bound::AtMost(32.0)),
    measure: idle,
};

const MESSAGES: usize = 10_000;
/// Of these, one in four is a completed turn.
const TURNS: usize = MESSAGES / 4;

fn describe(setup: &Setup) -> Result<Measured> {
    let peer = Peer::start()?;
    let session = peer.run();
    peer.fill(&session, MESSAGES);
    peer.complete(&session);
    let url = peer.url();
    let target = TargetName::new("agents")?;
    let inside = Inside::among(target.clone(), Limits::default(), || {
        // What an answer costs is measured, not how long a limit makes it wait.
        let config = PlatformConfig { requests_per_second: 0, ..PlatformConfig::new(url, DialectName::Itential) };
        let platform: Arc<dyn Backend> = Platform::new(&config)?;
        let info = TargetInfo { platform: Some(Platform::info(&config)), ..TargetInfo::new(target, "agent-platform") };
        Ok(Arc::new(FixedTargets::new(vec![(info, platform)])))
    })?;
    let ours = || {
        let session = session.clone();
        inside.run(|asker| async move {
            let request = DescribeAgentSession { target: Some(asker.target.clone()), session };
            let begin = Instant::now();
            let told = asker.registry.describe_agent_session(&asker.cx, request).await?;
            let took = begin.elapsed();
            ensure!(told.reasoning_events.len() == TURNS, "{} turns came", told.reasoning_events.len());
            Ok(took.as_secs_f64() * 1e3)
        })
    };
    ours()?;
    // The same requests, as they came: whatever sizes the adapter asks for, the floor asks for too.
    let pages: Vec<String> = peer
        .requests()
        .into_iter()
        .filter(|seen| matches!(seen.route, Route::Session | Route::Messages))
        .map(|seen| format!("{}{}?{}", peer.url(), seen.path, seen.query))
        .collect();
    ensure!(pages.len() > 1, "only {} requests came", pages.len());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let client = reqwest::Client::new();
    let raw = || {
        runtime.block_on(async {
            let begin = Instant::now();
            let turns = fetch(&client, &pages).await?;
            let took = begin.elapsed();
            ensure!(turns == TURNS, "{turns} turns came");
            Ok(took.as_secs_f64() * 1e3)
        })
    };
    raw()?;
    let pairs = Pairs::take(setup.rounds(21), ours, raw)?;
    inside.close();
    let mut measured = Measured::from(pairs.compare()?);
    measured.notes.push(format!("{} pages", pages.len()));
    Ok(measured)
}

/// A message, with what a description needs of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(rename = "eventId")]
    _event_id: String,
    #[serde(rename = "timestamp")]
    _timestamp: String,
    category: String,
    #[serde(rename = "sequenceNumber")]
    _sequence_number: Option<i64>,
    #[serde(rename = "text")]
    _text: Option<String>,
    data: Option<Data>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    stop_reason: Option<String>,
}

/// Fetches pages one after the other and parses them; how many completed turns stood in them.
async fn fetch(client: &reqwest::Client, pages: &[String]) -> Result<usize> {
    let mut turns = 0;
    for page in pages {
        let body = client.get(page).send().await?.bytes().await?;
        if !page.contains("/messages") {
            serde_json::from_slice::<serde_json::Value>(&body)?;
            continue;
        }
        let messages: Vec<Message> = serde_json::from_slice(&body)?;
        let completed = |message: &&Message| {
            message.category == "AGENT_REASONING"
                && message.data.as_ref().and_then(|data| data.stop_reason.as_deref()) == Some("end_turn")
        };
        turns += messages.iter().filter(completed).count();
    }
    Ok(turns)
}

const RUNS: usize = 1000;
/// Runs before the first look, so that what is allocated once is not counted.
const BEFORE: usize = 20;
/// How long a follower of a run that nobody waits for takes to look as seldom as it will, and a little more.
const SETTLED: Duration = Duration::from_secs(75);
/// How long requests are counted.
const COUNTED: Duration = Duration::from_secs(60);
/// The rule: so many requests of one follower, at most, in this time.
const WINDOW: Duration = Duration::from_secs(30);

fn idle(setup: &Setup) -> Result<Measured> {
    let peer = Peer::start()?;
    let runs: Vec<String> = (0..BEFORE + RUNS).map(|_| peer.run()).collect();
    let place = tempfile::tempdir()?;
    let config = place.path().join("config.toml");
    let text = format!(
        "[limits]\nrunning_per_owner = 2000\n[ssh]\nenabled = false\n[targets.local]\nenabled = false\n\
         [targets.agents]\nbackend = \"agent-platform\"\ndialect = \"itential\"\nurl = \"{}\"\n",
        peer.url()
    );
    std::fs::write(&config, text)?;
    let config = config.to_str().context("the path of the configuration is no text")?;
    let mut server = setup.server(&[("SESSIOND_CONFIG", config)])?;
    let (first, rest) = runs.split_at(BEFORE);
    attach(&mut server, first)?;
    let before = Usage::of(server.pid())?;
    attach(&mut server, rest)?;
    std::thread::sleep(SETTLED);
    let asked = peer.count(Route::Any);
    std::thread::sleep(COUNTED);
    let asked = peer.count(Route::Any) - asked;
    let after = Usage::of(server.pid())?;
    server.close()?;

    let growth = after.resident_kib.saturating_sub(before.resident_kib) as f64;
    let mut measured = Measured::alone(growth / RUNS as f64);
    let threads = after.threads.saturating_sub(before.threads) as f64;
    measured.also.push(Check::at_most(0.0, "threads more than before", threads));
    let windows = COUNTED.as_secs_f64() / WINDOW.as_secs_f64();
    let each = asked as f64 / (BEFORE + RUNS) as f64 / windows;
    measured.also.push(Check::at_most(1.0, "requests for each run in 30 s", each));
    measured.notes.push(format!("{} KiB before, {} KiB after", before.resident_kib, after.resident_kib));
    Ok(measured)
}

fn attach(server: &mut Client, runs: &[String]) -> Result<()> {
    for run in runs {
        server.result("session_start", &json!({"native_id": run, "client_token": "agents"}))?;
    }
    Ok(())
}
