//! What callers see, part by part.

use std::path::Path;

use sessiond_conformance::schema::{collect, published};

#[tokio::test]
async fn everything_that_callers_see_is_as_it_was() {
    let parts = collect().await.unwrap().parts();
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, part) in &parts {
            insta::assert_json_snapshot!(name.as_str(), part);
        }
    });
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema/snapshots");
    let files = folder.read_dir().unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = files.collect();
    let mut expected: Vec<String> = parts.iter().map(|(name, _)| format!("{name}.snap")).collect();
    files.sort_unstable();
    expected.sort_unstable();
    assert_eq!(files, expected, "what is gone leaves no snapshot behind: `schemas accept` takes it away");
}

#[tokio::test]
async fn asking_twice_gives_the_same() {
    let (once, again) = (collect().await.unwrap(), collect().await.unwrap());
    assert_eq!(once, again);
    let kinds: Vec<&str> = once.errors.keys().map(String::as_str).collect();
    let all = [
        "failed_precondition",
        "internal",
        "invalid_argument",
        "limit_exceeded",
        "not_found",
        "permission_denied",
        "timed_out",
        "unavailable",
        "unsupported",
    ];
    assert_eq!(kinds, all);
    let names: Vec<&String> = once.management.keys().collect();
    assert_eq!(names, once.scoped.keys().collect::<Vec<_>>());
    assert!(published().unwrap().iter().any(|(name, _)| names.contains(&name)));
}
