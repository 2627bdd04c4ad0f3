//! `control_session`: cancels, pauses and resumes a session of an agent platform.

use sessiond_core::{AgentAction, ControlAgentSession, Error, Result, Verb};

use super::{CLIENT_TOKEN, RUN_ID, SESSION_ID, STATUS, platform, put_run, run_line};
use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::Fields;
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "control_session",
    title: "Control an agent's session",
    summary: "Cancels, pauses or resumes a session of an agent",
    about: "Cancels, pauses or resumes one session of an agent on an agent platform, whoever started it. Returns how the \
            session stands as soon as the platform has taken the order, which may be a word such as CANCELING: \
            describe_session tells what became of it. For a session that session_start follows, session_stop cancels \
            and waits until the platform confirms that. Terminals are steered with session_control.\n\
            A session that is cancelled cannot be resumed, and what it has done is not undone. input goes with resume, \
            where the platform lets a waiting session be answered (LangGraph: the value of an interrupt); where it has \
            manual tasks instead (Itential), complete_manual_task answers them.\n\
            Errors: not_found for a session that the platform does not know; unsupported for an action or an input that \
            the platform does not have; failed_precondition when the session is over, or several platforms are \
            configured and client_token is left out; invalid_argument for what cannot be an id; unavailable, timed_out \
            or permission_denied when the platform cannot be asked.",
    hints: Hints::ACT,
    family: Family::Agent,
    verb: Verb::ControlAgentSession,
    input: Object::closed(&[
        SESSION_ID,
        Field::required("action", Kind::Choice(&ACTIONS), "What to do."),
        Field::optional("input", Kind::Any, "With resume: what to answer a session that waits for it."),
        CLIENT_TOKEN,
    ]),
    output: Object::open(&[RUN_ID, STATUS]),
    run: |request| Box::pin(run(request)),
};

const ACTIONS: [&str; 3] = [AgentAction::Cancel.as_str(), AgentAction::Pause.as_str(), AgentAction::Resume.as_str()];

async fn run(Request { service, cx, mut args, .. }: Request<'_>) -> Result<Answer> {
    let action = action(args.text("action").as_deref());
    if args.has("input") && action != AgentAction::Resume {
        return Err(Error::invalid_argument(format!(
            "input goes with action resume, not with {}: leave it out",
            action.as_str()
        )));
    }
    let request = ControlAgentSession {
        target: platform(&mut args, &cx.owner)?,
        session: args.text(SESSION_ID.name).unwrap_or_default(),
        action,
        input: args.json("input"),
    };
    let steered = service.control_agent_session(cx, request).await?;
    let mut fields = Fields::default();
    put_run(&mut fields, &steered);
    Ok(Answer::new(fields.0, format!("{}: {}", action.as_str(), run_line(&steered.session_id, &steered.status))))
}

/// The action of this name; the check has let no other name through.
fn action(name: Option<&str>) -> AgentAction {
    let all = [AgentAction::Pause, AgentAction::Resume];
    all.into_iter().find(|action| Some(action.as_str()) == name).unwrap_or(AgentAction::Cancel)
}
