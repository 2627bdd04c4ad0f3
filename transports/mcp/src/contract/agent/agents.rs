//! `get_agents`: the agents of a platform that can be started.

use serde_json::Value;
use sessiond_core::{Agent, ListAgents, Result, Verb};

use super::{CLIENT_TOKEN, nullable, object_or_null, platform};
use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, counted, listing, one_line};
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "get_agents",
    title: "Get Agents",
    summary: "Lists the agents of an agent platform that can be started, with the inputs they take",
    about: "Lists the agents of an agent platform that can be started, with what each is for and the JSON Schema of its \
            inputs. Call it before start_agent, or before session_start on a platform: either takes an agent's name. \
            For sessions that ran already use get_sessions.\n\
            Null means that the platform says nothing of it: where input_schema is null the agent may still take \
            inputs. Changes nothing. Errors: failed_precondition when several platforms are configured and client_token \
            is left out; unavailable, timed_out or permission_denied when the platform cannot be asked.",
    hints: Hints::LOOK,
    family: Family::Agent,
    verb: Verb::ListAgents,
    input: Object::closed(&[CLIENT_TOKEN]),
    output: Object::open(&[Field::required("result", Kind::Many(&Kind::Object(&AGENT)), "The agents.")]),
    run: |request| Box::pin(run(request)),
};

const AGENT: Object = Object::open(&[
    Field::required("name", Kind::TEXT, "Its name, which start_agent takes."),
    nullable("description", &Kind::TEXT, "What it is for."),
    nullable("agent_id", &Kind::TEXT, "The platform's id of it."),
    nullable("route_name", &Kind::TEXT, "Name under which it is triggered, where the platform has such names."),
    nullable("input_schema", &Kind::AnyObject, "JSON Schema of its inputs."),
    nullable("last_executed", &Kind::TEXT, "When it last ran, ISO 8601."),
]);

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    let request = ListAgents { target: platform(&mut args, &cx.owner)? };
    let agents = service.list_agents(cx, request).await?;
    let lines: Vec<String> = agents.iter().map(line).collect();
    let heading = counted(agents.len(), "agent");
    let mut fields = Fields::default();
    fields.put("result", agents.into_iter().map(agent).collect::<Vec<Value>>());
    Ok(Answer::new(fields.0, listing(heading, &lines, style)))
}

fn line(agent: &Agent) -> String {
    let name = one_line(&agent.name);
    agent.description.as_ref().map_or_else(|| name.clone(), |about| format!("{name}: {}", one_line(about)))
}

fn agent(agent: Agent) -> Value {
    let mut fields = Fields::default();
    fields.put("name", agent.name);
    fields.put("description", agent.description);
    fields.put("agent_id", agent.agent_id);
    fields.put("route_name", agent.route_name);
    fields.put("input_schema", object_or_null(agent.input_schema));
    fields.put("last_executed", agent.last_executed);
    Value::Object(fields.0)
}
