//! What a difference is, and what it means for a caller who was right before.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// What a difference means for callers, from nothing to everything. The order is that of gravity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Texts for people, and other ways to say the same.
    Wording,
    /// Something more is possible; whatever was right stays right and means the same.
    Additive,
    /// The server promises more than it did, or leaves less open. Calls stay right; whoever relied on the freedom that
    /// an answer had, or on an input that nobody describes any more, must look.
    Tightening,
    /// A call that was right may be refused or mean something else, or an answer may lack what it had or hold what it
    /// could not.
    Breaking,
}

impl Class {
    /// Every class, from the gravest.
    pub const ALL: [Self; 4] = [Self::Breaking, Self::Tightening, Self::Additive, Self::Wording];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wording => "wording",
            Self::Additive => "additive",
            Self::Tightening => "tightening",
            Self::Breaking => "breaking",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What happened at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It was not there.
    Added,
    /// It was different.
    Changed,
    /// It is gone.
    Removed,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        })
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Where, as a JSON pointer without its first slash; empty for the whole.
    pub path: String,
    /// What happened.
    pub kind: Kind,
    /// What was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<Value>,
    /// What is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Value>,
    /// What it means.
    pub class: Class,
    /// Why it means that.
    pub why: &'static str,
}

impl Entry {
    /// The difference between two values, one of which may be missing; `None` when neither is there.
    pub(super) fn between(
        path: String,
        previous: Option<&Value>,
        new: Option<&Value>,
        (class, why): (Class, &'static str),
    ) -> Option<Self> {
        let kind = match (previous, new) {
            (None, None) => return None,
            (None, Some(_)) => Kind::Added,
            (Some(_), Some(_)) => Kind::Changed,
            (Some(_), None) => Kind::Removed,
        };
        Some(Self { path, kind, previous: previous.cloned(), new: new.cloned(), class, why })
    }
}

/// The gravest class among these; `None` when there is no difference.
pub fn verdict<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Option<Class> {
    entries.into_iter().map(|entry| entry.class).max()
}

/// A path with one more step; slashes and tildes inside the step are escaped as in a JSON pointer.
pub(super) fn join(path: &str, step: &str) -> String {
    let step = step.replace('~', "~0").replace('/', "~1");
    if path.is_empty() { step } else { format!("{path}/{step}") }
}
