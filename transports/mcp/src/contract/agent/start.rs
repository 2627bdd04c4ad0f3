//! `start_agent`: a session of the platform's own, which nothing here follows.

use sessiond_core::{Result, StartAgent, Verb};

use super::{CLIENT_TOKEN, RUN_ID, STATUS, platform, put_run, run_line};
use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::Fields;
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "start_agent",
    title: "Start an agent",
    summary: "Starts an agent on an agent platform and returns the session's id at once",
    about: "Starts an agent on an agent platform and returns the platform's id of the session at once. The session is the \
            platform's: it goes on without this server, whose end leaves it alone. To read its text as it comes, and \
            have it cancelled with session_stop or by the server's end, use session_start on the platform instead.\n\
            get_agents lists the agents and the inputs they take. Afterwards describe_session tells how it stands, \
            control_session cancels, pauses and resumes it.\n\
            The agent does whatever it is made for, on systems that this server does not know, with the platform's \
            account of this server. Calling again starts another session; when an answer was lost, look into \
            get_sessions first. Errors: not_found for an agent that is not there; invalid_argument for inputs that the \
            platform refuses; failed_precondition when several platforms are configured and client_token is left out; \
            unavailable, timed_out or permission_denied when the platform cannot be asked.",
    hints: Hints::ACT,
    family: Family::Agent,
    verb: Verb::StartAgent,
    input: Object::closed(&[
        Field::required("agent", Kind::TEXT, "Which agent: its name, agent_id or route_name from get_agents."),
        Field::optional("inputs", Kind::AnyObject, "Its inputs, as input_schema of get_agents describes them."),
        CLIENT_TOKEN,
    ]),
    output: Object::open(&[RUN_ID, STATUS]),
    run: |request| Box::pin(run(request)),
};

async fn run(Request { service, cx, mut args, .. }: Request<'_>) -> Result<Answer> {
    let request = StartAgent {
        target: platform(&mut args, &cx.owner)?,
        agent: args.text("agent").unwrap_or_default(),
        inputs: args.json("inputs"),
    };
    let started = service.start_agent(cx, request).await?;
    let mut fields = Fields::default();
    put_run(&mut fields, &started);
    Ok(Answer::new(fields.0, format!("started: {}", run_line(&started.session_id, &started.status))))
}
