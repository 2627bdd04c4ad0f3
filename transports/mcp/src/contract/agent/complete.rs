//! `complete_manual_task`: the answer to something that waits for a person; first a preview, then for good.

use serde_json::Value;
use sessiond_core::{CompleteManualTask, FinishState, Result, TaskCompletion, Verb};

use super::{CLIENT_TOKEN, WORK_ITEM_ID, nullable, platform};
use crate::answer::{Answer, TextStyle};
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, identifier, listing, one_line};
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "complete_manual_task",
    title: "Complete a manual task",
    summary: "Answers one manual task of an agent's session; without confirm only says what that would do",
    about: "Answers exactly one manual task, so that the session that waits for it goes on. This cannot be undone. Do it in \
            two steps: call it without confirm, which changes nothing and returns what would be done, with warnings; show \
            that to the person who decides; call it again with confirm true only when they have agreed.\n\
            finish_state is success or failure, never the words on a button; failure only where describe_manual_task \
            shows a btn_failure. The platform records the answer under this server's account, not the person's. Only \
            tasks whose completion_supported is true can be answered here (views ViewData, ViewHTML, InteractiveHTML): \
            forms and others need the platform itself.\n\
            Errors: not_found for a task that the platform does not know; failed_precondition when it waits no more, has \
            no button for failure, or several platforms are configured and client_token is left out; unsupported when it \
            cannot be answered from here; invalid_argument for what cannot be an id; unavailable, timed_out or \
            permission_denied when the platform cannot be asked: describe_manual_task then tells whether it was done.",
    hints: Hints::ACT,
    family: Family::Agent,
    verb: Verb::CompleteManualTask,
    input: Object::closed(&[
        WORK_ITEM_ID,
        Field::required(
            "finish_state",
            Kind::Choice(&STATES),
            "How to end it; failure only where it has a button for that.",
        ),
        Field::optional(
            "confirm",
            Kind::Boolean { default: Some(false) },
            "Whether to do it, after a person has agreed; otherwise a preview that changes nothing.",
        ),
        Field::optional("variables", Kind::AnyObject, "Values for the platform to keep with the answer, not nested."),
        CLIENT_TOKEN,
    ]),
    output: Object::open(&[
        Field::required("work_item_id", Kind::TEXT, "Id of the task."),
        nullable("title", &Kind::TEXT, "Its title."),
        Field::required("finish_state", Kind::Choice(&STATES), "How it ended, or would end."),
        Field::required("completed", Kind::BOOLEAN, "Whether it was done; false for a preview."),
        Field::required("warnings", Kind::Many(&Kind::TEXT), "What whoever confirms should know."),
    ]),
    run: |request| Box::pin(run(request)),
};

const STATES: [&str; 2] = [FinishState::Success.as_str(), FinishState::Failure.as_str()];

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    let request = CompleteManualTask {
        target: platform(&mut args, &cx.owner)?,
        work_item: args.text(WORK_ITEM_ID.name).unwrap_or_default(),
        finish_state: finish_state(args.text("finish_state").as_deref()),
        confirm: args.flag("confirm"),
        variables: args.json("variables"),
    };
    Ok(answer(service.complete_manual_task(cx, request).await?, style))
}

/// The state of this name; the check has let no other name through.
fn finish_state(name: Option<&str>) -> FinishState {
    if name == Some(FinishState::Failure.as_str()) { FinishState::Failure } else { FinishState::Success }
}

fn answer(task: TaskCompletion, style: TextStyle) -> Answer {
    let text = text(&task, style);
    let mut fields = Fields::default();
    fields.put("work_item_id", task.work_item_id);
    fields.put("title", task.title);
    fields.put("finish_state", task.finish_state.as_str());
    fields.put("completed", task.completed);
    fields.put("warnings", task.warnings.into_iter().map(Value::from).collect::<Vec<Value>>());
    Answer::new(fields.0, text)
}

fn text(task: &TaskCompletion, style: TextStyle) -> String {
    let title = task.title.as_ref().map(|title| format!(" \"{}\"", one_line(title))).unwrap_or_default();
    let (id, state) = (identifier(&task.work_item_id), task.finish_state.as_str());
    let heading = match task.completed {
        true => format!("completed: task {id}{title} as {state}"),
        false => format!("preview, nothing was changed: task {id}{title} would end as {state}"),
    };
    let warnings: Vec<String> = task.warnings.iter().map(|warning| format!("warning: {warning}")).collect();
    listing(heading, &warnings, style)
}
