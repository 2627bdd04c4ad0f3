//! The contract version, and how far a change must step it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::class::Class;

/// The version of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Version {
    major: u64,
    minor: u64,
    patch: u64,
}

impl Version {
    /// A version by its three numbers.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch }
    }

    /// The least version after this one that a change of this class may carry.
    ///
    /// A breaking change steps the first number, or the second while the first is 0, as callers expect of a version
    /// that begins with 0. A tightening and an addition step the second: a caller that is right stays right, but a
    /// caller who wants to know whether something can be relied on must be able to ask for a version. Wording steps the
    /// third, and only where a version has been given out already.
    pub const fn after(self, class: Class) -> Self {
        match class {
            Class::Breaking if self.major > 0 => Self::new(self.major + 1, 0, 0),
            Class::Breaking | Class::Tightening | Class::Additive => Self::new(self.major, self.minor + 1, 0),
            Class::Wording => Self::new(self.major, self.minor, self.patch + 1),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Option<Vec<u64>> = text.split('.').map(|number| number.parse().ok()).collect();
        match numbers.as_deref() {
            // Printed again it must read the same, so that a version has one name: no "01", no "+1".
            Some([major, minor, patch]) if Self::new(*major, *minor, *patch).to_string() == text => {
                Ok(Self::new(*major, *minor, *patch))
            }
            _ => Err(format!("{text:?} is no version: it must be three numbers, such as 0.1.0")),
        }
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_one_name() {
        assert_eq!("0.12.3".parse(), Ok(Version::new(0, 12, 3)));
        assert_eq!(Version::new(0, 12, 3).to_string(), "0.12.3");
        for wrong in ["", "1", "1.2", "1.2.3.4", "1.2.x", "01.2.3", "+1.2.3", "1.2.3 ", "1.-2.3"] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_change_steps_the_version_by_what_it_means() {
        let steps = |from: Version| Class::ALL.map(|class| from.after(class).to_string());
        assert_eq!(steps(Version::new(0, 3, 4)), ["0.4.0", "0.4.0", "0.4.0", "0.3.5"]);
        assert_eq!(steps(Version::new(2, 3, 4)), ["3.0.0", "2.4.0", "2.4.0", "2.3.5"]);
    }
}
