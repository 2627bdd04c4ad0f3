//! Agents: automations, their endpoint triggers, and starting one by its route.

use serde_json::{Value, json};

use super::Asked;
use crate::answer::Answer;
use crate::world::World;

/// A page by `skip` and `limit`, with the total in `metadata`.
fn page(world: &World, asked: &Asked<'_>, rows: &[Value]) -> Answer {
    let (skip, limit) = (asked.number("skip").unwrap_or(0), asked.number("limit").unwrap_or(25));
    let limit = limit.min(world.forms.largest_page);
    let data: Vec<&Value> = rows.iter().skip(skip).take(limit).collect();
    let metadata = match world.forms.total {
        true => json!({ "skip": skip, "limit": limit, "total": rows.len() }),
        false => json!({ "skip": skip, "limit": limit }),
    };
    Answer::json(&json!({ "message": "found", "data": data, "metadata": metadata }))
}

/// Whether the query asks for rows whose field is this, or for no field in particular.
fn wants(asked: &Asked<'_>, field: &str, value: &str) -> bool {
    match (asked.value("equalsField"), asked.value("equals")) {
        (Some(asked_field), Some(asked_value)) => asked_field == field && asked_value == value,
        _ => true,
    }
}

pub(super) fn automations(world: &World, asked: &Asked<'_>) -> Answer {
    let workflow = json!({ "_id": "automation-workflow", "name": "A workflow", "componentType": "workflows" });
    let orphan = json!({ "_id": "automation-orphan", "name": "no component", "componentType": "agents" });
    let mut rows: Vec<Value> = world.agents.iter().map(crate::Agent::automation).collect();
    rows.push(orphan);
    if asked.value("equalsField").is_none() {
        rows.push(workflow);
    } else if !wants(asked, "componentType", "agents") {
        rows = vec![workflow];
    }
    page(world, asked, &rows)
}

pub(super) fn triggers(world: &World, asked: &Asked<'_>) -> Answer {
    let mut rows: Vec<Value> = world.agents.iter().filter_map(crate::Agent::trigger).collect();
    if !wants(asked, "type", "endpoint") {
        rows.clear();
    }
    page(world, asked, &rows)
}

pub(super) fn trigger(world: &mut World, asked: &Asked<'_>) -> Answer {
    let Some(agent) = world.agents.iter().find(|agent| agent.route.as_deref() == Some(&asked.id)).cloned() else {
        return Answer::failure(404);
    };
    let inputs = asked.json();
    if !inputs.is_object() && !asked.body.is_empty() {
        return Answer::failure(400);
    }
    let id = world.begin(&agent, "RUNNING", &inputs);
    Answer::json(&world.forms.trigger.around(json!({ "sessionId": id, "status": "RUNNING" })))
}

pub(super) fn operable(world: &World) -> Answer {
    let items: Vec<Value> = world.agents.iter().map(|agent| json!({ "_id": agent.id, "name": agent.name })).collect();
    Answer::json(&json!({ "data": { "items": items } }))
}
