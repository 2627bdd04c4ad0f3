//! Two listings of one tool.

use serde_json::{Map, Value};

use super::keyword::schemas;
use super::walk::schema;
use super::{Side, names};
use crate::schema::class::{Class, Entry, join};

/// Every difference between two listings of a tool.
pub fn tool(old: &Value, new: &Value) -> Vec<Entry> {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        let judged = (Class::Breaking, "no listing of a tool");
        return if old == new { Vec::new() } else { whole("", Some(old), Some(new), judged) };
    };
    let differing = names(old, new).into_iter().filter(|name| old.get(*name) != new.get(*name));
    differing.flat_map(|name| part(name, old.get(name), new.get(name))).collect()
}

fn part(name: &str, old: Option<&Value>, new: Option<&Value>) -> Vec<Entry> {
    match (name, old, new) {
        ("title" | "description" | "icons", ..) => whole(name, old, new, (Class::Wording, "a text")),
        ("inputSchema", Some(old), Some(new)) => schema(name, Side::Input, old, new),
        ("outputSchema", Some(old), Some(new)) => schema(name, Side::Output, old, new),
        ("inputSchema", ..) => whole(name, old, new, schemas(old, new).judged(Side::Input)),
        ("outputSchema", None, Some(_)) => whole(name, old, new, (Class::Tightening, "what was untyped is typed")),
        ("outputSchema", ..) => whole(name, old, new, (Class::Breaking, "the answer is no longer typed")),
        ("annotations", old, new) => annotations(old, new),
        _ => whole(name, old, new, (Class::Breaking, "nobody here knows what it means")),
    }
}

fn whole(path: &str, old: Option<&Value>, new: Option<&Value>, judged: (Class, &'static str)) -> Vec<Entry> {
    Entry::between(path.to_owned(), old, new, judged).into_iter().collect()
}

fn annotations(old: Option<&Value>, new: Option<&Value>) -> Vec<Entry> {
    let nothing = Map::new();
    let (before, after) = (hints(old, &nothing), hints(new, &nothing));
    let judged = names(before, after).into_iter().filter(|name| before.get(*name) != after.get(*name));
    let judged = judged.map(|name| (name, hint(name, before.get(name), after.get(name))));
    if old.is_some() && new.is_some() {
        let entry = |(name, judged): (&String, _)| {
            Entry::between(join("annotations", name), before.get(name), after.get(name), judged)
        };
        return judged.filter_map(entry).collect();
    }
    let gravest = judged.map(|(_, judged)| judged).max_by_key(|(class, _)| *class);
    whole("annotations", old, new, gravest.unwrap_or((Class::Wording, "nothing is said")))
}

fn hints<'a>(annotations: Option<&'a Value>, nothing: &'a Map<String, Value>) -> &'a Map<String, Value> {
    annotations.and_then(Value::as_object).unwrap_or(nothing)
}

/// A client may run a tool without asking because of a hint, so what a hint rules out must stay ruled out. What is not
/// said is what the protocol assumes: the worst.
fn hint(name: &str, old: Option<&Value>, new: Option<&Value>) -> (Class, &'static str) {
    let harmless = match name {
        "readOnlyHint" | "idempotentHint" => true,
        "destructiveHint" | "openWorldHint" => false,
        "title" => return (Class::Wording, "a text"),
        _ => return (Class::Breaking, "nobody here knows what it means"),
    };
    let is_harmless = |hint: Option<&Value>| hint.is_some_and(|hint| *hint == Value::Bool(harmless));
    match (is_harmless(old), is_harmless(new)) {
        (false, true) => (Class::Tightening, "a harm is ruled out"),
        (true, false) => (Class::Breaking, "a harm is no longer ruled out"),
        (true, true) | (false, false) => (Class::Wording, "what is assumed anyway is said or not"),
    }
}
