//! Sessions and their messages.

use std::cmp::Ordering;

use bytes::Bytes;
use serde_json::{Value, json};

use super::Asked;
use crate::answer::Answer;
use crate::forms::Forms;
use crate::record::Run;
use crate::world::World;

/// The rows of a page of sessions when no number is asked for.
const DEFAULT_PAGE: usize = 25;

/// Sorts as the query asks, by a field of each row: numbers as numbers, all else as text; rows without it come first.
fn sort<'a>(rows: &mut [&'a Value], asked: &Asked<'_>, field: impl Fn(&'a Value, &str) -> &'a Value) {
    let Some(by) = asked.value("sortBy") else { return };
    rows.sort_by(|a, b| compare(field(a, &by), field(b, &by)));
    if asked.value("sortOrder").as_deref() == Some("desc") {
        rows.reverse();
    }
}

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.as_str().unwrap_or_default().cmp(b.as_str().unwrap_or_default()),
    }
}

pub(super) fn list(world: &World, asked: &Asked<'_>) -> Answer {
    let (offset, limit) = (asked.number("offset").unwrap_or(0), asked.number("limit").unwrap_or(DEFAULT_PAGE));
    let records: Vec<Value> = world.runs().iter().map(|run| Value::Object(run.record.clone())).collect();
    let mut rows: Vec<&Value> = records.iter().collect();
    sort(&mut rows, asked, |row, by| row.get(by).unwrap_or(&Value::Null));
    let page: Vec<&Value> = rows.iter().skip(offset).take(limit.min(world.forms.largest_page)).copied().collect();
    Answer::json(&match world.forms.total {
        true => json!({ "data": page, "total": rows.len() }),
        false => json!({ "data": page }),
    })
}

pub(super) fn one(world: &mut World, asked: &Asked<'_>) -> Answer {
    told(world, &asked.id)
}

/// The record of a session.
fn told(world: &mut World, id: &str) -> Answer {
    match world.run(id) {
        Some(run) => Answer::json(&Value::Object(run.record.clone())),
        None => Answer::failure(404),
    }
}

pub(super) fn start(world: &mut World, asked: &Asked<'_>) -> Answer {
    let body = asked.json();
    let wanted = body.get("agentDefinitionId").and_then(Value::as_str);
    let Some(agent) = world.agents.iter().find(|agent| Some(agent.id.as_str()) == wanted).cloned() else {
        return Answer::failure(404);
    };
    let none = json!({});
    let inputs = body.get("inputs").unwrap_or(&none);
    if !inputs.is_object() {
        return Answer::failure(400);
    }
    let id = world.begin(&agent, "RUNNING", inputs);
    Answer::json(&json!({ "sessionId": id, "status": "RUNNING" }))
}

pub(super) fn control(world: &mut World, asked: &Asked<'_>) -> Answer {
    if world.run(&asked.id).is_none() {
        return Answer::failure(404);
    }
    let done = match asked.json().get("action").and_then(Value::as_str) {
        Some("CANCEL") => world.cancel(&asked.id),
        Some("PAUSE") => world.rest(&asked.id, true),
        Some("RESUME") => world.rest(&asked.id, false),
        _ => return Answer::failure(400),
    };
    if done { told(world, &asked.id) } else { Answer::failure(409) }
}

pub(super) fn delete(world: &mut World, asked: &Asked<'_>) -> Answer {
    if world.run(&asked.id).is_none() {
        return Answer::failure(404);
    }
    world.vanish(&asked.id);
    Answer::json(&json!({ "message": "deleted" }))
}

pub(super) fn messages(world: &mut World, asked: &Asked<'_>) -> Answer {
    let forms = world.forms.clone();
    let Some(run) = world.run(&asked.id) else { return Answer::failure(404) };
    // A page of a long session is written once: whoever measures a client does not measure this.
    let form = format!("{:?} {}", forms.messages, asked.query);
    if let Some(page) = run.pages.get(&form) {
        return Answer::bytes(page.clone());
    }
    let page = Bytes::from(page(run, asked, &forms).to_string());
    run.pages.insert(form, page.clone());
    Answer::bytes(page)
}

fn page(run: &Run, asked: &Asked<'_>, forms: &Forms) -> Value {
    let mut rows: Vec<&Value> = run.messages.iter().collect();
    if forms.unordered && asked.value("sortBy").is_none() {
        rows.reverse();
    }
    sort(&mut rows, asked, |row, by| row.get(by).unwrap_or(&Value::Null));
    let limit = asked.number("limit").unwrap_or(forms.default_page).min(forms.largest_page);
    let before = asked.number("page").unwrap_or(1).max(1).saturating_sub(1).saturating_mul(limit);
    let rows: Vec<&Value> = match forms.ignores_paging {
        true => rows,
        false => rows.into_iter().skip(before).take(limit).collect(),
    };
    forms.messages.around(json!(rows))
}

pub(super) fn message(world: &mut World, asked: &Asked<'_>) -> Answer {
    let found = world.run(&asked.id).and_then(|run| {
        run.messages.iter().find(|message| message.get("eventId").and_then(Value::as_str) == Some(&asked.second))
    });
    found.map_or_else(|| Answer::failure(404), Answer::json)
}
