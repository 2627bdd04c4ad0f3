//! Whose sessions they are (SR13, SR14).

use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::json;
use sessiond_core::{
    Action, Call, ControlSession, Cursor, ListSessions, ListTargets, Owner, ReadSession, Result, Service, SessionId,
    StartSession, StopSession, TargetName, Wait, WriteSession,
};

use crate::suite::house::{BackendKind, House, Settings};
use crate::suite::scenario::{Need, Scenario, session};
use crate::suite::stage::{OWNER, STRANGER, Stage, named, said, target};

const OWNERS: &[Need] = &[Need::Backend(sessiond_core::Capability::Sessions), Need::Owners];

pub(super) const SCENARIOS: &[Scenario] = &[
    session("SR13", "scoped access needs no client_token", |house| own_target(house).boxed()).needing(OWNERS),
    session("SR13", "another client_token is not found under scoped access", |house| other_target(house).boxed())
        .needing(OWNERS),
    session("SR14", "unknown and misnamed sessions get one answer from every tool", |house| one(house).boxed()),
    session("SR14", "a foreign session gets the same answer", |house| foreign(house).boxed()).needing(OWNERS),
    session("SR14", "an owner lists and stops nobody else's sessions", |house| apart(house).boxed()).needing(OWNERS),
];

/// The name of a target that there is beside the one of every stage.
const OTHER: &str = "other";

/// The stage's owner with the access of a device.
fn scoped() -> Call {
    Call::new(Owner::scoped(OWNER, target()))
}

fn other() -> Option<TargetName> {
    Some(named(OTHER))
}

/// A sessiond with two targets.
async fn open(house: &House) -> Stage {
    house.open_with(Settings { more: vec![(OTHER, BackendKind::Fake)], ..Settings::default() }).await
}

/// What every verb that names a session says of it.
async fn refusals(
    service: &Arc<dyn Service>,
    cx: &Call,
    session: SessionId,
    target: Option<TargetName>,
) -> Vec<String> {
    let wait = Wait::default();
    let read = ReadSession { session, target: target.clone(), cursor: Cursor::START, wait: wait.clone() };
    let write = WriteSession { session, target: target.clone(), input: "x".into(), wait: wait.clone() };
    let control = ControlSession { session, target: target.clone(), action: Action::Interrupt, wait };
    let stop = StopSession { session, target, wait: std::time::Duration::ZERO };
    let answers: [Result<()>; 4] = [
        service.read_session(cx, read).await.map(drop),
        service.write_session(cx, write).await.map(drop),
        service.control_session(cx, control).await.map(drop),
        service.stop_session(cx, stop).await.map(drop),
    ];
    answers.into_iter().map(|answer| said(answer.expect_err("it is not there"))).collect()
}

async fn own_target(house: House) {
    let stage = open(&house).await;
    let request = StartSession { target: None, ..Stage::request("sleep 1000") };
    let session = stage.service.start_session(&scoped(), request).await.unwrap().session;
    for target in [None, Some(target())] {
        let read = ReadSession { session, target, cursor: Cursor::START, wait: Wait::default() };
        stage.service.read_session(&scoped(), read).await.unwrap();
    }
    let targets = stage.service.list_targets(&scoped(), ListTargets::default()).await.unwrap();
    let names: Vec<_> = targets.into_iter().map(|known| known.info.name).collect();
    assert_eq!(names, [target()], "there is no other for it");
}

async fn other_target(house: House) {
    let stage = open(&house).await;
    let session = stage.start("sleep 1000").await;
    let unknown = refusals(&stage.service, &scoped(), SessionId::random().unwrap(), None).await;
    assert_eq!(refusals(&stage.service, &scoped(), session, other()).await, unknown);
    let start = StartSession { target: other(), ..Stage::request("true") };
    let refused = stage.service.start_session(&scoped(), start).await.unwrap_err();
    assert_eq!(said(refused), unknown[0], "starting there is the same not-found");
}

/// What is said of a session that there never was.
async fn of_nobody(stage: &Stage) -> Vec<String> {
    refusals(&stage.service, &stage.call(), SessionId::random().unwrap(), Some(target())).await
}

async fn one(house: House) {
    let stage = open(&house).await;
    let session = stage.start("sleep 1000").await;
    let unknown = of_nobody(&stage).await;
    assert!(unknown.iter().all(|said| *said == unknown[0] && said.starts_with("not_found: ")), "{unknown:?}");
    assert_eq!(refusals(&stage.service, &stage.call(), session, other()).await, unknown, "misnamed");
    for id in ["", "nonsense", "../../etc/passwd"] {
        let result = stage.tool("session_read", json!({ "session_id": id, "client_token": "local" })).await;
        let said = format!("{}: {}", result.kind().unwrap_or_default(), result.text);
        assert_eq!(said, unknown[0], "what is no id at all");
    }
}

async fn foreign(house: House) {
    let stage = house.open().await;
    let session = stage.start("sleep 1000").await;
    let unknown = of_nobody(&stage).await;
    for theirs in [stage.stranger(), Call::new(Owner::scoped(STRANGER, target()))] {
        assert_eq!(refusals(&stage.service, &theirs, session, Some(target())).await, unknown, "{:?}", theirs.owner);
    }
}

async fn apart(house: House) {
    let stage = house.open().await;
    let session = stage.start("sleep 1000").await;
    let theirs = stage.stranger();
    let page = stage.service.list_sessions(&theirs, ListSessions::default()).await.unwrap();
    assert_eq!(page.sessions, []);
    refusals(&stage.service, &theirs, session, Some(target())).await;
    let listed = stage.list(ListSessions::default()).await.unwrap();
    assert_eq!((listed.sessions.len(), listed.sessions[0].end.clone()), (1, None), "it still runs");
}
