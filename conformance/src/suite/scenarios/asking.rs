//! How an agent platform is asked: its pages, its ids, its failures, its words, and how much is told (DS40 to DS45).

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::json;
use sessiond_agent_peer::{Agent, Fault, LEAK, Route};
use sessiond_core::{AgentAction, AgentSessionQuery, ErrorKind, ListAgents};

use super::describing::texts;
use crate::suite::house::{House, Settings};
use crate::suite::scenario::{Scenario, agent};
use crate::suite::stage::Stage;
use crate::suite::stage::agents::all_sessions;

pub(super) const SCENARIOS: &[Scenario] = &[
    agent("DS40", "every page of messages is there, however a platform pages", |house| messages(house).boxed()),
    agent("DS40", "every page of sessions and of agents is there", |house| lists(house).boxed()),
    agent("DS41", "what cannot be an id is refused before anything is asked", |house| bad_ids(house).boxed()),
    agent("DS41", "what can be one is one segment of the path", |house| odd_id(house).boxed()),
    agent("DS42", "an unknown session is not found, by its id alone", |house| unknown(house).boxed()),
    agent("DS43", "a login that has expired is renewed once, however many need it", |house| renewed(house).boxed()),
    agent("DS43", "a platform that asks for patience gets it", |house| patience(house).boxed()),
    agent("DS43", "a platform that never answers, or drips, costs the time of one call", |house| {
        deadline(house).boxed()
    }),
    agent("DS44", "every status is told in the platform's own word", |house| statuses(house).boxed()),
    agent("DS45", "the oldest events of a large session are left out and counted", |house| large(house).boxed()),
];

async fn messages(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    peer.fill(&run, 1203);
    let first = stage.describe(&run).await;
    let numbers: Vec<usize> = first
        .reasoning_events
        .iter()
        .filter_map(|event| event.text.as_ref()?.strip_prefix("Turn ")?.split(':').next()?.parse().ok())
        .collect();
    assert_eq!(numbers, (0..1203).filter(|number| number % 4 == 3).collect::<Vec<_>>());
    for change in [10_000, 100, 7] {
        peer.forms(|forms| forms.largest_page = change);
        assert_eq!(stage.describe(&run).await.reasoning_events, first.reasoning_events, "pages of at most {change}");
    }
    peer.forms(|forms| forms.ignores_paging = true);
    assert_eq!(stage.describe(&run).await.reasoning_events, first.reasoning_events, "a platform that knows no pages");
}

async fn lists(house: House) {
    let stage = house.open().await;
    let peer = stage.peer();
    let runs: Vec<String> = (0..230).map(|_| peer.run()).collect();
    for number in 0..120 {
        peer.agent(Agent::new(&format!("agent {number}")));
    }
    for (total, largest) in [(true, 100), (false, 100), (true, 40)] {
        peer.forms(|forms| (forms.total, forms.largest_page) = (total, largest));
        let mut listed = stage.agent_sessions(all_sessions()).await.unwrap();
        let mut ids: Vec<String> = listed.sessions.drain(..).map(|session| session.session_id).collect();
        ids.sort_unstable();
        assert_eq!(ids, runs, "with a total: {total}, pages of at most {largest}");
        let agents = stage.service.list_agents(&stage.call(), ListAgents::default()).await.unwrap();
        let named = agents.iter().filter(|agent| agent.name.starts_with("agent ")).count();
        assert_eq!(named, 120, "with a total: {total}, pages of at most {largest}");
    }
}

async fn bad_ids(house: House) {
    let stage = house.open().await;
    let long = "x".repeat(10_000);
    for id in ["", ".", "..", "../../whoami", "a/b", "a\\b", "a%2fb", "%2e%2e", "a\u{7}b", "a\nb", long.as_str()] {
        let refused = [
            stage.try_describe(id).await.map(drop),
            stage.token_usage(id).await.map(drop),
            stage.steer(id, AgentAction::Cancel).await.map(drop),
            stage.manual_task(id).await.map(drop),
        ];
        for refused in refused {
            let error = refused.expect_err("it is refused");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{id:?}: {error}");
            assert!(error.message().len() < 400, "{error}");
        }
    }
    assert_eq!(stage.peer().count(Route::Any), 0, "nothing was asked, not even for a login");
}

async fn odd_id(house: House) {
    let stage = house.open().await;
    let (peer, id) = (stage.peer(), "a b?c#d=é&100%;+");
    peer.put_session(id, &json!({ "sessionId": id, "status": "COMPLETE" }));
    assert_eq!(stage.describe(id).await.session_id, id);
    let paths: Vec<String> = peer
        .requests()
        .into_iter()
        .filter(|seen| matches!(seen.route, Route::Session | Route::Messages))
        .map(|seen| seen.path)
        .collect();
    assert!(!paths.is_empty());
    for path in paths {
        let segment = path.split('/').nth(3).unwrap_or_default();
        assert!(segment.starts_with("a%20b%3Fc%23d"), "{path}");
    }
}

/// That an error says nothing of the platform itself.
fn discreet(stage: &Stage, message: &str) {
    let port = stage.peer().address().port().to_string();
    for word in [LEAK, "http", "127.0.0.1", port.as_str(), "agent-session-manager"] {
        assert!(!message.contains(word), "{word} stands in {message:?}");
    }
}

async fn unknown(house: House) {
    let stage = house.open().await;
    for refused in [stage.try_describe("nobody-1").await.map(drop), stage.token_usage("nobody-1").await.map(drop)] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.message().contains("nobody-1") && error.message().contains("get_sessions"), "{error}");
        discreet(&stage, error.message());
    }
    let run = stage.peer().run();
    for (fault, kind) in [
        (Fault::Status(403), ErrorKind::PermissionDenied),
        (Fault::Status(500), ErrorKind::Unavailable),
        (Fault::Garbage, ErrorKind::Unavailable),
        (Fault::Truncated, ErrorKind::Unavailable),
    ] {
        stage.peer().fault(Route::Session, fault.clone());
        let error = stage.try_describe(&run).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{fault:?}: {error}");
        discreet(&stage, error.message());
        stage.peer().heal();
    }
}

async fn renewed(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    stage.describe(&run).await;
    assert_eq!(peer.count(Route::Login), 1, "one login serves everything");
    peer.expire_logins();
    let told = join_all((0..8).map(|_| stage.try_describe(&run))).await;
    assert!(told.iter().all(Result::is_ok), "{told:?}");
    assert_eq!(peer.count(Route::Login), 2, "eight calls renew it once");
    peer.fault(Route::Session, Fault::Status(401));
    let before = peer.count(Route::Session);
    let error = stage.try_describe(&run).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(peer.count(Route::Session) - before <= 2, "it is tried again once");
    discreet(&stage, error.message());
    // Whoever is sent elsewhere goes nowhere, and shows nobody there what lets it in.
    let elsewhere = sessiond_agent_peer::Peer::start().unwrap();
    peer.heal();
    peer.fault(Route::Session, Fault::Redirect(format!("{}/stolen", elsewhere.url())));
    let error = stage.try_describe(&run).await.unwrap_err();
    discreet(&stage, error.message());
    assert!(elsewhere.requests().iter().all(|seen| !seen.has_credential()), "{:?}", elsewhere.requests());
}

async fn patience(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    for status in [429, 503] {
        peer.fault_once(Route::Session, Fault::RetryAfter(status, "1".to_owned()));
        let began = Instant::now();
        assert_eq!(stage.describe(&run).await.status, "RUNNING");
        assert!(began.elapsed() >= Duration::from_millis(900), "{status}: it was given its second");
    }
    peer.fault(Route::Session, Fault::RetryAfter(429, "3600".to_owned()));
    let began = Instant::now();
    let error = stage.try_describe(&run).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(began.elapsed() < Duration::from_secs(20), "who cannot wait so long does not wait at all");
}

async fn deadline(house: House) {
    let settings = Settings { platform_timeout: Duration::from_secs(2), ..Settings::default() };
    let stage = house.open_with(settings).await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    let drip = Fault::Drip { bytes: 1, pause: Duration::from_millis(100) };
    for (route, fault) in [
        (Route::Session, Fault::Never),
        (Route::Session, drip.clone()),
        (Route::Messages, Fault::Never),
        (Route::Any, drip),
    ] {
        peer.fault(route, fault.clone());
        let began = Instant::now();
        let error = stage.try_describe(&run).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{route:?} {fault:?}: {error}");
        assert!(began.elapsed() < Duration::from_secs(8), "{route:?} {fault:?}: {:?}", began.elapsed());
        discreet(&stage, error.message());
        peer.heal();
    }
    assert_eq!(stage.describe(&run).await.status, "RUNNING");
}

async fn statuses(house: House) {
    let stage = house.open().await;
    let peer = stage.peer();
    let words = ["PENDING", "RUNNING", "PAUSING", "PAUSED", "COMPLETE", "FAILED", "CANCELING", "CANCELED", "Pondering"];
    for word in words {
        let run = peer.session(word);
        assert_eq!(stage.describe(&run).await.status, word);
        let only = AgentSessionQuery { status: Some(word.to_owned()), ..all_sessions() };
        let listed = stage.agent_sessions(only).await.unwrap().sessions;
        let seen: Vec<_> =
            listed.iter().map(|session| (session.session_id.as_str(), session.status.as_str())).collect();
        assert_eq!(seen, [(run.as_str(), word)]);
    }
}

async fn large(house: House) {
    let stage = house.open().await;
    let (peer, run) = (stage.peer(), stage.peer().run());
    let text = |number: usize| format!("{number:02} {}", "x".repeat(64 * 1024));
    for number in 0..24 {
        peer.turn(&run, &text(number));
    }
    peer.complete(&run);
    let told = stage.describe(&run).await;
    let there = told.reasoning_events.len();
    assert!((14..=15).contains(&there), "{there} of 24 fit into 1 MiB");
    assert_eq!(told.dropped_events, 24 - there as u64);
    let expected: Vec<String> = (24 - there..24).map(text).collect();
    assert_eq!(texts(&told), expected.iter().map(|text| Some(text.as_str())).collect::<Vec<_>>());
    assert_eq!(told.output, Some(text(23)));
}
