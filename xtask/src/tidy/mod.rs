//! `cargo xtask tidy`: the rules of the house that a look at the tree can decide.
//!
//! - `code`: the words of a Rust file without its comments and strings
//! - `rust`: rules for Rust files; `text`: rules for every text file
//! - `crates`: manifests and the direction of dependencies
//! - `tools`: the README's tool table against the binary's own
//! - `notes`: what stands out by its length, which a reader judges
//!
//! Each rule is a function from text to findings, with a test in which it finds something.

mod code;
mod crates;
mod notes;
mod rust;
mod text;
mod tools;

use std::fmt;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::{no_arguments, workspace};

pub(crate) const HELP: &str = "\
Checks the rules of the house that a look at the tree can decide.

Usage: cargo xtask tidy

Prints file:line and what to do for each finding, and fails when there is one. Files and functions that
stand out by their length are noted, which is never a failure.";

/// A breach of a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    /// From 1.
    line: usize,
    /// What is wrong and what to do.
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks the tree.
pub(crate) fn run(args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let (findings, notes) = check_files(&workspace::files()?)?;
    for note in notes {
        println!("note: {note}");
    }
    let mut count = print(&findings);
    // These two ask cargo, which may fail; what the files have shown is said by then.
    count += print(&crates::check_tree()?);
    count += print(&tools::check_tree()?);
    match count {
        0 => Ok(()),
        1 => bail!("tidy found 1 thing to mend"),
        count => bail!("tidy found {count} things to mend"),
    }
}

/// Prints findings and counts them.
fn print<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> usize {
    findings.into_iter().inspect(|finding| println!("{finding}")).count()
}

/// Applies the rules for single files: what is wrong, and what merely stands out.
fn check_files(paths: &[String]) -> Result<(Vec<Finding>, Vec<String>)> {
    let (mut findings, mut notes) = (Vec::new(), Vec::new());
    for path in paths {
        let bytes = fs::read(workspace::root().join(path)).with_context(|| format!("reading {path}"))?;
        let Ok(content) = String::from_utf8(bytes) else { continue };
        findings.extend(text::check(path, &content));
        if path.ends_with(".rs") {
            let code = code::strip(&content);
            findings.extend(rust::check(path, &content, &code));
            notes.extend(notes::check(path, &code));
        }
        if path.ends_with("Cargo.toml") {
            findings.extend(crates::check_manifest(path, &content));
        }
    }
    Ok((findings, notes))
}

/// The lines of a text with their numbers, from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split('\n').enumerate().map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_editors_expect() {
        assert_eq!(Finding::new("a/b.rs", 7, "mend it").to_string(), "a/b.rs:7: mend it");
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(numbered("a\nb").collect::<Vec<_>>(), [(1, "a"), (2, "b")]);
    }
}
