//! Hosts and the connections to them: what is asked of the service, and how its answers read.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;
use sessiond_core::{
    ConnectHost, Connection, ConnectionFacts, ConnectionStatus, DisconnectHost, HostConnected, HostDisconnected,
    HostInfo, HostKey, HostList, ListConnections, Owner, TargetInfo,
};

use crate::script::{Asked, Say, Stage};
use crate::support::{Server, target};

fn host(name: &str, description: Option<&str>, source: &str) -> TargetInfo {
    let info = HostInfo { description: description.map(str::to_owned), source: source.to_owned() };
    TargetInfo { host: Some(info), ..TargetInfo::new(target(name), "ssh") }
}

fn facts() -> ConnectionFacts {
    ConnectionFacts {
        host: "10.0.0.5".into(),
        user: "ada".into(),
        port: 2222,
        os: Some("linux".into()),
        server_version: "SSH-2.0-OpenSSH_10.0".into(),
        host_key: HostKey {
            kind: "ssh-ed25519".into(),
            fingerprint: "SHA256:abc".into(),
            verified_by: "/home/ada/.ssh/known_hosts:3".into(),
        },
        auth_method: "publickey".into(),
        hops: vec!["gate".into()],
    }
}

#[tokio::test]
async fn hosts_are_listed_with_who_names_them() {
    let stage = Stage::new().await;
    let hosts = vec![host("box", Some("builds"), "configuration"), host("web", None, "/home/ada/.ssh/config")];
    let reply = stage.answer(Say::Hosts(HostList { hosts }), "ssh_host_list", json!({})).await;
    let expected = json!({"hosts": [
        {"key": "box", "description": "builds", "source": "configuration"},
        {"key": "web", "source": "/home/ada/.ssh/config"},
    ]});
    assert_eq!((reply.is_error, reply.structured), (false, expected));
    assert_eq!(reply.text, "2 hosts\nbox: builds\nweb");
}

#[tokio::test]
async fn where_no_host_is_listed_the_text_says_how_there_comes_one() {
    let stage = Stage::new().await;
    let reply = stage.answer(Say::Hosts(HostList::default()), "ssh_host_list", json!({})).await;
    assert_eq!(reply.structured, json!({"hosts": []}));
    assert_eq!(
        reply.text,
        "no hosts are listed: the user adds one by a Host entry in ~/.ssh/config or in the server's configuration; where that \
         allows any host, give its name"
    );
}

#[tokio::test]
async fn connecting_tells_all_that_is_known_of_the_connection() {
    let stage = Stage::new().await;
    let connected = HostConnected { target: target("box"), was_connected: false, facts: facts() };
    let reply = stage.answer(Say::Connect(connected.clone()), "ssh_conn_connect", json!({"host_name": "box"})).await;
    let expected = json!({
        "status": "connected", "connected_to": "box", "host": "10.0.0.5", "user": "ada", "port": 2222,
        "os_type": "linux", "server_version": "SSH-2.0-OpenSSH_10.0",
        "host_key": {
            "type": "ssh-ed25519", "fingerprint": "SHA256:abc", "verified_by": "/home/ada/.ssh/known_hosts:3",
        },
        "auth_method": "publickey", "hops": ["gate"],
    });
    assert_eq!((reply.is_error, reply.structured), (false, expected));
    assert_eq!(reply.text, "connected: box as ada at 10.0.0.5 port 2222; host key ssh-ed25519 SHA256:abc");

    let already = HostConnected { was_connected: true, ..connected };
    let reply = stage.answer(Say::Connect(already), "ssh_conn_connect", json!({"host_name": "box"})).await;
    assert_eq!(reply.structured["status"], "already_connected");
}

#[tokio::test]
async fn a_host_to_connect_to_is_named_unless_there_is_only_one_for_the_caller() {
    let stage = Stage::new().await;
    let asked = stage.asked("ssh_conn_connect", json!({"host_name": "box"})).await;
    assert_eq!(asked, Asked::Connect(ConnectHost { target: Some(target("box")) }));
    for arguments in [json!({}), json!({"host_name": null})] {
        assert_eq!(
            stage.refused("ssh_conn_connect", arguments).await,
            "invalid_argument: host_name is missing: it names the host, and ssh_host_list shows each"
        );
    }
    let scoped = Stage::of(Owner::scoped("device", target("box"))).await;
    assert_eq!(scoped.asked("ssh_conn_connect", json!({})).await, Asked::Connect(ConnectHost { target: None }));
}

#[tokio::test]
async fn what_can_be_no_name_is_refused_and_for_scoped_access_is_not_there() {
    let stage = Stage::new().await;
    let refused = stage.refused("ssh_conn_status", json!({"host_name": ""})).await;
    assert!(refused.starts_with("invalid_argument: host_name is no name of a host: "), "{refused}");
    assert!(refused.ends_with("; ssh_host_list shows each"), "{refused}");
    let scoped = Stage::of(Owner::scoped("device", target("box"))).await;
    let refused = scoped.refused("ssh_conn_status", json!({"host_name": ""})).await;
    assert!(refused.starts_with("not_found: "), "{refused}");
}

#[tokio::test]
async fn connections_are_shown_as_they_stand() {
    let stage = Stage::new().await;
    assert_eq!(stage.asked("ssh_conn_status", json!({})).await, Asked::Connections(ListConnections { target: None }));
    let connection =
        |name, user: Option<&str>, port, connected, since, channels, last_error: Option<&str>| Connection {
            target: target(name),
            status: ConnectionStatus {
                host: "10.0.0.5".into(),
                user: user.map(str::to_owned),
                port,
                connected,
                since,
                channels,
                last_error: last_error.map(str::to_owned),
            },
        };
    let connections = vec![
        connection("box", Some("ada"), Some(22), true, Some(UNIX_EPOCH + Duration::from_secs(60)), 2, None),
        connection("web", None, None, false, None, 0, Some("no answer")),
    ];
    let reply = stage.answer(Say::Connections(connections), "ssh_conn_status", json!({"host_name": "box"})).await;
    let expected = json!({"connections": [
        {
            "host_name": "box", "user": "ada", "host": "10.0.0.5", "port": 22, "connected": true,
            "since": "1970-01-01T00:01:00.000Z", "channels": 2,
        },
        {"host_name": "web", "host": "10.0.0.5", "connected": false, "channels": 0, "last_error": "no answer"},
    ]});
    assert_eq!((reply.is_error, reply.structured), (false, expected));
    assert_eq!(reply.text, "2 connections\nbox connected, 2 channels\nweb not connected, 0 channels: no answer");
}

#[tokio::test]
async fn disconnecting_says_what_was_ended_for_it_and_what_was_not() {
    let stage = Stage::new().await;
    let asked = stage.asked("ssh_host_disconnect", json!({"host_name": "box"})).await;
    assert_eq!(asked, Asked::Disconnect(DisconnectHost { target: Some(target("box")) }));
    let outcome = |named: Option<&str>, was_connected, stopped, survivors: &[u32]| {
        let target = named.map(target);
        Say::Disconnect(HostDisconnected { target, was_connected, stopped, survivors: survivors.to_vec() })
    };
    let reply = stage.answer(outcome(Some("box"), true, 2, &[17, 18]), "ssh_host_disconnect", json!({})).await;
    let message = "disconnected from box; stopped 2 of your sessions and commands there; not known to be gone: 17, 18";
    let expected = json!({
        "status": "disconnected", "message": message, "was_connected": true, "disconnected_from": "box", "stopped": 2,
    });
    assert_eq!((reply.is_error, reply.structured, reply.text.as_str()), (false, expected, message));
    let reply = stage.answer(outcome(Some("box"), false, 0, &[]), "ssh_host_disconnect", json!({})).await;
    let expected = json!({
        "status": "not_connected", "message": "box was not connected", "was_connected": false,
        "disconnected_from": "box", "stopped": 0,
    });
    assert_eq!((reply.is_error, reply.structured), (false, expected));
    let reply = stage.answer(outcome(None, false, 0, &[]), "ssh_host_disconnect", json!({})).await;
    let expected = json!({
        "status": "not_connected", "message": "no host was connected", "was_connected": false, "stopped": 0,
    });
    assert_eq!((reply.is_error, reply.structured), (false, expected));
}

#[tokio::test]
async fn without_a_host_the_tools_for_hosts_are_not_there() {
    let mut server = Server::new();
    let error = server.client().await.try_call("ssh_host_list", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("unknown tool ssh_host_list"), "{error}");
}
