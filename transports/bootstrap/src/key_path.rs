//! Where a key stands, as a list of names, and how that is written.

use std::fmt;

/// The path of a key: `limits.stop_grace_ms` has two segments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyPath(pub(crate) Vec<String>);

impl KeyPath {
    /// The path of a dotted name that the declaration holds.
    pub(crate) fn of(dotted: &str) -> Self {
        Self(dotted.split('.').map(str::to_owned).collect())
    }

    /// The path of a target's key.
    pub(crate) fn of_target(target: &str, key: &str) -> Self {
        Self(vec!["targets".to_owned(), target.to_owned(), key.to_owned()])
    }

    pub(crate) fn segments(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// The variable that sets this key.
    pub(crate) fn variable(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|segment| variable_segment(segment)).collect();
        format!("{}{}", crate::environment::PREFIX, names.join("__"))
    }
}

/// A name as it stands in a variable: upper case, and `_` for what a variable cannot hold.
pub(crate) fn variable_segment(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, segment) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str(".")?;
            }
            let bare = segment.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            if bare && !segment.is_empty() { f.write_str(segment)? } else { write!(f, "{segment:?}")? }
        }
        Ok(())
    }
}
