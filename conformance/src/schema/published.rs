//! Our tools against the structures that others have published: they may be called as published and answer as published.

use serde_json::{Map, Value};

use super::class::{Class, Entry, Kind};
use super::diff::tool;
use super::set::Content;

/// The structures as they stand in `contracts/`.
const PUBLISHED: [&str; 3] = [
    include_str!("../../contracts/session_read.json"),
    include_str!("../../contracts/ssh_cmd_output.json"),
    include_str!("../../contracts/describe_session.json"),
];

/// The published tools, by name: title, annotations and schemas, where they are published.
///
/// # Errors
/// Which structure is none.
pub fn published() -> Result<Vec<(String, Value)>, String> {
    PUBLISHED.iter().map(|text| structure(text).ok_or_else(|| format!("no published structure: {text}"))).collect()
}

fn structure(text: &str) -> Option<(String, Value)> {
    let mut all: Map<String, Value> = serde_json::from_str(text).ok()?;
    let name = all.get("tool")?.as_str()?.to_owned();
    all.retain(|part, value| {
        matches!(part.as_str(), "title" | "annotations" | "inputSchema" | "outputSchema") && !value.is_null()
    });
    Some((name, Value::Object(all)))
}

/// Where the tools that we serve are not what was published. Texts are ours to write, hints that are not published are
/// ours to give, and inputs that may be left out are ours to add; nothing else is.
///
/// # Errors
/// When a published structure is none, or when none of the published tools is there to be compared.
pub fn deviations(content: &Content) -> Result<Vec<(String, Entry)>, String> {
    let mut deviations = Vec::new();
    let mut compared = 0;
    for (name, structure) in published()? {
        for (tools, scoped) in [(&content.management, false), (&content.scoped, true)] {
            let Some(ours) = tools.get(&name) else { continue };
            compared += 1;
            let theirs = if scoped { for_one_target(structure.clone()) } else { structure.clone() };
            let entries = tool(&theirs, ours).into_iter().filter(|entry| !is_ours(entry));
            deviations.extend(entries.map(|entry| (name.clone(), entry)));
        }
    }
    if compared == 0 {
        return Err("none of the published tools is listed, so none was compared".to_owned());
    }
    Ok(deviations)
}

/// The structure for callers who reach one target: they need not name it.
fn for_one_target(mut structure: Value) -> Value {
    let required = structure.pointer_mut("/inputSchema/required").and_then(Value::as_array_mut);
    if let Some(required) = required {
        required.retain(|name| name != "client_token");
    }
    structure
}

/// Whether a difference is one that we may make.
fn is_ours(entry: &Entry) -> bool {
    let input = entry.path.strip_prefix("inputSchema/properties/").is_some_and(|name| !name.contains('/'));
    let hint = entry.path.starts_with("annotations");
    match entry.class {
        Class::Wording => true,
        _ if entry.kind != Kind::Added => false,
        Class::Additive => input,
        Class::Tightening => hint,
        Class::Breaking => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_hints_and_inputs_that_may_be_left_out_are_ours() {
        let entry = |kind, path: &str, class| {
            let (previous, new) = (Some(json!(1)), Some(json!(2)));
            Entry { path: path.to_owned(), kind, previous, new, class, why: "" }
        };
        let ours = [
            entry(Kind::Changed, "outputSchema/properties/done/description", Class::Wording),
            entry(Kind::Added, "inputSchema/properties/until", Class::Additive),
            entry(Kind::Added, "annotations/openWorldHint", Class::Tightening),
            entry(Kind::Added, "annotations", Class::Tightening),
        ];
        assert!(ours.iter().all(is_ours));
        let theirs = [
            entry(Kind::Changed, "annotations/readOnlyHint", Class::Tightening),
            entry(Kind::Added, "annotations/unheardOfHint", Class::Breaking),
            entry(Kind::Changed, "inputSchema/properties/wait_ms/maximum", Class::Additive),
            entry(Kind::Added, "inputSchema/properties/until", Class::Breaking),
            entry(Kind::Removed, "inputSchema/properties/wait_ms", Class::Breaking),
            entry(Kind::Added, "outputSchema/properties/more", Class::Additive),
            entry(Kind::Changed, "outputSchema/properties/done/maximum", Class::Tightening),
        ];
        assert!(!theirs.iter().any(is_ours));
    }
}
