//! Two schemas side by side, down to where they differ.

use serde_json::{Map, Value};

use super::keyword::{Move, compare, is_open, schemas, sets};
use super::{Side, names};
use crate::schema::class::{Class, Entry, join, verdict};

/// What one schema object is, by keyword.
type Keywords = Map<String, Value>;

/// The differences between two schemas, by path; `path` is where they stand.
pub fn schema(path: &str, side: Side, old: &Value, new: &Value) -> Vec<Entry> {
    let mut walk = Walk { side, entries: Vec::new() };
    walk.schema(path, old, new);
    walk.entries
}

struct Walk {
    side: Side,
    entries: Vec<Entry>,
}

impl Walk {
    fn note(&mut self, path: String, old: Option<&Value>, new: Option<&Value>, judged: (Class, &'static str)) {
        self.entries.extend(Entry::between(path, old, new, judged));
    }

    fn schema(&mut self, path: &str, old: &Value, new: &Value) {
        if old == new {
            return;
        }
        match (old.as_object(), new.as_object()) {
            (Some(old), Some(new)) => {
                for keyword in names(old, new) {
                    if old.get(keyword) != new.get(keyword) {
                        self.keyword(join(path, keyword), keyword, old, new);
                    }
                }
            }
            _ => {
                let judged = schemas(Some(old), Some(new)).judged(self.side);
                self.note(path.to_owned(), Some(old), Some(new), judged);
            }
        }
    }

    fn keyword(&mut self, path: String, keyword: &str, old: &Keywords, new: &Keywords) {
        let (was, is) = (old.get(keyword), new.get(keyword));
        match (keyword, was, is) {
            ("properties", ..) => self.properties(path, old, new),
            ("required", ..) => {
                let judged = self.required(old, new);
                self.note(path, was, is, judged);
            }
            ("items" | "additionalProperties" | "propertyNames", Some(was @ Value::Object(_)), Some(is))
                if is.is_object() && !is_open(Some(was)) && !is_open(Some(is)) =>
            {
                self.schema(&path, was, is);
            }
            // A new pattern asks for something, and lets new names into a closed object.
            ("patternProperties", Some(Value::Object(was)), Some(Value::Object(is))) => {
                self.each(&path, was, is, Move::Other);
            }
            // They ask for nothing themselves: what one of them takes counts where it is referred to.
            ("$defs" | "definitions", Some(Value::Object(was)), Some(Value::Object(is))) => {
                self.each(&path, was, is, Move::Same);
            }
            ("anyOf" | "allOf" | "prefixItems", Some(Value::Array(was)), Some(Value::Array(is)))
                if was.len() == is.len() && sets(was, is) != Move::Same =>
            {
                for (index, (was, is)) in was.iter().zip(is).enumerate() {
                    self.schema(&join(&path, &index.to_string()), was, is);
                }
            }
            // Whoever takes more inside of these may take less as a whole.
            ("oneOf" | "not" | "if" | "then" | "else" | "contains", Some(was), Some(is)) => {
                self.opaque(path, was, is, compare(keyword, Some(was), Some(is)));
            }
            _ => {
                let judged = unsided(keyword, was, is).unwrap_or_else(|| compare(keyword, was, is).judged(self.side));
                self.note(path, was, is, judged);
            }
        }
    }

    /// Schemas by name; `moved` is what it does when one appears or disappears.
    fn each(&mut self, path: &str, old: &Keywords, new: &Keywords, moved: Move) {
        for name in names(old, new) {
            let at = join(path, name);
            match (old.get(name), new.get(name)) {
                (Some(was), Some(is)) => self.schema(&at, was, is),
                (was, is) => self.note(at, was, is, moved.judged(self.side)),
            }
        }
    }

    /// A keyword whose schemas do not simply add up: a text inside of it is named as such, anything else is a change
    /// of the whole.
    fn opaque(&mut self, path: String, old: &Value, new: &Value, moved: Move) {
        let mut inside = Walk { side: self.side, entries: Vec::new() };
        match (old, new) {
            (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
                for (index, (was, is)) in was.iter().zip(is).enumerate() {
                    inside.schema(&join(&path, &index.to_string()), was, is);
                }
            }
            (Value::Object(_), Value::Object(_)) => inside.schema(&path, old, new),
            _ => {}
        }
        if moved != Move::Same && verdict(&inside.entries) == Some(Class::Wording) {
            self.entries.append(&mut inside.entries);
        } else {
            self.note(path, Some(old), Some(new), moved.judged(self.side));
        }
    }

    /// `properties` as a whole where one of the schemas has none, otherwise property by property.
    fn properties(&mut self, path: String, old: &Keywords, new: &Keywords) {
        let (was, is) = (old.get("properties"), new.get("properties"));
        let nothing = Keywords::new();
        let (Some(before), Some(after)) = (properties_of(was, &nothing), properties_of(is, &nothing)) else {
            return self.note(path, was, is, Move::Other.judged(self.side));
        };
        if was.is_some() && is.is_some() {
            for name in names(before, after) {
                let at = join(&path, name);
                match (before.get(name), after.get(name)) {
                    (Some(was), Some(is)) => self.schema(&at, was, is),
                    (None, is) => self.note(at, None, is, self.added(name, old, new)),
                    (was, None) => self.note(at, was, None, self.removed(new)),
                }
            }
            return;
        }
        let judged = match was {
            // Whoever read it had to guess its names; now they are known.
            None if self.side == Side::Output && is_open(old.get("additionalProperties")) && !after.is_empty() => {
                (Class::Tightening, "what was untyped is typed")
            }
            None => gravest(after.keys().map(|name| self.added(name, old, new))),
            Some(_) => gravest(before.keys().map(|_| self.removed(new))),
        };
        self.note(path, was, is, judged);
    }

    /// What it means that a property appeared.
    fn added(&self, name: &str, old: &Keywords, new: &Keywords) -> (Class, &'static str) {
        let additional = old.get("additionalProperties");
        match self.side {
            Side::Input if requires(new, name) => (Class::Breaking, "who does not give it is refused"),
            // Callers of a map choose the names themselves, so this one may be in use.
            Side::Input if is_map(old) => (Class::Breaking, "who used the name for something else means this now"),
            Side::Input => (Class::Additive, "it may be left out"),
            Side::Output if is_open(additional) => (Class::Additive, "an answer says more"),
            Side::Output => (Class::Breaking, "whoever relies on the closed answer refuses it"),
        }
    }

    /// What it means that a property disappeared.
    fn removed(&self, new: &Keywords) -> (Class, &'static str) {
        match self.side {
            Side::Input if is_open(new.get("additionalProperties")) => {
                (Class::Tightening, "it is still taken, but nobody says any more what it does")
            }
            Side::Input => (Class::Breaking, "who gives it is refused"),
            Side::Output => (Class::Breaking, "who reads it finds nothing"),
        }
    }

    fn required(&self, old: &Keywords, new: &Keywords) -> (Class, &'static str) {
        let list = |all: &Keywords| match all.get("required") {
            None => Some(Vec::new()),
            Some(list) => list.as_array().cloned(),
        };
        let (Some(before), Some(after)) = (list(old), list(new)) else {
            return Move::Other.judged(self.side);
        };
        // A longer list takes fewer values.
        let moved = sets(&before, &after).reversed();
        let is_new = |name: &Value| name.as_str().is_some_and(|name| declares(new, name) && !declares(old, name));
        match (self.side, moved) {
            (Side::Input, Move::Wider) => (Class::Additive, "it may be left out now"),
            (Side::Input, Move::Narrower | Move::Other) => (Class::Breaking, "who does not give it is refused"),
            (Side::Output, Move::Wider | Move::Other) => (Class::Breaking, "what was always there may be missing"),
            (Side::Output, Move::Narrower) if after.iter().all(|name| before.contains(name) || is_new(name)) => {
                (Class::Additive, "what is new is always there")
            }
            (_, moved) => moved.judged(self.side),
        }
    }
}

/// The properties that a keyword's value declares; `None` when it is no object.
fn properties_of<'a>(value: Option<&'a Value>, nothing: &'a Keywords) -> Option<&'a Keywords> {
    value.map_or(Some(nothing), Value::as_object)
}

/// Whether names that are not declared are taken, with values of a certain form.
fn is_map(schema: &Keywords) -> bool {
    let additional = schema.get("additionalProperties");
    let is_limited = additional.is_some_and(Value::is_object) && !is_open(additional);
    is_limited || schema.contains_key("patternProperties")
}

fn declares(schema: &Keywords, name: &str) -> bool {
    schema.get("properties").is_some_and(|properties| properties.get(name).is_some())
}

fn requires(schema: &Keywords, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|list| list.iter().any(|one| one == name))
}

fn gravest(all: impl Iterator<Item = (Class, &'static str)>) -> (Class, &'static str) {
    all.max_by_key(|(class, _)| *class).unwrap_or_else(|| Move::Same.judged(Side::Output))
}

/// Keywords that mean the same whichever way values go.
fn unsided(keyword: &str, old: Option<&Value>, new: Option<&Value>) -> Option<(Class, &'static str)> {
    match (keyword, old, new) {
        ("description" | "title" | "examples" | "$comment" | "deprecated", ..) => Some((Class::Wording, "a text")),
        ("default", None, Some(_)) => Some((Class::Tightening, "what it means to leave it out is promised now")),
        ("default", ..) => Some((Class::Breaking, "to leave it out means something else")),
        ("$defs" | "definitions", ..) => Some((Class::Wording, "it asks for nothing itself")),
        _ => None,
    }
}
