//! Names of things: sessions and targets.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// The digits of Crockford's base 32, which leaves out the letters that are misread.
const DIGITS: [u8; 32] = *b"0123456789abcdefghjkmnpqrstvwxyz";

/// How many base-32 digits hold 128 bits.
const LENGTH: usize = 26;

/// What each byte is worth as a digit; [`NO_DIGIT`] for all that are none.
#[allow(clippy::indexing_slicing, reason = "the compiler evaluates it: an index out of range would not build")]
const VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < DIGITS.len() {
        values[DIGITS[value] as usize] = value as u8;
        value += 1;
    }
    values
};
const NO_DIGIT: u8 = u8::MAX;

/// The id of a session: 128 random bits, written as 26 lower-case base-32 digits.
///
/// An id cannot be guessed and is never used twice, also not across restarts of the server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(u128);

impl SessionId {
    /// A fresh id.
    ///
    /// # Errors
    /// `internal` when the operating system has no randomness to give.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| Error::internal(format!("no randomness from the operating system: {error}")))?;
        Ok(Self(u128::from_le_bytes(bytes)))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; LENGTH];
        let mut rest = self.0;
        for place in text.iter_mut().rev() {
            *place = DIGITS.get((rest & 31) as usize).copied().unwrap_or(b'0');
            rest >>= 5;
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({self})")
    }
}

/// The number of a command that is kept on a host: positive, and never used twice by one server.
///
/// The first one is random for each life of the server, then they grow (CO32), so that a number of an earlier life
/// meets nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub u64);

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text is no session id. Callers see the same not-found as for an id that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSessionId;

impl FromStr for SessionId {
    type Err = NoSessionId;

    fn from_str(text: &str) -> Result<Self, NoSessionId> {
        if text.len() != LENGTH {
            return Err(NoSessionId);
        }
        let mut value: u128 = 0;
        for byte in text.bytes() {
            let digit = VALUES.get(usize::from(byte)).copied().unwrap_or(NO_DIGIT);
            // 26 digits hold 130 bits: of the first one only three of its five may be there.
            if digit == NO_DIGIT || value >> 123 != 0 {
                return Err(NoSessionId);
            }
            value = value << 5 | u128::from(digit);
        }
        Ok(Self(value))
    }
}

/// The name of a target, as the configuration gives it; the published tools call it `client_token`.
///
/// 1 to 256 bytes without control characters. A selector, not a secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TargetName(String);

impl TargetName {
    /// The longest name, in bytes.
    pub const MAX_LEN: usize = 256;

    /// Checks and takes a name.
    ///
    /// # Errors
    /// `invalid_argument` when it is empty, too long or has control characters.
    pub fn new(name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        if name.is_empty() || name.len() > Self::MAX_LEN || name.chars().any(char::is_control) {
            return Err(Error::invalid_argument(format!(
                "a target's name has 1 to {} bytes and no control characters",
                Self::MAX_LEN
            )));
        }
        Ok(Self(name))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A backend's own name for something that runs on its target, such as an agent run's platform id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NativeId(pub String);

impl fmt::Display for NativeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_itself() {
        for value in [0, 1, 31, 32, u128::MAX, u128::MAX - 1, 0x0123_4567_89ab_cdef] {
            let id = SessionId(value);
            assert_eq!(id.to_string().len(), LENGTH);
            assert_eq!(id.to_string().parse(), Ok(id));
        }
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in ["", "0", "80000000000000000000000000", "0000000000000000000000000U", "0000000000000000000000000é"]
        {
            assert_eq!(text.parse::<SessionId>(), Err(NoSessionId), "{text:?}");
        }
    }

    #[test]
    fn a_target_name_has_bounds() {
        assert!(TargetName::new("local").is_ok());
        assert!(TargetName::new("").is_err());
        assert!(TargetName::new("a\nb").is_err());
        assert!(TargetName::new("x".repeat(256)).is_ok());
        assert!(TargetName::new("x".repeat(257)).is_err());
    }
}
