//! What a change means, case by case: the same change on the way in and on the way out.

use serde_json::{Value, json};
use sessiond_conformance::schema::{Class, Content, Side, Tools, contents, schema, tool, verdict};

/// What the change means in an input and in an output, with the paths that are named.
fn meaning(old: Value, new: Value) -> (&'static str, &'static str, String) {
    let said = |side| {
        let entries = schema("s", side, &old, &new);
        let paths: Vec<String> = entries.iter().map(|entry| format!("{} {}", entry.kind, entry.path)).collect();
        (verdict(&entries).map_or("nothing", Class::as_str), paths.join(", "))
    };
    let ((input, paths), (output, same)) = (said(Side::Input), said(Side::Output));
    assert_eq!(paths, same);
    (input, output, paths)
}

/// Each row: the old schema, the new one, what it means in an input and in an output, and where it is seen.
fn table(rows: &[(Value, Value, &str, &str, &str)]) {
    for (old, new, input, output, paths) in rows {
        let found = meaning(old.clone(), new.clone());
        assert_eq!((found.0, found.1, found.2.as_str()), (*input, *output, *paths), "{old} to {new}");
    }
}

#[test]
fn properties_come_and_go() {
    let open = |names: &[&str]| json!({ "properties": names.iter().map(|name| (*name, json!({}))).collect::<Value>() });
    let with = |mut schema: Value, keyword: &str, value: Value| {
        schema[keyword] = value;
        schema
    };
    let closed = |names: &[&str]| with(open(names), "additionalProperties", json!(false));
    let map = |names: &[&str]| with(open(names), "additionalProperties", json!({ "type": "string" }));
    let some = |names: &[&str]| with(closed(names), "patternProperties", json!({ "^b": {} }));
    let must = |schema: Value, names: &[&str]| with(schema, "required", json!(names));
    let (one, two) = ("added s/properties/b", "removed s/properties/b");
    table(&[
        (open(&["a"]), open(&["a", "b"]), "additive", "additive", one),
        (closed(&["a"]), closed(&["a", "b"]), "additive", "breaking", one),
        (map(&["a"]), map(&["a", "b"]), "breaking", "breaking", one),
        (some(&["a"]), some(&["a", "b"]), "breaking", "breaking", one),
        (open(&["a", "b"]), open(&["a"]), "tightening", "breaking", two),
        (closed(&["a", "b"]), closed(&["a"]), "breaking", "breaking", two),
        (map(&["a", "b"]), map(&["a"]), "breaking", "breaking", two),
        // A new one that must be given, or is always there.
        (
            must(open(&["a"]), &["a"]),
            must(open(&["a", "b"]), &["a", "b"]),
            "breaking",
            "additive",
            "added s/properties/b, changed s/required",
        ),
        (must(open(&["a"]), &["a"]), must(open(&["a", "b"]), &["a"]), "additive", "additive", one),
        // The first to be declared.
        (json!({}), open(&["a"]), "additive", "tightening", "added s/properties"),
        (json!({ "additionalProperties": false }), closed(&["a"]), "additive", "breaking", "added s/properties"),
        (json!({}), open(&[]), "wording", "wording", "added s/properties"),
        (open(&["a"]), json!({}), "tightening", "breaking", "removed s/properties"),
    ]);
}

#[test]
fn an_input_that_must_be_given_breaks_by_itself() {
    let old = json!({ "properties": {}, "additionalProperties": false });
    let new = json!({ "properties": { "a": {}, "b": {} }, "required": ["a"], "additionalProperties": false });
    let entries = schema("s", Side::Input, &old, &new);
    let classes: Vec<_> = entries.iter().map(|entry| (entry.path.as_str(), entry.class)).collect();
    let expected =
        [("s/properties/a", Class::Breaking), ("s/properties/b", Class::Additive), ("s/required", Class::Breaking)];
    assert_eq!(classes, expected);
}

#[test]
fn what_is_required_changes() {
    let must = |names: &[&str]| json!({ "properties": { "a": {}, "b": {} }, "required": names });
    table(&[
        (must(&["a"]), must(&["a", "b"]), "breaking", "tightening", "changed s/required"),
        (must(&["a", "b"]), must(&["a"]), "additive", "breaking", "changed s/required"),
        (must(&["a"]), must(&["b"]), "breaking", "breaking", "changed s/required"),
        (must(&["a", "b"]), must(&["b", "a"]), "wording", "wording", "changed s/required"),
        (must(&[]), json!({ "properties": { "a": {}, "b": {} } }), "wording", "wording", "removed s/required"),
    ]);
}

#[test]
fn more_or_less_is_taken() {
    let pairs = [
        (json!({ "enum": ["a"] }), json!({ "enum": ["b", "a"] }), "changed s/enum"),
        (json!({ "enum": ["a"] }), json!({}), "removed s/enum"),
        (json!({ "type": "string" }), json!({ "type": ["null", "string"] }), "changed s/type"),
        (json!({ "type": "integer" }), json!({ "type": "number" }), "changed s/type"),
        (json!({ "type": "string" }), json!({}), "removed s/type"),
        (json!({ "minimum": 1 }), json!({ "minimum": 0 }), "changed s/minimum"),
        (json!({ "minimum": 0 }), json!({}), "removed s/minimum"),
        (json!({ "exclusiveMinimum": 0 }), json!({}), "removed s/exclusiveMinimum"),
        (json!({ "maximum": 1 }), json!({}), "removed s/maximum"),
        (json!({ "allOf": [{ "const": 1 }] }), json!({}), "removed s/allOf"),
        (json!({ "anyOf": [{ "const": 1 }] }), json!({}), "removed s/anyOf"),
        (json!({ "propertyNames": { "const": "a" } }), json!({}), "removed s/propertyNames"),
        (json!({ "minProperties": 2 }), json!({ "minProperties": 1 }), "changed s/minProperties"),
        (
            json!({ "maximum": 9_007_199_254_740_992_u64 }),
            json!({ "maximum": 9_007_199_254_740_993_u64 }),
            "changed s/maximum",
        ),
        (json!({ "maximum": 1.5 }), json!({ "maximum": 2 }), "changed s/maximum"),
        (json!({ "maxLength": 4 }), json!({}), "removed s/maxLength"),
        (json!({ "minItems": 1 }), json!({}), "removed s/minItems"),
        (json!({ "pattern": "^a" }), json!({}), "removed s/pattern"),
        (json!({ "uniqueItems": true }), json!({}), "removed s/uniqueItems"),
        (json!({ "items": { "type": "string" } }), json!({ "items": {} }), "changed s/items"),
        (json!({ "additionalProperties": false }), json!({}), "removed s/additionalProperties"),
        (json!({ "anyOf": [{ "const": 1 }] }), json!({ "anyOf": [{ "const": 2 }, { "const": 1 }] }), "changed s/anyOf"),
        (json!({ "allOf": [{ "const": 1 }, { "const": 2 }] }), json!({ "allOf": [{ "const": 2 }] }), "changed s/allOf"),
    ];
    for (less, more, seen) in pairs {
        table(&[(less.clone(), more.clone(), "additive", "breaking", seen)]);
        let (input, output, _) = meaning(more.clone(), less.clone());
        assert_eq!((input, output), ("breaking", "tightening"), "{more} to {less}");
    }
}

#[test]
fn the_same_is_said_in_other_words() {
    let pairs = [
        (json!({}), json!({ "additionalProperties": true }), "added s/additionalProperties"),
        (json!({}), json!({ "minLength": 0 }), "added s/minLength"),
        (json!({}), json!({ "uniqueItems": false }), "added s/uniqueItems"),
        (json!({ "type": "string" }), json!({ "type": ["string"] }), "changed s/type"),
        (json!({ "enum": [1, 2] }), json!({ "enum": [2, 1] }), "changed s/enum"),
        (json!({ "oneOf": [true, {}] }), json!({ "oneOf": [{}, true] }), "changed s/oneOf"),
        (json!({ "maximum": 1 }), json!({ "maximum": 1.0 }), "changed s/maximum"),
        (json!({ "description": "a" }), json!({ "description": "b" }), "changed s/description"),
        (json!({}), json!({ "title": "b" }), "added s/title"),
        (json!({}), json!({ "$defs": { "x": {} } }), "added s/$defs"),
    ];
    for (old, new, seen) in pairs {
        table(&[(old, new, "wording", "wording", seen)]);
    }
}

#[test]
fn nobody_can_tell_so_it_breaks() {
    let pairs = [
        (json!({ "type": "string" }), json!({ "type": "integer" }), "changed s/type"),
        (json!({ "pattern": "a" }), json!({ "pattern": "b" }), "changed s/pattern"),
        (json!({ "$ref": "#/$defs/a" }), json!({ "$ref": "#/$defs/b" }), "changed s/$ref"),
        (json!({ "oneOf": [{ "const": 1 }] }), json!({ "oneOf": [{ "const": 1 }, {}] }), "changed s/oneOf"),
        (json!({ "oneOf": [{ "maximum": 1 }] }), json!({ "oneOf": [{ "maximum": 2 }] }), "changed s/oneOf"),
        (json!({ "not": { "maximum": 1 } }), json!({ "not": { "maximum": 2 } }), "changed s/not"),
        (json!({}), json!({ "unheard-of": 1 }), "added s/unheard-of"),
        (json!({ "maximum": 1 }), json!({ "maximum": "1" }), "changed s/maximum"),
        (json!({ "properties": { "a": {} } }), json!({ "properties": 5 }), "changed s/properties"),
        (json!({ "default": 1 }), json!({ "default": 2 }), "changed s/default"),
        (json!({ "default": 1 }), json!({}), "removed s/default"),
    ];
    for (old, new, seen) in pairs {
        table(&[(old, new, "breaking", "breaking", seen)]);
    }
    table(&[(json!({}), json!({ "default": 1 }), "tightening", "tightening", "added s/default")]);
}

#[test]
fn a_change_is_seen_where_it_is() {
    let deep = |limit: u64| {
        let leaf = json!({ "type": "integer", "maximum": limit });
        json!({ "properties": { "a/b": { "items": { "anyOf": [{ "type": "null" }, leaf] } } } })
    };
    table(&[(deep(1), deep(2), "additive", "breaking", "changed s/properties/a~1b/items/anyOf/1/maximum")]);
    // A property is not the keyword that it is named after.
    let named = |limit: u64| json!({ "properties": { "description": { "maximum": limit }, "default": {} } });
    table(&[(named(1), named(2), "additive", "breaking", "changed s/properties/description/maximum")]);
    // Inside of what does not add up a text is still a text.
    let worded = |text: &str| {
        let told = json!({ "const": 1, "description": text });
        json!({ "not": told, "oneOf": [told] })
    };
    let texts = "changed s/not/description, changed s/oneOf/0/description";
    table(&[(worded("a"), worded("b"), "wording", "wording", texts)]);
}

/// What the change of a listing means, entry by entry.
fn listed(old: &Value, new: &Value) -> Vec<String> {
    let line = |entry: sessiond_conformance::schema::Entry| format!("{} {} {}", entry.class, entry.kind, entry.path);
    tool(old, new).into_iter().map(line).collect()
}

#[test]
fn a_listing_has_more_than_schemas() {
    let old = json!({
        "title": "A", "description": "a", "inputSchema": {},
        "annotations": { "readOnlyHint": true, "destructiveHint": true, "idempotentHint": false },
    });
    let new = json!({
        "title": "B", "description": "b", "inputSchema": {}, "outputSchema": {}, "execution": {},
        "annotations": { "readOnlyHint": false, "destructiveHint": false, "openWorldHint": true, "title": "B" },
    });
    let there = [
        "tightening changed annotations/destructiveHint",
        "wording removed annotations/idempotentHint",
        "wording added annotations/openWorldHint",
        "breaking changed annotations/readOnlyHint",
        "wording added annotations/title",
        "wording changed description",
        "breaking added execution",
        "tightening added outputSchema",
        "wording changed title",
    ];
    assert_eq!(listed(&old, &new), there);
    let back = listed(&new, &old);
    assert!(back.contains(&"breaking removed outputSchema".to_owned()), "{back:?}");
    assert!(back.contains(&"breaking changed annotations/destructiveHint".to_owned()), "{back:?}");
    assert_eq!(
        listed(&json!({}), &json!({ "annotations": { "readOnlyHint": true } })),
        ["tightening added annotations"]
    );
}

/// A content with one tool that looks like this to each kind of access.
fn content(management: Value, scoped: Value) -> Content {
    let tools = |listing| Tools::from([("t".to_owned(), listing)]);
    Content { management: tools(management), scoped: tools(scoped), ..Content::default() }
}

fn told(old: &Content, new: &Content) -> Vec<String> {
    let squeezed = |change: String| change.split_whitespace().collect::<Vec<_>>().join(" ");
    contents(old, new).iter().map(|change| squeezed(change.to_string())).collect()
}

#[test]
fn what_both_kinds_of_access_see_is_said_once() {
    let with = |names: &[&str]| json!({ "description": names.len(), "inputSchema": { "required": names } });
    let old = content(with(&["a"]), with(&["a"]));
    assert_eq!(told(&old, &old), Vec::<String>::new());
    let both = content(with(&["a", "b"]), with(&["a", "b"]));
    let alike = [
        "wording changed t/description: a text",
        "breaking changed t/inputSchema/required: who does not give it is refused",
    ];
    assert_eq!(told(&old, &both), alike);
    let one = content(with(&["a", "b"]), with(&["a"]));
    let apart = [
        "wording changed t/description (management access only): a text",
        "breaking changed t/inputSchema/required (management access only): who does not give it is refused",
    ];
    assert_eq!(told(&old, &one), apart);
    assert_eq!(told(&Content::default(), &old), ["additive added t: a new tool"]);
    assert_eq!(told(&old, &Content::default()), ["breaking removed t: the tool is gone"]);
    let hidden = Content { scoped: Tools::new(), ..old.clone() };
    assert_eq!(told(&old, &hidden), ["breaking removed t (scoped access only): the tool is gone"]);
}

#[test]
fn the_server_and_its_errors_are_judged_too() {
    let answer =
        |text: &str, kind: &str| json!({ "content": [{ "type": "text", "text": text }], "isError": !kind.is_empty() });
    let old = Content {
        initialize: json!({ "capabilities": { "tools": {} }, "instructions": "a" }),
        discover: json!({ "supportedVersions": ["1", "2"] }),
        errors: [("x".to_owned(), answer("a", "x")), ("y".to_owned(), answer("a", "y"))].into(),
        ..Content::default()
    };
    let new = Content {
        initialize: json!({ "capabilities": { "prompts": {} }, "instructions": "b" }),
        discover: json!({ "supportedVersions": ["1", "2", "3"] }),
        errors: [("x".to_owned(), answer("b", "")), ("z".to_owned(), answer("a", "z"))].into(),
        ..Content::default()
    };
    let there = [
        "additive added initialize/capabilities/prompts: the server says more",
        "breaking removed initialize/capabilities/tools: the server no longer says what it said",
        "wording changed initialize/instructions: a text",
        "additive changed discover/supportedVersions: the server can do more",
        "wording changed errors/x/content/0/text: a text",
        "breaking changed errors/x/isError: the server no longer says what it said",
        "breaking removed errors/y: who branches on the kinds knows all of them",
        "breaking added errors/z: who branches on the kinds knows all of them",
    ];
    assert_eq!(told(&old, &new), there);
    let back = told(&new, &old);
    assert!(
        back.contains(&"breaking changed discover/supportedVersions: the server no longer does what it did".to_owned())
    );
}
