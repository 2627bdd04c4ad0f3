//! Assistants: the agents of this platform.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use sessiond_core::{Agent, Error, Result, shown};

use super::Langgraph;
use crate::dialect::Request;
use crate::http::{Ask, Path};
use crate::json::{Page, record};
use crate::request::Who;

/// How many assistants are asked for at once; the platform gives at most 1,000.
const PAGE: usize = 100;

record! {
    /// An assistant: a graph, and how it is set up.
    Assistant { id: "assistant_id", name: "name", graph: "graph_id", description: "description" }
}

/// More assistants than a platform has: of more, the names of those that were seen last are kept.
const MOST: usize = 10_000;

/// The names of the assistants that were seen, by their ids. A thread knows its assistant by the id alone, also when
/// that is gone: it is then called by its graph, or by nothing.
#[derive(Default)]
pub(super) struct Assistants(Mutex<HashMap<String, Option<String>>>);

impl Assistants {
    fn learn(&self, agents: &[Agent]) {
        let mut names = self.names();
        if names.len() > MOST {
            names.clear();
        }
        names.extend(agents.iter().filter_map(|agent| Some((agent.agent_id.clone()?, Some(agent.name.clone())))));
    }

    /// The name of an assistant, where it has one, once it is known.
    fn name(&self, id: &str) -> Option<Option<String>> {
        self.names().get(id).cloned()
    }

    fn names(&self) -> MutexGuard<'_, HashMap<String, Option<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Serialize)]
struct Search {
    limit: usize,
    offset: usize,
    sort_by: &'static str,
    sort_order: &'static str,
}

impl Langgraph {
    /// Whether the platform lets us in: it is asked for one assistant.
    pub(super) async fn one_assistant(&self, cx: &Request) -> Result<()> {
        self.assistants_from(cx, 0, 1).await.map(drop)
    }

    /// Every assistant, from all pages, in the order in which they were made.
    pub(super) async fn every_agent(&self, cx: &Request) -> Result<Vec<Agent>> {
        let mut agents: Vec<Agent> = Vec::new();
        let mut offset = 0;
        loop {
            let (page, received) = self.assistants_from(cx, offset, PAGE).await?;
            // A platform that does not heed the offset sends the first page for ever.
            let is_new = page.first().is_none_or(|first| !agents.contains(first));
            if is_new {
                agents.extend(page);
            }
            offset += received;
            if received < PAGE || !is_new {
                self.assistants.learn(&agents);
                return Ok(agents);
            }
        }
    }

    async fn assistants_from(&self, cx: &Request, offset: usize, limit: usize) -> Result<(Vec<Agent>, usize)> {
        let search = Search { limit, offset, sort_by: "created_at", sort_order: "asc" };
        let ask = Ask::search(Path::of(&["assistants", "search"])?).json(&search)?;
        let reply = self.http.ask(cx, &ask).await?;
        let page: Page<Assistant<'_>> = reply.json()?;
        Ok((page.records.iter().filter_map(agent).collect(), page.received))
    }

    /// What a run is started with to run this agent: the id of the assistant of this name or id, or the name of a
    /// graph, whose own assistant the platform then takes.
    pub(super) async fn assistant_of(&self, cx: &Request, agent: &str) -> Result<String> {
        let agents = self.every_agent(cx).await?;
        let id_of = |agent: &Agent| agent.agent_id.clone();
        if agents.iter().any(|known| known.agent_id.as_deref() == Some(agent)) {
            return Ok(agent.to_owned());
        }
        let named: Vec<_> = agents.iter().filter(|known| known.name == agent).collect();
        match named.as_slice() {
            [one] => id_of(one).ok_or_else(|| no_agent(agent)),
            [] if agents.iter().any(|known| known.route_name.as_deref() == Some(agent)) => Ok(agent.to_owned()),
            [] => Err(no_agent(agent)),
            _ => Err(Error::failed_precondition(format!(
                "several agents have the name \"{}\": give the agent_id that get_agents lists",
                shown(agent)
            ))),
        }
    }

    /// The name of the agent of a thread: its assistant's, else its graph's.
    pub(super) async fn agent_name(&self, cx: &Request, id: Option<String>, graph: Option<String>) -> Option<String> {
        let Some(id) = id else { return graph };
        if let Some(name) = self.assistants.name(&id) {
            return name;
        }
        if cx.who == Who::Follower {
            // A look at a run is one request, and its end does not depend on a name.
            return graph;
        }
        if self.every_agent(cx).await.is_err() {
            return graph;
        }
        // Asked for once, not for every thread of an assistant that is gone.
        self.assistants.names().entry(id).or_insert(graph).clone()
    }
}

fn agent(assistant: &Assistant<'_>) -> Option<Agent> {
    let (id, graph) = (assistant.id.word(), assistant.graph.word());
    let name = assistant.name.word().or_else(|| graph.clone()).or_else(|| id.clone())?;
    Some(Agent {
        name,
        description: assistant.description.word(),
        agent_id: id,
        route_name: graph,
        input_schema: None,
        last_executed: None,
    })
}

fn no_agent(agent: &str) -> Error {
    let agent = shown(agent);
    Error::not_found(format!("there is no agent \"{agent}\" on this platform: get_agents lists those that it has"))
}
