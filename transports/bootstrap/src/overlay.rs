//! Variables that overlay the file: `SESSIOND_` and the key's path in upper case, joined by `__`.
//!
//! `SESSIOND_LIMITS__STOP_GRACE_MS=500` sets `limits.stop_grace_ms`. A target is named as in the configuration, with
//! `_` for what a variable cannot hold; the names of a target's own variables stand as they are:
//! `SESSIOND_TARGETS__LOCAL__ENV__http_proxy=...`.

use crate::environment::Environment;
use crate::file::Entry;
use crate::key_path::{KeyPath, variable_segment};
use crate::problem::{Origin, Problem};
use crate::setting::Raw;

/// The entries that the variables make, for a configuration that has these targets.
pub(crate) fn entries(environment: &Environment, targets: &[&str], problems: &mut Vec<Problem>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (name, value) in environment.overlay() {
        let origin = Origin::Variable(name.to_string_lossy().into_owned());
        match (name.to_str(), value.to_str()) {
            (Some(name), Some(value)) => {
                let raw = Raw::Untyped(value.to_owned());
                entries.push(Entry { path: path(name, targets), raw, origin });
            }
            _ => problems.push(Problem::at(&origin, &"", "is not UTF-8; write it so, or set the key in the file")),
        }
    }
    // The environment has no order of its own; problems should have one.
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    entries
}

/// The key that a variable sets.
fn path(variable: &str, targets: &[&str]) -> KeyPath {
    let name = variable.strip_prefix(crate::environment::PREFIX).unwrap_or(variable);
    let segments: Vec<_> = name.splitn(4, "__").collect();
    let path = match segments.as_slice() {
        ["TARGETS", target, "ENV", own] => {
            vec!["targets".into(), target_name(target, targets), "env".into(), (*own).to_owned()]
        }
        ["TARGETS", target, rest @ ..] => {
            let below = rest.iter().map(|segment| segment.to_lowercase());
            ["targets".into(), target_name(target, targets)].into_iter().chain(below).collect()
        }
        other => other.iter().map(|segment| segment.to_lowercase()).collect(),
    };
    KeyPath(path)
}

fn target_name(segment: &str, targets: &[&str]) -> String {
    let known = targets.iter().find(|name| variable_segment(name) == segment.to_uppercase());
    known.map_or_else(|| segment.to_lowercase(), |name| (*name).to_owned())
}
