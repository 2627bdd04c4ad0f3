//! Orphans: buried by the server that adopts them, and no exit is taken from whoever waits for it.

use futures_util::future::join_all;
use sessiond_core::Exit;

use crate::support::{LONG, Terminal, alone, children, pty};

/// The children of this process that wait to be reaped.
fn zombies() -> usize {
    let is_zombie =
        |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "));
    children().iter().filter(|pid| is_zombie(pid)).count()
}

/// Waits until there are so many.
pub(crate) async fn zombies_become(count: usize) {
    let settled = async {
        while zombies() != count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, settled).await.unwrap_or_else(|_| panic!("{} zombies, not {count}", zombies()));
}

#[test]
fn no_exit_is_lost_while_many_orphans_die() {
    alone("orphans::no_exit_is_lost_while_many_orphans_die", &[], async {
        let pty = pty();
        // Each leaves three orphans that die at about the time of its own exit.
        let sessions = join_all((0..200).map(|number| {
            let command = format!("for i in 1 2 3; do (setsid true &); (sleep 0.0$i &); done; exit {}", number % 200);
            let pty = pty.clone();
            async move { Terminal::run(&pty, &command).await }
        }));
        for (number, session) in (0..).zip(sessions.await) {
            assert_eq!(session.to_end().await.1.exit, Exit::Exited(number % 200));
        }
        zombies_become(0).await;
    });
}

#[test]
fn a_child_of_somebody_else_neither_loses_its_exit_nor_hides_an_orphan() {
    alone("orphans::a_child_of_somebody_else_neither_loses_its_exit_nor_hides_an_orphan", &[], async {
        let pty = pty();
        let mut stranger = std::process::Command::new("sh").args(["-c", "exit 42"]).spawn().unwrap();
        zombies_become(1).await;
        let session = Terminal::run(&pty, "for i in 1 2 3; do (setsid true &); done; exit 0").await;
        session.prints().await;
        zombies_become(1).await;
        assert_eq!(stranger.wait().unwrap().code(), Some(42));
    });
}

#[test]
fn exits_are_heard_of_also_when_the_server_was_started_deaf_to_them() {
    let deaf = ["env", "--block-signal=CHLD"];
    alone("orphans::exits_are_heard_of_also_when_the_server_was_started_deaf_to_them", &deaf, async {
        let pty = pty();
        // The orphan dies while no leader does: nothing but the signal tells of it.
        let session = Terminal::run(&pty, "(setsid sh -c 'echo ready; sleep 0.1' &); sleep 1000").await;
        session.shows("ready").await;
        let gone = async {
            while children().len() != 1 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, gone).await.expect("the orphan was never buried");
        session.stop().await;
    });
}
