//! Servers that come and go, and that nothing of them stays.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sessiond_ssh_peer::{Account, Client, Keys, Sshd};

struct Fixture {
    keys: Keys,
    sshd: Sshd,
    client: Client,
}

fn fixture() -> Fixture {
    let keys = Keys::new().unwrap();
    let key = keys.ed25519("id").unwrap();
    let sshd = Sshd::builder().account(Account::new("alice").authorized_key(&key)).start().unwrap();
    let client = Client::new().unwrap();
    client.host("box", &sshd, "alice", &[&format!("IdentityFile {}", key.path().display())]).unwrap();
    Fixture { keys, sshd, client }
}

/// Starts a remote command and waits for the first line of its output.
fn started(client: &Client, script: &str) -> (Child, BufReader<ChildStdout>, String) {
    let mut child = client.ssh(["box", script]).unwrap().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    (child, stdout, line.trim_end().to_owned())
}

#[test]
fn killed_connections_are_lost_and_new_ones_are_taken() {
    let Fixture { keys: _keys, sshd, client } = fixture();
    let (mut child, _stdout, pid) = started(&client, "echo $$; exec sleep 600");
    sshd.kill_connections().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(255));
    // It has no terminal whose end would tell it.
    assert_eq!(sshd.look(&format!("cat /proc/{pid}/comm")).unwrap(), "sleep\n");
    assert!(client.ssh(["box", "true"]).unwrap().status().unwrap().success());
}

#[test]
fn a_server_that_no_longer_listens_keeps_its_connections() {
    let Fixture { keys: _keys, sshd, client } = fixture();
    sshd.look("mkfifo -m 666 /run/home/alice/pipe").unwrap();
    let (mut child, mut stdout, _) = started(&client, "echo ready; read line < ~/pipe; echo $line");
    sshd.stop_listening().unwrap();
    assert!(TcpStream::connect(sshd.address()).is_err());
    sshd.look("echo still here > /run/home/alice/pipe").unwrap();
    let mut rest = String::new();
    stdout.read_line(&mut rest).unwrap();
    assert_eq!(rest, "still here\n");
    assert!(child.wait().unwrap().success());
    sshd.listen().unwrap();
    assert!(client.ssh(["box", "true"]).unwrap().status().unwrap().success());
}

#[test]
fn a_restart_keeps_port_and_host_key_until_the_key_is_replaced() {
    let Fixture { keys: _keys, mut sshd, client } = fixture();
    let (port, fingerprint) = (sshd.port(), sshd.host_key_fingerprint().unwrap());
    let (mut child, _stdout, _) = started(&client, "echo ready; exec sleep 600");
    sshd.restart().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(255));
    assert_eq!((sshd.port(), sshd.host_key_fingerprint().unwrap()), (port, fingerprint.clone()));
    assert!(client.ssh(["box", "true"]).unwrap().status().unwrap().success());

    let old = sshd.replace_host_key().unwrap();
    assert_eq!(old.fingerprint().unwrap(), fingerprint);
    assert_ne!(sshd.host_key_fingerprint().unwrap(), fingerprint);
    let refused = client.ssh(["box", "true"]).unwrap().output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("REMOTE HOST IDENTIFICATION HAS CHANGED"));
}

#[test]
fn an_orphan_is_reaped_like_anywhere() {
    let Fixture { keys: _keys, sshd, client } = fixture();
    let (mut child, _stdout, pid) = started(&client, "(sleep 600 > /dev/null 2>&1 & echo $!)");
    assert!(child.wait().unwrap().success());
    // Nobody but the first process can reap it, and that has other things to wait for.
    sshd.look(&format!("kill -9 {pid}; while [ -e /proc/{pid} ]; do :; done")).unwrap();
}

#[test]
fn what_a_server_leaves_behind_ends_with_it() {
    let Fixture { keys, sshd, client } = fixture();
    let mark = keys.dir().to_string_lossy().into_owned();
    let script = format!("MARK={mark} setsid sleep 600 > /dev/null 2>&1 & echo ready");
    let (mut child, _stdout, _) = started(&client, &script);
    assert!(child.wait().unwrap().success());
    assert_eq!(marked(&mark).len(), 1);
    let state = sshd.home("").parent().unwrap().to_owned();
    assert!(state.exists());
    drop(sshd);
    assert_eq!((marked(&mark), state.exists()), (Vec::new(), false));
}

/// The processes of the machine that have this in their environment or their arguments. A server writes its title over
/// both, with its arguments in it.
fn marked(mark: &str) -> Vec<i32> {
    let holds = |pid: &i32, file: &str| {
        let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        bytes.windows(mark.len()).any(|window| window == mark.as_bytes())
    };
    let has = |pid: &i32| holds(pid, "environ") || holds(pid, "cmdline");
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(has).collect()
}

#[test]
fn an_owner_that_is_killed_leaves_no_process() {
    // Files are what a killed process cannot take along.
    let files = tempfile::tempdir().unwrap();
    let mut owner = Command::new(env!("CARGO_BIN_EXE_sessiond-ssh-peer"))
        .env("TMPDIR", files.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It has told the last of what it tells: the server runs, and its clients are known.
    let stdout = BufReader::new(owner.stdout.take().unwrap());
    assert_eq!(stdout.lines().take(3).filter(Result::is_ok).count(), 3);
    let state = files.path().join("sessiond-peer-").to_string_lossy().into_owned();
    let handles: Vec<OwnedFd> = marked(&state).into_iter().map(handle).collect();
    // `unshare`, the first process, who waits for the server, and the server.
    assert_eq!(handles.len(), 4);
    owner.kill().unwrap();
    owner.wait().unwrap();
    for handle in &handles {
        let patience = Timespec { tv_sec: 30, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&patience)), Ok(1));
    }
}

fn handle(pid: i32) -> OwnedFd {
    pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap()
}

#[test]
fn a_wrong_configuration_is_told_in_the_servers_words() {
    let error = Sshd::builder().option("NoSuchKeyword", "yes").start().unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains("the server did not start"), "{text}");
    assert!(text.contains("Bad configuration option: NoSuchKeyword"), "{text}");
}

#[test]
fn nothing_reaches_the_machines_own_accounts_and_logs() {
    let Fixture { keys: _keys, sshd, client } = fixture();
    assert!(client.ssh(["box", "true"]).unwrap().status().unwrap().success());
    assert!(sshd.look("grep -c '^alice:' /etc/passwd").is_ok());
    let machine = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!machine.contains("sessiond-peer"), "{machine}");
    assert!(!std::fs::read_to_string("/etc/passwd").unwrap().contains("/run/home/"));
    assert!(!std::path::Path::new("/run/home").exists());
}
