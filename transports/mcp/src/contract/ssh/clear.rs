//! `ssh_cmd_clear_history`: forgets the commands that have ended.

use sessiond_core::{Result, Verb};

use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, counted};
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "ssh_cmd_clear_history",
    title: "Clear the list of SSH commands",
    summary: "Forgets your commands on SSH hosts that have ended, with their output",
    about: "Forgets your commands of ssh_cmd_run that have ended, on all hosts, with their output: their handles are not \
            found any more. Running ones stay, with their output. What the commands did on the hosts stays as it is; to \
            end a running command use ssh_cmd_kill.\n\
            You need not call it: ended commands go by themselves. It is for beginning a new piece of work with an empty \
            history. Calling it again forgets 0. Errors: failed_precondition when there is nothing to forget and no host \
            is connected.",
    hints: Hints::END,
    family: Family::Ssh,
    verb: Verb::ClearCommands,
    input: Object::closed(&[]),
    output: Object::open(&[
        Field::required("status", Kind::Choice(&["cleared"]), "That it is done."),
        Field::required("message", Kind::TEXT, "What was done, in words."),
        Field::required("cleared_entries", Kind::NATURAL, "How many commands were forgotten."),
    ]),
    run: |request| Box::pin(run(request)),
};

async fn run(Request { service, cx, .. }: Request<'_>) -> Result<Answer> {
    let cleared = service.clear_commands(cx).await?;
    let message = format!("forgot {} that had ended; running ones stay", counted(cleared, "command"));
    let mut fields = Fields::default();
    fields.put("status", "cleared");
    fields.put("message", message.clone());
    fields.put("cleared_entries", cleared);
    Ok(Answer::new(fields.0, message))
}
