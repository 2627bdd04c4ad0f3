//! `ssh_conn_connect`: a connection to a host, or the proof that there is one.

use serde_json::Value;
use sessiond_core::{ConnectHost, Error, HostConnected, HostKey, Result, Verb};

use super::host;
use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::Fields;
use crate::schema::{Field, Kind, Need, Object};

pub(super) const TOOL: Tool = Tool {
    name: "ssh_conn_connect",
    title: "Connect to an SSH host",
    summary: "Connects to an SSH host, checks its key, logs in, and says what is there",
    about: "Connects to an SSH host: checks the host's key, logs in with the keys, agent or password that the user has \
            configured, and returns what is there. Through jump hosts each hop is checked too. You need not call it \
            first, since every tool connects where it must: it is for finding out whether a host can be reached, and \
            for beginning anew after a loss.\n\
            A host that is connected is asked for one answer and left as it is (status already_connected); a connection \
            that gives none is replaced. What ran on a lost connection has status lost, and its handle ends when the \
            host is connected again.\n\
            Errors: not_found for an unknown host; unsupported for a target that is no SSH host; permission_denied when \
            the host's key is unknown or has changed, or when the login is refused, with the fingerprints or the \
            methods tried and what the user can do; unavailable or timed_out when it cannot be reached. Passwords are \
            never an argument: they come from the user's configuration.",
    hints: Hints { read_only: false, destructive: false, idempotent: true, open_world: true },
    family: Family::Ssh,
    verb: Verb::ConnectHost,
    input: Object::closed(&[Field {
        name: "host_name",
        kind: Kind::TEXT,
        need: Need::UnlessScoped,
        about: "Host to connect to: a key of ssh_host_list.",
    }]),
    output: Object::open(&[
        Field::required(
            "status",
            Kind::Choice(&[CONNECTED, ALREADY]),
            "already_connected: it was connected, and still answers.",
        ),
        Field::required("connected_to", Kind::TEXT, "The host, as other tools take it as host_name."),
        Field::required("host", Kind::TEXT, "The address."),
        Field::required("user", Kind::TEXT, "The account on the host."),
        Field::required("port", Kind::NATURAL, "The port."),
        Field::optional("os_type", Kind::TEXT, "Operating system of the host, such as linux, where that is known."),
        Field::required("server_version", Kind::TEXT, "What the SSH server says of itself."),
        Field::required("host_key", Kind::Object(&HOST_KEY), "The key by which the host was recognised."),
        Field::required(
            "auth_method",
            Kind::TEXT,
            "What let us in: publickey, password, keyboard-interactive; several where several were asked for.",
        ),
        Field::required("hops", Kind::Many(&Kind::TEXT), "Hosts in between, in the order of the way."),
    ]),
    run: |request| Box::pin(run(request)),
};

const CONNECTED: &str = "connected";
const ALREADY: &str = "already_connected";

const HOST_KEY: Object = Object::open(&[
    Field::required("type", Kind::TEXT, "Algorithm, such as ssh-ed25519."),
    Field::required("fingerprint", Kind::TEXT, "SHA256: and the digest in base 64."),
    Field::required("verified_by", Kind::TEXT, "What vouches for it: the file and line that knows it."),
]);

async fn run(Request { service, cx, mut args, .. }: Request<'_>) -> Result<Answer> {
    let target = host(&mut args, &cx.owner)?;
    if target.is_none() && cx.owner.only().is_none() {
        return Err(Error::invalid_argument("host_name is missing: it names the host, and ssh_host_list shows each"));
    }
    Ok(answer(service.connect_host(cx, ConnectHost { target }).await?))
}

fn answer(HostConnected { target, was_connected, facts }: HostConnected) -> Answer {
    let status = if was_connected { ALREADY } else { CONNECTED };
    let line = format!(
        "{status}: {target} as {} at {} port {}; host key {} {}",
        facts.user, facts.host, facts.port, facts.host_key.kind, facts.host_key.fingerprint
    );
    let mut fields = Fields::default();
    fields.put("status", status);
    fields.put("connected_to", target.as_str());
    fields.put("host", facts.host);
    fields.put("user", facts.user);
    fields.put("port", facts.port);
    fields.put_some("os_type", facts.os);
    fields.put("server_version", facts.server_version);
    fields.put("host_key", host_key(facts.host_key));
    fields.put("auth_method", facts.auth_method);
    fields.put("hops", facts.hops);
    Answer::new(fields.0, line)
}

fn host_key(HostKey { kind, fingerprint, verified_by }: HostKey) -> Value {
    let mut fields = Fields::default();
    fields.put("type", kind);
    fields.put("fingerprint", fingerprint);
    fields.put("verified_by", verified_by);
    Value::Object(fields.0)
}
