//! What the server says of itself, and its errors, before and after.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::keyword::{Move, sets};
use super::names;
use crate::schema::class::{Class, Entry, join};

/// Names under which texts for people stand.
const TEXTS: [&str; 6] = ["instructions", "title", "description", "websiteUrl", "icons", "text"];

/// Every difference between two answers.
pub(super) fn answer(old: &Value, new: &Value) -> Vec<Entry> {
    let mut entries = Vec::new();
    values("", "", Some(old), Some(new), &mut entries);
    entries
}

/// Every difference between two catalogues of errors. The kinds are a closed set, and callers branch on them.
pub(super) fn errors(old: &BTreeMap<String, Value>, new: &BTreeMap<String, Value>) -> Vec<Entry> {
    let kinds: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let mut entries = Vec::new();
    for kind in kinds {
        match (old.get(kind), new.get(kind)) {
            (Some(old), Some(new)) => values(&join("", kind), "", Some(old), Some(new), &mut entries),
            (old, new) => entries.extend(Entry::between(
                join("", kind),
                old,
                new,
                (Class::Breaking, "who branches on the kinds knows all of them"),
            )),
        }
    }
    entries
}

fn values(path: &str, name: &str, old: Option<&Value>, new: Option<&Value>, entries: &mut Vec<Entry>) {
    if old == new {
        return;
    }
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            for name in names(old, new) {
                values(&join(path, name), name, old.get(name), new.get(name), entries);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after)))
            if before.len() == after.len() && before.iter().chain(after).all(Value::is_object) =>
        {
            for (index, (old, new)) in before.iter().zip(after).enumerate() {
                values(&join(path, &index.to_string()), name, Some(old), Some(new), entries);
            }
        }
        _ => entries.extend(Entry::between(path.to_owned(), old, new, judged(name, old, new))),
    }
}

fn judged(name: &str, old: Option<&Value>, new: Option<&Value>) -> (Class, &'static str) {
    if TEXTS.contains(&name) {
        return (Class::Wording, "a text");
    }
    match (old, new) {
        (None, _) => (Class::Additive, "the server says more"),
        (Some(Value::Array(old)), Some(Value::Array(new))) => match sets(old, new) {
            Move::Same => (Class::Wording, "the same in another order"),
            Move::Wider => (Class::Additive, "the server can do more"),
            Move::Narrower | Move::Other => (Class::Breaking, "the server no longer does what it did"),
        },
        _ => (Class::Breaking, "the server no longer says what it said"),
    }
}
