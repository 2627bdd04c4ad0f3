//! What the program has told the terminal, as far as the bytes of named keys depend on it.
//!
//! A program that draws the whole screen asks for "application" cursor keys (DECCKM, `CSI ? 1 h`; ECMA-48 and
//! xterm's control sequences) and then reads `ESC O A` for the up key instead of `ESC [ A`. The request stands in its
//! output once and may long have been dropped, so it is followed byte by byte as the output passes.

/// Follows DECCKM through a stream that may be cut anywhere.
#[derive(Debug, Default)]
pub(super) struct Modes {
    place: Place,
    application_keys: bool,
}

/// How far into a sequence the stream has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Text,
    Escape,
    Bracket,
    /// Inside the numbers of `CSI ?`: the current one, and whether 1 was among those before.
    Private {
        number: u16,
        cursor_keys: bool,
    },
}

impl Modes {
    /// Whether cursor keys are to be sent in application form.
    pub(super) fn application_keys(&self) -> bool {
        self.application_keys
    }

    /// Follows the next bytes of the stream.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        loop {
            if self.place == Place::Text {
                let Some(escape) = memchr::memchr(0x1b, bytes) else { return };
                bytes = bytes.get(escape + 1..).unwrap_or_default();
                self.place = Place::Escape;
            }
            let Some((byte, rest)) = bytes.split_first() else { return };
            bytes = rest;
            self.place = self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) -> Place {
        match (self.place, byte) {
            (_, 0x1b) => Place::Escape,
            (Place::Escape, b'[') => Place::Bracket,
            // RIS resets the terminal.
            (Place::Escape, b'c') => {
                self.application_keys = false;
                Place::Text
            }
            (Place::Bracket, b'?') => Place::Private { number: 0, cursor_keys: false },
            (Place::Private { number, cursor_keys }, b'0'..=b'9') => {
                let number = number.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
                Place::Private { number, cursor_keys }
            }
            (Place::Private { number, cursor_keys }, b';') => {
                Place::Private { number: 0, cursor_keys: cursor_keys || number == 1 }
            }
            (Place::Private { number, cursor_keys }, b'h' | b'l') => {
                if cursor_keys || number == 1 {
                    self.application_keys = byte == b'h';
                }
                Place::Text
            }
            _ => Place::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pieces: &[&[u8]]) -> bool {
        let mut modes = Modes::default();
        pieces.iter().for_each(|piece| modes.push(piece));
        modes.application_keys()
    }

    #[test]
    fn application_keys_follow_the_programs_requests() {
        assert!(!after(&[b"plain \x1b[31mred\x1b[0m"]));
        assert!(after(&[b"\x1b[?1h\x1b="]));
        assert!(after(&[b"\x1b[?25;1;7h"]));
        assert!(!after(&[b"\x1b[?12h\x1b[?1049h"]));
        assert!(!after(&[b"\x1b[?1h text \x1b[?1l"]));
        assert!(!after(&[b"\x1b[?1h\x1bc"]));
        assert!(after(&[b"\x1b\x1b[?1h"]));
    }

    #[test]
    fn a_cut_anywhere_changes_nothing() {
        let stream = b"x\x1b[?25;1hy";
        for cut in 0..=stream.len() {
            let (head, tail) = stream.split_at(cut);
            assert!(after(&[head, tail]), "cut at {cut}");
        }
    }
}
