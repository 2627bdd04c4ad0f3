//! Agents: automations with an agent in them, the routes that trigger them, and starting one.

use serde::Serialize;
use serde_json::value::RawValue;
use sessiond_core::{Agent, AgentRun, Error, ErrorKind, Json, Result, shown};

use super::{SESSIONS, missing, pages};
use crate::http::{self, Ask, Http, Path, malformed};
use crate::json::{Lenient, Page, record};
use crate::request::Request;

record! {
    /// An automation.
    Automation {
        id: "_id",
        name: "name",
        description: "description",
        component_type: "componentType",
        component_id: "componentId",
    }
}

record! {
    /// What triggers an automation.
    Trigger {
        type_: "type",
        enabled: "enabled",
        action_id: "actionId",
        route_name: "routeName",
        schema: "schema",
        last_executed: "lastExecuted",
    }
}

record! {
    /// An agent that this account may run, whether or not an automation has it.
    Operable { id: "_id", name: "name" }
}

record! {
    /// A session that was started, bare or below `data`.
    Started { session_id: "sessionId", status: "status", data: "data" }
}

/// The rows of one page.
const LIMIT: usize = 100;

/// An automation with an agent in it.
#[derive(PartialEq)]
struct Exposed {
    automation: String,
    agent: Agent,
}

/// An enabled trigger that has a route.
#[derive(PartialEq)]
struct Endpoint {
    automation: String,
    route_name: String,
    input_schema: Option<Json>,
    last_executed: Option<String>,
}

/// The agents that automations have, each with the route that triggers it.
pub(super) async fn list(http: &Http, cx: &Request) -> Result<Vec<Agent>> {
    let (exposed, endpoints) = futures_util::future::try_join(automations(http, cx), endpoints(http, cx)).await?;
    let agents = exposed.into_iter().map(|Exposed { automation, mut agent }| {
        if let Some(endpoint) = endpoints.iter().find(|endpoint| endpoint.automation == automation) {
            agent.route_name = Some(endpoint.route_name.clone());
            agent.input_schema.clone_from(&endpoint.input_schema);
            agent.last_executed.clone_from(&endpoint.last_executed);
        }
        agent
    });
    Ok(agents.collect())
}

fn rows(of: &str, field: &str, value: &str, skip: usize) -> Result<Ask> {
    let ask = Ask::get(Path::of(&["operations-manager", of])?).query("limit", LIMIT).query("skip", skip);
    Ok(ask.query("equalsField", field).query("equals", value))
}

/// The automations. The platform is asked for those with agents, and not relied upon to send no others.
async fn automations(http: &Http, cx: &Request) -> Result<Vec<Exposed>> {
    let ask = |skip| rows("automations", "componentType", "agents", skip);
    pages::by_skip(http, cx, ask, |reply, exposed| {
        let page: Page<Automation<'_>> = pages::decode(reply)?;
        exposed.extend(page.records.iter().filter_map(|row| {
            let is_agent = row.component_type.str().is_none_or(|type_| type_ == "agents");
            let agent = Agent {
                name: row.name.word()?,
                description: row.description.text(),
                agent_id: Some(row.component_id.id()?),
                ..Agent::default()
            };
            is_agent.then(|| Exposed { automation: row.id.id().unwrap_or_default(), agent })
        }));
        Ok((page.received, page.total))
    })
    .await
}

async fn endpoints(http: &Http, cx: &Request) -> Result<Vec<Endpoint>> {
    let ask = |skip| Ok(rows("triggers", "type", "endpoint", skip)?.query("enabled", true));
    pages::by_skip(http, cx, ask, |reply, endpoints| {
        let page: Page<Trigger<'_>> = pages::decode(reply)?;
        endpoints.extend(page.records.iter().filter_map(|row| {
            let works = row.type_.str().is_none_or(|type_| type_ == "endpoint") && row.enabled.flag() != Some(false);
            let endpoint = Endpoint {
                automation: row.action_id.id()?,
                route_name: row.route_name.word()?,
                input_schema: row.schema.object(),
                last_executed: row.last_executed.time(),
            };
            works.then_some(endpoint)
        }));
        Ok((page.received, page.total))
    })
    .await
}

/// Starts an agent: by its route where it has one, because that is how the platform's own users start it, else by its
/// id.
pub(super) async fn start(http: &Http, cx: &Request, agent: &str, inputs: Option<&Json>) -> Result<AgentRun> {
    let inputs = http::raw(inputs.unwrap_or(&Json::from_checked("{}")))?;
    let ask = match find(http, cx, agent).await? {
        Way::Route(route) => {
            Ask::post(Path::of(&["operations-manager", "triggers", "endpoint", &route])?).json(&inputs)?
        }
        Way::Id(id) => Ask::post(Path::of(&SESSIONS)?).json(&Start { agent_definition_id: &id, inputs: &inputs })?,
    };
    let reply = http.ask(cx, &ask).await.map_err(|error| missing(error, || none(agent)))?;
    let Lenient(Some(outer)) = reply.json::<Lenient<Started<'_>>>()? else { return Err(malformed()) };
    let inner: Started<'_> = if outer.session_id.is_some() { outer } else { outer.data.record() };
    let session_id = inner.session_id.id().ok_or_else(|| {
        Error::failed_precondition(
            "the platform has started something that is no session of an agent: give the name of an agent as \
             get_agents lists it",
        )
    })?;
    Ok(AgentRun { session_id, status: inner.status.word().unwrap_or_else(|| "RUNNING".to_owned()) })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Start<'a> {
    agent_definition_id: &'a str,
    inputs: &'a RawValue,
}

/// How an agent is started.
enum Way {
    Route(String),
    Id(String),
}

/// The agent of this name, id or route, in this order.
async fn find(http: &Http, cx: &Request, wanted: &str) -> Result<Way> {
    let agents = list(http, cx).await?;
    let named: Vec<&Agent> = agents.iter().filter(|agent| agent.name == wanted).collect();
    let by = |field: fn(&Agent) -> &Option<String>| agents.iter().find(|agent| field(agent).as_deref() == Some(wanted));
    let found = match named.as_slice() {
        [] => by(|agent| &agent.agent_id).or_else(|| by(|agent| &agent.route_name)),
        [only] => Some(*only),
        _ => {
            let wanted = shown(wanted);
            return Err(Error::failed_precondition(format!(
                "several agents have the name \"{wanted}\": give the agent_id or route_name that get_agents lists"
            )));
        }
    };
    let way = found.and_then(|agent| match &agent.route_name {
        Some(route) => Some(Way::Route(route.clone())),
        None => agent.agent_id.clone().map(Way::Id),
    });
    match way {
        Some(way) => Ok(way),
        None => operable(http, cx, wanted).await?.map(Way::Id).ok_or_else(|| Error::not_found(none(wanted))),
    }
}

/// The id of an agent that no automation has.
async fn operable(http: &Http, cx: &Request, wanted: &str) -> Result<Option<String>> {
    let ask = Ask::get(Path::of(&["agent-project-service", "operable-agents"])?);
    let reply = match http.ask(cx, &ask).await {
        // A version, or an account, without that list.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => return Ok(None),
        answered => answered?,
    };
    let page: Page<Operable<'_>> = pages::decode(&reply)?;
    let is = |agent: &&Operable<'_>| [agent.name, agent.id].iter().any(|field| field.str().as_deref() == Some(wanted));
    Ok(page.records.iter().find(is).and_then(|agent| agent.id.id()))
}

fn none(agent: &str) -> String {
    let agent = shown(agent);
    format!("there is no agent \"{agent}\" on this platform: get_agents lists those that it has")
}
