//! A recorded set: what callers see, the contract version of it, and the day it was first seen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::version::Version;

/// Tools as they are listed, by name.
pub type Tools = BTreeMap<String, Value>;

/// What callers see. Equal contents are the same to every caller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The tools as callers who reach every target see them.
    pub management: Tools,
    /// The tools as callers who reach one target see them.
    pub scoped: Tools,
    /// The answer to `initialize`; the version of the package is left out.
    pub initialize: Value,
    /// The answer to `server/discover`; the version of the package is left out.
    pub discover: Value,
    /// A tool's answer for each kind of error, by kind.
    pub errors: BTreeMap<String, Value>,
}

impl Content {
    /// Its parts, each with a name of its own: a snapshot for each.
    pub fn parts(&self) -> Vec<(String, Value)> {
        let tools = |access: &'static str, tools: &Tools| -> Vec<(String, Value)> {
            tools.iter().map(|(name, tool)| (format!("{access}.{name}"), tool.clone())).collect()
        };
        let mut parts = tools("management", &self.management);
        parts.extend(tools("scoped", &self.scoped));
        parts.push(("initialize".to_owned(), self.initialize.clone()));
        parts.push(("discover".to_owned(), self.discover.clone()));
        parts.extend(self.errors.iter().map(|(kind, answer)| (format!("error.{kind}"), answer.clone())));
        parts
    }
}

/// A content as it is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The contract version that it belongs to.
    pub version: Version,
    /// The day on which it was recorded, as `2026-11-30`.
    pub first_seen: String,
    /// What callers see.
    pub content: Content,
}

impl Set {
    /// Reads a set.
    ///
    /// # Errors
    /// What about the text is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let set: Self = serde_json::from_str(text).map_err(|error| format!("no set of snapshots: {error}"))?;
        if !is_date(&set.first_seen) {
            return Err(format!("first_seen is {:?}: it must be a date such as 2026-11-30", set.first_seen));
        }
        Ok(set)
    }

    /// The text that [`parse`](Self::parse) reads; names are sorted at every depth, so that equal sets are equal texts.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn text(&self) -> Result<String, String> {
        let value = serde_json::to_value(self).map_err(|error| error.to_string())?;
        Ok(format!("{:#}\n", super::sorted(value)))
    }
}

/// Whether the text has the form of a date; dates of this form sort as texts.
fn is_date(text: &str) -> bool {
    let form = |(at, byte): (usize, u8)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() == 10 && text.bytes().enumerate().all(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_its_text() {
        let set =
            Set { version: Version::new(1, 2, 3), first_seen: "2026-11-30".to_owned(), content: Content::default() };
        assert_eq!(Set::parse(&set.text().unwrap()), Ok(set));
    }

    #[test]
    fn a_text_that_is_no_set_is_refused() {
        assert!(Set::parse("{}").unwrap_err().starts_with("no set of snapshots: missing field"));
        for date in ["30 Nov 2026", "2026-11-3", "2026-11-300", "2026/11/30"] {
            let set = Set { version: Version::new(1, 2, 3), first_seen: date.to_owned(), content: Content::default() };
            assert!(Set::parse(&set.text().unwrap()).unwrap_err().starts_with("first_seen is"), "{date}");
        }
    }
}
