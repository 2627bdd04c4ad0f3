//! `ssh_conn_status`: how the caller's connections stand.

use serde_json::Value;
use sessiond_core::{Connection, ConnectionStatus, ListConnections, Result, Verb};

use super::{HOST, host, host_name};
use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, counted, listing};
use crate::schema::{Field, Kind, Object};
use crate::time::rfc3339;

pub(super) const TOOL: Tool = Tool {
    name: "ssh_conn_status",
    title: "Show SSH connections",
    summary: "Shows your connections to SSH hosts: which stand, since when, and why one was lost",
    about: "Shows your connections to SSH hosts, of every host that you have tried to reach: whether one stands, since \
            when, how many channels are open on it, and why the latest one broke or did not come about. Use it when a \
            command has status lost, or to see which host is meant when host_name is left out.\n\
            It asks no host, connects to nothing and changes nothing: a connection that has broken a moment ago may \
            still be shown. To make sure, use ssh_conn_connect, which asks the host. ssh_host_list shows the hosts that \
            there are, connected or not. Errors: not_found for an unknown host.",
    hints: Hints::LOOK,
    family: Family::Ssh,
    verb: Verb::ListConnections,
    input: Object::closed(&[host_name("Show only this host.")]),
    output: Object::open(&[Field::required(
        "connections",
        Kind::Many(&Kind::Object(&CONNECTION)),
        "The connections, by host.",
    )]),
    run: |request| Box::pin(run(request)),
};

const CONNECTION: Object = Object::open(&[
    HOST,
    Field::optional("user", Kind::TEXT, "The account there, once known."),
    Field::required("host", Kind::TEXT, "The address."),
    Field::optional("port", Kind::NATURAL, "The port, once known."),
    Field::required("connected", Kind::BOOLEAN, "Whether a connection stands."),
    Field::optional("since", Kind::TEXT, "Since when, RFC 3339 in UTC."),
    Field::required("channels", Kind::NATURAL, "Channels that are open: one for each session and command."),
    Field::optional("last_error", Kind::TEXT, "Why the latest connection broke or did not come about."),
]);

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    let target = host(&mut args, &cx.owner)?;
    let connections = service.list_connections(cx, ListConnections { target }).await?;
    let lines: Vec<String> = connections.iter().map(line).collect();
    let heading = counted(connections.len(), "connection");
    let mut fields = Fields::default();
    fields.put("connections", connections.into_iter().map(connection).collect::<Vec<Value>>());
    Ok(Answer::new(fields.0, listing(heading, &lines, style)))
}

fn line(Connection { target, status }: &Connection) -> String {
    let state = if status.connected { "connected" } else { "not connected" };
    let error = status.last_error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
    format!("{target} {state}, {}{error}", counted(status.channels, "channel"))
}

fn connection(Connection { target, status }: Connection) -> Value {
    let ConnectionStatus { host, user, port, connected, since, channels, last_error } = status;
    let mut fields = Fields::default();
    fields.put("host_name", target.as_str());
    fields.put_some("user", user);
    fields.put("host", host);
    fields.put_some("port", port);
    fields.put("connected", connected);
    fields.put_some("since", since.map(rfc3339));
    fields.put("channels", channels);
    fields.put_some("last_error", last_error);
    Value::Object(fields.0)
}
