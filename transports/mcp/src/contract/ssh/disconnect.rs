//! `ssh_host_disconnect`: the end of the connections to a host, and of what ran on them.

use sessiond_core::{DisconnectHost, HostDisconnected, Result, Verb};

use super::{host, host_name};
use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, processes};
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "ssh_host_disconnect",
    title: "Disconnect from an SSH host",
    summary: "Stops what you run on an SSH host and closes your connections to it",
    about: "Stops everything that you run on an SSH host, sessions and commands alike, verifies on the host that it is \
            gone, and closes your connections. Others' connections are not touched. Asking again is harmless: \
            was_connected is then false.\n\
            Use it when the work on a host is done. You need not, since connections end with the server; to end one \
            command only use ssh_cmd_kill, for one session session_stop. Output of what ran stays readable: of \
            sessions for 30 minutes, of commands until the host is connected again. Processes that could not be ended \
            are named in message.\n\
            Errors: not_found for an unknown host; failed_precondition when host_name is left out and several hosts are \
            connected, naming them.",
    hints: Hints::END,
    family: Family::Ssh,
    verb: Verb::DisconnectHost,
    input: Object::closed(&[host_name("Host to disconnect from; may be left out while one is connected.")]),
    output: Object::open(&[
        Field::required("status", Kind::Choice(&[DISCONNECTED, NOT_CONNECTED]), "What holds now, and did before."),
        Field::required("message", Kind::TEXT, "What was done, in words."),
        Field::required("was_connected", Kind::BOOLEAN, "Whether it was connected."),
        Field::optional("disconnected_from", Kind::TEXT, "The host; absent when none was named or connected."),
        Field::required("stopped", Kind::NATURAL, "How many sessions and commands were stopped for it."),
    ]),
    run: |request| Box::pin(run(request)),
};

const DISCONNECTED: &str = "disconnected";
const NOT_CONNECTED: &str = "not_connected";

async fn run(Request { service, cx, mut args, .. }: Request<'_>) -> Result<Answer> {
    let target = host(&mut args, &cx.owner)?;
    Ok(answer(&service.disconnect_host(cx, DisconnectHost { target }).await?))
}

fn answer(outcome: &HostDisconnected) -> Answer {
    let message = message(outcome);
    let mut fields = Fields::default();
    fields.put("status", if outcome.was_connected { DISCONNECTED } else { NOT_CONNECTED });
    fields.put("message", message.clone());
    fields.put("was_connected", outcome.was_connected);
    fields.put_some("disconnected_from", outcome.target.as_ref().map(|target| target.as_str()));
    fields.put("stopped", outcome.stopped);
    Answer::new(fields.0, message)
}

fn message(HostDisconnected { target, was_connected, stopped, survivors }: &HostDisconnected) -> String {
    let Some(target) = target else { return "no host was connected".to_owned() };
    let mut message = match was_connected {
        true => format!("disconnected from {target}"),
        false => format!("{target} was not connected"),
    };
    if *stopped > 0 {
        message.push_str(&format!("; stopped {stopped} of your sessions and commands there"));
    }
    if let Some(survivors) = processes("not known to be gone", survivors) {
        message.push_str("; ");
        message.push_str(&survivors);
    }
    message
}
