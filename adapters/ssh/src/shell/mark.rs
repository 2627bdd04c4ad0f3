//! The mark that everything of one process carries in its environment, so that it is known again wherever it goes.

use std::fmt;

use sessiond_core::{Error, Result};

/// The variable that holds it.
pub(crate) const VARIABLE: &str = "SESSIOND_SESSION";

/// A random number: the upper half is that of one owner on one host, the lower half the process's.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Mark(u128);

impl Mark {
    /// A mark like no other.
    ///
    /// # Errors
    /// `internal` when the operating system has no randomness to give.
    pub(crate) fn random() -> Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| Error::internal(format!("no randomness from the operating system: {error}")))?;
        Ok(Self(u128::from_le_bytes(bytes)))
    }

    /// Another mark with the same upper half.
    ///
    /// # Errors
    /// As for [`random`](Self::random).
    pub(crate) fn sibling(self) -> Result<Self> {
        let low = u128::from(u64::MAX);
        Ok(Self(self.0 & !low | Self::random()?.0 & low))
    }

    /// The 16 digits that all siblings begin with.
    pub(crate) fn family(self) -> String {
        format!("{:016x}", self.0 >> 64)
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
    fn siblings_differ_and_begin_alike() {
        let first = Mark::random().unwrap();
        let second = first.sibling().unwrap();
        assert_ne!(first, second);
        assert!(first.to_string().starts_with(&second.family()));
        assert_eq!(first.to_string().len(), 32);
        assert_ne!(Mark::random().unwrap().family(), first.family());
    }
}
