//! Rules for Rust files.

use super::{Finding, numbered};

/// Words that no finished code holds, and what to do about each.
const UNFINISHED: [(&str, &str); 4] = [
    ("todo!", "finish it"),
    ("unimplemented!", "finish it"),
    ("dbg!", "take it out"),
    ("#[ignore", "make the test run always, or delete it"),
];

/// Crates whose types stay at one border, and where that is (prefixes of paths).
const BORDERS: [(&str, &[&str]); 6] = [
    ("rmcp", &["transports/mcp/", "transports/mcp-http/", "xtask/bench/"]),
    ("axum", &["transports/mcp-http/", "adapters/agent-platform/peer/", "xtask/bench/"]),
    ("tonic", &["transports/grpc/", "xtask/bench/"]),
    ("portable_pty", &["adapters/pty/"]),
    ("russh", &["adapters/ssh/", "xtask/bench/"]),
    ("reqwest", &["adapters/agent-platform/", "transports/bootstrap/src/identity/token/", "xtask/bench/"]),
];

/// What the core never touches: it is told everything, and tells everything.
const BEYOND_CORE: [&str; 6] = ["serde::", "serde_json::", "std::env::", "std::fs::", "std::net::", "std::process::"];

/// Where unsafe code may stand (prefixes of paths).
const UNSAFE: [&str; 3] = ["adapters/pty/src/sys.rs", "adapters/pty/src/sys/", "xtask/bench/"];

/// Applies every rule to a file: its text, and its text without comments and literals.
pub(super) fn check(path: &str, content: &str, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(opening(path, content));
    findings.extend(unfinished(path, code));
    findings.extend(ignored_examples(path, content));
    findings.extend(borders(path, code));
    findings.extend(beyond_core(path, code));
    findings.extend(unsafe_code(path, code));
    findings
}

/// Every file says in its first line what it is for.
fn opening(path: &str, content: &str) -> Option<Finding> {
    let said = content.strip_prefix("//! ").is_some_and(|rest| !rest.trim_start().is_empty());
    (!said).then(|| Finding::new(path, 1, "open the file with a `//!` sentence that says what it is for"))
}

fn unfinished(path: &str, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in numbered(code) {
        for (word, remedy) in UNFINISHED {
            if has_word(line, word) {
                findings.push(Finding::new(path, number, format!("{word:?} is left here: {remedy}")));
            }
        }
        if line.contains("#[cfg_attr") && has_word(line, "ignore") {
            findings.push(Finding::new(path, number, "a test is ignored here: make it run always, or delete it"));
        }
    }
    findings
}

/// An example in the documentation that is not compiled proves nothing.
fn ignored_examples(path: &str, content: &str) -> Vec<Finding> {
    let is_ignored = |line: &str| {
        let line = line.trim_start();
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        text.is_some_and(|text| text.trim_start().starts_with("```") && text.contains("ignore"))
    };
    let message = "this example is ignored: make it compile, or mark it as `text`";
    numbered(content).filter(|(_, line)| is_ignored(line)).map(|(at, _)| Finding::new(path, at, message)).collect()
}

/// Foreign types stay in the crate that talks to their library.
fn borders(path: &str, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, homes) in BORDERS {
        if homes.iter().any(|home| path.starts_with(home)) {
            continue;
        }
        for (number, line) in numbered(code) {
            if has_word(line, &format!("{name}::")) || has_word(line, &format!("use {name};")) {
                let message = format!("types of {name} stay in {}: convert them there", homes.join(", "));
                findings.push(Finding::new(path, number, message));
            }
        }
    }
    findings
}

/// The core has no border of its own.
fn beyond_core(path: &str, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if path.starts_with("core/src/") {
        for (number, line) in numbered(code) {
            for word in BEYOND_CORE.iter().filter(|word| has_word(line, word)) {
                let name = word.trim_end_matches(':');
                let message = format!("the core does not touch {name}: do it in an adapter, a transport or bootstrap");
                findings.push(Finding::new(path, number, message));
            }
        }
    }
    findings
}

fn unsafe_code(path: &str, code: &str) -> Vec<Finding> {
    if UNSAFE.iter().any(|home| path.starts_with(home)) {
        return Vec::new();
    }
    let message = format!("unsafe code stands only in {}: move it there or do without", UNSAFE.join(", "));
    let is_unsafe = |line: &str| {
        ["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait", "unsafe extern", "unsafe("]
            .iter()
            .any(|word| has_word(line, word))
            || line.trim_end().ends_with(" unsafe")
    };
    numbered(code).filter(|(_, line)| is_unsafe(line)).map(|(at, _)| Finding::new(path, at, message.clone())).collect()
}

/// Whether a line holds `word` and not as the tail of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::super::code::strip;
    use super::*;

    /// The lines on which a file breaks a rule.
    fn found(path: &str, content: &str) -> Vec<usize> {
        check(path, content, &strip(content)).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_file_without_its_sentence_is_found() {
        for content in ["", "use x;\n", "//!\n", "//! \n", "// Not a module comment.\n", "\n//! Late.\n"] {
            assert_eq!(found("a.rs", content), [1], "{content:?}");
        }
        assert_eq!(found("a.rs", "//! Says it.\n"), []);
    }

    #[test]
    fn unfinished_code_is_found_and_mentions_of_it_are_not() {
        let content = "//! F.\nfn f() { todo!() }\nfn g() { unimplemented!(\"x\") }\nfn h() { dbg!(1); }\n#[ignore]\n#[ignore = \"x\"]\n#[cfg_attr(x, ignore)]\n// todo! dbg!\nlet x = \"todo!\"; mytodo!();\n(a, ignore)\n";
        assert_eq!(found("a.rs", content), [2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn an_ignored_example_is_found() {
        let content = "//! F.\n/// ```ignore\n/// ```rust,ignore\n/// ```text\n//! ```\nlet x = \"```ignore\";\n";
        assert_eq!(found("a.rs", content), [2, 3]);
    }

    #[test]
    fn a_foreign_type_beyond_its_border_is_found() {
        let content = "//! F.\nuse rmcp::model::Tool;\nfn f(x: ::russh::Channel) {}\nuse tonic;\n// rmcp::x\nuse sessiond_rmcp::x;\n";
        assert_eq!(found("core/src/a.rs", content), [2, 4, 3]);
        assert_eq!(found("transports/mcp/src/a.rs", "//! F.\nuse rmcp::model::Tool;\n"), [0; 0]);
    }

    #[test]
    fn a_core_that_touches_the_system_is_found() {
        let content =
            "//! F.\nuse std::env::var;\nlet x = std::fs::read(y);\n// std::net::x\nuse std::time::Duration;\n";
        assert_eq!(found("core/src/a.rs", content), [2, 3]);
        assert_eq!(found("transports/bootstrap/src/a.rs", content), [0; 0]);
    }

    #[test]
    fn unsafe_code_out_of_its_place_is_found() {
        let content = "//! F.\nlet x = unsafe { f() };\nunsafe impl Send for X {}\n#[unsafe(no_mangle)]\n#![allow(unsafe_code)]\n// unsafe { }\n";
        assert_eq!(found("core/src/a.rs", content), [2, 3, 4]);
        assert_eq!(found("adapters/pty/src/sys.rs", content), []);
        assert_eq!(found("adapters/pty/src/sys/spawn.rs", content), []);
        assert_eq!(found("adapters/pty/src/system.rs", content).len(), 3);
    }
}
