//! The keys file: who there is, in TOML, and whether nobody else could have written or read it.
//!
//! ```toml
//! [keys.alice]                 # her name: whom sessions belong to
//! sha256 = "…"                 # of the key; `key new` prints both
//! role = "full"                # or "read-only"
//!
//! [keys.build]
//! sha256 = "…"
//! target = "build-box"         # this one target, which calls need not name
//! expires = 2027-01-01         # the first moment at which it does not hold any more
//!
//! [certificates.ci]
//! subject = "CN=ci,O=Example"  # or name = "URI:spiffe://example/ci"
//! targets = ["a", "b"]
//! tools = ["session_read", "session_list"]
//!
//! [scopes."sessions:read"]     # of tokens: the first one in the file that a token has
//! role = "read-only"
//! ```

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::key::{Digest, PREFIX};
use super::role::{Fields, Grant, quoted};
use super::table::{Entry, Named, Table};
use crate::file::line;
use crate::private;
use crate::problem::{Problem, Problems};

/// Larger than any keys file, in bytes.
const LARGEST: u64 = 4 << 20;

/// The parts of the file.
const PARTS: [&str; 3] = ["keys", "certificates", "scopes"];

/// Longer than any name, in bytes.
const LONGEST_NAME: usize = 64;

/// Reads the file.
///
/// # Errors
/// Every problem, by line.
pub(super) fn read(path: &Path) -> Result<Table, Problems> {
    parse(path, &private::text(path, "the keys file", LARGEST)?)
}

/// The table that a file's text makes.
///
/// # Errors
/// Every problem, by line.
pub(super) fn parse(path: &Path, text: &str) -> Result<Table, Problems> {
    let parsed = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line(text, span.start));
        // The message of a parser may quote what it has read, which may be a key.
        Problem::new(format!("{}:{line}: this is no TOML", path.display()))
    })?;
    let mut reading = Reading { path, text, table: Table::default(), problems: Vec::new() };
    for (part, entries) in in_order(parsed.get_ref()) {
        match (PARTS.contains(&part.name), entries) {
            (true, DeValue::Table(entries)) => {
                for (at, value) in in_order(entries) {
                    reading.entry(part.name, &at, value);
                }
            }
            (true, _) => reading.says(&part, format!("{} must hold entries: [{}.NAME]", part.name, part.name)),
            (false, _) => {
                let nearest = crate::nearest::told(part.name, PARTS);
                reading.says(&part, format!("{} is not known{nearest}", quoted(part.name)));
            }
        }
    }
    let Reading { table, problems, .. } = reading;
    if problems.is_empty() { Ok(table) } else { Err(Problems(problems)) }
}

/// A name of the file and where it stands.
pub(super) struct At<'a> {
    pub(super) name: &'a str,
    pub(super) offset: usize,
}

/// What a table holds, in the order of the file.
pub(super) fn in_order<'a>(table: &'a DeTable<'a>) -> Vec<(At<'a>, &'a DeValue<'a>)> {
    let mut found: Vec<_> = table
        .iter()
        .map(|(key, value)| (At { name: key.get_ref().as_ref(), offset: key.span().start }, value.get_ref()))
        .collect();
    found.sort_by_key(|(at, _)| at.offset);
    found
}

struct Reading<'a> {
    path: &'a Path,
    text: &'a str,
    table: Table,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn says(&mut self, at: &At<'_>, message: impl std::fmt::Display) {
        let line = line(self.text, at.offset);
        self.problems.push(Problem::new(format!("{}:{line}: {message}", self.path.display())));
    }

    fn entry(&mut self, part: &str, at: &At<'_>, value: &DeValue<'_>) {
        // What stands there may be a key in the wrong place.
        let label = if at.name.contains(PREFIX) { part.to_owned() } else { format!("{part}.{}", at.name) };
        if part != "scopes" && !is_name(at.name) {
            let rule = format!("at most {LONGEST_NAME} letters, digits, '.', '_' and '-'");
            return self.says(at, format!("{part} has {}, which is no name: that has {rule}", quoted(at.name)));
        }
        let DeValue::Table(fields) = value else {
            return self.says(at, format!("{label} must be a table: [{label}]"));
        };
        let own: &[&str] = match part {
            "keys" => &["owner", "sha256"],
            "certificates" => &["owner", "subject", "name"],
            // Whoever has a scope is the owner that the token names.
            _ => &[],
        };
        let mut fields = Fields::new(fields, own);
        let made = self.made(part, at, &mut fields);
        for (offset, message) in fields.problems {
            self.says(&At { name: "", offset: offset.unwrap_or(at.offset) }, format!("{label}{message}"));
        }
        if let Some(Err(message)) = made {
            self.says(at, format!("{label} {message}"));
        }
    }

    /// Puts an entry into the table; `None` when the fields have said what is wrong.
    fn made(&mut self, part: &str, at: &At<'_>, fields: &mut Fields<'_>) -> Option<Result<(), String>> {
        let grant = Grant::read(fields);
        let expires = fields.moment("expires");
        let owner = fields.text("owner").map(str::to_owned);
        let sha256 = fields.text("sha256").map(str::to_owned);
        let names = [fields.text("subject"), fields.text("name")].map(|name| name.map(str::to_owned));
        fields.finish();
        if !fields.problems.is_empty() {
            return None;
        }
        if owner.as_deref().is_some_and(|owner| !is_name(owner)) {
            return Some(Err("has an owner that is no name".to_owned()));
        }
        let owner = owner.unwrap_or_else(|| at.name.to_owned());
        let entry = Entry::new(owner, grant?, expires);
        Some(match (part, sha256, names) {
            ("keys", Some(hex), _) => match Digest::parse(&hex) {
                Some(digest) => self.table.add_key(digest, entry),
                None => {
                    Err("has a sha256 that is not 64 hexadecimal digits: `key new` makes a key and prints them"
                        .to_owned())
                }
            },
            ("keys", None, _) => Err("lacks sha256: `key new` makes a key and prints it".to_owned()),
            ("certificates", _, [Some(subject), None]) => self.table.add_certificate(Named::Subject(subject), entry),
            ("certificates", _, [None, Some(name)]) if is_alternative(&name) => {
                self.table.add_certificate(Named::Alternative(name), entry)
            }
            ("certificates", _, [None, Some(_)]) => {
                Err("has a name that begins with neither DNS:, URI: nor email:, as in the certificate".to_owned())
            }
            ("certificates", _, _) => {
                Err("must say which certificate: subject = \"CN=…\", or name = \"URI:…\", one of them".to_owned())
            }
            _ => {
                self.table.scopes.push((at.name.to_owned(), entry));
                Ok(())
            }
        })
    }
}

/// A name that can be an owner's. No other kind of identity has such names: theirs have a colon.
pub(super) fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(fits)
}

fn is_alternative(name: &str) -> bool {
    ["DNS:", "URI:", "email:"].iter().any(|kind| name.strip_prefix(kind).is_some_and(|rest| !rest.is_empty()))
}
