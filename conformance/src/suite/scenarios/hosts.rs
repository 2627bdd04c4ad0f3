//! Hosts and the connections to them (CF06, CF08, CF09).

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use sessiond_core::{
    CommandStatus, ConnectHost, ErrorKind, ExecuteCommand, ListConnections, RunCommand, RunStatus, StartSession,
    TargetName, decode,
};

use crate::suite::house::{BackendKind, House, Settings};
use crate::suite::scenario::{Need, Scenario, host};
use crate::suite::stage::hosts::{handle, newest, run};
use crate::suite::stage::{Stage, named, target};

const HOST: Need = Need::Backend(sessiond_core::Capability::Connections);

/// Hosts and a caller that reaches several.
const SEVERAL: &[Need] = &[HOST, Need::Management];

pub(super) const SCENARIOS: &[Scenario] = &[
    host("CF06", "commands run side by side, on one host and on several", |house| at_once(house).boxed())
        .needing(SEVERAL),
    host("CF06", "more than a connection carries open another, or say so", |house| many(house).boxed())
        .needing(&[HOST, Need::Network]),
    host("CF06", "asking a connection harms nothing that runs on it", |house| asked(house).boxed()),
    host("CF08", "the host may be left out while exactly one is connected", |house| left_out(house).boxed())
        .needing(SEVERAL),
    host("CF09", "ssh_* takes hosts alone, the others every target", |house| hosts_alone(house).boxed())
        .needing(SEVERAL),
    host("CF09", "a host is connected, looked at and let go of", |house| connection(house).boxed()),
];

/// The name of a second target.
const SECOND: &str = "second";

/// A stage with a second target of this kind.
async fn with_second(house: &House, kind: BackendKind) -> Stage {
    house.open_with(Settings { more: vec![(SECOND, kind)], ..Settings::default() }).await
}

/// A command on the host of this name; on the one that is connected when there is none.
fn on(host: Option<&str>, command: &str) -> RunCommand {
    RunCommand { target: host.map(named), ..run(command) }
}

async fn at_once(house: House) {
    let stage = with_second(&house, house.backend()).await;
    stage.connect(target()).await.unwrap();
    let began = Instant::now();
    let answers = join_all((0..8).map(|number| {
        let host = if number % 2 == 0 { SECOND } else { "local" };
        stage.try_run(on(Some(host), &format!("sleep 1; echo {number}")))
    }));
    for (number, answer) in answers.await.into_iter().enumerate() {
        assert_eq!(decode(&answer.unwrap().stdout.bytes), format!("{number}\n"));
    }
    assert!(began.elapsed() < Duration::from_secs(6), "not one after the other: {:?}", began.elapsed());
}

async fn many(house: House) {
    let stage = house.open().await;
    let answers = join_all((0..25).map(|number| stage.try_run(on(Some("local"), &format!("sleep 1; echo {number}")))));
    for (number, answer) in answers.await.into_iter().enumerate() {
        match answer {
            Ok(answer) => assert_eq!(decode(&answer.stdout.bytes), format!("{number}\n")),
            Err(error) => assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}"),
        }
    }
}

async fn asked(house: House) {
    let stage = house.open().await;
    let runs = stage.launch_until("echo ready; sleep 1.5; echo over", "ready").await;
    for _ in 0..5 {
        assert!(stage.connect(target()).await.unwrap().was_connected, "it is left as it is");
        stage.service.list_connections(&stage.call(), ListConnections::default()).await.unwrap();
    }
    assert_eq!(stage.ended(runs).await.status, CommandStatus::Completed);
    assert_eq!(stage.lines(newest(runs)).await, ["ready", "over"]);
}

async fn left_out(house: House) {
    let stage = with_second(&house, house.backend()).await;
    let refused = stage.try_run(on(None, "true")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::FailedPrecondition, "none is connected: {refused}");
    stage.connect(named(SECOND)).await.unwrap();
    assert_eq!(stage.try_run(on(None, "true")).await.unwrap().target, named(SECOND), "the one there is");
    stage.connect(target()).await.unwrap();
    for refused in [stage.try_run(on(None, "true")).await.unwrap_err(), stage.disconnect(None).await.unwrap_err()] {
        assert_eq!(refused.kind(), ErrorKind::FailedPrecondition, "{refused}");
        assert!(refused.message().contains("local") && refused.message().contains(SECOND), "it lists them: {refused}");
    }
    stage.disconnect(Some(named(SECOND))).await.unwrap();
    assert_eq!(stage.try_run(on(None, "true")).await.unwrap().target, target());
    assert_eq!(stage.disconnect(None).await.unwrap().target, Some(target()));
}

async fn hosts_alone(house: House) {
    let stage = with_second(&house, BackendKind::Pty).await;
    let hosts = stage.service.list_hosts(&stage.call()).await.unwrap().hosts;
    let names: Vec<&TargetName> = hosts.iter().map(|host| &host.name).collect();
    assert_eq!(names, [&target()], "this machine is no host");
    assert!(hosts.iter().all(|host| host.host.is_some()), "it is told where they come from");
    let machine = Some(named(SECOND));
    let refused = [
        stage.try_run(on(Some(SECOND), "true")).await.map(drop).unwrap_err(),
        stage.connect(named(SECOND)).await.map(drop).unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.message().contains("execute_command"), "it names what takes it: {error}");
    }
    let missing = stage.try_run(on(Some("nowhere"), "true")).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    for target in [machine, Some(target())] {
        let request = ExecuteCommand { target: target.clone(), ..Stage::command("exit 3") };
        let result = stage.service.execute_command(&stage.call(), request).await.unwrap();
        assert_eq!(result.end.exit_code(), 3, "{target:?}");
        stage.try_start(StartSession { target, ..Stage::request("exit 0") }).await.unwrap();
    }
}

async fn connection(house: House) {
    let stage = house.open().await;
    let told = async || stage.service.list_connections(&stage.call(), ListConnections::default()).await.unwrap();
    assert_eq!(told().await, [], "nobody has connected");
    let first = stage.connect(target()).await.unwrap();
    assert_eq!((&first.target, first.was_connected), (&target(), false));
    assert!(first.facts.host_key.fingerprint.starts_with("SHA256:"), "{:?}", first.facts.host_key);
    assert!(!first.facts.host_key.verified_by.is_empty() && !first.facts.auth_method.is_empty(), "{:?}", first.facts);
    let again = stage.connect(target()).await.unwrap();
    assert_eq!((again.was_connected, again.facts), (true, first.facts), "idempotent");
    let runs = stage.launch("sleep 1000").await;
    let listed = told().await;
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0].target, listed[0].status.connected), (&target(), true));
    assert!(listed[0].status.since.is_some() && listed[0].status.channels >= 1, "{:?}", listed[0].status);
    let gone = stage.disconnect(Some(target())).await.unwrap();
    assert_eq!((gone.target, gone.was_connected), (Some(target()), true));
    assert!(!told().await[0].status.connected, "it is told as gone");
    assert!(!stage.disconnect(Some(target())).await.unwrap().was_connected, "once more");
    assert_ne!(stage.check(runs, 0).await.map(|info| info.status), Some(CommandStatus::Running), "it was stopped");
    let answer = stage.run("echo back").await;
    assert_eq!((answer.status, decode(&answer.stdout.bytes).as_str()), (RunStatus::Success, "back\n"));
    assert_eq!(stage.lines(newest(handle(&answer))).await, ["back"], "whatever is started connects first");
    let nowhere = ConnectHost { target: Some(named("nowhere")) };
    assert_eq!(stage.service.connect_host(&stage.call(), nowhere).await.unwrap_err().kind(), ErrorKind::NotFound);
}
