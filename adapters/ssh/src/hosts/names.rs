//! Names: which ones a client configuration gives literally, and which ones may be asked for at all.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::files::Item;
use crate::wildcard;

/// A host that a client configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// Its name.
    pub(super) name: String,
    /// The file that names it.
    pub(super) file: Arc<Path>,
}

/// The hosts that are named literally, each once, in the order of the files.
///
/// A name of an included file counts where the `Host` block that includes it has the name too. Names below a `Match`
/// do not: nobody can say whether it will hold.
pub(super) fn literal(items: &[Item]) -> Vec<Named> {
    let mut found = Found::default();
    found.collect(items, &mut Vec::new());
    found.named
}

/// What has been found so far.
#[derive(Default)]
struct Found {
    named: Vec<Named>,
    names: HashSet<String>,
}

impl Found {
    fn collect(&mut self, items: &[Item], within: &mut Vec<Vec<String>>) {
        // The block that the lines of this file are in: none at first, `None` inside of a `Match`.
        let mut block = Some(vec!["*".to_owned()]);
        for item in items {
            match item {
                Item::Line(file, statement) if statement.keyword == "host" => {
                    let patterns = statement.words.clone().unwrap_or_default();
                    for name in patterns.iter().filter(|name| is_literal(name)) {
                        let names = |patterns: &Vec<String>| wildcard::list(patterns.iter().map(String::as_str), name);
                        if names(&patterns) && within.iter().all(names) && self.names.insert(name.clone()) {
                            self.named.push(Named { name: name.clone(), file: Arc::clone(file) });
                        }
                    }
                    block = Some(patterns);
                }
                Item::Line(_, statement) if statement.keyword == "match" => block = None,
                Item::Included(files) => {
                    let Some(patterns) = &block else { continue };
                    within.push(patterns.clone());
                    for items in files {
                        self.collect(items, within);
                    }
                    within.pop();
                }
                Item::Line(..) | Item::Broken(_) => {}
            }
        }
    }
}

fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '!']) && is_host(pattern)
}

/// Whether a name may be a host's: what OpenSSH refuses on its command line, and what it would take apart there, is
/// none. Such a name never reaches a program.
pub(super) fn is_host(name: &str) -> bool {
    let strange = |char: char| char.is_control() || char.is_whitespace() || "'`\"$\\;&<>|(){}@/,*?![]".contains(char);
    !name.is_empty() && !name.starts_with('-') && !name.contains(strange)
}

/// Whether a name may stand in a known_hosts file and mean itself alone.
pub(super) fn is_alias(name: &str) -> bool {
    let strange = |char: char| char.is_control() || char.is_whitespace() || ",*?!".contains(char);
    !name.is_empty() && !name.starts_with(['#', '@', '|']) && !name.contains(strange)
}

/// Whether a name may be a user's, by the rules of OpenSSH's command line.
pub(super) fn is_user(name: &str) -> bool {
    let strange = |char: char| char.is_control() || "'`\";&<>|(){}".contains(char);
    // A dollar or a backslash may stand at its end (accounts of Windows machines), and a blank within.
    let tail = name.ends_with('\\') || name.contains("$ ") || name.starts_with('~');
    !name.is_empty() && !name.starts_with('-') && !name.contains(strange) && !tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::files::{Base, Files};

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        let home = tempfile::tempdir().unwrap();
        for (name, content) in files {
            std::fs::write(home.path().join(name), content).unwrap();
        }
        let base = Base { directory: home.path(), home: home.path() };
        literal(&Files::read(&home.path().join("config"), base).items).into_iter().map(|named| named.name).collect()
    }

    #[test]
    fn only_literal_names_are_hosts() {
        let config =
            "Host a b\nHost *.c ? !d e\nHost a !f f \"g h\" -oX=y $(i) \"j\"\nHost=k\nhost l # m\nHostName n\n";
        assert_eq!(names(&[("config", config)]), ["a", "b", "e", "j", "k", "l"]);
    }

    #[test]
    fn names_of_included_files_count_where_they_can_hold() {
        let config = "Include one\nHost *.x\nInclude two\nMatch all\nInclude three\nHost z\n";
        let files = [("config", config), ("one", "Host a"), ("two", "Host b.x c"), ("three", "Host d")];
        assert_eq!(names(&files), ["a", "b.x", "z"]);
    }

    #[test]
    fn names_that_a_program_could_misread_are_no_hosts() {
        for name in ["", "-v", "a b", "a\n", "a;b", "$(a)", "a|b", "a@b", "ssh://a", "a,b", "*", "'a'", "[::1]", "`a`"]
        {
            assert!(!is_host(name), "{name:?}");
        }
        for name in ["a", "a-b.c_d", "10.0.0.1", "::1", "fe80::1%eth0", "böse", "A1"] {
            assert!(is_host(name), "{name:?}");
        }
    }

    #[test]
    fn an_alias_means_itself_alone() {
        for name in ["", "*", "a,b", "a b", "!a", "|1|x|y", "@revoked", "#a", "a\nb", "?"] {
            assert!(!is_alias(name), "{name:?}");
        }
        for name in ["a", "[a.b]:2222", "a/b", "a@b"] {
            assert!(is_alias(name), "{name:?}");
        }
    }

    #[test]
    fn names_that_a_shell_could_misread_are_no_users() {
        for name in ["", "-x", "a;b", "`a`", "a|b", "a\\", "a\nb"] {
            assert!(!is_user(name), "{name:?}");
        }
        for name in ["root", "a.b", "x y", "domain\\user", "pc$"] {
            assert!(is_user(name), "{name:?}");
        }
    }
}
