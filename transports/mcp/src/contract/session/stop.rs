//! `session_stop`: the end of a session and of all that it started, verified.

use std::time::Duration;

use sessiond_core::{DEFAULT_STOP_WAIT, End, Result, StopOutcome, StopSession, StopStatus, Verb};

use super::{CANCELED, DONE, ERROR, EXIT_CODE, LONGEST_WAIT_MS, RUNS_ON, SESSION_ID, TIMED_OUT, session};
use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, end_line, processes};
use crate::schema::{Field, Kind, Object};

const DEFAULT_WAIT_MS: u64 = DEFAULT_STOP_WAIT.as_millis() as u64;

pub(super) const TOOL: Tool = Tool {
    name: "session_stop",
    title: "Stop a session",
    summary: "Stops a session and everything it started, and verifies that it is gone",
    about: "Stops a session and everything it started: pipelines, background jobs, processes that detached themselves. \
            They get HUP and TERM, and after a grace (2 s by default) KILL; a run of an agent is cancelled. Asking again \
            is harmless.\n\
            status stopped means that the target has confirmed the end and nothing survives; stopping that this is \
            not confirmed yet: call again, or read with until end; finished that the session had ended by itself \
            or by its time limit. A process that even KILL does not end is named in error. A session that has ended \
            gives already_done true and accepted false; what it left in the background is stopped all the same.\n\
            Its output stays readable for 30 minutes. To interrupt the running command and keep the session use \
            session_control. Errors: not_found.",
    hints: Hints::END,
    family: Family::Session,
    verb: Verb::StopSession,
    input: Object::closed(&[
        SESSION_ID,
        RUNS_ON,
        Field::optional(
            "wait_ms",
            Kind::within(0, LONGEST_WAIT_MS).default(DEFAULT_WAIT_MS),
            "How long to wait at most for the confirmed end, in milliseconds.",
        ),
    ]),
    output: Object::open(&[
        Field::required("accepted", Kind::BOOLEAN, "Whether this call stopped something that still ran."),
        Field::required("already_done", Kind::BOOLEAN, "Whether the session had ended before."),
        Field::required(
            "status",
            Kind::Choice(&["stopping", "stopped", "finished"]),
            "stopping: not confirmed yet; stopped: a confirmed stop ended it; finished: it ended otherwise.",
        ),
        Field { about: "Whether the session has ended.", ..DONE },
        EXIT_CODE,
        TIMED_OUT,
        CANCELED,
        ERROR,
    ]),
    run: |request| Box::pin(run(request)),
};

async fn run(Request { service, cx, mut args, .. }: Request<'_>) -> Result<Answer> {
    let wait = Duration::from_millis(args.natural("wait_ms").unwrap_or(DEFAULT_WAIT_MS));
    let (session, target) = session(&mut args, &cx.owner)?;
    Ok(answer(&service.stop_session(cx, StopSession { session, target, wait }).await?))
}

fn answer(outcome: &StopOutcome) -> Answer {
    let status = match outcome.status {
        StopStatus::Stopping => "stopping",
        StopStatus::Stopped => "stopped",
        StopStatus::Finished => "finished",
    };
    let mut line = status.to_owned();
    let mut fields = Fields::default();
    fields.put("accepted", outcome.accepted);
    fields.put("already_done", outcome.already_done);
    fields.put("status", status);
    fields.put("done", outcome.end.is_some());
    if let Some(end) = &outcome.end {
        fields.put_end(end);
        line = format!("{line}: {}", end_line(end));
    }
    if let Some(survivors) = processes("still alive after KILL", &outcome.survivors) {
        let error = match outcome.end.as_ref().and_then(End::error) {
            Some(error) => format!("{error}; {survivors}"),
            None => survivors.clone(),
        };
        fields.put("error", error);
        line = format!("{line}; {survivors}");
    }
    Answer::new(fields.0, line)
}
