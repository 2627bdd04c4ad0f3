//! What a server sees of the processes around it: everything, or an error that says what to do.

use sessiond_core::{Availability, Backend, ErrorKind, Stopped};
use sessiond_pty::Pty;

use crate::launches::is_root;
use crate::support::{GRACE, Terminal, alone, call, config, exists, numbers, pty};

/// Runs a test as the first process of a namespace of its own, behind `prepare`.
fn first_of_a_namespace(test: &str, prepare: &str, body: impl Future<Output = ()>) {
    let script = format!("{prepare} exec \"$@\"");
    let user: &[&str] = if is_root() { &[] } else { &["--map-root-user"] };
    let wrap = [&["unshare", "--mount", "--pid", "--fork"], user, &["sh", "-c", &script, "sh"]].concat();
    alone(test, &wrap, body);
}

#[test]
fn a_server_whose_proc_is_another_namespaces_does_not_start() {
    first_of_a_namespace("namespaces::a_server_whose_proc_is_another_namespaces_does_not_start", "", async {
        let refused = Pty::new(config()).err().expect("a server that sees other processes than its own");
        assert_eq!(refused.kind(), ErrorKind::FailedPrecondition);
        assert!(refused.message().contains("mount -t proc proc /proc"), "{refused}");
    });
}

#[test]
fn the_first_process_of_a_container_stops_what_it_starts() {
    let test = "namespaces::the_first_process_of_a_container_stops_what_it_starts";
    first_of_a_namespace(test, "mount -t proc proc /proc &&", async {
        assert_eq!(std::process::id(), 1);
        let pty = pty();
        // A session id of 0 is the server's own here, and a child that stays in it is nobody's orphan.
        let mut stranger = std::process::Command::new("sh").args(["-c", "exit 42"]).spawn().unwrap();
        let session = Terminal::run(&pty, "trap '' HUP TERM; (setsid sleep 1000 &); echo ready; sleep 1000").await;
        session.shows("ready").await;
        for _ in 0..2 {
            session.stop().await;
        }
        assert!(!exists(session.pid()));
        assert_eq!(stranger.wait().unwrap().code(), Some(42));
        pty.shutdown(GRACE).await;
    });
}

#[test]
fn where_processes_are_hidden_no_stop_is_confirmed_and_the_status_says_so() {
    let test = "namespaces::where_processes_are_hidden_no_stop_is_confirmed_and_the_status_says_so";
    // Without the right to look at everything, as every ordinary user is.
    let prepare = "mount -t proc -o hidepid=2 proc /proc && exec setpriv --inh-caps=-all --bounding-set=-all \"$@\";";
    first_of_a_namespace(test, prepare, async {
        let pty = pty();
        let status = pty.status(&call()).await;
        assert_eq!(status.availability, Availability::Online);
        assert!(status.detail.unwrap().contains("/proc hides processes"));
        let session = Terminal::run(&pty, "echo ready; sleep 1000").await;
        session.shows("ready").await;
        let stopped = session.session.stop(std::time::Duration::from_millis(100)).await;
        assert_eq!(stopped, Ok(Stopped::Unconfirmed { pids: vec![] }));
        assert!(!exists(session.pid()));
    });
}

/// Gives the number of an ended session to a daemon of the next session, which leaves its parents and its session.
const TAKE: &str = r#"
import os, sys
wanted = int(sys.argv[1])
while True:
    with open("/proc/sys/kernel/ns_last_pid", "w") as last: last.write(str(wanted - 1))
    child = os.fork()
    if child == 0 and os.getpid() == wanted:
        os.setsid()
        if os.fork(): os._exit(0)
        print("pid=%d" % os.getpid(), "sid=%d" % os.getsid(0), "ready", flush=True)
        os.execvp("sleep", ["sleep", "1000"])
    if child == 0: os._exit(0)
    if child == wanted: sys.exit(0)
    os.waitpid(child, 0)
"#;

#[test]
fn the_number_of_an_ended_session_makes_nobody_its_own() {
    let test = "namespaces::the_number_of_an_ended_session_makes_nobody_its_own";
    first_of_a_namespace(test, "mount -t proc proc /proc && exec setsid \"$@\";", async {
        let pty = pty();
        let first = Terminal::run(&pty, "exit 0").await;
        first.prints().await;
        // Starts are known to a hundredth of a second.
        let second = Terminal::run(&pty, &format!("sleep 0.05; python3 -c '{TAKE}' {}; sleep 1000", first.pid())).await;
        let shown = second.shows("ready").await;
        let daemon = numbers(&shown, "pid")[0];
        assert_eq!(numbers(&shown, "sid"), [first.pid()]);
        assert_eq!(first.session.descendants().await, [0; 0]);
        first.stop().await;
        assert!(exists(daemon), "the stop of an ended session has ended another's process");
        second.stop().await;
        assert!(!exists(daemon), "the stop was confirmed with a survivor");
    });
}
