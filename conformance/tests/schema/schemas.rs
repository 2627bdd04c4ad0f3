//! Made-up schemas and values for the laws, and what is done with them.

use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::{Map, Value, json};
use sessiond_conformance::schema::{Entry, Kind};

/// The names that made-up objects have. Few, so that two schemas often speak of the same.
const NAMES: [&str; 3] = ["a", "b", "c"];

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "object", "array"];

fn object(parts: Vec<Option<(&str, Value)>>) -> Value {
    Value::Object(parts.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn keyword(
    name: &'static str,
    value: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Option<(&'static str, Value)>> {
    proptest::option::weighted(0.4, value.prop_map(move |value| (name, value)))
}

fn number() -> impl Strategy<Value = Value> {
    (0..4u64).prop_map(Value::from)
}

fn plain() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![
        proptest::sample::select(&TYPES[..]).prop_map(Value::from),
        subsequence(&TYPES[..], 1..4).prop_map(Value::from),
    ];
    let choices = vec![json!(0), json!(1), json!("x"), json!("xyz"), json!(null), json!({ "a": 1 })];
    let parts = vec![
        keyword("type", kind).boxed(),
        keyword("enum", subsequence(choices.clone(), 1..5).prop_map(Value::from)).boxed(),
        keyword("const", proptest::sample::select(choices)).boxed(),
        keyword("minimum", number()).boxed(),
        keyword("maximum", number()).boxed(),
        keyword("minLength", number()).boxed(),
        keyword("maxLength", number()).boxed(),
        keyword("minItems", number()).boxed(),
        keyword("uniqueItems", any::<bool>().prop_map(Value::from)).boxed(),
        keyword("default", number()).boxed(),
        keyword("description", "[a-z]{1,3}".prop_map(Value::from)).boxed(),
    ];
    // Few keywords each: with many, hardly any value fits.
    subsequence(parts, 1..4).prop_flat_map(|parts| parts).prop_map(object)
}

/// A schema.
pub(crate) fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![6 => plain(), 1 => any::<bool>().prop_map(Value::from), 1 => Just(json!({}))];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let some = || proptest::collection::vec(inner.clone(), 1..3).prop_map(Value::from);
        let named = || {
            let names = proptest::collection::btree_map(proptest::sample::select(&NAMES[..]), inner.clone(), 0..3);
            names.prop_map(|all| object(all.into_iter().map(Some).collect()))
        };
        let required = subsequence(&NAMES[..], 0..3).prop_map(Value::from);
        let additional = prop_oneof![any::<bool>().prop_map(Value::from), inner.clone()];
        let objects = vec![
            proptest::option::weighted(0.8, named().prop_map(|all| ("properties", all))).boxed(),
            keyword("required", required).boxed(),
            keyword("additionalProperties", additional).boxed(),
            keyword("patternProperties", inner.clone().prop_map(|one| json!({ "^a": one }))).boxed(),
        ];
        prop_oneof![
            8 => objects.prop_map(object),
            2 => inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            1 => (some(), inner.clone()).prop_map(|(first, items)| json!({ "prefixItems": first, "items": items })),
            1 => (proptest::sample::select(vec!["anyOf", "allOf", "oneOf"]), some()).prop_map(|(of, all)| json!({ of: all })),
            1 => inner.clone().prop_map(|one| json!({ "not": one })),
        ]
    })
}

/// A schema and a later one, which has much of it.
pub(crate) fn pair() -> impl Strategy<Value = (Value, Value)> {
    (schema(), schema(), proptest::collection::vec(0..8u8, 24)).prop_map(|(old, other, dice)| {
        let new = blend(&old, &other, &mut dice.into_iter().cycle());
        (old, new)
    })
}

/// Mostly the one, with something of the other here and there.
fn blend(one: &Value, other: &Value, dice: &mut impl Iterator<Item = u8>) -> Value {
    let (Some(all), Some(others)) = (one.as_object(), other.as_object()) else {
        return if dice.next() == Some(0) { other.clone() } else { one.clone() };
    };
    let mut blended = Map::new();
    for name in all.keys().chain(others.keys().filter(|name| !all.contains_key(*name))) {
        let value = match (all.get(name), others.get(name), dice.next().unwrap()) {
            (Some(_), _, 0) => None,
            (Some(one), Some(other), 1..4) => Some(blend(one, other, dice)),
            (Some(one), ..) => Some(one.clone()),
            (None, other, 0..2) => other.cloned(),
            (None, ..) => None,
        };
        blended.extend(value.map(|value| (name.clone(), value)));
    }
    Value::Object(blended)
}

/// A value that some of the schemas take.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        Just(json!(1.5)),
        "x{0,4}".prop_map(Value::from),
        Just(json!("xyz")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        let names = proptest::sample::select(vec!["a", "ab", "b", "c", "z"]);
        prop_oneof![
            3 => proptest::collection::btree_map(names, inner.clone(), 0..4)
                .prop_map(|all| object(all.into_iter().map(Some).collect())),
            1 => proptest::collection::vec(inner, 0..3).prop_map(Value::from),
        ]
    })
}

/// The value with these differences made.
pub(crate) fn apply(mut value: Value, entries: &[Entry]) -> Value {
    for entry in entries {
        let Some((parent, name)) = entry.path.rsplit_once('/') else {
            // The schema itself stands at a path of one step.
            value = entry.new.clone().unwrap();
            continue;
        };
        let parent = parent.split_once('/').map_or(String::new(), |(_, rest)| format!("/{rest}"));
        let parent = value.pointer_mut(&parent).unwrap_or_else(|| panic!("{} is there", entry.path));
        let name = name.replace("~1", "/").replace("~0", "~");
        match (parent, entry.kind) {
            (Value::Array(all), _) => all[name.parse::<usize>().unwrap()] = entry.new.clone().unwrap(),
            (parent, Kind::Removed) => drop(parent.as_object_mut().unwrap().remove(&name)),
            (parent, _) => drop(parent.as_object_mut().unwrap().insert(name, entry.new.clone().unwrap())),
        }
    }
    value
}

/// The difference as it is the other way round; what it means is another matter.
pub(crate) fn reversed(entry: &Entry) -> (String, Kind, Option<Value>, Option<Value>) {
    let kind = match entry.kind {
        Kind::Added => Kind::Removed,
        Kind::Changed => Kind::Changed,
        Kind::Removed => Kind::Added,
    };
    (entry.path.clone(), kind, entry.new.clone(), entry.previous.clone())
}

/// Whether a property appeared in an object that was open. Somebody may have used its name for something else; by
/// convention nobody does.
pub(crate) fn claims_a_free_name(old: &Value, entries: &[Entry]) -> bool {
    entries.iter().filter(|entry| entry.kind == Kind::Added).any(|entry| {
        let Some((parent, _)) = entry.path.rsplit_once("/properties") else { return false };
        let parent = parent.split_once('/').map_or(String::new(), |(_, rest)| format!("/{rest}"));
        let additional = old.pointer(&parent).and_then(|parent| parent.get("additionalProperties"));
        additional.is_none_or(|schema| *schema == json!(true) || *schema == json!({}))
    })
}
