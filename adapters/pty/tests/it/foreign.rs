//! Children that somebody else in this process starts: their exits and their lives are left to them.

use std::process::Command as Program;

use sessiond_core::Backend;
use sessiond_pty::Foreign;

use crate::orphans::zombies_become;
use crate::support::{GRACE, Terminal, alone, pty};

fn start(program: &mut Program) -> (std::process::Child, Foreign) {
    let start = || {
        let child = program.spawn()?;
        let pid = child.id();
        Ok((child, pid))
    };
    Foreign::start(start).unwrap()
}

#[test]
fn a_foreign_child_in_a_session_of_its_own_keeps_its_exit() {
    alone("foreign::a_foreign_child_in_a_session_of_its_own_keeps_its_exit", &[], async {
        let pty = pty();
        let (mut child, foreign) = start(Program::new("setsid").args(["sh", "-c", "exit 42"]));
        zombies_become(1).await;
        // Every sweep and every scan meets it, and orphans behind it are found.
        let session = Terminal::run(&pty, "for i in 1 2 3; do (setsid true &); done; echo ready; sleep 1000").await;
        session.shows("ready").await;
        session.stop().await;
        zombies_become(1).await;
        assert_eq!(child.wait().unwrap().code(), Some(42));
        drop(foreign);
        zombies_become(0).await;
    });
}

#[test]
fn a_living_foreign_child_neither_hinders_a_stop_nor_is_stopped() {
    alone("foreign::a_living_foreign_child_neither_hinders_a_stop_nor_is_stopped", &[], async {
        let pty = pty();
        let session = Terminal::run(&pty, "echo ready; sleep 1000").await;
        session.shows("ready").await;
        let (mut child, foreign) = start(Program::new("setsid").args(["sh", "-c", "sleep 1000; exit 1"]));
        session.stop().await;
        pty.shutdown(GRACE).await;
        assert_eq!(child.try_wait().unwrap(), None);
        // Its whole group, which is its session's first.
        let killed = Program::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status().unwrap();
        assert!(killed.success());
        child.wait().unwrap();
        drop(foreign);
    });
}
