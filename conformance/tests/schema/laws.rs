//! What holds of the differ for every pair of schemas.

use jsonschema::validator_for;
use proptest::prelude::*;
use serde_json::{Value, json};
use sessiond_conformance::schema::{Class, Entry, Side, schema as diff, verdict};

use crate::schemas::{apply, claims_a_free_name, pair, reversed, schema, value};

fn between(side: Side, old: &Value, new: &Value) -> Vec<Entry> {
    diff("schema", side, old, new)
}

/// Gives every description another text.
fn reworded(schema: &mut Value) {
    match schema {
        Value::Object(all) => {
            if all.get("description").is_some_and(Value::is_string) {
                all.insert("description".to_owned(), json!("another text"));
            }
            all.values_mut().for_each(reworded);
        }
        Value::Array(all) => all.iter_mut().for_each(reworded),
        _ => {}
    }
}

/// Which of the values fit both, or break the promise that whatever fits the first fits the second.
fn escapes(values: &[Value], first: &Value, second: &Value) -> Option<Value> {
    let (first, second) = (validator_for(first).unwrap(), validator_for(second).unwrap());
    values.iter().find(|value| first.is_valid(value) && !second.is_valid(value)).cloned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn nothing_differs_from_itself(schema in schema()) {
        for side in [Side::Input, Side::Output] {
            prop_assert_eq!(between(side, &schema, &schema), []);
        }
    }

    #[test]
    fn the_differences_make_the_new_of_the_old((old, new) in pair()) {
        prop_assert_eq!(apply(old.clone(), &between(Side::Input, &old, &new)), new);
    }

    #[test]
    fn the_way_back_undoes_every_difference_and_no_other((old, new) in pair()) {
        let there: Vec<_> = between(Side::Input, &old, &new).iter().map(reversed).collect();
        let back = between(Side::Input, &new, &old).into_iter();
        let back: Vec<_> = back.map(|entry| (entry.path, entry.kind, entry.previous, entry.new)).collect();
        prop_assert_eq!(there, back);
    }

    #[test]
    fn the_side_decides_what_a_difference_means_and_nothing_else((old, new) in pair()) {
        let bare = |side| -> Vec<Entry> {
            let all = between(side, &old, &new).into_iter();
            all.map(|entry| Entry { class: Class::Wording, why: "", ..entry }).collect()
        };
        prop_assert_eq!(bare(Side::Input), bare(Side::Output));
    }

    #[test]
    fn another_text_is_wording(old in schema()) {
        let mut new = old.clone();
        reworded(&mut new);
        let entries = between(Side::Input, &old, &new);
        prop_assert!(entries.iter().all(|entry| entry.class == Class::Wording && entry.path.ends_with("/description")));
        prop_assert_eq!(entries.is_empty(), old == new);
    }

    #[test]
    fn what_was_taken_is_taken_unless_it_breaks(
        (old, new) in pair(),
        values in proptest::collection::vec(value(), 32),
    ) {
        let entries = between(Side::Input, &old, &new);
        prop_assume!(!claims_a_free_name(&old, &entries));
        if verdict(&entries) != Some(Class::Breaking) {
            prop_assert_eq!(escapes(&values, &old, &new), None, "{:#?}", entries);
        }
    }

    #[test]
    fn what_comes_is_what_could_come_unless_it_breaks(
        (old, new) in pair(),
        values in proptest::collection::vec(value(), 32),
    ) {
        let entries = between(Side::Output, &old, &new);
        if verdict(&entries) != Some(Class::Breaking) {
            prop_assert_eq!(escapes(&values, &new, &old), None, "{:#?}", entries);
        }
    }

    #[test]
    fn wording_changes_no_value(
        (old, new) in pair(),
        values in proptest::collection::vec(value(), 32),
    ) {
        let entries = between(Side::Input, &old, &new);
        if verdict(&entries) <= Some(Class::Wording) {
            prop_assert_eq!(escapes(&values, &old, &new), None, "{:#?}", &entries);
            prop_assert_eq!(escapes(&values, &new, &old), None, "{:#?}", &entries);
        }
    }
}
