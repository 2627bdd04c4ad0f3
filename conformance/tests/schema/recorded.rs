//! What is recorded of the contract: held against the present, and written anew only where that is allowed.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sessiond_conformance::schema::{CONTRACT_VERSION, Content, Store, Version, collect, deviations};
use tempfile::TempDir;

const FIRST: Version = Version::new(0, 1, 0);
const NEXT: Version = Version::new(0, 2, 0);

/// A store of its own in which the present is recorded as 0.1.0.
struct Fresh {
    store: Store,
    now: Content,
    folder: TempDir,
}

impl Fresh {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store { sets: folder.path().join("schemas"), changelog: folder.path().join("changelog.md") };
        let now = collect().await.unwrap();
        store.accept(FIRST, &now, "2026-11-30", false).unwrap();
        Self { store, now, folder }
    }

    /// The present with the input schema of a tool changed for both kinds of access.
    fn with(&self, tool: &str, pointer: &str, value: Value) -> Content {
        let mut content = self.now.clone();
        for tools in [&mut content.management, &mut content.scoped] {
            *tools.get_mut(tool).unwrap().pointer_mut(pointer).unwrap() = value.clone();
        }
        content
    }

    /// What is wrong, the folder's own name left out.
    fn problems(&self, version: Version, now: &Content) -> Vec<String> {
        let folder = format!("{}/", self.folder.path().display());
        self.store.check(version, now).iter().map(|problem| problem.to_string().replace(&folder, "")).collect()
    }

    fn refusal(&self, version: Version, now: &Content) -> String {
        let page = fs::read_to_string(&self.store.changelog).unwrap();
        let problem = self.store.accept(version, now, "2026-12-24", false).unwrap_err().to_string();
        assert_eq!(fs::read_to_string(&self.store.changelog).unwrap(), page, "what is refused changes nothing");
        problem
    }

    fn page(&self) -> String {
        fs::read_to_string(&self.store.changelog).unwrap()
    }
}

/// Takes rows away from an input: a call that was right is refused.
const ROWS: &str = "/inputSchema/properties/rows/maximum";
const TITLE: &str = "/title";

const BROKEN: &str = "\
breaking changes without a step of the contract version: set CONTRACT_VERSION from 0.1.0 to 0.2.0 and accept, or take \
the change back
  breaking   changed session_start/inputSchema/properties/rows/maximum: what was taken may be refused";

#[tokio::test]
async fn the_present_is_recorded() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let store =
        Store { sets: home.join("schemas"), changelog: home.parent().unwrap().join("docs/schema-changelog.md") };
    assert_eq!(store.check(CONTRACT_VERSION, &collect().await.unwrap()), []);
}

#[tokio::test]
async fn what_is_recorded_and_unchanged_is_right() {
    let fresh = Fresh::new().await;
    assert_eq!(fresh.problems(FIRST, &fresh.now), Vec::<String>::new());
}

#[tokio::test]
async fn a_breaking_change_without_a_step_of_the_version_is_refused() {
    let fresh = Fresh::new().await;
    let broken = fresh.with("session_start", ROWS, json!(500));
    assert_eq!(fresh.problems(FIRST, &broken), [BROKEN]);
    assert_eq!(fresh.refusal(FIRST, &broken), BROKEN);
    assert_eq!(fresh.problems(Version::new(0, 1, 1), &broken).len(), 1, "the last number alone is no step");
    assert!(fresh.refusal(Version::new(0, 1, 1), &broken).contains("must be 0.2.0 at least"));
}

#[tokio::test]
async fn an_addition_needs_a_step_too() {
    let fresh = Fresh::new().await;
    let more = fresh.with("session_start", ROWS, json!(2000));
    assert!(fresh.refusal(FIRST, &more).starts_with("additive changes without a step"));
}

#[tokio::test]
async fn a_stepped_version_is_recorded_beside_the_others() {
    let fresh = Fresh::new().await;
    let broken = fresh.with("session_start", ROWS, json!(500));
    assert_eq!(fresh.problems(NEXT, &broken), ["contract version 0.2.0 is not recorded: accept records it"]);
    fresh.store.accept(NEXT, &broken, "2026-12-24", false).unwrap();
    assert_eq!(fresh.problems(NEXT, &broken), Vec::<String>::new());
    let recorded = fresh.store.load().unwrap();
    let seen: Vec<_> = recorded.iter().map(|set| (set.version, set.first_seen.as_str())).collect();
    assert_eq!(seen, [(FIRST, "2026-11-30"), (NEXT, "2026-12-24")]);
    let behind = "contract version 0.2.0 is recorded already, and CONTRACT_VERSION is 0.1.0";
    assert_eq!(fresh.problems(FIRST, &fresh.now), [behind]);
    assert_eq!(fresh.refusal(FIRST, &fresh.now), behind);
}

#[tokio::test]
async fn another_wording_is_recorded_under_the_same_version_and_day() {
    let fresh = Fresh::new().await;
    let reworded = fresh.with("session_start", TITLE, json!("Begin"));
    let problem = "\
the wording differs from what is recorded of 0.1.0: accept records it
  wording    changed session_start/title: a text";
    assert_eq!(fresh.problems(FIRST, &reworded), [problem]);
    fresh.store.accept(FIRST, &reworded, "2026-12-24", false).unwrap();
    assert_eq!(fresh.problems(FIRST, &reworded), Vec::<String>::new());
    assert_eq!(fresh.store.load().unwrap()[0].first_seen, "2026-11-30");
}

#[tokio::test]
async fn a_version_that_nobody_has_been_given_may_be_replaced() {
    let fresh = Fresh::new().await;
    let broken = fresh.with("session_start", ROWS, json!(500));
    fresh.store.accept(FIRST, &broken, "2026-12-24", true).unwrap();
    assert_eq!(fresh.problems(FIRST, &broken), Vec::<String>::new());
    assert_eq!(fresh.store.load().unwrap()[0].first_seen, "2026-12-24");
    fresh.store.accept(FIRST, &broken, "2027-01-06", true).unwrap();
    assert_eq!(fresh.store.load().unwrap()[0].first_seen, "2026-12-24", "unchanged, it has been seen before");
}

#[tokio::test]
async fn a_recorded_history_that_skips_a_step_is_found() {
    let fresh = Fresh::new().await;
    let broken = fresh.with("session_start", ROWS, json!(500));
    fresh.store.accept(NEXT, &broken, "2026-12-24", false).unwrap();
    let text = fs::read_to_string(fresh.store.sets.join("0.2.0.json")).unwrap();
    fs::remove_file(fresh.store.sets.join("0.2.0.json")).unwrap();
    let text = text.replace("\"version\": \"0.2.0\"", "\"version\": \"0.1.1\"");
    fs::write(fresh.store.sets.join("0.1.1.json"), &text).unwrap();
    let problem = "\
what changes between 0.1.0 and 0.1.1 is breaking: the contract version must be 0.2.0 at least
  breaking   changed session_start/inputSchema/properties/rows/maximum: what was taken may be refused";
    assert_eq!(fresh.problems(Version::new(0, 1, 1), &broken)[0], problem);
    let earlier = text.replace("2026-12-24", "2026-11-29");
    fs::write(fresh.store.sets.join("0.1.1.json"), earlier).unwrap();
    assert!(fresh.problems(Version::new(0, 1, 1), &broken)[0].contains("dates follow versions"));
}

#[tokio::test]
async fn a_set_under_another_name_and_a_stranger_are_found() {
    let fresh = Fresh::new().await;
    fs::rename(fresh.store.sets.join("0.1.0.json"), fresh.store.sets.join("0.3.0.json")).unwrap();
    assert_eq!(fresh.problems(FIRST, &fresh.now), ["schemas/0.3.0.json holds version 0.1.0: rename it"]);
    fs::write(fresh.store.sets.join("0.3.0.json"), "{}").unwrap();
    assert!(fresh.problems(FIRST, &fresh.now)[0].starts_with("schemas/0.3.0.json: no set of snapshots"));
    fs::remove_file(fresh.store.sets.join("0.3.0.json")).unwrap();
    assert_eq!(fresh.problems(FIRST, &fresh.now)[0], "no set is recorded: accept records the first");
}

#[tokio::test]
async fn a_stale_page_is_found_and_written_anew() {
    let fresh = Fresh::new().await;
    fs::write(&fresh.store.changelog, fresh.page() + "more\n").unwrap();
    let problem = "changelog.md is not made of the recorded sets: accept writes it anew";
    assert_eq!(fresh.problems(FIRST, &fresh.now), [problem]);
    fs::remove_file(&fresh.store.changelog).unwrap();
    assert_eq!(fresh.problems(FIRST, &fresh.now), [problem]);
    fresh.store.accept(FIRST, &fresh.now, "2026-12-24", false).unwrap();
    assert_eq!(fresh.problems(FIRST, &fresh.now), Vec::<String>::new());
}

#[tokio::test]
async fn a_published_tool_stays_as_it_was_published() {
    let fresh = Fresh::new().await;
    assert_eq!(deviations(&fresh.now), Ok(Vec::new()));
    let changes = [
        ("/inputSchema/properties/wait_ms/maximum", json!(10_000)),
        ("/inputSchema/properties/wait_ms/maximum", json!(30_000)),
        ("/inputSchema/required", json!(["session_id", "client_token", "cursor"])),
        ("/outputSchema/additionalProperties", json!(true)),
        ("/outputSchema/properties/done/type", json!(["boolean", "null"])),
        ("/outputSchema/required", json!(["session_id"])),
        ("/annotations/readOnlyHint", json!(false)),
    ];
    for (pointer, value) in changes {
        let changed = fresh.with("session_read", pointer, value);
        let found = deviations(&changed).unwrap();
        assert!(found.iter().any(|(_, entry)| pointer.ends_with(&entry.path)), "{pointer}: {found:?}");
        let problem = "a published tool is not what was published: take the change back";
        assert!(fresh.refusal(NEXT, &changed).starts_with(problem));
        assert!(fresh.problems(NEXT, &changed).iter().any(|found| found.starts_with(problem)));
    }
    let mut output = fresh.now.management["session_read"]["outputSchema"]["properties"].clone();
    output["more"] = json!({ "type": "string" });
    let grown = fresh.with("session_read", "/outputSchema/properties", output);
    assert_eq!(deviations(&grown).unwrap()[0].1.path, "outputSchema/properties/more");
    let none = Content::default();
    assert_eq!(deviations(&none), Err("none of the published tools is listed, so none was compared".to_owned()));
}

#[tokio::test]
async fn the_page_tells_each_tool_by_version() {
    let fresh = Fresh::new().await;
    let mut grown = fresh.with("session_start", ROWS, json!(500));
    let tool = json!({ "inputSchema": { "properties": { "x": {}, "y": {} }, "required": ["x"] } });
    grown.management.insert("a_tool".to_owned(), tool.clone());
    grown.scoped.insert("a_tool".to_owned(), tool);
    fresh.store.accept(NEXT, &grown, "2026-12-24", false).unwrap();
    let page = fresh.page();
    let versions = "\
| version | first seen | gravest change |
| --- | --- | --- |
| 0.2.0 | 2026-12-24 | breaking |
| 0.1.0 | 2026-11-30 | the first |

## `a_tool`

### 0.2.0, 2026-12-24: additive

- additive, added the tool: a new tool
- Inputs: `x`, `y?`
- Outputs: none

";
    assert!(page.contains(versions), "{page}");
    let start = "\
## `session_start`

### 0.2.0, 2026-12-24: breaking

- breaking, changed `inputSchema/properties/rows/maximum`, `1000` → `500`: what was taken may be refused

### 0.1.0, 2026-11-30: first recorded

- Inputs: ";
    assert!(page.contains(start), "{page}");
    assert!(page.contains("\n## Errors\n\n### 0.1.0, 2026-11-30: first recorded\n\n- Kinds: `failed_precondition`, "));
}
