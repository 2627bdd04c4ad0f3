//! What one configuration key is: its name, what it may hold, where its value goes, and how a value is refused.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// A key of the configuration, of a part `C` of it.
pub(crate) struct Setting<C: 'static> {
    /// The name inside its part; dots divide sections.
    pub(crate) name: &'static str,
    /// What it is for, in one line.
    pub(crate) about: &'static str,
    /// What it may hold.
    pub(crate) kind: Kind<C>,
}

/// What a key may hold, with the way into the typed configuration and out of it.
pub(crate) enum Kind<C: 'static> {
    /// A whole number of some unit.
    Integer { range: RangeInclusive<u64>, unit: &'static str, get: fn(&C) -> Option<u64>, set: fn(&mut C, u64) },
    /// `true` or `false`.
    Switch { get: fn(&C) -> Option<bool>, set: fn(&mut C, bool) },
    /// One line of text.
    Text { get: fn(&C) -> Option<&str>, set: fn(&mut C, String) },
    /// An absolute path, or one below the home directory where that makes sense.
    Path { home: bool, get: fn(&C) -> Option<&Path>, set: fn(&mut C, PathBuf) },
    /// Such paths: one, or a list of them. In a variable there are colons between them.
    Paths { get: fn(&C) -> &[PathBuf], set: fn(&mut C, Vec<PathBuf>) },
    /// Lines of text: one, or a list of them. In a variable there are commas between them.
    Texts { get: fn(&C) -> &[String], set: fn(&mut C, Vec<String>) },
    /// One of a few words.
    Choice { words: &'static [&'static str], get: fn(&C) -> Option<&'static str>, set: fn(&mut C, &str) },
    /// A table of variables to give to children.
    Variables { get: fn(&C) -> Vec<&str>, set: fn(&mut C, String, String) },
}

/// A value as its source has it.
#[derive(Clone, Debug)]
pub(crate) enum Raw {
    /// A string of the file.
    Text(String),
    /// A whole number of the file, when it is none below 0.
    Integer(Option<u64>),
    /// A boolean of the file.
    Boolean(bool),
    /// A list of strings of the file.
    List(Vec<String>),
    /// A table without anything in it.
    EmptyTable,
    /// Something that no key takes, by its TOML name.
    Other(&'static str),
    /// A variable's value; what it is depends on the key.
    Untyped(String),
}

impl Raw {
    /// The value as the type that a key wants, when it is written so.
    fn integer(&self) -> Option<u64> {
        match self {
            Self::Integer(value) => *value,
            Self::Untyped(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn boolean(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            Self::Untyped(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Untyped(text) => Some(text),
            _ => None,
        }
    }

    /// The value as a list; one string is a list of one.
    fn list(&self) -> Vec<&str> {
        match self {
            Self::List(list) => list.iter().map(String::as_str).collect(),
            Self::Text(text) => vec![text],
            Self::Untyped(text) => text.split(':').collect(),
            _ => Vec::new(),
        }
    }

    /// The value as lines of text; one string is a list of one.
    fn lines(&self) -> Vec<&str> {
        match self {
            Self::Untyped(text) => text.split(',').map(str::trim).collect(),
            _ => self.list(),
        }
    }

    /// What a refusal calls it. Text is not repeated: somebody may have put a password in the wrong place.
    fn article(&self) -> Option<String> {
        Some(match self {
            Self::Text(_) => "a string".to_owned(),
            Self::Integer(Some(value)) => value.to_string(),
            Self::Integer(None) => "a number that is negative or too large".to_owned(),
            Self::Boolean(value) => value.to_string(),
            Self::List(_) => "a list of strings".to_owned(),
            Self::EmptyTable => "a table".to_owned(),
            Self::Other(name @ ("array" | "integer")) => format!("an {name}"),
            Self::Other(name) => format!("a {name}"),
            Self::Untyped(text) => text.parse::<u64>().ok()?.to_string(),
        })
    }
}

impl<C> Setting<C> {
    /// Puts a value where it belongs. `rest` is what the path has after this key's name.
    ///
    /// # Errors
    /// What the key takes instead, to go after its name.
    pub(crate) fn apply(&self, part: &mut C, rest: &[&str], raw: &Raw) -> Result<(), String> {
        let taken = match (&self.kind, rest) {
            (Kind::Integer { range, set, .. }, []) => {
                raw.integer().filter(|value| range.contains(value)).map(|value| set(part, value))
            }
            (Kind::Switch { set, .. }, []) => raw.boolean().map(|value| set(part, value)),
            (Kind::Path { home, set, .. }, []) => {
                raw.text().filter(|text| is_path(text, *home)).map(|text| set(part, PathBuf::from(text)))
            }
            (Kind::Paths { set, .. }, []) => {
                let paths = raw.list();
                let are_paths = !paths.is_empty() && paths.iter().all(|path| is_path(path, true));
                are_paths.then(|| set(part, paths.into_iter().map(PathBuf::from).collect()))
            }
            (Kind::Text { set, .. }, []) => {
                raw.text().filter(|text| is_line(text)).map(|text| set(part, text.to_owned()))
            }
            (Kind::Texts { set, .. }, []) => {
                let lines = raw.lines();
                let are_lines = !lines.is_empty() && lines.iter().all(|line| is_line(line));
                are_lines.then(|| set(part, lines.into_iter().map(str::to_owned).collect()))
            }
            (Kind::Choice { words, set, .. }, []) => {
                raw.text().filter(|text| words.contains(text)).map(|text| set(part, text))
            }
            (Kind::Variables { .. }, []) => matches!(raw, Raw::EmptyTable).then_some(()),
            (Kind::Variables { set, .. }, [name]) => raw
                .text()
                .filter(|value| is_variable(name, value))
                .map(|value| set(part, (*name).to_owned(), value.to_owned())),
            _ => None,
        };
        taken.ok_or_else(|| {
            let says_nothing = self.takes_text() && raw.text().is_some();
            match raw.article().filter(|_| !says_nothing) {
                Some(article) => format!("must be {}, not {article}", self.expected(rest)),
                None => format!("must be {}", self.expected(rest)),
            }
        })
    }

    /// Whether more names may follow this key's own.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.kind, Kind::Variables { .. })
    }

    /// The value that `part` has, as TOML; `None` where nothing is set. Of variables the names alone.
    pub(crate) fn show(&self, part: &C) -> Option<String> {
        match &self.kind {
            Kind::Integer { get, .. } => get(part).map(|value| value.to_string()),
            Kind::Switch { get, .. } => get(part).map(|value| value.to_string()),
            Kind::Text { get, .. } => get(part).map(|text| format!("{text:?}")),
            Kind::Path { get, .. } => get(part).map(|path| format!("{path:?}")),
            Kind::Paths { get, .. } => {
                Some(get(part)).filter(|paths| !paths.is_empty()).map(|paths| format!("{paths:?}"))
            }
            Kind::Texts { get, .. } => {
                Some(get(part)).filter(|texts| !texts.is_empty()).map(|texts| format!("{texts:?}"))
            }
            Kind::Choice { get, .. } => get(part).map(|word| format!("{word:?}")),
            Kind::Variables { get, .. } => {
                let names = get(part);
                (!names.is_empty()).then(|| format!("{{ {} }}", names.join(", ")))
            }
        }
    }

    fn takes_text(&self) -> bool {
        !matches!(self.kind, Kind::Integer { .. } | Kind::Switch { .. })
    }

    fn expected(&self, rest: &[&str]) -> String {
        match &self.kind {
            Kind::Integer { range, unit, .. } => {
                format!("a whole number of {unit} from {} to {}", range.start(), range.end())
            }
            Kind::Switch { .. } => "true or false".to_owned(),
            Kind::Path { home: true, .. } => "an absolute path, or one that begins with ~/".to_owned(),
            Kind::Path { home: false, .. } => "an absolute path".to_owned(),
            Kind::Paths { .. } => "an absolute path, one that begins with ~/, or a list of such".to_owned(),
            Kind::Text { .. } => "one line of text".to_owned(),
            Kind::Texts { .. } => "one line of text, or a list of such".to_owned(),
            Kind::Choice { words, .. } => format!("one of {}", words.join(", ")),
            Kind::Variables { .. } if rest.is_empty() => "a table of variables".to_owned(),
            Kind::Variables { .. } => "a string without a NUL, under a name without = or NUL".to_owned(),
        }
    }
}

fn is_path(text: &str, home: bool) -> bool {
    let rooted = text.starts_with('/') || home && (text == "~" || text.starts_with("~/"));
    rooted && !text.contains('\0')
}

fn is_line(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_control)
}

fn is_variable(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}
