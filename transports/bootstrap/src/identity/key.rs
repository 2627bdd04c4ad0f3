//! Keys of this server: made at random, shown once, kept as a hash.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use sessiond_core::Error;
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

/// What every key begins with, so that a person and a scanner for leaked secrets know one when they see it.
pub(crate) const PREFIX: &str = "sdk_";

/// Random bytes of a key. Nobody guesses 256 bits, so that one round of SHA-256 hides a key as well as a slow hash would.
const BYTES: usize = 32;

/// A key in the clear, as it is shown once. It neither prints nor stays in memory once it has been dropped.
pub struct NewKey(Zeroizing<String>);

impl NewKey {
    /// Makes one.
    ///
    /// # Errors
    /// `unavailable` when the system has no randomness to give.
    pub fn random() -> Result<Self, Error> {
        let mut bytes = Zeroizing::new([0_u8; BYTES]);
        getrandom::fill(bytes.as_mut())
            .map_err(|error| Error::unavailable(format!("the system gives no random bytes: {error}")))?;
        let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + 2 * BYTES));
        text.push_str(PREFIX);
        push_hex(&mut text, bytes.as_ref());
        Ok(Self(text))
    }

    /// The key itself, for the one who is to have it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

impl fmt::Debug for NewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewKey")
    }
}

/// The SHA-256 of a credential: what is kept of a key, and what is remembered of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of a credential as it was sent.
    pub(crate) fn of(credential: &str) -> Self {
        let mut bytes = [0; 32];
        // SHA-256 has 32 bytes: nothing is cut off and nothing is missing.
        for (to, from) in bytes.iter_mut().zip(digest(&SHA256, credential.as_bytes()).as_ref()) {
            *to = *from;
        }
        Self(bytes)
    }

    /// As a keys file has it: 64 hexadecimal digits.
    pub(crate) fn parse(hex: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if hex.len() != 64 || !hex.is_ascii() {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        // `from_str_radix` takes a sign.
        hex.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(Self(bytes))
    }

    /// Whether two are the same, in a time that does not tell where they differ.
    pub(crate) fn same(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(64);
        push_hex(&mut text, &self.0);
        f.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    /// Not even the hash: it is enough to try guesses against, should somebody use a key of their own making.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest")
    }
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_recognised_and_never_printed() {
        let key = NewKey::random().unwrap();
        assert!(key.expose().starts_with("sdk_"));
        assert_eq!(key.expose().len(), 68);
        assert_ne!(key.expose(), NewKey::random().unwrap().expose());
        assert_eq!(format!("{key:?} {:?}", key.digest()), "NewKey Digest");
    }

    #[test]
    fn a_digest_is_the_sha_256_in_hexadecimal() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of("abc").to_string(), abc);
        assert_eq!(Digest::parse(abc), Some(Digest::of("abc")));
        assert_eq!(Digest::parse(&abc.to_uppercase()), Some(Digest::of("abc")));
        for wrong in ["", "ba78", &abc.replacen("ba", "+a", 1), &format!("{abc}0"), &abc.replacen("ba", "é", 1)] {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
        assert!(bool::from(Digest::of("abc").same(&Digest::of("abc"))));
        assert!(!bool::from(Digest::of("abc").same(&Digest::of("abd"))));
    }
}
