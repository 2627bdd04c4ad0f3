//! Hosts and connections: which host a call means, and what a lost or a closed connection does to what ran on it.

use std::sync::Arc;

use sessiond_core::fake::Fake;
use sessiond_core::{
    Availability, Call, Capabilities, Capability, CommandStatus, ConnectHost, Connection, DisconnectHost, FixedTargets,
    HostDisconnected, Limits, ListCommands, ListConnections, Owner, ReadCommand, Registry, RunCommand, RunStatus,
    Service, Status, Stream, TargetInfo, Wait,
};
use tokio::time::{Instant, sleep};

use crate::rig::{Rig, end, kill, me, ms, said, target, until};

async fn connections(rig: &Rig, cx: &Call) -> Vec<(String, bool, usize, Option<String>)> {
    let all = rig.registry.list_connections(cx, ListConnections::default()).await.unwrap();
    let shown = |Connection { target, status }| {
        assert_eq!(status.connected, status.since.is_some());
        (target.to_string(), status.connected, status.channels, status.last_error)
    };
    all.into_iter().map(shown).collect()
}

async fn connect(rig: &Rig, host: &str) -> bool {
    let request = ConnectHost { target: Some(target(host)) };
    let connected = rig.registry.connect_host(&me(), request).await.unwrap();
    assert_eq!(connected.target, target(host));
    connected.was_connected
}

async fn disconnect(rig: &Rig, host: Option<&str>) -> HostDisconnected {
    rig.registry.disconnect_host(&me(), DisconnectHost { target: host.map(target) }).await.unwrap()
}

fn anywhere(command: &str) -> RunCommand {
    RunCommand { target: None, ..Rig::run(command) }
}

#[tokio::test(start_paused = true)]
async fn a_host_may_be_left_out_while_exactly_one_is_connected() {
    let rig = Rig::new();
    let cx = me();
    let run = || rig.registry.run_command(&cx, anywhere("true"));
    let none =
        "failed_precondition: host_name is missing, and no host is connected: name one; ssh_host_list shows them";
    assert_eq!(said(run().await.unwrap_err()), none);
    assert!(!connect(&rig, "local").await);
    assert!(connect(&rig, "local").await, "connecting again leaves it as it is");
    assert_eq!(run().await.unwrap().target, target("local"));
    rig.registry.run_command(&me(), RunCommand { target: Some(target("other")), ..Rig::run("true") }).await.unwrap();
    let several =
        "failed_precondition: host_name is missing, and several hosts are connected: name one of local, other";
    assert_eq!(said(run().await.unwrap_err()), several);
    let request = DisconnectHost { target: None };
    assert_eq!(said(rig.registry.disconnect_host(&me(), request).await.unwrap_err()), several);
    disconnect(&rig, Some("local")).await;
    assert_eq!(run().await.unwrap().target, target("other"));
    let scoped = Call::new(Owner::scoped("them", target("local")));
    let run = rig.registry.run_command(&scoped, anywhere("true")).await.unwrap();
    assert_eq!(run.target, target("local"), "who may use one host means that one");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_is_no_host_is_refused_wherever_a_host_is_meant() {
    let bare = Fake::with(Capabilities::of(&[Capability::Sessions, Capability::Commands]), Availability::Online);
    let host = Fake::new();
    let targets =
        FixedTargets::new(vec![(TargetInfo::new(target("here"), "fake"), bare), (Fake::info(target("there")), host)]);
    let registry = Registry::new(Arc::new(targets), Limits::default());
    let here = || Some(target("here"));
    let cx = me();
    let listed = registry.list_hosts(&cx).await.unwrap().hosts;
    assert_eq!(listed, [Fake::info(target("there"))]);
    let refusals = [
        registry.run_command(&cx, RunCommand { target: here(), ..Rig::run("true") }).await.unwrap_err(),
        registry.connect_host(&cx, ConnectHost { target: here() }).await.unwrap_err(),
        registry.list_connections(&cx, ListConnections { target: here() }).await.unwrap_err(),
        registry.disconnect_host(&cx, DisconnectHost { target: here() }).await.unwrap_err(),
        registry.list_commands(&cx, ListCommands { target: here(), ..Default::default() }).await.unwrap_err(),
    ];
    for refusal in refusals {
        assert_eq!(said(refusal), "unsupported: this target is no host: execute_command and session_start take it");
    }
    let scoped = Call::new(Owner::scoped("me", target("here")));
    assert_eq!(registry.list_hosts(&scoped).await.unwrap().hosts, [], "scoped access sees one target only");
    for name in ["there", "nowhere"] {
        let error = registry.connect_host(&scoped, ConnectHost { target: Some(target(name)) }).await.unwrap_err();
        assert_eq!(said(error), format!("not_found: there is no host \"{name}\" here: ssh_host_list shows yours"));
    }
    let error = registry.connect_host(&cx, ConnectHost { target: None }).await.unwrap_err();
    assert_eq!(said(error), "invalid_argument: host_name is missing: it names the host, and ssh_host_list shows each");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_cannot_be_reached_is_listed_with_the_reason() {
    let all = [Capability::Sessions, Capability::Commands, Capability::Connections];
    let away = Fake::with(Capabilities::of(&all), Availability::Offline);
    let targets = FixedTargets::new(vec![(Fake::info(target("local")), away.clone())]);
    let rig = Rig { registry: Registry::new(Arc::new(targets), Limits::default()), local: away };
    assert_eq!(connections(&rig, &me()).await, []);
    let error = rig.registry.connect_host(&me(), ConnectHost { target: Some(target("local")) }).await.unwrap_err();
    let why = "the host cannot be reached: try again later";
    assert_eq!(said(error), format!("unavailable: {why}"));
    assert_eq!(connections(&rig, &me()).await, [("local".into(), false, 0, Some(why.into()))]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_loses_what_ran_on_it_and_nobody_elses() {
    let rig = Rig::new();
    let them = Call::new(Owner::management("them"));
    let handle = rig.launch("echo kept; sleep 600").await;
    let session = rig.start("sleep 600").await;
    let request = RunCommand { wait: Some(ms(0)), ..Rig::run("sleep 600") };
    let theirs = rig.registry.run_command(&them, request).await.unwrap().command.unwrap().handle;
    sleep(ms(10)).await;
    assert_eq!(connections(&rig, &me()).await, [("local".into(), true, 2, None)]);
    assert!(rig.local.cut(&me().owner));
    let lost = rig.check(handle, 1000).await.unwrap();
    assert_eq!(
        (lost.status, lost.end.unwrap().error().unwrap()),
        (CommandStatus::Lost, "lost: the connection was cut".into())
    );
    assert_eq!(rig.to_end(session).await.slice.ended.unwrap().exit_code(), -1);
    assert_eq!(connections(&rig, &me()).await, [("local".into(), false, 0, Some("the connection was cut".into()))]);
    assert_eq!(connections(&rig, &them).await, [("local".into(), true, 1, None)]);
    let request = sessiond_core::CheckCommand { handle: theirs, wait: ms(0) };
    assert_eq!(rig.registry.check_command(&them, request).await.unwrap().unwrap().status, CommandStatus::Running);
    assert_eq!(rig.lines(handle, None, None).await.unwrap(), (1, "kept".into()), "readable until the next connection");
}

#[tokio::test(start_paused = true)]
async fn handles_do_not_survive_a_reconnect() {
    for reconnect in ["connect", "command", "session"] {
        let rig = Rig::new();
        let old = [rig.launch("true").await, rig.launch("sleep 600").await];
        let elsewhere = RunCommand { target: Some(target("other")), ..Rig::run("true") };
        let elsewhere = rig.ran(elsewhere).await.command.unwrap().handle;
        sleep(ms(10)).await;
        rig.local.cut(&me().owner);
        sleep(ms(10)).await;
        assert_eq!(rig.history(ListCommands::default()).await, [old[0], old[1], elsewhere]);
        let new = match reconnect {
            "connect" => {
                connect(&rig, "local").await;
                None
            }
            "command" => Some(rig.launch("true").await),
            _ => {
                rig.start("true").await;
                None
            }
        };
        for handle in old {
            let read = ReadCommand { handle, stream: Stream::Stdout, lines: None, start_line: None };
            let error = said(rig.registry.read_command(&me(), read).await.unwrap_err());
            assert!(error.starts_with("not_found: no such command here"), "{error}");
            assert!(rig.registry.kill_command(&me(), kill(handle)).await.is_err());
            assert_eq!(rig.check(handle, 0).await, None);
        }
        let kept: Vec<_> = [Some(elsewhere), new].into_iter().flatten().collect();
        assert_eq!(rig.history(ListCommands::default()).await, kept, "{reconnect}");
        let cleared = rig.registry.clear_commands(&me()).await.unwrap();
        assert!(cleared <= kept.len(), "what is outdated is gone already");
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_that_waits_over_a_reconnect_finds_nothing() {
    let rig = Rig::new();
    let handle = rig.launch("sleep 600").await;
    let (found, _) = tokio::join!(rig.check(handle, 20_000), async {
        sleep(ms(100)).await;
        rig.local.cut(&me().owner);
        connect(&rig, "local").await
    });
    assert_eq!(found, None);
}

#[tokio::test(start_paused = true)]
async fn disconnecting_stops_what_runs_there_first() {
    let rig = Rig::new();
    let handle = rig.launch("sleep 600").await;
    let stubborn = rig.launch("trap '' TERM; sleep 600").await;
    let session = rig.start("sleep 600").await;
    let elsewhere = RunCommand { target: Some(target("other")), wait: Some(ms(0)), ..Rig::run("sleep 600") };
    let elsewhere = rig.ran(elsewhere).await.command.unwrap().handle;
    sleep(ms(10)).await;
    let begun = Instant::now();
    let done = disconnect(&rig, Some("local")).await;
    let expected =
        HostDisconnected { target: Some(target("local")), was_connected: true, stopped: 3, survivors: vec![] };
    assert_eq!((done, begun.elapsed()), (expected, ms(2000)));
    for handle in [handle, stubborn] {
        let info = rig.check(handle, 0).await.unwrap();
        assert_eq!((info.status, info.end.unwrap().canceled()), (CommandStatus::Killed, true), "stopped, not lost");
    }
    assert!(rig.read(session, 0, until(0, end())).await.unwrap().slice.ended.unwrap().canceled());
    assert_eq!(rig.check(elsewhere, 0).await.unwrap().status, CommandStatus::Running);
    assert_eq!(connections(&rig, &me()).await, [("local".into(), false, 0, None), ("other".into(), true, 1, None)]);
    let again = disconnect(&rig, Some("local")).await;
    assert_eq!((again.was_connected, again.stopped), (false, 0), "asking again is no error");
    rig.kill(kill(elsewhere)).await;
    assert_eq!(disconnect(&rig, None).await.target, Some(target("other")), "the only one that is connected");
    let nothing = HostDisconnected { target: None, was_connected: false, stopped: 0, survivors: Vec::new() };
    assert_eq!(disconnect(&rig, None).await, nothing);
    let listed = rig.list(Default::default()).await.unwrap().sessions;
    assert_eq!((listed.len(), listed[0].status), (1, Status::Finished), "records of sessions stay");
    assert!(rig.read(session, 0, Wait::default()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn what_survives_a_disconnect_is_told_and_lost() {
    let rig = Rig::new();
    let handle = rig.launch(":unkillable; sleep 600").await;
    sleep(ms(10)).await;
    let done = disconnect(&rig, None).await;
    assert_eq!((done.stopped, done.survivors), (1, vec![1000]));
    assert_eq!(rig.check(handle, 1000).await.unwrap().status, CommandStatus::Lost);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_connection_is_lost_says_so_with_its_handle() {
    let rig = Rig::new();
    let run = rig.ran(Rig::run("echo before; sleep 1; :disconnect")).await;
    assert_eq!((run.status, &run.stdout.bytes[..]), (RunStatus::Error, &b"before\n"[..]));
    assert_eq!(run.command.unwrap().status, CommandStatus::Lost);
    assert_eq!(rig.ran(Rig::run("true")).await.status, RunStatus::Success, "the next call makes another connection");
}
