//! Stops that are verified on the host, whoever runs there and whatever it does against it.

use std::time::Duration;

use sessiond_core::{Exit, Invocation, Stopped};

use crate::place::{GRACE, Place, call, numbers};

/// What a command may have started, each of which prints `up` once all are there.
const STARTED: &[&str] = &[
    "sleep 1000 | sleep 1000 | sh -c 'echo up >&3; sleep 1000'",
    "sh -c 'echo up >&3; sleep 1000'; sleep 1000",
    "sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 & echo up >&3; wait",
    "setsid sleep 1000 & (setsid sh -c 'sleep 1000; sleep 1000' &); echo up >&3; sleep 1000; sleep 1000",
    "set -m; sleep 1000 & sleep 1000 & echo up >&3; wait",
    "trap '' TERM HUP; sh -c 'trap \"\" TERM; echo up >&3; sleep 1000; sleep 1000' & wait; wait",
    "env -i sh -c 'sleep 1000; sleep 1000' & echo up >&3; wait",
];

#[tokio::test]
async fn a_command_is_stopped_with_everything_that_it_has_started() {
    for place in [Place::new().await, Place::root().await] {
        for started in STARTED {
            let command = place.start(&format!("exec 3>&1; {started}")).await;
            command.shows("up").await;
            let stopped = command.command.stop(Duration::from_millis(300)).await;
            assert_eq!(stopped, Ok(Stopped::Confirmed), "{started}");
            assert!(matches!(command.to_end().await.exit, Exit::Signaled(_)), "{started}");
            assert_eq!(place.marked(), 0, "{started}");
            let sleeping = place.server.look("pgrep -x sleep; true").unwrap();
            assert_eq!(sleeping, "", "{started}");
        }
    }
}

#[tokio::test]
async fn a_session_is_stopped_with_everything_that_it_has_started() {
    for place in [Place::new().await, Place::root().await] {
        for started in STARTED {
            let session = place.session(&format!("exec 3>&1; {started}")).await;
            session.shows("up").await;
            assert_eq!(session.session.stop(Duration::from_millis(300)).await, Ok(Stopped::Confirmed), "{started}");
            session.to_end().await;
            assert_eq!(place.server.look("pgrep -x sleep; true").unwrap(), "", "{started}");
        }
    }
}

#[tokio::test]
async fn others_are_left_alone() {
    let place = Place::new().await;
    let other = place.start("sleep 1000 & echo up; wait").await;
    let one = place.start("sleep 1000 & echo up; wait").await;
    other.shows("up").await;
    one.shows("up").await;
    assert_eq!(one.command.stop(GRACE).await, Ok(Stopped::Confirmed));
    assert_eq!(other.command.descendants().await.len(), 1);
    assert!(place.lives(other.pid()));
    assert_eq!(other.command.stop(GRACE).await, Ok(Stopped::Confirmed));
}

#[tokio::test]
async fn many_stops_at_once_are_all_confirmed() {
    let place = Place::new().await;
    let starting = (0..12).map(|_| place.start("sleep 1000 | sleep 1000 & echo up; wait"));
    let commands = futures_util::future::join_all(starting).await;
    futures_util::future::join_all(commands.iter().map(|command| command.shows("up"))).await;
    let stops = futures_util::future::join_all(commands.iter().map(|command| command.command.stop(GRACE))).await;
    assert_eq!(stops, vec![Ok(Stopped::Confirmed); 12]);
    assert_eq!(place.marked(), 0);
}

#[tokio::test]
async fn a_process_of_another_user_is_told_and_not_called_gone() {
    // The account may become nobody, whom it may not signal.
    let helper = "import os\nos.setuid(65534)\nprint('up', flush=True)\nimport time\ntime.sleep(1000)\n";
    let place = Place::with(|server| server, |account| account.file("helper.py", helper)).await;
    let python = place.server.look("readlink -f $(command -v python3)").unwrap().trim().to_owned();
    let copy = place.server.home(crate::place::ALICE).join("python");
    std::fs::copy(python, &copy).unwrap();
    place
        .server
        .look(
            "chmod u+s /run/home/alice/python && chown root /run/home/alice/python && chmod u+s /run/home/alice/python",
        )
        .unwrap();
    let command = place.start("~/python -c \"$(cat ~/helper.py)\" & echo pid=$!; wait").await;
    let text = command.shows("pid=\\d+\n").await;
    command.shows("up").await;
    let pid = numbers(&text, "pid")[0];
    let stopped = command.command.stop(Duration::from_millis(100)).await;
    assert_eq!(stopped, Ok(Stopped::Unconfirmed { pids: vec![pid] }));
    place.server.look(&format!("kill -KILL {pid}")).unwrap();
}

#[tokio::test]
async fn a_shutdown_leaves_nobody_on_the_host() {
    let place = Place::new().await;
    let command = place.start("setsid sleep 1000 & echo up; wait").await;
    let session = place.session("echo up; sleep 1000; sleep 1000").await;
    command.shows("up").await;
    session.shows("up").await;
    let finished = place.run("setsid sleep 1000 >/dev/null 2>&1 & exit 0").await;
    assert_eq!(finished.exit, Exit::Exited(0));
    place.backend.shutdown(GRACE).await;
    assert!(matches!(command.to_end().await.exit, Exit::Signaled(_)));
    assert!(matches!(session.to_end().await.1, Exit::Signaled(_)));
    assert_eq!(place.marked(), 0);
    assert!(place.try_start(Invocation::new("true"), "").await.is_err(), "nothing starts any more");
}

#[tokio::test]
async fn a_lost_connection_ends_what_ran_and_the_next_one_ends_it_on_the_host() {
    let place = Place::new().await;
    let command = place.start("trap '' HUP; setsid sleep 1000 & echo up; sleep 1000; sleep 1000").await;
    command.shows("up").await;
    let period = place.connections().period(&call().owner);
    place.server.kill_connections().unwrap();
    assert!(matches!(command.to_end().await.exit, Exit::Lost(_)));
    assert_eq!(command.command.stop(GRACE).await.unwrap_err().kind(), sessiond_core::ErrorKind::Unavailable);
    assert!(place.marked() > 0, "it lives on there");
    assert_eq!(place.run("echo again").await.stdout, "again\n");
    assert!(place.connections().period(&call().owner) > period);
    assert_eq!(place.marked(), 0, "what the lost connection had left is gone");
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nobody() {
    let place = Place::new().await;
    place.run("true").await;
    for wait in [0, 1, 2, 4, 8, 16] {
        let starting = place.start("sleep 1000; sleep 1000");
        let _ = tokio::time::timeout(Duration::from_millis(wait), starting).await.map(drop);
        // Handles that are dropped stop nothing; a start that is dropped does. Either way this leaves nobody.
        place.connections().disconnect(&call()).await;
        place.run("true").await;
        assert_eq!(place.marked(), 0, "given up after {wait} ms");
    }
}

#[tokio::test]
async fn what_a_lost_connection_has_left_is_gone_before_many_start_anew() {
    let place = Place::new().await;
    let stubborn = place.start("trap '' HUP TERM; echo up; while :; do sleep 1; done").await;
    stubborn.shows("up").await;
    place.server.kill_connections().unwrap();
    assert!(matches!(stubborn.to_end().await.exit, Exit::Lost(_)));
    let starting = (0..5).map(|_| place.start("echo up; sleep 1000"));
    let commands = futures_util::future::join_all(starting).await;
    for command in &commands {
        command.shows("up").await;
        assert!(place.lives(command.pid()), "it is not taken for what was left");
    }
    assert!(!place.lives(stubborn.pid()));
    place.backend.shutdown(GRACE).await;
    assert_eq!(place.marked(), 0);
}

#[tokio::test]
async fn a_shutdown_in_the_middle_of_a_start_leaves_nobody() {
    let mut place = Place::new().await;
    for wait in [0, 1, 2, 3, 4, 6, 8, 12, 16] {
        place = place.configured(|_| ()).await;
        place.connections().connect(&call()).await.unwrap();
        let starting = place.start("sleep 1000; sleep 1000");
        let _ = tokio::time::timeout(Duration::from_millis(wait), starting).await.map(drop);
        place.backend.shutdown(GRACE).await;
        assert_eq!(place.marked(), 0, "shut down after {wait} ms");
        assert_eq!(place.server.look("pgrep -fx 'sleep 1000'; true").unwrap(), "", "shut down after {wait} ms");
    }
}

#[tokio::test]
async fn a_shutdown_waits_for_the_last_words() {
    let mut place = Place::new().await;
    for round in 0..5 {
        place = place.configured(|_| ()).await;
        let command = place
            .start("trap '' HUP; trap 'printf \"%0500000d\" 7; exit 0' TERM; echo up; while :; do sleep 0.01; done")
            .await;
        command.shows("up").await;
        place.backend.shutdown(GRACE).await;
        let outcome = command.to_end().await;
        assert_eq!(outcome.exit, Exit::Exited(0), "round {round}");
        assert_eq!(outcome.stdout.len(), "up\n".len() + 500_000, "round {round}");
    }
}
