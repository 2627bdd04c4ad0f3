//! Servers that only other servers reach, and links that are cut.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::Duration;

use sessiond_ssh_peer::{Account, Client, Cut, Keys, Sshd};

#[test]
fn a_server_behind_another_is_reached_through_it_and_not_directly() {
    let keys = Keys::new().unwrap();
    let key = keys.ed25519("id").unwrap();
    let alice = Account::new("alice").authorized_key(&key);
    let gate = Sshd::builder().own_network().account(alice.clone()).start().unwrap();
    let middle = Sshd::builder().behind(&gate).account(alice.clone()).start().unwrap();
    let inner = Sshd::builder().behind(&middle).account(alice).start().unwrap();

    for server in [&middle, &inner] {
        assert_eq!(greeting(server.address()), None);
    }
    assert!(greeting(gate.address()).unwrap().starts_with("SSH-2.0-OpenSSH"));
    let client = Client::new().unwrap();
    let identity = format!("IdentityFile {}", key.path().display());
    client.host("gate", &gate, "alice", &[&identity]).unwrap();
    client.host("middle", &middle, "alice", &[&identity, "ProxyJump gate"]).unwrap();
    client.host("inner", &inner, "alice", &[&identity, "ProxyJump gate,middle"]).unwrap();
    for (host, server) in [("gate", &gate), ("middle", &middle), ("inner", &inner)] {
        let output = client.ssh([host, "echo $SSH_CONNECTION"]).unwrap().output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{output:?}\n{}", server.log());
        assert!(printed.ends_with(" 22\n"), "{printed}");
    }
}

/// What a server says first, where there is one. Some machines have a proxy that takes a connection to anywhere and
/// then says nothing.
fn greeting(address: SocketAddr) -> Option<String> {
    let patience = Duration::from_millis(200);
    let mut stream = TcpStream::connect_timeout(&address, patience).ok()?;
    stream.set_read_timeout(Some(patience)).unwrap();
    let mut line = String::new();
    let count = BufReader::new(&mut stream).read_line(&mut line).ok()?;
    (count > 0).then_some(line)
}

#[test]
fn only_a_server_with_a_network_of_its_own_has_others_behind_it() {
    let open = Sshd::builder().start().unwrap();
    let error = Sshd::builder().behind(&open).start().unwrap_err();
    assert_eq!(error.to_string(), "a server can stand behind one that has a network of its own only");
}

/// A listener that sends back what it gets, on as many connections as there are.
fn echo() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream = stream.unwrap();
            let mut back = stream.try_clone().unwrap();
            std::thread::spawn(move || std::io::copy(&mut stream, &mut back));
        }
    });
    address
}

#[test]
fn a_cut_is_silent_until_it_is_mended() {
    let cut = Cut::before(echo()).unwrap();
    let mut stream = TcpStream::connect(cut.address()).unwrap();
    let mut byte = [0];
    stream.write_all(b"a").unwrap();
    stream.read_exact(&mut byte).unwrap();
    cut.silence();
    stream.write_all(b"b").unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert_eq!(stream.read(&mut byte).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    cut.resume();
    stream.set_read_timeout(None).unwrap();
    stream.read_exact(&mut byte).unwrap();
    assert_eq!(&byte, b"b");
}

#[test]
fn a_cut_that_closes_ends_what_was_open_and_takes_what_is_new() {
    let cut = Cut::before(echo()).unwrap();
    let mut stream = TcpStream::connect(cut.address()).unwrap();
    let mut byte = [0];
    stream.write_all(b"a").unwrap();
    stream.read_exact(&mut byte).unwrap();
    cut.close();
    assert_eq!(stream.read(&mut byte).unwrap_or(0), 0);
    let mut stream = TcpStream::connect(cut.address()).unwrap();
    stream.write_all(b"b").unwrap();
    stream.read_exact(&mut byte).unwrap();
    assert_eq!(&byte, b"b");
    drop(cut);
    assert_eq!(stream.read(&mut byte).unwrap_or(0), 0);
}

#[test]
fn an_ssh_connection_survives_a_cut_that_is_mended() {
    let keys = Keys::new().unwrap();
    let key = keys.ed25519("id").unwrap();
    let sshd = Sshd::builder().account(Account::new("alice").authorized_key(&key)).start().unwrap();
    let cut = Cut::before(sshd.address()).unwrap();
    let client = Client::new().unwrap();
    client.host("box", &sshd, "alice", &[&format!("IdentityFile {}", key.path().display())]).unwrap();
    let through = format!("HostKeyAlias=[127.0.0.1]:{}", sshd.port());
    let mut ssh = client.ssh(["-p", &cut.port().to_string(), "-o", &through, "box", "cat"]).unwrap();
    let mut cat = ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (cat.stdin.take().unwrap(), BufReader::new(cat.stdout.take().unwrap()));
    let mut line = String::new();
    stdin.write_all(b"before\n").unwrap();
    stdout.read_line(&mut line).unwrap();
    cut.silence();
    stdin.write_all(b"during\n").unwrap();
    cut.resume();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "before\nduring\n");
    drop(stdin);
    assert!(cat.wait().unwrap().success());
}
