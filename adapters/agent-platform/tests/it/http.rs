//! What goes over the wire, and what becomes of everything that can go wrong there.

use std::time::{Duration, Instant};

use sessiond_agent_peer::{Access, Fault, LEAK, Peer, Route, Task};
use sessiond_agent_platform::{Auth, DialectName, Platform, PlatformConfig};
use sessiond_core::{AgentAction, AgentSessionQuery, Availability, Backend, Error, ErrorKind, PlatformId};

use crate::support::{Stage, call, id, platform, secret, within};

/// A moment of a machine that has other things to do as well.
const MOMENT: Duration = Duration::from_millis(700);

#[tokio::test]
async fn ds41_an_id_is_one_encoded_segment_of_a_path() {
    let stage = Stage::new();
    for (odd, segment) in [
        ("a b", "a%20b"),
        ("a?b=c#d", "a%3Fb%3Dc%23d"),
        ("é&+", "%C3%A9%26%2B"),
        ("100%", "100%25"),
        (";:@!$", "%3B%3A%40%21%24"),
        ("...", "..."),
    ] {
        stage.peer.forget_requests();
        let record = serde_json::json!({ "sessionId": odd, "status": "RUNNING" });
        stage.peer.put_session(odd, &record);
        assert_eq!(stage.describe(odd).await.unwrap().session_id, odd);
        let mut paths: Vec<_> = stage.peer.requests().into_iter().map(|seen| seen.path).collect();
        paths.sort();
        let session = format!("/agent-session-manager/sessions/{segment}");
        assert_eq!(paths, [session.clone(), format!("{session}/messages"), "/work-center-service/work-items".into()]);
    }
    for odd in ["", ".", "..", "../../whoami", "a/b", "a\\b", "%2e%2e", "a%2Fb", "a\nb", "a\0b", &"x".repeat(10_240)] {
        assert_eq!(PlatformId::new("session_id", odd).unwrap_err().kind(), ErrorKind::InvalidArgument, "{odd:?}");
    }
}

#[tokio::test]
async fn ds42_an_unknown_session_is_named_with_the_tool_that_lists_them() {
    let stage = Stage::new();
    let unknown =
        Error::not_found("there is no session \"nowhere\" on this platform: get_sessions lists those that it has");
    assert_eq!(stage.describe("nowhere").await.unwrap_err(), unknown);
    assert_eq!(stage.agents().token_usage(&call(), &id("nowhere")).await.unwrap_err(), unknown);
    let control = stage.agents().control(&call(), &id("nowhere"), AgentAction::Cancel, None).await;
    assert_eq!(control.unwrap_err(), unknown);
}

#[tokio::test]
async fn only_the_session_itself_is_not_found_and_not_its_messages() {
    let stage = Stage::new();
    let run = stage.peer.session("COMPLETE");
    stage.peer.turn(&run, "unseen");
    stage.peer.fault(Route::Messages, Fault::Status(404));
    let described = stage.describe(&run).await.unwrap();
    assert_eq!((described.status.as_str(), described.output, described.reasoning_events), ("COMPLETE", None, vec![]));
    let usage = stage.agents().token_usage(&call(), &id(&run)).await.unwrap();
    assert_eq!((usage.summary.session_id, usage.turns), (run.clone(), vec![]));
    stage.peer.fault(Route::Session, Fault::Status(404));
    let unknown = format!("there is no session \"{run}\" on this platform: get_sessions lists those that it has");
    assert_eq!(stage.describe(&run).await.unwrap_err(), Error::not_found(&unknown));
    assert_eq!(stage.agents().token_usage(&call(), &id(&run)).await.unwrap_err(), Error::not_found(&unknown));
}

#[tokio::test]
async fn a_list_may_have_no_page_behind_its_last_one() {
    let stage = Stage::new();
    let run = stage.peer.session("COMPLETE");
    stage.peer.fill(&run, 200);
    stage.peer.forms(|forms| forms.largest_page = 100);
    stage.peer.fault_times(Route::Messages, 2, Fault::Drip { bytes: 1 << 20, pause: Duration::ZERO });
    stage.peer.fault(Route::Messages, Fault::Status(404));
    assert_eq!(stage.describe(&run).await.unwrap().reasoning_events.len(), 50);
}

#[tokio::test]
async fn no_error_gives_anything_of_the_platform_away() {
    let stage = Stage::new();
    let run = stage.peer.run();
    for (fault, kind) in [
        (Fault::Status(400), ErrorKind::InvalidArgument),
        (Fault::Status(401), ErrorKind::PermissionDenied),
        (Fault::Status(403), ErrorKind::PermissionDenied),
        (Fault::Status(405), ErrorKind::Unsupported),
        (Fault::Status(409), ErrorKind::FailedPrecondition),
        (Fault::Status(418), ErrorKind::FailedPrecondition),
        (Fault::Status(422), ErrorKind::InvalidArgument),
        (Fault::Status(429), ErrorKind::Unavailable),
        (Fault::Status(500), ErrorKind::Unavailable),
        (Fault::Status(502), ErrorKind::Unavailable),
        (Fault::Status(503), ErrorKind::Unavailable),
        (Fault::RetryAfter(503, "3600".into()), ErrorKind::Unavailable),
        (Fault::RetryAfter(429, "soon".into()), ErrorKind::Unavailable),
        (Fault::Truncated, ErrorKind::Unavailable),
        (Fault::Garbage, ErrorKind::Unavailable),
        (Fault::Empty, ErrorKind::Unavailable),
        (Fault::Other("[]"), ErrorKind::Unavailable),
        (Fault::Other("\"detail-of-the-platform\""), ErrorKind::Unavailable),
        (Fault::Redirect(format!("http://{LEAK}.test/")), ErrorKind::FailedPrecondition),
    ] {
        for route in [Route::Session, Route::Messages] {
            if route == Route::Messages && fault == Fault::Other("[]") {
                continue;
            }
            stage.peer.heal();
            stage.peer.fault(route, fault.clone());
            let error = stage.describe(&run).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{fault:?} on {route:?}: {error}");
            let message = error.message();
            assert!(
                !message.contains(LEAK) && !message.contains("127.0.0.1") && !message.contains("http"),
                "{message}"
            );
            assert!(message.contains(": ") && !message.ends_with('.'), "{message}");
        }
    }
}

#[tokio::test]
async fn ds43_a_platform_that_says_when_is_asked_again_then() {
    let stage = Stage::new();
    let run = stage.peer.run();
    let date = httpdate(Duration::from_secs(2));
    for after in ["1", &date] {
        stage.peer.fault_once(Route::Session, Fault::RetryAfter(429, after.into()));
        stage.peer.fault_once(Route::Session, Fault::RetryAfter(503, "0".into()));
        stage.peer.forget_requests();
        let began = Instant::now();
        assert_eq!(stage.describe(&run).await.unwrap().status, "RUNNING");
        assert_eq!(stage.peer.count(Route::Session), 3);
        assert!(began.elapsed() >= Duration::from_millis(100), "{:?}", began.elapsed());
    }
    stage.peer.fault_once(Route::Start, Fault::RetryAfter(503, "0".into()));
    assert_eq!(stage.agents().start(&call(), "unrouted", None).await.unwrap().status, "RUNNING");
}

fn httpdate(ahead: Duration) -> String {
    httpdate::fmt_http_date(std::time::SystemTime::now() + ahead)
}

#[tokio::test]
async fn ds43_a_wait_beyond_the_deadline_is_not_begun() {
    let stage = Stage::new();
    let run = stage.peer.run();
    stage.peer.fault(Route::Session, Fault::RetryAfter(429, "60".into()));
    let began = Instant::now();
    let error = stage.describe(&run).await.unwrap_err();
    assert_eq!((error.kind(), stage.peer.count(Route::Session)), (ErrorKind::Unavailable, 1));
    assert!(began.elapsed() < MOMENT, "{:?}", began.elapsed());
}

#[tokio::test]
async fn ds43_a_call_has_one_deadline_whatever_it_waits_for() {
    let limit = Duration::from_millis(600);
    for (route, fault) in [
        (Route::Session, Fault::Never),
        (Route::Messages, Fault::Never),
        (Route::Login, Fault::Never),
        (Route::Session, Fault::Drip { bytes: 1, pause: Duration::from_millis(50) }),
        (Route::Messages, Fault::Drip { bytes: 1, pause: Duration::from_millis(50) }),
        (Route::Login, Fault::Drip { bytes: 1, pause: Duration::from_millis(500) }),
        (Route::Session, Fault::RetryAfter(503, "0".into())),
    ] {
        let stage = Stage::with(|config| config.auth = login());
        stage.peer.require(access());
        let run = stage.peer.run();
        stage.peer.turn(&run, "a turn that takes its time to come over a slow line, byte by byte by byte");
        stage.peer.fault(route, fault.clone());
        let began = Instant::now();
        let error = stage.agents().describe(&within(limit), &id(&run)).await.unwrap_err();
        let took = began.elapsed();
        let late = matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Unavailable);
        assert!(late && took < limit + MOMENT, "{fault:?} on {route:?}: {error} after {took:?}");
    }
}

#[tokio::test]
async fn the_configured_time_limit_holds_for_calls_without_a_deadline() {
    let stage = Stage::with(|config| config.timeout = Duration::from_millis(300));
    stage.peer.fault(Route::Any, Fault::Never);
    let began = Instant::now();
    assert_eq!(stage.describe("s").await.unwrap_err().kind(), ErrorKind::TimedOut);
    let late = stage.agents().control(&call(), &id("s"), AgentAction::Cancel, None).await.unwrap_err();
    let open =
        "the platform has not answered in time, and may have done what it was asked: look there before asking again";
    assert_eq!(late, Error::timed_out(open));
    assert!(began.elapsed() < Duration::from_millis(600) + MOMENT);
}

#[tokio::test]
async fn a_call_that_is_taken_back_ends_at_once() {
    let stage = Stage::new();
    stage.peer.fault(Route::Session, Fault::Never);
    let cx = call();
    let session = id("s");
    let describing = stage.agents().describe(&cx, &session);
    let taking_back = async {
        stage.peer.asked(Route::Session, 1).await;
        cx.cancel.cancel();
    };
    let (error, ()) = tokio::join!(describing, taking_back);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::TimedOut);
}

fn access() -> Access {
    Access::Login { user: "admin".into(), password: "s3cret".into(), body: sessiond_agent_peer::LoginBody::Either }
}

fn login() -> Auth {
    Auth::Login { user: "admin".into(), password: secret("s3cret") }
}

#[tokio::test]
async fn a_redirect_elsewhere_gets_no_request_and_no_credential() {
    let elsewhere = Peer::start().unwrap();
    let stage = Stage::with(|config| config.auth = Auth::Token(secret("t0ken")));
    stage.peer.require(Access::Token("t0ken".into()));
    let run = stage.peer.run();
    for to in
        [elsewhere.url(), elsewhere.url().replace("127.0.0.1", "localhost"), format!("//{}/", elsewhere.address())]
    {
        for route in [Route::Session, Route::Messages, Route::Control] {
            stage.peer.heal();
            stage.peer.fault(route, Fault::Redirect(to.clone()));
            let error = match route {
                Route::Control => stage.agents().control(&call(), &id(&run), AgentAction::Pause, None).await.map(drop),
                _ => stage.describe(&run).await.map(drop),
            };
            assert_eq!(error.unwrap_err().kind(), ErrorKind::FailedPrecondition, "{to}");
        }
    }
    assert_eq!(elsewhere.requests(), []);
}

#[tokio::test]
async fn a_redirect_on_the_platform_itself_is_followed_when_nothing_is_changed_by_it() {
    let stage = Stage::with(|config| config.auth = Auth::Token(secret("t0ken")));
    stage.peer.require(Access::Token("t0ken".into()));
    let (run, other) = (stage.peer.run(), stage.peer.session("PAUSED"));
    let to = format!("/agent-session-manager/sessions/{other}");
    stage.peer.fault_once(Route::Session, Fault::Redirect(to.clone()));
    assert_eq!(stage.describe(&run).await.unwrap().status, "PAUSED");
    stage.peer.fault(Route::Session, Fault::Redirect(to.clone()));
    assert_eq!(stage.describe(&run).await.unwrap_err().kind(), ErrorKind::FailedPrecondition);
    stage.peer.heal();
    stage.peer.fault(Route::Control, Fault::Redirect(to));
    let error = stage.agents().control(&call(), &id(&run), AgentAction::Cancel, None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FailedPrecondition);
    assert_eq!(stage.peer.status(&other).as_deref(), Some("PAUSED"));
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let stage = Stage::new();
    let run = stage.peer.session("COMPLETE");
    for _ in 0..5 {
        stage.describe(&run).await.unwrap();
    }
    let mut ports: Vec<_> = stage.peer.requests().into_iter().map(|seen| seen.port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert!(ports.len() <= 2, "{ports:?}");
}

#[tokio::test]
async fn a_connection_that_closes_before_an_answer_costs_one_more_request_of_what_only_reads() {
    let stage = Stage::new();
    let run = stage.peer.run();
    stage.peer.fault_once(Route::Session, Fault::HangUp);
    assert_eq!(stage.describe(&run).await.unwrap().status, "RUNNING");
    assert_eq!(stage.peer.count(Route::Session), 2);
    stage.peer.fault(Route::Any, Fault::HangUp);
    let broken = Error::unavailable("the connection to the platform broke off: try again");
    assert_eq!(stage.describe(&run).await.unwrap_err(), broken);
    let control = stage.agents().control(&call(), &id(&run), AgentAction::Cancel, None).await;
    let open = Error::unavailable(
        "the platform broke off the connection, and may have done what it was asked: look there before asking again",
    );
    assert_eq!((control.unwrap_err(), stage.peer.count(Route::Control)), (open, 1));
}

#[tokio::test]
async fn a_platform_that_went_away_and_came_back_is_there_again() {
    let stage = Stage::new();
    let run = stage.peer.run();
    stage.describe(&run).await.unwrap();
    stage.peer.go_away();
    let error = stage.describe(&run).await.unwrap_err();
    assert_eq!(
        error,
        Error::unavailable("the platform cannot be reached: check the target's url, and whether it runs")
    );
    stage.peer.come_back().unwrap();
    assert_eq!(stage.describe(&run).await.unwrap().status, "RUNNING");
}

#[tokio::test]
async fn a_platform_below_a_path_is_asked_below_it() {
    let stage = Stage::new();
    let mut config = PlatformConfig::new(format!("{}/base/", stage.peer.url()), DialectName::Itential);
    config.keepalive = None;
    let below = Platform::new(&config).unwrap();
    let refused = Backend::agents(below.as_ref()).unwrap().describe(&call(), &id("s")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    assert!(stage.peer.requests()[0].path.starts_with("/base/agent-session-manager/sessions/s"));
}

#[tokio::test]
async fn a_target_is_online_while_it_lets_us_in() {
    let stage = Stage::with(|config| config.auth = Auth::Token(secret("t0ken")));
    stage.peer.require(Access::Token("t0ken".into()));
    let cx = call();
    let (first, second) = tokio::join!(stage.platform.status(&cx), stage.platform.status(&cx));
    assert_eq!((first.availability, second.availability), (Availability::Online, Availability::Online));
    assert_eq!((stage.peer.requests().len(), stage.peer.count(Route::Whoami)), (1, 1));
    let stranger = platform(&stage.peer, |config| config.auth = Auth::Token(secret("wrong")));
    let status = stranger.status(&call()).await;
    assert_eq!(status.availability, Availability::Offline);
    let detail = "the platform refuses this server's login: check the target's auth and its secrets";
    assert_eq!(status.detail.as_deref(), Some(detail));
    stage.peer.fault(Route::Whoami, Fault::Never);
    let slow = platform(&stage.peer, |config| config.auth = Auth::Token(secret("t0ken")));
    let hurried = slow.status(&within(Duration::from_millis(50))).await;
    assert_eq!((hurried.availability, hurried.detail), (Availability::Unknown, None));
    let began = Instant::now();
    assert_eq!(slow.status(&call()).await.availability, Availability::Offline);
    assert!(began.elapsed() < Duration::from_secs(2) + MOMENT);
}

#[tokio::test]
async fn a_platform_in_use_is_kept_alive_and_one_that_nobody_uses_is_not() {
    let stage = Stage::with(|config| config.keepalive = Some(Duration::from_millis(60)));
    let run = stage.peer.run();
    assert_eq!(stage.peer.requests(), []);
    stage.peer.fault_once(Route::Whoami, Fault::Status(500));
    stage.describe(&run).await.unwrap();
    stage.peer.asked(Route::Whoami, 3).await;
    stage.platform.shutdown(Duration::from_secs(1)).await;
    let asked = stage.peer.count(Route::Whoami);
    assert_eq!(asked, 3);
}

#[tokio::test]
async fn requests_have_a_pace() {
    let stage = Stage::with(|config| config.requests_per_second = 20);
    let run = stage.peer.session("COMPLETE");
    let began = Instant::now();
    for _ in 0..15 {
        stage.describe(&run).await.unwrap();
    }
    // 30 requests: 20 of the first second at once, and 10 of the next at 50 ms each.
    assert!(began.elapsed() >= Duration::from_millis(450), "{:?}", began.elapsed());
    assert_eq!(stage.peer.requests().len(), 30);
}

#[tokio::test]
async fn lists_that_fail_in_the_middle_fail_as_a_whole() {
    let stage = Stage::new();
    let run = stage.peer.session("COMPLETE");
    stage.peer.fill(&run, 1_100);
    stage.peer.ask(&run, &Task::new("x"));
    stage.peer.forms(|forms| forms.largest_page = 100);
    stage.peer.fault(Route::Messages, Fault::Drip { bytes: 1 << 20, pause: Duration::ZERO });
    assert_eq!(stage.describe(&run).await.unwrap().reasoning_events.len(), 275);
    stage.peer.heal();
    stage.peer.fault_times(Route::Messages, 3, Fault::Drip { bytes: 1 << 20, pause: Duration::ZERO });
    stage.peer.fault_once(Route::Messages, Fault::Status(500));
    assert_eq!(stage.describe(&run).await.unwrap_err().kind(), ErrorKind::Unavailable);
    stage.peer.fault_once(Route::Sessions, Fault::Other("{\"message\": \"none\"}"));
    let query = AgentSessionQuery { limit: 1, ..AgentSessionQuery::default() };
    assert_eq!(stage.agents().sessions(&call(), &query).await.unwrap_err().kind(), ErrorKind::Unavailable);
}
