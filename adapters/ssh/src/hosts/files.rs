//! An OpenSSH client configuration with all that it includes, and whether it is still what it was.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::names::{self, Named};
use super::statement::Statement;

/// How deep files may include each other, as in OpenSSH.
const DEPTH: usize = 16;

/// What a file says, line by line.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A line.
    Line(Arc<Path>, Statement),
    /// What an `Include` has brought, file by file.
    Included(Vec<Vec<Item>>),
    /// A file or a line that cannot be read, and why.
    Broken(String),
}

/// A configuration, read once.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    /// What it says.
    pub(super) items: Vec<Item>,
    named: Vec<Named>,
    seen: Vec<Seen>,
}

/// What reading has depended on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    File(PathBuf, Option<Stamp>),
    Pattern(PathBuf, Vec<PathBuf>),
}

/// A file that has kept its stamp has kept its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|found| Self::from(&found))
    }
}

impl From<&Metadata> for Stamp {
    fn from(found: &Metadata) -> Self {
        // The time of the last change of the inode: unlike that of the content it cannot be set back.
        Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// Where relative and home paths of an `Include` begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base<'a> {
    /// Where relative paths begin.
    pub(super) directory: &'a Path,
    /// What `~` stands for.
    pub(super) home: &'a Path,
}

impl Files {
    /// Reads a file and what it includes. One that is not there says nothing.
    pub(super) fn read(path: &Path, base: Base<'_>) -> Self {
        let mut files = Self::default();
        files.items = files.file(path, base, 0);
        files.named = names::literal(&files.items);
        files
    }

    /// The hosts that it names literally.
    pub(super) fn named(&self) -> &[Named] {
        &self.named
    }

    /// Whether reading it again would find the same.
    pub(super) fn is_current(&self) -> bool {
        self.seen.iter().all(|seen| match seen {
            Seen::File(path, stamp) => Stamp::of(path) == *stamp,
            Seen::Pattern(pattern, found) => expand(pattern) == *found,
        })
    }

    fn file(&mut self, path: &Path, base: Base<'_>, depth: usize) -> Vec<Item> {
        // Before the content: a change in between is seen the next time.
        self.seen.push(Seen::File(path.to_owned(), Stamp::of(path)));
        let content = match std::fs::read(path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => return vec![Item::Broken(format!("{} cannot be read: {error}", path.display()))],
        };
        let path: Arc<Path> = Arc::from(path);
        let mut items = Vec::new();
        for (index, bytes) in content.split(|byte| *byte == b'\n').enumerate() {
            let Some(statement) = Statement::parse(&String::from_utf8_lossy(bytes), index + 1) else { continue };
            items.push(match statement.keyword.as_str() {
                "include" => self.include(&path, &statement, base, depth),
                _ => Item::Line(Arc::clone(&path), statement),
            });
        }
        items
    }

    fn include(&mut self, path: &Path, statement: &Statement, base: Base<'_>, depth: usize) -> Item {
        let broken = |why: String| Item::Broken(format!("{} line {}: {why}", path.display(), statement.line));
        if depth >= DEPTH {
            return broken("files include each other too deeply".to_owned());
        }
        let words = match statement.words() {
            Ok(words) => words,
            Err(why) => return broken(why),
        };
        let mut included = Vec::new();
        for word in words {
            let pattern = match word.strip_prefix("~/") {
                Some(rest) => base.home.join(rest),
                None => base.directory.join(word),
            };
            let found = expand(&pattern);
            included.extend(found.iter().map(|path| self.file(path, base, depth + 1)).collect::<Vec<_>>());
            self.seen.push(Seen::Pattern(pattern, found));
        }
        Item::Included(included)
    }
}

/// The files that a pattern names, in the order of their names, as glob(3).
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let options =
        glob::MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };
    let Some(found) = pattern.to_str().and_then(|pattern| glob::glob_with(pattern, options).ok()) else {
        return Vec::new();
    };
    found.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keywords(items: &[Item]) -> Vec<String> {
        let mut all = Vec::new();
        for item in items {
            match item {
                Item::Line(_, statement) => all.push(statement.rest.clone()),
                Item::Included(files) => all.extend(files.iter().flat_map(|items| keywords(items))),
                Item::Broken(why) => all.push(format!("broken: {why}")),
            }
        }
        all
    }

    #[test]
    fn included_files_are_found_below_their_base_in_order() {
        let home = tempfile::tempdir().unwrap();
        let ssh = home.path().join(".ssh");
        std::fs::create_dir_all(ssh.join("d")).unwrap();
        std::fs::write(ssh.join("config"), "Host 1\nInclude d/*.conf ~/other none\nHost 5\n").unwrap();
        std::fs::write(ssh.join("d/b.conf"), "Host 3").unwrap();
        std::fs::write(ssh.join("d/a.conf"), "Host 2").unwrap();
        std::fs::write(ssh.join("d/.hidden.conf"), "Host 0").unwrap();
        std::fs::write(home.path().join("other"), "Host 4").unwrap();
        let base = Base { directory: &ssh, home: home.path() };

        let files = Files::read(&ssh.join("config"), base);

        assert_eq!(keywords(&files.items), ["1", "2", "3", "4", "5"]);
        assert!(files.is_current());
        std::fs::write(ssh.join("d/c.conf"), "Host 6").unwrap();
        assert!(!files.is_current());
        std::fs::remove_file(ssh.join("d/c.conf")).unwrap();
        assert!(files.is_current());
        std::fs::write(ssh.join("d/a.conf"), "Host 7").unwrap();
        assert!(!files.is_current());
    }

    #[test]
    fn a_file_that_includes_itself_is_broken() {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join("config");
        std::fs::write(&config, "Include config\n").unwrap();
        let base = Base { directory: home.path(), home: home.path() };
        let found = keywords(&Files::read(&config, base).items);
        assert_eq!(found, [format!("broken: {} line 1: files include each other too deeply", config.display())]);
    }

    #[test]
    fn a_missing_file_says_nothing_until_it_is_there() {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join("config");
        let files = Files::read(&config, Base { directory: home.path(), home: home.path() });
        assert!(files.items.is_empty() && files.is_current());
        std::fs::write(&config, "Host a\n").unwrap();
        assert!(!files.is_current());
    }
}
