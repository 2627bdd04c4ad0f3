//! Limits of the machine: a clear refusal each, what runs goes on, and a stop makes room.

use sessiond_core::{ErrorKind, Exit, Invocation};

use crate::launches::is_root;
use crate::support::{LONG, Piped, Terminal, alone, pty};

/// Starts sessions until one is refused; what runs still works, and when it is stopped the next one starts.
async fn fills_up(expected: &str) {
    let pty = pty();
    let mut sessions = Vec::new();
    let refused = loop {
        match Terminal::try_run(&pty, Invocation::new("echo ready; cat")).await {
            Ok(session) => sessions.push(session),
            Err(refused) => break refused,
        }
        assert!(sessions.len() < 100, "no limit was met");
    };
    assert_eq!(refused.kind(), ErrorKind::LimitExceeded, "{refused}");
    assert!(refused.message().contains(expected), "{refused}");
    assert!(!sessions.is_empty());
    for session in &sessions {
        session.shows("ready").await;
        session.dialog("still here\n", "still here").await;
    }
    for session in &sessions {
        session.stop().await;
        session.to_end().await;
    }
    // The kernel gives a closed terminal back a little later, and tells nobody.
    let next = tokio::time::timeout(LONG, async {
        loop {
            match Terminal::try_run(&pty, Invocation::new("echo next")).await {
                Ok(next) => return next,
                Err(refused) => assert_eq!(refused.kind(), ErrorKind::LimitExceeded),
            }
            tokio::task::yield_now().await;
        }
    });
    let next = next.await.expect("a stop makes room");
    assert_eq!(next.prints().await, "next\r\n");
}

#[test]
fn without_a_free_terminal_a_start_is_refused() {
    let few = "mount -t devpts -o newinstance,ptmxmode=0666,max=5 devpts /dev/pts && \
               mount --bind /dev/pts/ptmx /dev/ptmx && exec \"$@\"";
    let (root, user) = (["unshare", "--mount"].as_slice(), ["unshare", "--mount", "--map-root-user"].as_slice());
    let wrap = [if is_root() { root } else { user }, &["sh", "-c", few, "sh"]].concat();
    alone("limits::without_a_free_terminal_a_start_is_refused", &wrap, async {
        fills_up("no free pseudo-terminal").await;
    });
}

#[test]
fn without_a_free_descriptor_a_start_is_refused() {
    let wrap = ["prlimit", "--nofile=40:40"];
    alone("limits::without_a_free_descriptor_a_start_is_refused", &wrap, async {
        fills_up("no free file descriptor").await;
    });
}

#[test]
fn children_get_the_limit_that_the_server_was_started_with() {
    let wrap = ["prlimit", "--nofile=64:512"];
    alone("limits::children_get_the_limit_that_the_server_was_started_with", &wrap, async {
        let pty = pty();
        // More than the children may have.
        let files: Vec<_> = (0..200).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        let session = Terminal::run(&pty, "ulimit -Sn; ulimit -Hn; ls /proc/$$/fd | wc -l").await;
        // The shell's three standard descriptors and the one it saves.
        assert_eq!(session.prints().await.split_whitespace().take(2).collect::<Vec<_>>(), ["64", "512"]);
        let piped = Piped::run(&pty, "ulimit -Sn").await.to_end().await;
        assert_eq!((piped.stdout.as_str(), piped.exit), ("64\n", Exit::Exited(0)));
        session.stop().await;
        drop(files);
    });
}
