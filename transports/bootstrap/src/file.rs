//! The configuration file as entries: a path, a value, a line.

use std::path::Path;
use std::sync::Arc;

use toml::de::{DeArray, DeTable, DeValue};

use crate::key_path::KeyPath;
use crate::problem::{Origin, Problem};
use crate::setting::Raw;

/// A value that somebody has set.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) path: KeyPath,
    pub(crate) raw: Raw,
    pub(crate) origin: Origin,
}

/// Reads a file. `named` tells whether somebody asked for this very file; the default one may be missing.
///
/// # Errors
/// The file cannot be read, or is no TOML.
pub(crate) fn read(path: &Path, named: bool) -> Result<Vec<Entry>, Problem> {
    match std::fs::read_to_string(path) {
        Ok(text) => entries(path, &text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !named => Ok(Vec::new()),
        Err(error) => Err(Problem::new(format!(
            "{}: the configuration cannot be read: {}",
            path.display(),
            error.to_string().to_lowercase()
        ))),
    }
}

/// The entries of a file's text, in the order of its lines.
///
/// # Errors
/// It is no TOML.
pub(crate) fn entries(path: &Path, text: &str) -> Result<Vec<Entry>, Problem> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line(text, span.start));
        Problem::new(format!("{}:{line}: this is no TOML: {}", path.display(), error.message()))
    })?;
    let mut flat = Flat { file: Arc::from(path), text, entries: Vec::new() };
    flat.table(&[], table.get_ref());
    flat.entries.sort_by_key(|(offset, _)| *offset);
    Ok(flat.entries.into_iter().map(|(_, entry)| entry).collect())
}

struct Flat<'a> {
    file: Arc<Path>,
    text: &'a str,
    entries: Vec<(usize, Entry)>,
}

impl Flat<'_> {
    fn table(&mut self, above: &[String], table: &DeTable<'_>) {
        for (key, value) in table {
            let mut path = above.to_vec();
            path.push(key.get_ref().to_string());
            let raw = match value.get_ref() {
                DeValue::Table(inner) if !inner.is_empty() => {
                    self.table(&path, inner);
                    continue;
                }
                DeValue::Table(_) => Raw::EmptyTable,
                DeValue::String(text) => Raw::Text(text.to_string()),
                DeValue::Integer(digits) => Raw::Integer(u64::from_str_radix(digits.as_str(), digits.radix()).ok()),
                DeValue::Boolean(value) => Raw::Boolean(*value),
                DeValue::Array(list) => strings(list).map_or(Raw::Other("array"), Raw::List),
                other => Raw::Other(other.type_str()),
            };
            let offset = key.span().start;
            let origin = Origin::File { path: Arc::clone(&self.file), line: line(self.text, offset) };
            self.entries.push((offset, Entry { path: KeyPath(path), raw, origin }));
        }
    }
}

/// A list's strings, when it holds nothing else.
fn strings(list: &DeArray<'_>) -> Option<Vec<String>> {
    list.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
}

/// The line of a byte, from 1.
pub(crate) fn line(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
