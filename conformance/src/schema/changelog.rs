//! The history of the contract for people, made of the recorded sets: by tool, then by version.

use std::collections::BTreeSet;

use serde_json::Value;

use super::class::{Class, Entry, join};
use super::diff::{Change, contents};
use super::set::Set;

const HEAD: &str = "\
# Schema changelog

What callers of the tools see, and since when. Generated from the recorded sets in `conformance/schemas/`; do not edit.

Each difference has one of four classes, judged for a caller who was right before:

| class | meaning | the contract version steps |
| --- | --- | --- |
| breaking | a call that was right may be refused or mean something else, or an answer may lack what it had or hold what it could not (a closed answer or a list of choices that grows, too) | the first number; the second while the first is 0 |
| tightening | the server promises more or leaves less open: an answer becomes typed or closed, an input is no longer described | the second number |
| additive | something more is possible: an optional input, another choice to give, a new field of an open answer, a new tool | the second number |
| wording | titles, descriptions, and other ways to say the same | nothing, or the third number |
";

/// Values longer than this are named by their path alone.
const SHOWN: usize = 80;

/// What the server says apart from its tools, in the order of the page.
const SERVER: [(&str, &str); 3] = [
    ("initialize", "The answer to `initialize`"),
    ("discover", "The answer to `server/discover`"),
    ("errors", "Errors"),
];

/// The page that tells of these sets, which are sorted by version.
pub fn changelog(sets: &[Set]) -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\n## Versions\n\n| version | first seen | gravest change |\n| --- | --- | --- |\n");
    let steps: Vec<(&Set, Option<Vec<Change>>)> =
        sets.iter().enumerate().map(|(at, set)| (set, step(sets, at))).collect();
    for (set, changes) in steps.iter().rev() {
        let gravest =
            changes.as_ref().map_or("the first", |changes| gravest(changes.iter().map(|change| &change.entry)));
        page.push_str(&format!("| {} | {} | {gravest} |\n", set.version, set.first_seen));
    }
    let tools: BTreeSet<&String> =
        sets.iter().flat_map(|set| set.content.management.keys().chain(set.content.scoped.keys())).collect();
    for tool in tools {
        section(&mut page, &format!("`{tool}`"), tool, &steps);
    }
    for (subject, title) in SERVER {
        section(&mut page, title, subject, &steps);
    }
    page
}

/// What a set changed of the one before it; `None` for the first.
fn step(sets: &[Set], at: usize) -> Option<Vec<Change>> {
    let old = sets.get(at.checked_sub(1)?)?;
    sets.get(at).map(|new| contents(&old.content, &new.content))
}

/// A subject with each version that touched it, the newest first.
fn section(page: &mut String, title: &str, subject: &str, steps: &[(&Set, Option<Vec<Change>>)]) {
    page.push_str(&format!("\n## {title}\n"));
    for (set, changes) in steps.iter().rev() {
        let Some(changes) = changes else {
            if let Some(inventory) = inventory(set, subject) {
                heading(page, set, "first recorded");
                page.push_str(&inventory);
            }
            continue;
        };
        let changes: Vec<&Change> = changes.iter().filter(|change| change.subject == subject).collect();
        if changes.is_empty() {
            continue;
        }
        heading(page, set, gravest(changes.iter().map(|change| &change.entry)));
        for change in &changes {
            page.push_str(&line(change));
        }
        if changes.iter().any(|change| change.entry.path.is_empty() && change.entry.previous.is_none()) {
            page.push_str(&inventory(set, subject).unwrap_or_default());
        }
    }
}

fn heading(page: &mut String, set: &Set, what: &str) {
    page.push_str(&format!("\n### {}, {}: {what}\n\n", set.version, set.first_seen));
}

fn gravest<'a>(entries: impl Iterator<Item = &'a Entry>) -> &'static str {
    super::verdict(entries).map_or("none", Class::as_str)
}

/// One difference as an item of a list.
fn line(change: &Change) -> String {
    let Change { access, entry, .. } = change;
    let place = if entry.path.is_empty() { "the tool".to_owned() } else { format!("`{}`", entry.path) };
    let seen = access.map_or_else(String::new, |access| format!(" ({access} access only)"));
    let values = match (entry.previous.as_ref().and_then(shown), entry.new.as_ref().and_then(shown)) {
        (Some(previous), Some(new)) => format!(", {previous} → {new}"),
        (None, Some(new)) if entry.previous.is_none() => format!(", {new}"),
        (Some(previous), None) if entry.new.is_none() => format!(", {previous}"),
        _ => String::new(),
    };
    let values = if entry.path.is_empty() { String::new() } else { values };
    format!("- {}, {} {place}{seen}{values}: {}\n", entry.class, entry.kind, entry.why)
}

/// A value as code, when it is short.
fn shown(value: &Value) -> Option<String> {
    let text = value.to_string();
    (text.chars().count() <= SHOWN && !text.contains('`')).then(|| format!("`{text}`"))
}

/// What a subject had when it was first recorded; `None` when it was not there.
fn inventory(set: &Set, subject: &str) -> Option<String> {
    let content = &set.content;
    let all = match subject {
        "initialize" => vec![("Says", fields(&content.initialize, "", ""))],
        "discover" => vec![("Says", fields(&content.discover, "", ""))],
        "errors" => vec![("Kinds", content.errors.keys().map(|kind| format!("`{kind}`")).collect())],
        tool => {
            let tool = content.management.get(tool).or_else(|| content.scoped.get(tool))?;
            vec![
                ("Inputs", fields(tool, "/inputSchema/properties", "/inputSchema/required")),
                ("Outputs", fields(tool, "/outputSchema/properties", "/outputSchema/required")),
            ]
        }
    };
    let line = |(title, names): (&str, Vec<String>)| {
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("- {title}: {names}\n")
    };
    Some(all.into_iter().map(line).collect())
}

/// The names in the object at a pointer, each with a question mark unless it is required where that is said.
fn fields(value: &Value, pointer: &str, required: &str) -> Vec<String> {
    let must = value.pointer(required).and_then(Value::as_array);
    let optional = |name: &str| !required.is_empty() && !must.is_some_and(|must| must.iter().any(|one| one == name));
    let names = value.pointer(pointer).and_then(Value::as_object).into_iter().flat_map(|all| all.keys());
    names.map(|name| format!("`{}{}`", join("", name), if optional(name) { "?" } else { "" })).collect()
}
