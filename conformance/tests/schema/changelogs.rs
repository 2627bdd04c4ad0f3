//! The real changelogs of three published tools, reproduced from snapshots that are built after their description.

use serde_json::{Value, json};
use sessiond_conformance::schema::{Class, Entry, Kind, published, tool, verdict};

const CHANGELOGS: &str = include_str!("../../contracts/changelogs.json");

/// A difference as a changelog describes it.
type Described = (Kind, String, Option<Value>, Option<Value>);

fn case(name: &str) -> Value {
    let all: Value = serde_json::from_str(CHANGELOGS).unwrap();
    all["cases"].as_array().unwrap().iter().find(|case| case["tool"] == name).unwrap().clone()
}

/// The listings before and after, and the differences as they are described: the new listing is the published one, and
/// the old one is the new one without its entries. Where only the fact is described that a text changed, it is a text
/// of ours that changes.
fn snapshots(case: &Value) -> (Value, Value, Vec<Described>) {
    let mut new = published().unwrap().into_iter().find(|(name, _)| case["tool"] == *name).unwrap().1;
    let mut old = new.clone();
    let mut described = Vec::new();
    for entry in case["entries"].as_array().unwrap() {
        let path = entry["path"].as_str().unwrap();
        let there = new.pointer(&format!("/{path}")).cloned();
        let (kind, previous, now) = match entry["kind"].as_str().unwrap() {
            "added" => {
                // A value is what was published; a text in its place says as much.
                assert!(entry["new"].is_string() || there.as_ref() == Some(&entry["new"]), "{path}");
                (Kind::Added, None, Some(there.unwrap()))
            }
            "removed" => (Kind::Removed, Some(entry["previous"].clone()), None),
            "changed" if path.ends_with("/description") => {
                (Kind::Changed, Some(json!("the text before")), Some(json!("the text after")))
            }
            "changed" => (Kind::Changed, Some(entry["previous"].clone()), Some(entry["new"].clone())),
            other => panic!("{other} is no kind"),
        };
        put(&mut old, path, previous.clone());
        put(&mut new, path, now.clone());
        described.push((kind, path.to_owned(), previous, now));
    }
    described.sort_by(|one, other| one.1.cmp(&other.1));
    (old, new, described)
}

fn put(listing: &mut Value, path: &str, value: Option<Value>) {
    let (parent, name) = path.rsplit_once('/').unwrap();
    let parent = listing.pointer_mut(&format!("/{parent}")).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => drop(parent.insert(name.to_owned(), value)),
        None => drop(parent.remove(name)),
    }
}

/// The differ's entries for a case, after they have been found to be the described ones and no other.
fn reproduced(name: &str) -> (Class, Vec<(Class, String)>) {
    let case = case(name);
    let (old, new, described) = snapshots(&case);
    assert!(old.is_object() && new.is_object() && old != new);
    let entries = tool(&old, &new);
    let found =
        entries.iter().map(|entry: &Entry| (entry.kind, entry.path.clone(), entry.previous.clone(), entry.new.clone()));
    assert_eq!(found.collect::<Vec<_>>(), described);
    let class = verdict(&entries).unwrap();
    let said = case["verdict"].as_str().unwrap().split(':').next().unwrap();
    assert_eq!(class.as_str(), said, "the verdict is the described one");
    (class, entries.into_iter().map(|entry| (entry.class, entry.path)).collect())
}

fn judged(all: &[(Class, &str)]) -> Vec<(Class, String)> {
    all.iter().map(|(class, path)| (*class, (*path).to_owned())).collect()
}

#[test]
fn session_read_became_typed_and_closed() {
    let expected = judged(&[
        (Class::Wording, "inputSchema/properties/client_token/description"),
        (Class::Tightening, "outputSchema/additionalProperties"),
        (Class::Tightening, "outputSchema/properties"),
        (Class::Additive, "outputSchema/required"),
    ]);
    assert_eq!(reproduced("session_read"), (Class::Tightening, expected));
}

#[test]
fn ssh_cmd_output_gained_two_optional_inputs() {
    let expected = judged(&[
        (Class::Wording, "inputSchema/properties/handle_id/description"),
        (Class::Wording, "inputSchema/properties/lines/description"),
        (Class::Additive, "inputSchema/properties/start_line"),
        (Class::Additive, "inputSchema/properties/stream"),
    ]);
    assert_eq!(reproduced("ssh_cmd_output"), (Class::Additive, expected));
}

#[test]
fn describe_session_lost_an_output() {
    let expected = judged(&[
        (Class::Wording, "outputSchema/description"),
        (Class::Breaking, "outputSchema/properties/messages"),
        (Class::Wording, "outputSchema/properties/output/description"),
        (Class::Additive, "outputSchema/properties/pending_manual_tasks"),
        (Class::Additive, "outputSchema/properties/reasoning_events"),
    ]);
    assert_eq!(reproduced("describe_session"), (Class::Breaking, expected));
}

#[test]
fn these_are_all_the_changelogs_there_are() {
    let all: Value = serde_json::from_str(CHANGELOGS).unwrap();
    let tools: Vec<&str> = all["cases"].as_array().unwrap().iter().map(|case| case["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["session_read", "ssh_cmd_output", "describe_session"]);
}
