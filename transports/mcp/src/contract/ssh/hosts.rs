//! `ssh_host_list`: the hosts that the caller may use.

use serde_json::Value;
use sessiond_core::{HostInfo, Result, TargetInfo, Verb};

use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, counted, listing, one_line};
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "ssh_host_list",
    title: "List SSH hosts",
    summary: "Lists the SSH hosts that can be used by name, and where each is configured",
    about: "Lists the SSH hosts that can be used by name: those of the server's configuration and the Host entries of the \
            user's SSH client configuration. Call it first, or after losing context; give a host's key as host_name to \
            the other ssh_* tools, or as client_token to execute_command and the session_* tools, which work on hosts \
            too.\n\
            It connects to nothing, changes nothing and never shows a secret; ssh_conn_status shows what is connected. \
            A host that is missing here is for the user to add, by a Host entry or in the server's configuration; \
            where the server allows any host, names that are not listed work too. No errors of its own.",
    hints: Hints::LOOK,
    family: Family::Ssh,
    verb: Verb::ListHosts,
    input: Object::closed(&[]),
    output: Object::open(&[Field::required("hosts", Kind::Many(&Kind::Object(&HOST)), "The hosts, by name.")]),
    run: |request| Box::pin(run(request)),
};

const HOST: Object = Object::open(&[
    Field::required("key", Kind::TEXT, "Name of the host: what other tools take as host_name."),
    Field::optional("description", Kind::TEXT, "What it is for, in the words of whoever configured it."),
    Field::required(
        "source",
        Kind::TEXT,
        "Who names it: configuration (the server's), or the path of the SSH client configuration.",
    ),
]);

/// What is said instead of an empty list.
const NONE: &str = "no hosts are listed: the user adds one by a Host entry in ~/.ssh/config or in the server's \
                    configuration; where that allows any host, give its name";

async fn run(Request { service, cx, style, .. }: Request<'_>) -> Result<Answer> {
    let hosts = service.list_hosts(cx).await?.hosts;
    let lines: Vec<String> = hosts.iter().map(line).collect();
    let heading = match hosts.len() {
        0 => NONE.to_owned(),
        some => counted(some, "host"),
    };
    let mut fields = Fields::default();
    fields.put("hosts", hosts.into_iter().map(host).collect::<Vec<Value>>());
    Ok(Answer::new(fields.0, listing(heading, &lines, style)))
}

fn line(info: &TargetInfo) -> String {
    let described = info.host.as_ref().and_then(|host| host.description.as_deref());
    described.map_or_else(|| info.name.to_string(), |description| format!("{}: {}", info.name, one_line(description)))
}

fn host(info: TargetInfo) -> Value {
    let HostInfo { description, source } =
        info.host.unwrap_or_else(|| HostInfo { description: None, source: "configuration".to_owned() });
    let mut fields = Fields::default();
    fields.put("key", info.name.as_str());
    fields.put_some("description", description);
    fields.put("source", source);
    Value::Object(fields.0)
}
