//! Runs of the scripted platform, followed as sessions.

use std::time::Duration;

use futures_util::FutureExt;
use sessiond_agent_peer::{Fault, Forms, Route, Script, Task};
use sessiond_core::{Backend, ErrorKind, Exit, Signal, SignalTarget, Stopped};

use crate::followed::{Followed, log, spec};
use crate::support::{AMPLE, Stage, call};

#[tokio::test]
async fn a_run_that_plays_by_itself_is_a_session_like_any_other() {
    let stage = Stage::new();
    let command = Script::new().say("one").pause(50).tool("look").say("two\n").complete().command();
    let run = Followed::start(&stage.platform, &command).await.unwrap();
    assert_eq!(run.to_end().await, ("one\ntwo\n".into(), Exit::Exited(0)));
    assert_eq!(stage.peer.sessions(), [run.id().to_string()]);
}

#[tokio::test]
async fn turns_come_once_and_in_order_whatever_order_the_platform_lists_them_in() {
    let stage = Stage::new();
    stage.peer.forms(|forms: &mut Forms| forms.unordered = true);
    let id = stage.peer.run();
    let run = Followed::attach(&stage.platform, &id).await.unwrap();
    let mut expected = String::new();
    for number in 1..=5 {
        stage.peer.turn_stopping(&id, "I shall look.", "tool_use");
        stage.peer.turn(&id, &format!("turn {number}"));
        expected += &format!("turn {number}\n");
        assert_eq!(run.shows(&format!("turn {number}\n")).await, expected);
    }
    stage.peer.complete(&id);
    assert_eq!(run.to_end().await, (expected, Exit::Exited(0)));
}

#[tokio::test]
async fn every_end_comes_behind_the_last_turn_also_when_nobody_waits() {
    let stage = Stage::new();
    type Case = (fn(&Stage, &str), &'static str, Exit);
    let ends: [Case; 4] = [
        (|stage, id| stage.peer.complete(id), "said\n", Exit::Exited(0)),
        (|stage, id| stage.peer.fail(id, "no model"), "said\n", Exit::Failed("no model".into())),
        (|stage, id| stage.peer.cancel(id), "said\n", Exit::Canceled),
        (|stage, id| stage.peer.vanish(id), "", Exit::Lost("the platform does not know the run any more".into())),
    ];
    for (end, text, exit) in ends {
        let id = stage.peer.run();
        let run = Followed::attach(&stage.platform, &id).await.unwrap();
        stage.peer.turn(&id, "said");
        end(&stage, &id);
        assert_eq!((run.ended().await.exit, run.text().as_str()), (exit, text));
    }
}

#[tokio::test]
async fn a_run_that_is_over_already_gives_its_text_and_its_end() {
    let stage = Stage::new();
    let id = stage.peer.run();
    stage.peer.turn(&id, "long ago");
    stage.peer.complete(&id);
    let run = Followed::attach(&stage.platform, &id).await.unwrap();
    assert_eq!(run.to_end().await, ("long ago\n".into(), Exit::Exited(0)));
    assert_eq!(run.stop().await, Ok(Stopped::Confirmed));
    assert_eq!(stage.peer.count(Route::Control), 0);
}

#[tokio::test]
async fn a_stop_is_confirmed_once_the_platform_says_that_it_is_cancelled() {
    let stage = Stage::new();
    stage.peer.forms(|forms: &mut Forms| forms.cancel_takes_ms = 300);
    let id = stage.peer.run();
    let run = Followed::attach(&stage.platform, &id).await.unwrap();
    stage.peer.turn(&id, "said");
    assert_eq!(run.stop().await, Ok(Stopped::Confirmed));
    assert_eq!(stage.peer.status(&id).as_deref(), Some("CANCELED"));
    assert_eq!((run.ended().await.exit, run.text().as_str()), (Exit::Canceled, "said\n"));
    assert_eq!(stage.peer.count(Route::Control), 1);
}

#[tokio::test]
async fn what_waits_for_a_person_is_said_in_words() {
    let stage = Stage::new();
    let (id, idle) = (stage.peer.run(), stage.peer.run());
    stage.peer.ask(&id, &Task::new("Approve change"));
    let run = Followed::attach(&stage.platform, &id).await.unwrap();
    assert_eq!(run.input_state().await, (true, "manual task \"Approve change\" waits".into()));
    assert_eq!(run.input_state().await, (true, "manual task \"Approve change\" waits".into()));
    assert_eq!(stage.peer.count(Route::Items), 1);
    let other = Followed::attach(&stage.platform, &idle).await.unwrap();
    assert_eq!(other.input_state().await, (false, "no manual task waits".into()));
    stage.peer.fault(Route::Items, Fault::Status(500));
    let third = Followed::attach(&stage.platform, &idle).await.unwrap();
    assert_eq!(third.session.input_state(&call()).await, None);
}

#[tokio::test]
async fn a_platform_that_goes_away_and_comes_back_loses_nothing() {
    let stage = Stage::new();
    let id = stage.peer.run();
    let run = Followed::attach(&stage.platform, &id).await.unwrap();
    stage.peer.turn(&id, "one");
    run.shows("one\n").await;
    stage.peer.go_away();
    stage.peer.turn(&id, "two");
    let back = async {
        stage.peer.come_back().unwrap();
        stage.peer.fault_times(Route::Session, 2, Fault::Status(500));
        stage.peer.fault_times(Route::Messages, 1, Fault::Truncated);
    };
    let (text, ()) = tokio::join!(run.shows("two\n"), back);
    assert_eq!(text, "one\ntwo\n");
}

#[tokio::test]
async fn a_login_that_stays_refused_ends_it_as_lost_with_the_reason() {
    let stage = Stage::with(|config| config.lost_after = Duration::from_millis(700));
    let id = stage.peer.run();
    let run = Followed::attach(&stage.platform, &id).await.unwrap();
    stage.peer.fault(Route::Session, Fault::Status(403));
    let (_, exit) = run.to_end().await;
    let how = "it could not be followed for 700 ms, and may still run: the platform does not let this server's account \
               do that: allow it there (status 403)";
    assert_eq!(exit, Exit::Lost(how.into()));
}

#[tokio::test]
async fn a_start_that_fails_is_an_error_and_leaves_no_run() {
    let stage = Stage::new();
    for (command, kind) in [
        ("nobody {}", ErrorKind::NotFound),
        ("script {\"steps\"", ErrorKind::InvalidArgument),
        ("{}", ErrorKind::InvalidArgument),
    ] {
        let (log, out) = log();
        let error = stage.platform.start_session(&call(), spec(command), out).await.err().unwrap();
        assert_eq!(error.kind(), kind, "{command}: {error}");
        assert!(log.end().is_some_and(|end| end.lost()));
    }
    assert_eq!(stage.peer.sessions(), [""; 0]);
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_is_cancelled() {
    let stage = Stage::new();
    let (log, out) = log();
    let started = stage.platform.start_session(&call(), spec("script {\"steps\": []}"), out).now_or_never();
    assert!(started.is_none(), "nothing starts without a request");
    assert!(log.end().is_some_and(|end| end.lost()));
    stage.peer.asked(Route::Control, 1).await;
    let id = stage.peer.sessions().remove(0);
    while stage.peer.status(&id).as_deref() != Some("CANCELED") {
        stage.peer.asked(Route::Any, stage.peer.count(Route::Any) + 1).await;
    }
}

#[tokio::test]
async fn what_is_not_there_cannot_be_attached() {
    let stage = Stage::new();
    for (id, kind, requests) in [
        ("nobody", ErrorKind::NotFound, 1),
        ("../../whoami", ErrorKind::InvalidArgument, 0),
        ("", ErrorKind::InvalidArgument, 0),
    ] {
        stage.peer.forget_requests();
        let error = Followed::attach(&stage.platform, id).await.err().unwrap();
        assert_eq!((error.kind(), stage.peer.count(Route::Any)), (kind, requests), "{id}");
    }
}

#[tokio::test]
async fn a_run_takes_no_signals_and_no_input() {
    let stage = Stage::new();
    let run = Followed::attach(&stage.platform, &stage.peer.run()).await.unwrap();
    let signalled = run.session.signal(&call(), Signal::Int, SignalTarget::Foreground).await;
    let written = run.session.write(&call(), "x".into()).await;
    assert_eq!(signalled.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(written.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(run.session.descendants().await, [0_u32; 0]);
}

/// The threads and the resident memory, in KiB, of this process.
fn cost() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let number = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    (number("Threads:"), number("VmRSS:"))
}

/// The bench has the measured row; here it is that there is no thread and no storm of requests for each.
#[tokio::test]
async fn a_thousand_runs_that_nobody_waits_for_cost_little() {
    const RUNS: usize = 1000;
    let stage = Stage::with(|config| config.requests_per_second = 0);
    let ids: Vec<_> = (0..RUNS).map(|_| stage.peer.run()).collect();
    let warm = Followed::attach(&stage.platform, &ids[0]).await.unwrap();
    stage.peer.asked(Route::Session, 2).await;
    stage.peer.forget_requests();
    let (_, before) = cost();
    let mut runs = Vec::new();
    for id in &ids {
        runs.push(Followed::attach(&stage.platform, id).await.unwrap());
    }
    // One request finds each, one is its first look.
    stage.peer.asked(Route::Session, 2 * RUNS).await;
    let (threads, after) = cost();
    println!("{threads} threads, {} KiB for each run", (after.saturating_sub(before)) / RUNS as u64);
    assert!(threads < 200, "{threads} threads");
    assert_eq!(stage.peer.count(Route::Messages), 0);
    drop(warm);
    assert!(tokio::time::timeout(AMPLE, stage.platform.shutdown(AMPLE)).await.is_ok());
    for run in runs {
        assert!(run.ended().await.lost());
    }
}
