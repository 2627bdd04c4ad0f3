//! Hosts and connections.

use sessiond_core::{
    ConnectHost, Connection, ConnectionFacts, ConnectionStatus, DisconnectHost, HostConnected, HostDisconnected,
    HostKey, HostList, ListConnections, Result, TargetInfo, TargetName,
};

use super::{Decode, Encode, backend, count, required, target};
use crate::proto;

impl Encode for HostList {
    type Message = proto::ListHostsResponse;

    fn encode(self) -> Self::Message {
        proto::ListHostsResponse { hosts: self.hosts.into_iter().map(host).collect() }
    }
}

impl Decode for proto::ListHostsResponse {
    type Value = HostList;

    fn decode(self) -> Result<HostList> {
        Ok(HostList { hosts: self.hosts.decode()? })
    }
}

fn host(info: TargetInfo) -> proto::Host {
    proto::Host {
        name: info.name.to_string(),
        client_id: info.client_id,
        backend: info.backend.to_owned(),
        info: info.host.encode(),
    }
}

impl Decode for proto::Host {
    type Value = TargetInfo;

    fn decode(self) -> Result<TargetInfo> {
        Ok(TargetInfo {
            name: TargetName::new(self.name)?,
            client_id: self.client_id,
            backend: backend(&self.backend),
            host: self.info.decode()?,
            platform: None,
        })
    }
}

impl Encode for ConnectHost {
    type Message = proto::ConnectHostRequest;

    fn encode(self) -> Self::Message {
        proto::ConnectHostRequest { target: self.target.map(|name| name.to_string()) }
    }
}

impl Decode for proto::ConnectHostRequest {
    type Value = ConnectHost;

    fn decode(self) -> Result<ConnectHost> {
        Ok(ConnectHost { target: target(self.target)? })
    }
}

impl Encode for HostConnected {
    type Message = proto::ConnectHostResponse;

    fn encode(self) -> Self::Message {
        proto::ConnectHostResponse {
            target: self.target.to_string(),
            was_connected: self.was_connected,
            facts: Some(self.facts.encode()),
        }
    }
}

impl Decode for proto::ConnectHostResponse {
    type Value = HostConnected;

    fn decode(self) -> Result<HostConnected> {
        Ok(HostConnected {
            target: TargetName::new(self.target)?,
            was_connected: self.was_connected,
            facts: required(self.facts, "facts")?.decode()?,
        })
    }
}

impl Encode for ConnectionFacts {
    type Message = proto::ConnectionFacts;

    fn encode(self) -> Self::Message {
        proto::ConnectionFacts {
            host: self.host,
            user: self.user,
            port: self.port.into(),
            os: self.os,
            server_version: self.server_version,
            host_key: Some(self.host_key.encode()),
            auth_method: self.auth_method,
            hops: self.hops,
        }
    }
}

impl Decode for proto::ConnectionFacts {
    type Value = ConnectionFacts;

    fn decode(self) -> Result<ConnectionFacts> {
        Ok(ConnectionFacts {
            host: self.host,
            user: self.user,
            port: port(self.port)?,
            os: self.os,
            server_version: self.server_version,
            host_key: required(self.host_key, "host_key")?.decode()?,
            auth_method: self.auth_method,
            hops: self.hops,
        })
    }
}

fn port(value: u32) -> Result<u16> {
    required(u16::try_from(value).ok(), "port")
}

impl Encode for HostKey {
    type Message = proto::HostKey;

    fn encode(self) -> Self::Message {
        proto::HostKey { kind: self.kind, fingerprint: self.fingerprint, verified_by: self.verified_by }
    }
}

impl Decode for proto::HostKey {
    type Value = HostKey;

    fn decode(self) -> Result<HostKey> {
        Ok(HostKey { kind: self.kind, fingerprint: self.fingerprint, verified_by: self.verified_by })
    }
}

impl Encode for ListConnections {
    type Message = proto::ListConnectionsRequest;

    fn encode(self) -> Self::Message {
        proto::ListConnectionsRequest { target: self.target.map(|name| name.to_string()) }
    }
}

impl Decode for proto::ListConnectionsRequest {
    type Value = ListConnections;

    fn decode(self) -> Result<ListConnections> {
        Ok(ListConnections { target: target(self.target)? })
    }
}

impl Encode for Vec<Connection> {
    type Message = proto::ListConnectionsResponse;

    fn encode(self) -> Self::Message {
        proto::ListConnectionsResponse { connections: self.into_iter().map(connection).collect() }
    }
}

impl Decode for proto::ListConnectionsResponse {
    type Value = Vec<Connection>;

    fn decode(self) -> Result<Vec<Connection>> {
        self.connections.decode()
    }
}

fn connection(connection: Connection) -> proto::Connection {
    let status = connection.status;
    proto::Connection {
        target: connection.target.to_string(),
        host: status.host,
        user: status.user,
        port: status.port.map(Into::into),
        connected: status.connected,
        since: status.since.encode(),
        channels: u32::try_from(status.channels).unwrap_or(u32::MAX),
        last_error: status.last_error,
    }
}

impl Decode for proto::Connection {
    type Value = Connection;

    fn decode(self) -> Result<Connection> {
        let status = ConnectionStatus {
            host: self.host,
            user: self.user,
            port: self.port.map(port).transpose()?,
            connected: self.connected,
            since: self.since.decode()?,
            channels: count(self.channels.into()),
            last_error: self.last_error,
        };
        Ok(Connection { target: TargetName::new(self.target)?, status })
    }
}

impl Encode for DisconnectHost {
    type Message = proto::DisconnectHostRequest;

    fn encode(self) -> Self::Message {
        proto::DisconnectHostRequest { target: self.target.map(|name| name.to_string()) }
    }
}

impl Decode for proto::DisconnectHostRequest {
    type Value = DisconnectHost;

    fn decode(self) -> Result<DisconnectHost> {
        Ok(DisconnectHost { target: target(self.target)? })
    }
}

impl Encode for HostDisconnected {
    type Message = proto::DisconnectHostResponse;

    fn encode(self) -> Self::Message {
        proto::DisconnectHostResponse {
            target: self.target.map(|name| name.to_string()),
            was_connected: self.was_connected,
            stopped: u32::try_from(self.stopped).unwrap_or(u32::MAX),
            survivors: self.survivors,
        }
    }
}

impl Decode for proto::DisconnectHostResponse {
    type Value = HostDisconnected;

    fn decode(self) -> Result<HostDisconnected> {
        Ok(HostDisconnected {
            target: target(self.target)?,
            was_connected: self.was_connected,
            stopped: count(self.stopped.into()),
            survivors: self.survivors,
        })
    }
}
