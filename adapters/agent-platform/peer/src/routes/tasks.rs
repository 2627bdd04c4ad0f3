//! Manual tasks.

use serde_json::{Value, json};

use super::Asked;
use crate::answer::Answer;
use crate::world::World;

pub(super) fn list(world: &World, asked: &Asked<'_>) -> Answer {
    let root = asked.value("rootExecutionId");
    let items = world.items.iter().filter(|item| root.as_ref().is_none_or(|root| item.session == *root));
    let items: Vec<&Value> = items.map(|item| &item.record).collect();
    if items.is_empty() && world.forms.no_tasks_is_404 {
        return Answer::failure(404);
    }
    Answer::json(&json!({ "items": items }))
}

pub(super) fn one(world: &mut World, asked: &Asked<'_>) -> Answer {
    world.item(&asked.id).map_or_else(|| Answer::failure(404), |item| Answer::json(&item.record))
}

pub(super) fn incoming(world: &mut World, asked: &Asked<'_>) -> Answer {
    world.item(&asked.id).map_or_else(|| Answer::failure(404), |item| Answer::json(&item.incoming))
}

pub(super) fn complete(world: &mut World, asked: &Asked<'_>) -> Answer {
    let Some(item) = world.item(&asked.id) else { return Answer::failure(404) };
    if item.record.get("status").and_then(Value::as_str) != Some("pending") {
        return Answer::failure(409);
    }
    let body = asked.json();
    let state = body.get("finishState").and_then(Value::as_str).unwrap_or("success");
    let variables = body.get("variables").cloned().unwrap_or_else(|| json!({}));
    match world.complete(&asked.id, state, &variables) {
        Some(record) => Answer::json(&record),
        None => Answer::failure(500),
    }
}
