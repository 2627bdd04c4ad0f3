//! How long records stay (SR60, SR61).

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use sessiond_core::{ErrorKind, Limits, SessionId};

use crate::suite::house::{House, Settings};
use crate::suite::scenario::{Scenario, host, session};
use crate::suite::stage::hosts::{handle, newest};
use crate::suite::stage::{Stage, for_output, said, text};

pub(super) const SCENARIOS: &[Scenario] = &[
    session("SR60", "a finished record can be read until its time is over", |house| expiry(house).boxed()),
    session("SR60", "a running session outlives the time of finished ones", |house| running(house).boxed()),
    session("SR60", "beyond the number of finished records the oldest go", |house| number(house).boxed()),
    session("SR60", "beyond the bytes of finished records the oldest go", |house| bytes(house).boxed()),
    host("SR60", "the record of a command on a host expires alike", |house| command_expiry(house).boxed()),
    session("SR61", "another life of the server knows no id of this one", |house| restart(house).boxed()),
];

/// The shortest time to live that a configuration can give.
const TTL: Duration = Duration::from_secs(1);

fn settings(limits: Limits) -> Settings {
    Settings { limits, ..Settings::default() }
}

async fn finished(stage: &Stage, output: &str) -> SessionId {
    let session = stage.start(&format!("printf {output}; exit 0")).await;
    stage.to_end(session).await;
    session
}

/// Waits until a session is not found any more.
async fn gone(stage: &Stage, session: SessionId) {
    let began = Instant::now();
    loop {
        match stage.try_read(session, 0, for_output(0)).await {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                return;
            }
            Ok(_) if began.elapsed() > Duration::from_secs(20) => panic!("it is still there"),
            Ok(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn expiry(house: House) {
    let stage = house.open_with(settings(Limits { finished_ttl: TTL, ..Limits::default() })).await;
    let began = Instant::now();
    let session = finished(&stage, "over").await;
    let read = stage.try_read(session, 0, for_output(0)).await;
    assert!(began.elapsed() > TTL || read.is_ok_and(|read| text(&read) == "over"), "it stays for its time");
    gone(&stage, session).await;
    assert!(began.elapsed() >= TTL);
}

async fn running(house: House) {
    let stage = house.open_with(settings(Limits { finished_ttl: TTL, ..Limits::default() })).await;
    let runs = stage.start_until("printf ready; sleep 1000", "ready").await;
    let session = finished(&stage, "over").await;
    gone(&stage, session).await;
    assert_eq!(text(&stage.read(runs, 0, for_output(0)).await), "ready");
}

async fn number(house: House) {
    let stage = house.open_with(settings(Limits { finished_per_owner: 2, ..Limits::default() })).await;
    let sessions = [finished(&stage, "a").await, finished(&stage, "b").await, finished(&stage, "c").await];
    gone(&stage, sessions[0]).await;
    assert_eq!(text(&stage.read(sessions[1], 0, for_output(0)).await), "b");
    assert_eq!(text(&stage.read(sessions[2], 0, for_output(0)).await), "c");
}

async fn bytes(house: House) {
    let stage = house.open_with(settings(Limits { finished_bytes_per_owner: 20, ..Limits::default() })).await;
    let sessions = [finished(&stage, "aaaaaaaa").await, finished(&stage, "bbbbbbbb").await];
    assert_eq!(text(&stage.read(sessions[0], 0, for_output(0)).await), "aaaaaaaa", "there is room for two");
    finished(&stage, "cccccccc").await;
    gone(&stage, sessions[0]).await;
    assert_eq!(text(&stage.read(sessions[1], 0, for_output(0)).await), "bbbbbbbb");
}

async fn command_expiry(house: House) {
    let stage = house.open_with(settings(Limits { finished_ttl: TTL, ..Limits::default() })).await;
    let runs = stage.launch_until("echo ready; sleep 1000", "ready").await;
    let began = Instant::now();
    let over = handle(&stage.run("echo over").await);
    while stage.check(over, 0).await.is_some() {
        assert!(began.elapsed() < Duration::from_secs(20), "it goes");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(began.elapsed() >= TTL, "it stays for its time");
    assert_eq!(stage.lines(newest(runs)).await, ["ready"], "a running one stays");
}

async fn restart(house: House) {
    let mut stage = house.open().await;
    let session = finished(&stage, "over").await;
    let again = house.open().await;
    let error = again.try_read(session, 0, for_output(0)).await.unwrap_err();
    let unknown = again.try_read(SessionId::random().unwrap(), 0, for_output(0)).await.unwrap_err();
    assert_eq!(said(error), said(unknown), "not found, as if it had never been");
    stage.close().await;
}
