//! The ways to a host: over others, and by a program.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};

use super::*;

/// Two servers, of which the second is behind the first, and the route to it.
fn behind() -> (Stand, Sshd, Route) {
    let stand = Stand::new(|keys| {
        let key = keys.ed25519("id").unwrap();
        Sshd::builder().own_network().account(Account::new("alice").authorized_key(&key)).start().unwrap()
    });
    let key = Key::at(stand.keys.dir().join("id"));
    let inner =
        Sshd::builder().behind(&stand.sshd).account(Account::new("alice").authorized_key(&key)).start().unwrap();
    let jump = Route { name: "gate".into(), ..stand.route_with(&key) };
    let known = stand.file("known_inner", &inner.known_hosts_lines().unwrap());
    let route = Route {
        known_hosts: vec![known],
        identities: jump.identities.clone(),
        via: Via::Jump(vec![jump]),
        ..bare_route(&inner)
    };
    (stand, inner, route)
}

#[tokio::test]
async fn a_host_behind_another_is_reached_and_both_are_checked() {
    let (stand, inner, route) = behind();
    let link = open(&route).await.unwrap();
    assert_eq!(output(&link, "whoami").await, (Some(0), b"alice\n".to_vec()));
    assert_eq!(link.facts().hops, [format!("alice@127.0.0.1:{}", stand.sshd.port())]);
    assert_eq!(link.facts().host_key.fingerprint, inner.host_key_fingerprint().unwrap());
    link.close().await;
    let untrusted = |route: &Route, of_gate: bool| {
        let mut route = route.clone();
        match &mut route.via {
            Via::Jump(hops) if of_gate => hops.iter_mut().for_each(|hop| hop.known_hosts.clear()),
            _ => route.known_hosts.clear(),
        }
        route
    };
    for (of_gate, name) in [(true, "gate"), (false, "box")] {
        let refused = refused(&untrusted(&route, of_gate)).await;
        assert!(refused.message().starts_with(&format!("the host key of {name} is not known")), "{refused}");
    }
}

#[tokio::test]
async fn a_hop_that_is_lost_takes_the_connection_with_it_and_is_named() {
    let (stand, _inner, route) = behind();
    let link = open(&route).await.unwrap();
    stand.sshd.kill_connections().unwrap();
    let why = link.lost().await;
    assert!(why.starts_with("its hop gate was lost (the host "), "{why}");
    assert_eq!(link.loss(), Some(why.clone()));
    assert_eq!(link.open_channel().await.unwrap_err(), Refusal::Lost(why));
}

#[tokio::test]
async fn a_hop_that_leads_nowhere_says_why() {
    let (stand, _inner, route) = behind();
    let nowhere = Route { host: "127.0.0.1".into(), port: 1, ..route.clone() };
    let refused_by = refused(&nowhere).await;
    assert_eq!(
        refused_by,
        Error::unavailable(
            "gate does not connect us to box at 127.0.0.1 port 1: connect failed: Connection refused; check that the \
             host is up, and its address as seen from there"
        )
    );
    drop(stand);
    let stand = Stand::new(|keys| {
        let account = Account::new("alice").authorized_key(&keys.ed25519("id").unwrap());
        Sshd::builder().option("AllowTcpForwarding", "no").account(account).start().unwrap()
    });
    let gate = Route { name: "gate".into(), ..stand.route_with(&Key::at(stand.keys.dir().join("id"))) };
    let forbidden = refused(&Route { via: Via::Jump(vec![gate]), ..route }).await;
    assert!(forbidden.message().contains("administratively prohibited"), "{forbidden}");
    assert!(forbidden.message().ends_with("allow TCP forwarding there (AllowTcpForwarding)"), "{forbidden}");
}

#[tokio::test]
async fn a_program_can_carry_the_connection() {
    let (stand, key) = Stand::with_key();
    let tasks = Tasks::new();
    // bash has a network of its own, so that no program must be there.
    let by_bash = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{}; cat <&3 & cat >&3; kill $!'", stand.sshd.port());
    let route = Route { via: Via::Command(by_bash), ..stand.route_with(&key) };
    let link = Link::open(&route, &call(), &tasks).await.unwrap();
    assert_eq!(output(&link, "whoami").await, (Some(0), b"alice\n".to_vec()));
    link.close().await;
    drop(link);
    // The program is ended and waited for.
    assert!(tasks.shutdown(PATIENCE).await);
}

#[tokio::test]
async fn a_program_that_fails_says_why() {
    let (stand, key) = Stand::with_key();
    let via = |line: &str| Route { via: Via::Command(line.into()), ..stand.route_with(&key) };
    let refused_by = refused(&via("sh -c 'echo no such gate >&2; exit 7'")).await;
    let message = refused_by.message();
    assert!(message.ends_with("; the proxy command ended with exit status 7 and said: no such gate"), "{message}");
}

#[tokio::test]
async fn nobody_there_is_told_with_the_address() {
    let (stand, key) = Stand::with_key();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    drop(taken);
    let refused_by = refused(&Route { port, ..stand.route_with(&key) }).await;
    assert_eq!(
        refused_by,
        Error::unavailable(format!(
            "box cannot be reached: 127.0.0.1 port {port} does not answer at 127.0.0.1:{port}: Connection refused (os \
             error 111); check that it is up, and its address and port"
        ))
    );
}

#[tokio::test]
async fn who_does_not_speak_ssh_is_told() {
    let (stand, key) = Stand::with_key();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let route = Route { port, ..stand.route_with(&key) };
    let web = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    assert_eq!(
        refused(&route).await,
        Error::unavailable(format!(
            "what answers for box at 127.0.0.1 port {port} closed the connection at once: check that an SSH server \
             listens there, and that it is not too busy for another connection"
        ))
    );
    web.join().unwrap();
}

#[tokio::test]
async fn who_never_answers_is_given_up_when_the_time_is_up() {
    let (stand, key) = Stand::with_key();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let route = Route { port, connect_timeout: Duration::from_millis(300), ..stand.route_with(&key) };
    assert_eq!(
        refused(&route).await,
        Error::unavailable(
            "box is not connected after 0.3 s, which went by while waiting for box to speak SSH: check that it is up, \
             or raise ConnectTimeout"
        )
    );
    let mut cx = call();
    cx.deadline = tokio::time::Instant::now() + Duration::from_millis(300);
    let late = Link::open(&Route { connect_timeout: PATIENCE, ..route }, &cx, &Tasks::new()).await.err().unwrap();
    assert_eq!(
        late,
        Error::timed_out(
            "box is not connected when the call's time is up, while waiting for box to speak SSH: try again with more"
        )
    );
}
