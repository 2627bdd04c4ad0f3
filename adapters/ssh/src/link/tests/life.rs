//! A connection's life: channels, answers, new keys, and every way it can end.

use sessiond_ssh_peer::Cut;

use super::*;

#[tokio::test]
async fn a_channel_too_many_is_refused_and_harms_nothing() {
    let stand = Stand::new(|keys| {
        let account = Account::new("alice").authorized_key(&keys.ed25519("id").unwrap());
        Sshd::builder().option("MaxSessions", "2").account(account).start().unwrap()
    });
    let link = open(&stand.route_with(&Key::at(stand.keys.dir().join("id")))).await.unwrap();
    let first = link.open_channel().await.unwrap();
    let second = link.open_channel().await.unwrap();
    assert_eq!(link.open_channel().await.unwrap_err(), Refusal::Full("connect failed: open failed".into()));
    link.round_trip().await.unwrap();
    second.close().await.unwrap();
    drop(first);
    // The host has heard of the end of the second by the time it answers.
    link.round_trip().await.unwrap();
    assert_eq!(output(&link, "echo on").await, (Some(0), b"on\n".to_vec()));
}

#[tokio::test]
async fn a_channel_that_nobody_takes_is_closed() {
    let stand = Stand::new(|keys| {
        let account = Account::new("alice").authorized_key(&keys.ed25519("id").unwrap());
        Sshd::builder().option("MaxSessions", "1").account(account).start().unwrap()
    });
    let tasks = Tasks::new();
    let route = stand.route_with(&Key::at(stand.keys.dir().join("id")));
    let link = Link::open(&route, &call(), &tasks).await.unwrap();
    {
        let opening = link.open_channel();
        tokio::pin!(opening);
        assert!(futures_util::poll!(&mut opening).is_pending());
    }
    // What has begun to open it ends, having closed it.
    while !tasks.is_empty() {
        tokio::task::yield_now().await;
    }
    link.round_trip().await.unwrap();
    assert_eq!(output(&link, "echo on").await, (Some(0), b"on\n".to_vec()));
}

#[tokio::test]
async fn a_host_that_closes_is_a_loss() {
    let (stand, key) = Stand::with_key();
    let link = open(&stand.route_with(&key)).await.unwrap();
    assert_eq!(link.loss(), None);
    stand.sshd.kill_connections().unwrap();
    let why = link.lost().await;
    assert!(["the host closed it", "the host broke it off"].contains(&why.as_str()), "{why}");
    assert_eq!(link.lost().await, why);
    assert_eq!(link.open_channel().await.unwrap_err(), Refusal::Lost(why.clone()));
    assert_eq!(link.round_trip().await, Err(Error::unavailable(format!("the connection was lost: {why}; try again"))));
}

#[tokio::test]
async fn a_connection_that_is_cut_without_a_word_is_noticed() {
    let (stand, key) = Stand::with_key();
    let cut = Cut::before(stand.sshd.address()).unwrap();
    let known = stand.file("known_cut", &stand.sshd.known_hosts_lines_as("box").unwrap());
    let route = Route {
        port: cut.port(),
        key_alias: Some("box".into()),
        known_hosts: vec![known],
        keepalive: Some(Duration::from_millis(100)),
        keepalive_max: 2,
        ..stand.route_with(&key)
    };
    let link = open(&route).await.unwrap();
    assert_eq!(output(&link, "echo on").await, (Some(0), b"on\n".to_vec()));
    cut.silence();
    assert_eq!(link.lost().await, "the host does not answer any more");
}

#[tokio::test]
async fn a_connection_that_takes_nothing_more_is_noticed_in_mid_write() {
    let (stand, key) = Stand::with_key();
    let cut = Cut::before(stand.sshd.address()).unwrap();
    let known = stand.file("known_cut", &stand.sshd.known_hosts_lines_as("box").unwrap());
    let route = Route {
        port: cut.port(),
        key_alias: Some("box".into()),
        known_hosts: vec![known],
        keepalive: Some(Duration::from_millis(200)),
        keepalive_max: 2,
        ..stand.route_with(&key)
    };
    let link = open(&route).await.unwrap();
    let mut sinks = Vec::new();
    for _ in 0..8 {
        let channel = link.open_channel().await.unwrap();
        channel.exec(true, "exec cat >/dev/null").await.unwrap();
        sinks.push(channel);
    }
    link.round_trip().await.unwrap();
    cut.silence();
    // More than any buffer of the kernel's takes.
    let floods = sinks.iter().map(|sink| sink.data_bytes(vec![0; 2 * 1024 * 1024]));
    let flood = futures_util::future::join_all(floods);
    let why = tokio::select! {
        why = link.lost() => why,
        _ = async { flood.await; std::future::pending::<()>().await } => unreachable!(),
    };
    assert!(["it has taken nothing for 0.6 s", "the host does not answer any more"].contains(&why.as_str()), "{why}");
}

#[tokio::test]
async fn new_keys_in_mid_stream_lose_nothing() {
    let stand = Stand::new(|keys| {
        let account = Account::new("alice").authorized_key(&keys.ed25519("id").unwrap());
        Sshd::builder().option("RekeyLimit", "1M").account(account).start().unwrap()
    });
    let link = open(&stand.route_with(&Key::at(stand.keys.dir().join("id")))).await.unwrap();
    let (status, printed) = output(&link, "seq 1 2000000").await;
    assert_eq!(status, Some(0));
    let expected: String = (1..=2_000_000).map(|n| format!("{n}\n")).collect();
    assert!(printed == expected.as_bytes(), "{} of {} bytes", printed.len(), expected.len());
}

#[tokio::test]
async fn new_keys_at_our_wish_lose_nothing() {
    let (stand, key) = Stand::with_key();
    let link = open(&stand.route_with(&key)).await.unwrap();
    let flood = output(&link, "seq 1 1000000");
    let rekey = async {
        for _ in 0..5 {
            link.hop.handle.rekey_soon().await.unwrap();
            link.round_trip().await.unwrap();
        }
    };
    let ((status, printed), ()) = tokio::join!(flood, rekey);
    assert_eq!(status, Some(0));
    let expected: String = (1..=1_000_000).map(|n| format!("{n}\n")).collect();
    assert!(printed == expected.as_bytes(), "{} of {} bytes", printed.len(), expected.len());
}

#[tokio::test]
async fn closing_tells_the_host_and_leaves_nothing() {
    let (stand, key) = Stand::with_key();
    let tasks = Tasks::new();
    let link = Link::open(&stand.route_with(&key), &call(), &tasks).await.unwrap();
    // Until the host has said all that it says of itself, it breaks off at whoever does not listen.
    link.round_trip().await.unwrap();
    link.close().await;
    link.close().await;
    assert_eq!(link.loss().as_deref(), Some("it was closed here"));
    stand.sshd.await_log("Received disconnect from").unwrap();
    assert!(tasks.is_empty());
}

#[tokio::test]
async fn a_link_that_is_dropped_is_gone() {
    let (stand, key) = Stand::with_key();
    let link = open(&stand.route_with(&key)).await.unwrap();
    link.round_trip().await.unwrap();
    let loss = link.hop.loss.clone();
    drop(link);
    loss.wait().await;
    stand.sshd.await_log("Connection closed by").unwrap();
}

#[tokio::test]
async fn a_call_that_is_dropped_half_way_leaves_nothing() {
    let (stand, key) = Stand::with_key();
    let cut = Cut::before(stand.sshd.address()).unwrap();
    let known = stand.file("known_cut", &stand.sshd.known_hosts_lines_as("box").unwrap());
    let route =
        Route { port: cut.port(), key_alias: Some("box".into()), known_hosts: vec![known], ..stand.route_with(&key) };
    let tasks = Tasks::new();
    cut.silence();
    let cx = call();
    {
        let opening = Link::open(&route, &cx, &tasks);
        tokio::pin!(opening);
        // The relay accepts and hands nothing on: the opening waits for the server's first word.
        assert!(tokio::time::timeout(Duration::from_millis(200), &mut opening).await.is_err());
    }
    cut.resume();
    // The server sees its peer go, instead of a peer that says nothing until it is thrown out.
    stand.sshd.await_log("Connection closed by").unwrap();
    assert!(tasks.shutdown(PATIENCE).await);
}

#[tokio::test]
async fn a_call_that_is_taken_back_ends_at_once() {
    let (stand, key) = Stand::with_key();
    let cut = Cut::before(stand.sshd.address()).unwrap();
    cut.silence();
    let cx = call();
    cx.cancel.cancel();
    let route = Route { port: cut.port(), ..stand.route_with(&key) };
    let ended = Link::open(&route, &cx, &Tasks::new()).await.err().unwrap();
    assert_eq!(ended, Error::timed_out("the call was taken back: nothing is connected"));
}
