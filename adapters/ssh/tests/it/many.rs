//! Many at once: more than one connection carries, floods beside others, connections that come and go.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use sessiond_core::{Availability, Call, ErrorKind, Exit, Invocation, Owner, Signal, SignalTarget, WindowSize};
use sessiond_ssh_peer::Cut;

use crate::place::{Far, GRACE, Outcome, Place, call};

#[tokio::test]
async fn twelve_at_once_on_ten_sessions_use_two_connections() {
    let place = Place::with(|server| server.option("MaxSessions", "10"), |account| account).await;
    let starting = (0..12).map(|_| place.start("until [ -e ~/go ]; do sleep 0.1; done; echo done"));
    let commands = join_all(starting).await;
    assert_eq!(commands.len(), 12);
    let status = place.connections().status(&call().owner).unwrap();
    assert_eq!(status.channels, 12);
    assert_eq!(place.server.look("ps axo args | grep -c '[s]shd.*@notty'").unwrap().trim(), "2");
    // There is room for scripts beside them.
    commands[0].command.signal(&call(), Signal::Cont, SignalTarget::Leader).await.unwrap();
    place.run("touch ~/go").await;
    for command in &commands {
        assert_eq!(command.to_end().await, Outcome::printed("done\n"));
    }
}

#[tokio::test]
async fn a_hundred_at_once_all_finish() {
    let place = Place::new().await;
    let running = (0..100).map(|number| {
        let command = format!("sleep 0.2; echo {number}");
        let place = &place;
        async move { place.run(&command).await }
    });
    let expected: Vec<Outcome> = (0..100).map(|number| Outcome::printed(&format!("{number}\n"))).collect();
    assert_eq!(join_all(running).await, expected);
}

#[tokio::test]
async fn too_many_connections_are_refused_by_name() {
    let place = Place::with(|server| server.option("MaxSessions", "2"), |account| account).await;
    let place = place.configured(|config| config.max_connections = 2).await;
    let mut held = Vec::new();
    let refused = loop {
        match place.try_start(Invocation::new("sleep 1000"), "").await {
            Ok(command) => held.push(command),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.kind(), ErrorKind::LimitExceeded);
    assert!(refused.message().contains("max_connections"), "{refused}");
    assert!((2..=4).contains(&held.len()), "{}", held.len());
    for command in &held {
        assert_eq!(command.command.stop(Duration::from_secs(2)).await, Ok(sessiond_core::Stopped::Confirmed));
    }
    for command in &held {
        command.to_end().await;
    }
    assert_eq!(place.run("echo room").await, Outcome::printed("room\n"));
}

#[tokio::test]
async fn a_flood_delays_nobody_beside_it() {
    let place = Place::new().await;
    let flood = place.start("yes").await;
    flood.shows("y\n").await;
    for _ in 0..5 {
        let beside = tokio::time::timeout(Duration::from_secs(5), place.run("echo through")).await;
        assert_eq!(beside.expect("it waits behind the flood"), Outcome::printed("through\n"));
    }
    assert_eq!(flood.command.stop(Duration::from_secs(2)).await, Ok(sessiond_core::Stopped::Confirmed));
    assert!(matches!(flood.to_end().await.exit, Exit::Signaled(_)));
}

#[tokio::test]
async fn a_cut_without_a_word_ends_what_ran_as_lost() {
    let place = Place::new().await;
    let cut = Cut::before(place.server.address()).unwrap();
    let known = place.server.known_hosts_lines_as(&format!("[127.0.0.1]:{}", cut.port())).unwrap();
    let place = place
        .configured(|config| {
            std::fs::write(&config.hosts[0].known_hosts[0], known).unwrap();
            config.hosts[0].port = Some(cut.port());
            config.hosts[0].keepalive = Some(Duration::from_millis(300));
        })
        .await;
    let command = place.start("echo up; sleep 1000").await;
    command.shows("up").await;
    cut.silence();
    assert!(matches!(command.to_end().await.exit, Exit::Lost(_)));
    cut.resume();
    assert_eq!(place.run("echo back").await, Outcome::printed("back\n"));
}

#[tokio::test]
async fn a_host_that_does_not_answer_ends_a_call_at_its_deadline() {
    let place = Place::new().await;
    place.run("true").await;
    place.server.look("kill -STOP $(pgrep -f '[s]shd.*@notty')").unwrap();
    let cx = Call { deadline: tokio::time::Instant::now() + Duration::from_millis(300), ..call() };
    let log = sessiond_core::OutputLog::new(sessiond_core::LogKind::Command, sessiond_core::Retention::Newest(1 << 10));
    let spec = sessiond_core::CommandSpec { invocation: Invocation::new("true"), stdin: bytes::Bytes::new() };
    let begun = Instant::now();
    let late = place.backend.run_command(&cx, spec, sessiond_core::OutputSink::new(log)).await.err().unwrap();
    assert_eq!(late.kind(), ErrorKind::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(2));
    place.server.look("kill -CONT $(pgrep -f '[s]shd.*@notty')").unwrap();
}

#[tokio::test]
async fn owners_share_nothing() {
    let place = Place::new().await;
    place.run("true").await;
    let other = Call::new(Owner::management("other"));
    assert_eq!(place.connections().status(&other.owner), None);
    assert!(!place.connections().disconnect(&other).await);
    place.connections().connect(&other).await.unwrap();
    assert_ne!(place.connections().period(&other.owner), place.connections().period(&call().owner));
    assert!(place.connections().disconnect(&other).await);
    assert!(place.connections().status(&call().owner).unwrap().connected);
    assert!(!place.connections().status(&other.owner).unwrap().connected);
}

#[tokio::test]
async fn connecting_tells_what_the_host_is() {
    let place = Place::new().await;
    let facts = place.connections().connect(&call()).await.unwrap();
    assert_eq!((facts.user.as_str(), facts.port), (crate::place::ALICE, place.server.port()));
    assert_eq!(facts.os.as_deref(), Some("linux"));
    assert!(facts.server_version.contains("OpenSSH"), "{facts:?}");
    assert_eq!(facts.host_key.fingerprint, place.server.host_key_fingerprint().unwrap());
    assert_eq!(facts.auth_method, "publickey");
    let status = place.backend.status(&call()).await;
    assert_eq!(status.availability, Availability::Online);
    assert_eq!(status.machine.unwrap().shell.as_deref(), Some("/bin/bash"));
    place.server.kill_connections().unwrap();
    assert!(place.connections().connect(&call()).await.is_ok(), "a dead connection is replaced");
}

#[tokio::test]
async fn a_refused_login_is_not_tried_once_for_each_that_waits() {
    let place = Place::new().await;
    let place = place.configured(|config| config.hosts[0].user = Some("nobody-here".to_owned())).await;
    let starting = (0..20).map(|_| place.try_start(Invocation::new("true"), ""));
    let kinds: Vec<_> = join_all(starting).await.into_iter().map(|started| started.err().unwrap().kind()).collect();
    assert_eq!(kinds, vec![ErrorKind::PermissionDenied; 20]);
    let attempts = place.server.log().matches("Invalid user nobody-here").count();
    assert!(attempts <= 2, "{attempts} attempts:\n{}", place.server.log());
}

#[tokio::test]
async fn no_call_outlasts_its_deadline_on_a_host_that_has_gone_silent() {
    let place = Place::new().await;
    let cut = Cut::before(place.server.address()).unwrap();
    let place = place.through(cut.port()).await;
    let session = place.session("cat").await;
    let session = &session.session;
    let cx = || Call { deadline: tokio::time::Instant::now() + Duration::from_millis(300), ..call() };
    cut.silence();
    let signal = soon("signal", session.signal(&cx(), Signal::Int, SignalTarget::Leader)).await;
    assert_eq!(signal.unwrap_err().kind(), ErrorKind::TimedOut);
    let resize = soon("resize", session.resize(&cx(), WindowSize::new(100, 40).unwrap())).await;
    assert_eq!(resize.unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(soon("eof", session.eof(&cx())).await.unwrap_err().kind(), ErrorKind::TimedOut);
    let connect = soon("connect", place.connections().connect(&cx())).await;
    assert_eq!(connect.unwrap_err().kind(), ErrorKind::TimedOut);
    soon("descendants", session.descendants()).await;
    assert_eq!(soon("status", place.backend.status(&cx())).await.availability, Availability::Offline);
}

/// What a call comes to that must not wait for a host that says nothing.
async fn soon<T>(what: &str, call: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(4), call).await.expect(what)
}

#[tokio::test]
async fn a_host_that_answers_no_script_is_connected_all_the_same() {
    let place = Place::with(|server| server.option("ForceCommand", "sleep 1000"), |account| account).await;
    let connected = tokio::time::timeout(Duration::from_secs(15), place.connections().connect(&call())).await;
    assert_eq!(connected.expect("it waits for what nobody needs").unwrap().os, None);
}

#[tokio::test]
async fn who_prints_on_far_away_does_not_keep_an_end_from_coming() {
    let place = Place::new().await;
    let far = Far::before(place.server.address(), Duration::from_millis(60)).await;
    let place = place.through(far.port()).await;
    let command = place.start("(while :; do echo and on; sleep 0.02; done) & exit 3").await;
    let outcome = tokio::time::timeout(Duration::from_secs(15), command.to_end()).await;
    assert_eq!(outcome.expect("the end waits for others").exit, Exit::Exited(3));
    command.command.stop(GRACE).await.unwrap();
}

#[tokio::test]
async fn a_host_that_takes_one_session_at_a_time_takes_one_after_the_other() {
    let place = Place::with(|server| server.option("MaxSessions", "1"), |account| account).await;
    for round in 0..100 {
        let outcome = place.try_start(Invocation::new("echo once more"), "").await;
        let outcome = outcome.unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(outcome.to_end().await, Outcome::printed("once more\n"), "round {round}");
    }
}

#[tokio::test]
async fn as_many_as_a_host_takes_leave_room_when_they_have_ended() {
    let place = Place::with(|server| server.option("MaxSessions", "4"), |account| account).await;
    for round in 0..30 {
        let starting = (0..4).map(|_| place.try_start(Invocation::new("true"), ""));
        for started in join_all(starting).await {
            let started = started.unwrap_or_else(|error| panic!("round {round}: {error}"));
            assert_eq!(started.to_end().await.exit, Exit::Exited(0));
        }
    }
    let connections = place.server.look("ps axo args | grep -c '[s]shd.*@notty'").unwrap();
    assert!(connections.trim().parse::<usize>().unwrap() <= 3, "{connections} connections");
}
