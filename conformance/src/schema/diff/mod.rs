//! The differ: two contents in; added, changed and removed entries out, each with what it means for a caller.
//!
//! `walk` goes through two schemas side by side and knows where they nest; `keyword` compares one keyword and knows
//! whether it takes more or fewer values; `tool` and `server` compare what is no schema.

mod keyword;
mod server;
mod tool;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::class::{Class, Entry};
use super::set::{Content, Tools};

pub use tool::tool;
pub use walk::schema;

/// Which way values go. The same change means opposite things: whoever sends must fit what is taken, and whoever
/// receives must take what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the caller to the tool.
    Input,
    /// From the tool to the caller.
    Output,
}

/// A difference between two contents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// A tool's name, or `initialize`, `discover`, `errors`.
    pub subject: String,
    /// The one kind of access that sees it; `None` when everybody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<&'static str>,
    /// What it is.
    #[serde(flatten)]
    pub entry: Entry,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Entry { class, kind, path, why, .. } = &self.entry;
        let place = if path.is_empty() { "" } else { "/" };
        let seen = self.access.map_or_else(String::new, |access| format!(" ({access} access only)"));
        write!(f, "{class:<10} {kind:<7} {}{place}{path}{seen}: {why}", self.subject)
    }
}

/// Every difference between two contents: first those of tools, by name, then those of the server.
pub fn contents(old: &Content, new: &Content) -> Vec<Change> {
    let mut changes = tools(old, new);
    let mut note = |subject: &str, entries: Vec<Entry>| {
        changes.extend(entries.into_iter().map(|entry| Change { subject: subject.to_owned(), access: None, entry }));
    };
    note("initialize", server::answer(&old.initialize, &new.initialize));
    note("discover", server::answer(&old.discover, &new.discover));
    note("errors", server::errors(&old.errors, &new.errors));
    changes
}

/// The differences of all tools. What both kinds of access see alike is said once.
fn tools(old: &Content, new: &Content) -> Vec<Change> {
    let lists = [&old.management, &new.management, &old.scoped, &new.scoped];
    let names: BTreeSet<&String> = lists.into_iter().flat_map(BTreeMap::keys).collect();
    let mut changes = Vec::new();
    for name in names {
        let management = listed(&old.management, &new.management, name);
        let scoped = listed(&old.scoped, &new.scoped, name);
        let mut note = |access, entry: &Entry| {
            changes.push(Change { subject: name.clone(), access, entry: entry.clone() });
        };
        for entry in &management {
            note((!scoped.contains(entry)).then_some("management"), entry);
        }
        for entry in scoped.iter().filter(|entry| !management.contains(entry)) {
            note(Some("scoped"), entry);
        }
    }
    changes
}

fn listed(old: &Tools, new: &Tools, name: &str) -> Vec<Entry> {
    let whole = |previous: Option<&Value>, new: Option<&Value>, class, why| {
        Entry::between(String::new(), previous, new, (class, why)).into_iter().collect()
    };
    match (old.get(name), new.get(name)) {
        (Some(old), Some(new)) => tool(old, new),
        (None, new) => whole(None, new, Class::Additive, "a new tool"),
        (old, None) => whole(old, None, Class::Breaking, "the tool is gone"),
    }
}

/// The names that either of two objects has.
fn names<'a>(old: &'a serde_json::Map<String, Value>, new: &'a serde_json::Map<String, Value>) -> BTreeSet<&'a String> {
    old.keys().chain(new.keys()).collect()
}
