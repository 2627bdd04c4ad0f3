//! The documented example holds every key, with its default.

use std::collections::BTreeSet;

use sessiond_bootstrap::known_keys;

use crate::support::{Written, from_text};

const EXAMPLE: &str = include_str!("../../../../docs/config.example.toml");

/// The keys of the server as a whole that say the same thing in another way than the first of them.
const OTHER_WAYS: [(&str, &[&str]); 2] = [("jwks_url", &["jwks_file"]), ("key_file", &["key_env", "key_command"])];

/// The example with every key in force, of those that exclude each other the first. Keys stand behind a `#` without a
/// space, prose behind one with it.
fn in_force() -> String {
    let is_another = |line: &str| {
        let key = line.trim_start_matches('#').split(' ').next().unwrap_or_default();
        line.starts_with('#') && OTHER_WAYS.iter().any(|(_, others)| others.contains(&key))
    };
    written(EXAMPLE.lines().filter(|line| !is_another(line)))
}

fn written<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.map(|line| line.strip_prefix('#').filter(|key| !key.starts_with(' ')).unwrap_or(line)).fold(
        String::new(),
        |mut text, line| {
            text.push_str(line);
            text.push('\n');
            text
        },
    )
}

#[test]
fn the_example_changes_nothing_as_it_stands() {
    let as_it_stands = from_text(EXAMPLE).unwrap();
    assert!(as_it_stands.shown().iter().all(|shown| shown.origin.is_none()));
}

/// The keys that show another way to a secret stand in targets of their own, because of the ways one can be used.
fn as_of_the_first(key: &str) -> String {
    ["variable", "command"].into_iter().fold(key.to_owned(), |key, way| {
        key.replace(&format!("targets.by-{way}."), "targets.build-box.")
            .replace(&format!("targets.agents-by-{way}."), "targets.agents.")
    })
}

#[test]
fn the_example_holds_every_known_key() {
    let configuration = from_text(&in_force()).unwrap();
    let set = configuration.shown().into_iter().filter(|shown| shown.origin.is_some());
    let mut set: BTreeSet<_> = set.map(|shown| as_of_the_first(&shown.key)).collect();
    for (first, others) in OTHER_WAYS {
        for other in others {
            let line = EXAMPLE.lines().find(|line| line.starts_with(&format!("#{other} = "))).unwrap();
            let text = in_force();
            let in_place = text.lines().map(|known| {
                if known.starts_with(&format!("{first} = ")) { line.trim_start_matches('#') } else { known }
            });
            let shown = from_text(&written(in_place)).unwrap().shown();
            let section = if *other == "jwks_file" { "jwt" } else { "connect" };
            let key = format!("{section}.{other}");
            assert!(shown.iter().any(|shown| shown.key == key && shown.origin.is_some()), "{key}");
            set.insert(key);
        }
    }
    assert_eq!(set, known_keys().into_iter().collect());
}

#[test]
fn the_example_shows_each_default() {
    let shown = from_text(&in_force()).unwrap().shown();
    for default in from_text("").unwrap().shown() {
        let shown = shown.iter().find(|shown| shown.key == default.key).unwrap();
        // A key that is not set by default has an example of a value instead.
        if default.value.is_some() {
            assert_eq!((&shown.key, &shown.value), (&default.key, &default.value));
        }
    }
}

/// A value of TOML as it stands in a variable: without quotes, and a list with colons between paths, with commas between
/// others.
fn as_a_variable_has_it(key: &str, value: &str) -> String {
    let between = if matches!(key, "jwt.audience" | "jwt.algorithms") { "," } else { ":" };
    match value.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
        Some(list) => list.replace('"', "").replace(", ", between),
        None => value.replace('"', ""),
    }
}

#[test]
fn each_known_key_but_the_backend_can_be_set_by_the_variable_of_its_name() {
    let file = Written::new(&in_force());
    for shown in file.load(&[]).unwrap().shown().into_iter().filter(|shown| shown.origin.is_some()) {
        if shown.key.ends_with(".backend") {
            continue;
        }
        let variable = format!("SESSIOND_{}", shown.key.to_uppercase().replace('-', "_").replace('.', "__"));
        let (variable, value) = match shown.key.as_str() {
            "targets.local.env" => (format!("{variable}__PAGER"), "less".to_owned()),
            _ => (variable, as_a_variable_has_it(&shown.key, &shown.value.unwrap())),
        };
        let set = file.load(&[(&variable, &value)]).unwrap().shown();
        let set = set.into_iter().find(|set| set.key == shown.key).unwrap();
        assert_eq!(set.origin.unwrap().to_string().split(':').next(), Some(variable.as_str()));
    }
}

#[test]
fn a_variable_does_not_choose_a_backend() {
    let refused = Written::new(&in_force()).load(&[("SESSIOND_TARGETS__LOCAL__BACKEND", "pty")]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "SESSIOND_TARGETS__LOCAL__BACKEND is the file's to say, because a backend brings its own keys"
    );
}
