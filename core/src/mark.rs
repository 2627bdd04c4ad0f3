//! The mark that everything of one process carries in its environment, so that it is known again wherever it goes.

use std::fmt;

use crate::error::{Error, Result};

/// Digits of the mark: 128 bits.
const DIGITS: usize = 32;

/// A random number: the upper half is that of whoever starts things, its family; the lower half the process's.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(u128);

impl Mark {
    /// The variable that holds it.
    pub const VARIABLE: &str = "SESSIOND_SESSION";

    /// A mark of a new family.
    ///
    /// # Errors
    /// `internal` when the operating system has no randomness to give.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| Error::internal(format!("no randomness from the operating system: {error}")))?;
        Ok(Self(u128::from_le_bytes(bytes)))
    }

    /// Another mark of the same family.
    ///
    /// # Errors
    /// As for [`random`](Self::random).
    pub fn sibling(self) -> Result<Self> {
        let low = u128::from(u64::MAX);
        Ok(Self(self.0 & !low | Self::random()?.0 & low))
    }

    /// Whether both are of one family.
    pub fn is_sibling(self, other: Self) -> bool {
        self.0 >> 64 == other.0 >> 64
    }

    /// The 16 digits that all of the family begin with.
    pub fn family(self) -> String {
        format!("{:016x}", self.0 >> 64)
    }

    /// Finds the mark in an environment block as `/proc` shows it: entries that end in NUL.
    pub fn find(environ: &[u8]) -> Option<Self> {
        let digits = environ.split(|byte| *byte == 0).find_map(|entry| {
            entry.strip_prefix(Self::VARIABLE.as_bytes())?.strip_prefix(b"=").filter(|value| value.len() == DIGITS)
        })?;
        u128::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok().map(Self)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mark({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_again_in_an_environment() {
        let (mark, variable) = (Mark::random().unwrap(), Mark::VARIABLE);
        let environ = format!("PATH=/bin\0{variable}={mark}\0HOME=/\0");
        assert_eq!(Mark::find(environ.as_bytes()), Some(mark));
        assert_eq!(Mark::find(format!("X{environ}").as_bytes()), Some(mark));
        assert_eq!(Mark::find(b""), None);
        assert_eq!(Mark::find(format!("NOT_{variable}={mark}\0").as_bytes()), None);
        assert_eq!(Mark::find(format!("{variable}=12\0").as_bytes()), None);
    }

    #[test]
    fn siblings_differ_and_know_each_other() {
        let first = Mark::random().unwrap();
        let second = first.sibling().unwrap();
        assert_ne!(first, second);
        assert!(first.is_sibling(second));
        assert!(first.to_string().starts_with(&second.family()));
        assert_eq!(first.to_string().len(), DIGITS);
        assert!(!first.is_sibling(Mark::random().unwrap()));
    }
}
