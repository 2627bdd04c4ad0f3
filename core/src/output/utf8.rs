//! Characters at the edges of a cut: which bytes to hold back, which to skip, and how the rest reads as text.
//!
//! The three functions belong together: the text of a chain of reads does not depend on where it was cut, because
//! an incomplete character is held back, a cut one is skipped, and every other bad byte stands for itself.

/// The longest incomplete character, in bytes.
pub(crate) const MAX_TAIL: usize = 3;

/// Reads bytes as text: each byte that is not part of a valid character becomes one U+FFFD (SR23).
pub fn decode(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// How many bytes at the end begin a character that more bytes could complete: 0 to 3.
pub(crate) fn incomplete_tail(bytes: &[u8]) -> usize {
    for length in 1..=MAX_TAIL.min(bytes.len()) {
        let tail = bytes.get(bytes.len() - length..).unwrap_or_default();
        match tail.first() {
            Some(0x80..=0xbf) => continue,
            Some(0xc2..=0xf4) => {
                let could_go_on = matches!(std::str::from_utf8(tail), Err(error) if error.error_len().is_none());
                return if could_go_on { length } else { 0 };
            }
            _ => return 0,
        }
    }
    0
}

/// How many bytes at the beginning of `kept` finish a valid character that began in `before`: 0 to 3 (SR31).
pub(crate) fn cut_head(before: &[u8], kept: &[u8]) -> usize {
    let begun = incomplete_tail(before);
    if begun == 0 {
        return 0;
    }
    let mut character = before.get(before.len() - begun..).unwrap_or_default().to_vec();
    character.extend(kept.iter().take(MAX_TAIL));
    let valid = character.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    valid.chars().next().map_or(0, |whole| whole.len_utf8() - begun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bad_byte_becomes_one_replacement_character() {
        assert_eq!(decode(b"a\xe2\x82z"), "a\u{fffd}\u{fffd}z");
        assert_eq!(decode("a€z".as_bytes()), "a€z");
        assert_eq!(decode(b"\xf0\x9f\x98"), "\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(decode(b"\x82\xac"), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn only_what_can_be_completed_is_held_back() {
        for (bytes, held) in [
            (&b""[..], 0),
            (b"a", 0),
            (b"a\xe2", 1),
            (b"a\xe2\x82", 2),
            (b"a\xe2\x82\xac", 0),
            (b"\xf0\x9f\x98", 3),
            (b"\xf0\x9f\x98\x80", 0),
            (b"\x80\x80", 0),
            (b"\xe0\x80", 0),
            (b"\xed\xa0", 0),
            (b"\xc1", 0),
            (b"\xf5", 0),
        ] {
            assert_eq!(incomplete_tail(bytes), held, "{bytes:x?}");
        }
    }

    #[test]
    fn only_the_rest_of_a_cut_character_is_skipped() {
        let euro = "€".as_bytes();
        assert_eq!(cut_head(&euro[..1], &euro[1..]), 2);
        assert_eq!(cut_head(&euro[..2], &euro[2..]), 1);
        assert_eq!(cut_head(euro, b"\x82\xac"), 0);
        assert_eq!(cut_head(b"\xe2", b"\x82A"), 0);
        assert_eq!(cut_head(b"", b"\x82\xac"), 0);
        assert_eq!(cut_head(b"\xf0\x9f\x98", b"\x80abc"), 1);
    }
}
