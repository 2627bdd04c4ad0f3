//! `list_clients`: the targets that the caller may use.

use std::time::Duration;

use serde_json::Value;
use sessiond_core::{Availability, ListTargets, Machine, Result, Target, Verb};

use super::{LONGEST_WAIT_MS, target_filter};
use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, counted, listing};
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "list_clients",
    title: "List targets",
    summary: "Lists the targets that sessions and commands can run on, and whether they are online",
    about: "Lists the targets that sessions and commands can run on, each with the client_token that the other tools \
            take, its kind and whether it can run something now. Call it first, or after losing context; targets \
            stay the same while the server runs, so once is enough.\n\
            wait_ms waits while no target is online, and returns as soon as one is. status unknown means that nobody \
            has looked, because looking costs a connection: just use it. An empty list means that nothing is \
            configured. Changes nothing. For sessions, running and finished, use session_list.",
    hints: Hints::LOOK,
    family: Family::Session,
    verb: Verb::ListTargets,
    input: Object::closed(&[
        Field::optional("client_token", Kind::TEXT, "Show only this target."),
        Field::optional(
            "wait_ms",
            Kind::within(0, LONGEST_WAIT_MS).default(0),
            "How long to wait at most while no target is online, in milliseconds.",
        ),
    ]),
    output: Object::open(&[Field::required(
        "clients",
        Kind::Many(&Kind::Object(&CLIENT)),
        "The targets; SSH hosts come last.",
    )]),
    run: |request| Box::pin(run(request)),
};

const CLIENT: Object = Object::open(&[
    Field::required("client_id", Kind::TEXT, "Id of the target's device."),
    Field::optional("client_token", Kind::TEXT, "What selects the target in other calls; a name, not a secret."),
    Field::required("name", Kind::TEXT, "Name of the target."),
    Field::required("backend", Kind::TEXT, "How it is reached: pty (this machine), ssh, agent-platform."),
    Field::required(
        "status",
        Kind::Choice(&["online", "offline", "unknown"]),
        "online: can run something now; offline: cannot; unknown: not looked.",
    ),
    Field::optional("dialect", Kind::TEXT, "Of an agent platform: what it speaks, such as itential or langgraph."),
    Field::optional("detail", Kind::TEXT, "Why it is not online, or what else there is to say."),
    Field::optional("client_info", Kind::Object(&CLIENT_INFO), "The machine, as far as it is known."),
]);

const CLIENT_INFO: Object = Object::open(&[
    Field::optional("os", Kind::TEXT, "Operating system, such as linux."),
    Field::optional("arch", Kind::TEXT, "Processor, such as x86_64."),
    Field::optional("hostname", Kind::TEXT, "The machine's own name."),
    Field::optional("shell", Kind::TEXT, "Shell that runs commands."),
]);

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    let request = ListTargets {
        target: target_filter(&mut args, &cx.owner)?,
        wait: Duration::from_millis(args.natural("wait_ms").unwrap_or(0)),
    };
    let targets = service.list_targets(cx, request).await?;
    let names_targets = cx.owner.only().is_none();
    let lines: Vec<String> = targets.iter().map(line).collect();
    let heading = counted(targets.len(), "target");
    let clients: Vec<Value> = targets.into_iter().map(|target| client(target, names_targets)).collect();
    let mut fields = Fields::default();
    fields.put("clients", clients);
    Ok(Answer::new(fields.0, listing(heading, &lines, style)))
}

fn status(availability: Availability) -> &'static str {
    match availability {
        Availability::Online => "online",
        Availability::Offline => "offline",
        Availability::Unknown => "unknown",
    }
}

fn line(target: &Target) -> String {
    let detail = target.status.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
    format!("{} ({}) {}{detail}", target.info.name, target.info.backend, status(target.status.availability))
}

fn client(Target { info, status: state }: Target, names_targets: bool) -> Value {
    let mut fields = Fields::default();
    fields.put("client_id", info.client_id);
    if names_targets {
        fields.put("client_token", info.name.as_str());
    }
    fields.put("name", info.name.as_str());
    fields.put("backend", info.backend);
    fields.put("status", status(state.availability));
    fields.put_some("dialect", info.platform.map(|platform| platform.dialect));
    fields.put_some("detail", state.detail);
    fields.put_some("client_info", state.machine.map(machine));
    Value::Object(fields.0)
}

fn machine(Machine { os, arch, hostname, shell }: Machine) -> Value {
    let mut fields = Fields::default();
    fields.put_some("os", os);
    fields.put_some("arch", arch);
    fields.put_some("hostname", hostname);
    fields.put_some("shell", shell);
    Value::Object(fields.0)
}
