//! Programs that ask for a secret: it is typed at their prompt, is not echoed, and decides.

use std::time::Duration;

use sessiond_core::{Exit, Stopped};

use super::User;
use crate::launches::is_root;
use crate::support::{LONG, Terminal, alone, needs, numbers};

/// What `users.sh` gives everybody.
const PASSWORD: &str = "open sesame";

/// Surroundings in which a test runs as alice, whose password and rights are known; nothing outside changes, and nothing
/// outlives them. Only root can make them.
fn as_alice() -> Vec<&'static str> {
    let root: &[&str] = if is_root() { &[] } else { &["sudo", "-n", "--preserve-env"] };
    let unshare = &["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let script = &["sh", "-c", include_str!("users.sh"), "sh"];
    [root, unshare, script].concat()
}

/// Waits until the program in the foreground, the last one started, sleeps: after its prompt it does so only to read.
///
/// A person is never there before it; a test may be. Some programs then drop what was typed, or miss an interrupt.
async fn reads(terminal: &Terminal) {
    let last = |mut pid: u32| {
        let child = |pid: u32| {
            let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
            children.split_whitespace().last()?.parse().ok()
        };
        while let Some(next) = child(pid) {
            pid = next;
        }
        pid
    };
    let sleeps = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
    };
    let asleep = async {
        while !sleeps(last(terminal.pid())) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, asleep).await.expect("the program never reads");
}

/// Types a line that must not show, and waits for what it brings.
async fn answers(terminal: &Terminal, secret: &str, pattern: &str) {
    reads(terminal).await;
    terminal.dialog(&format!("{secret}\n"), pattern).await;
    assert!(!terminal.text().contains(secret), "{:?}", terminal.text());
}

#[tokio::test]
async fn ssh_keygen_asks_for_a_passphrase_until_both_agree() {
    needs("ssh-keygen");
    let user = User::new("ssh-keygen");
    let keygen = user.run("ssh-keygen -q -t ed25519 -C me -f key").await;
    keygen.shows("Enter passphrase.*: $").await;
    answers(&keygen, "correct horse", "Enter same passphrase again: $").await;
    answers(&keygen, "corect horse", "(?s)do not match.*Enter passphrase.*: $").await;
    answers(&keygen, "correct horse", "Enter same passphrase again: $").await;
    answers(&keygen, "correct horse", "\r\n").await;
    keygen.prints().await;

    let public = user.read("key.pub");
    let keygen = user.run("ssh-keygen -y -f key").await;
    keygen.shows("Enter passphrase.*: $").await;
    answers(&keygen, "wrong", "incorrect passphrase").await;
    assert_eq!(keygen.to_end().await.1.exit, Exit::Exited(255));

    let keygen = user.run("ssh-keygen -y -f key").await;
    keygen.shows("Enter passphrase.*: $").await;
    answers(&keygen, "correct horse", "ssh-ed25519").await;
    assert!(keygen.prints().await.replace("\r\n", "\n").ends_with(&public));
}

#[test]
fn sudo_asks_until_the_password_is_right() {
    needs("sudo");
    alone("programs::secrets::sudo_asks_until_the_password_is_right", &as_alice(), async {
        let user = User::new("sudo");
        let sudo = user.run("id -un; sudo id -un; sudo -n id -un").await;
        sudo.shows("^alice\r\n\\[sudo\\] password for alice: $").await;
        answers(&sudo, "wrong", "Sorry, try again\\.\r\n\\[sudo\\] password for alice: $").await;
        answers(&sudo, PASSWORD, "\r\n").await;
        // The second one is not asked again.
        assert!(sudo.prints().await.ends_with(": \r\nroot\r\nroot\r\n"), "{:?}", sudo.text());
    });
}

#[test]
fn sudo_gives_up_after_wrong_passwords() {
    needs("sudo");
    alone("programs::secrets::sudo_gives_up_after_wrong_passwords", &as_alice(), async {
        let user = User::new("sudo-no");
        let sudo = user.run("sudo id -un").await;
        sudo.shows("password for alice: $").await;
        for _ in 0..2 {
            answers(&sudo, "wrong", "try again\\.\r\n.*password for alice: $").await;
        }
        answers(&sudo, "wrong", "3 incorrect password attempts\r\n").await;
        assert_eq!(sudo.to_end().await.1.exit, Exit::Exited(1));
    });
}

#[test]
fn a_password_prompt_is_interrupted_and_the_terminal_echoes_again() {
    needs("sudo");
    let name = "programs::secrets::a_password_prompt_is_interrupted_and_the_terminal_echoes_again";
    alone(name, &as_alice(), async {
        let user = User::new("sudo-interrupt");
        let sudo = user.run("trap : INT; sudo id -un; echo code=$?; read -r line; echo got $line").await;
        sudo.shows("password for alice: $").await;
        reads(&sudo).await;
        sudo.dialog("\x03", "code=1\r\n").await;
        sudo.type_in("seen\n").await;
        assert!(sudo.prints().await.ends_with("code=1\r\nseen\r\ngot seen\r\n"), "{:?}", sudo.text());
    });
}

#[test]
fn su_asks_once() {
    needs("su");
    alone("programs::secrets::su_asks_once", &as_alice(), async {
        let user = User::new("su");
        let su = user.run("su -c 'id -un'").await;
        su.shows("Password: $").await;
        answers(&su, "wrong", "su: Authentication failure\r\n").await;
        assert_eq!(su.to_end().await.1.exit, Exit::Exited(1));
        let su = user.run("su -c 'id -un'").await;
        su.shows("Password: $").await;
        answers(&su, PASSWORD, "root").await;
        assert_eq!(su.prints().await, "Password: \r\nroot\r\n");
    });
}

#[test]
fn a_stop_ends_a_shell_of_root_too() {
    needs("su");
    alone("programs::secrets::a_stop_ends_a_shell_of_root_too", &as_alice(), async {
        let user = User::new("su-stop");
        let su = user.run("su").await;
        su.shows("Password: $").await;
        answers(&su, PASSWORD, "# $").await;
        su.dialog("id -un\n", "root\r\n(?s:.*)# $").await;
        su.stop().await;
    });
}

#[test]
fn a_stop_names_what_it_may_not_end() {
    needs("su");
    alone("programs::secrets::a_stop_names_what_it_may_not_end", &as_alice(), async {
        let user = User::new("su-left");
        let su = user.run("su").await;
        su.shows("Password: $").await;
        answers(&su, PASSWORD, "# $").await;
        let shown = su.dialog("sleep 1000 & echo pid=$!\n", "pid=\\d+\r\n(?s:.*)# $").await;
        let sleep = numbers(&shown, "pid")[0];
        assert_eq!(su.session.stop(Duration::ZERO).await, Ok(Stopped::Unconfirmed { pids: vec![sleep] }));
    });
}
