//! What the host's kernel does to input lines, so that nothing is cut silently: a terminal in canonical mode keeps
//! 4,095 bytes of a line and drops the rest without a word.

use sessiond_core::{Error, Result};

/// The longest line, without the character that ends it.
const LONGEST_LINE: usize = 4095;

/// Control-D, where the terminal has no other.
const END_OF_TRANSMISSION: u8 = 4;

/// How a terminal treats its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Discipline {
    canonical: bool,
    end_of_file: u8,
    /// A carriage return ends a line.
    return_ends: bool,
    /// A newline ends a line.
    newline_ends: bool,
    /// Makes the next character an ordinary one.
    literal_next: Option<u8>,
    /// These end a line or throw it away.
    special: Vec<u8>,
}

impl Discipline {
    /// Reads what `stty -a` prints, its lines joined.
    pub(crate) fn read(modes: &str) -> Self {
        let has = |mode: &str| modes.split([' ', ';']).any(|word| word == mode);
        let key = |name: &str| {
            let value = modes.split(';').find_map(|setting| {
                let (before, value) = setting.split_once(" = ")?;
                // Settings are told apart by semicolons, but the first of a line follows the speed.
                (before.split(' ').next_back()? == name).then(|| value.trim().to_owned())
            })?;
            character(&value)
        };
        let signals = has("isig") && !has("noflsh");
        let extended = has("iexten");
        let mut special: Vec<u8> = ["eof", "eol", "kill"].into_iter().filter_map(key).collect();
        special.extend(["intr", "quit", "susp"].into_iter().filter_map(key).filter(|_| signals));
        special.extend(key("eol2").filter(|_| extended));
        Self {
            canonical: has("icanon"),
            end_of_file: key("eof").unwrap_or(END_OF_TRANSMISSION),
            return_ends: has("icrnl") && !has("igncr"),
            newline_ends: !has("inlcr"),
            literal_next: key("lnext").filter(|_| extended),
            special,
        }
    }

    /// A terminal as it is before anybody has changed it.
    pub(crate) fn usual() -> Self {
        Self {
            canonical: true,
            end_of_file: END_OF_TRANSMISSION,
            return_ends: true,
            newline_ends: true,
            literal_next: Some(0x16),
            special: vec![END_OF_TRANSMISSION, 0x15, 0x03, 0x1c, 0x1a],
        }
    }

    /// The character that ends the input.
    pub(crate) fn end_of_file(&self) -> u8 {
        self.end_of_file
    }

    fn ends_line(&self, byte: u8) -> bool {
        match byte {
            b'\n' => self.newline_ends,
            b'\r' => self.return_ends,
            other => self.special.contains(&other),
        }
    }
}

/// `^D`, `^?`, a character, or nothing for `<undef>`.
fn character(shown: &str) -> Option<u8> {
    match shown.as_bytes() {
        b"^?" => Some(0x7f),
        [b'^', letter] => Some(letter & 0x1f),
        [plain] => Some(*plain),
        _ => None,
    }
}

/// How many bytes of an unfinished line the terminal may hold. Erased characters are counted as if they were there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    bytes: usize,
    /// The last byte makes the next an ordinary one.
    literal: bool,
}

impl Pending {
    /// What is pending behind `input`, after what is pending before it.
    ///
    /// # Errors
    /// `failed_precondition` when a line in it is longer than the terminal keeps.
    pub(crate) fn after(mut self, input: &[u8], discipline: &Discipline) -> Result<Self> {
        if !discipline.canonical {
            return Ok(Self::default());
        }
        for byte in input {
            if self.literal {
                self.literal = false;
                self.bytes += 1;
            } else if discipline.literal_next == Some(*byte) {
                self.literal = true;
            } else if discipline.ends_line(*byte) {
                self.bytes = 0;
            } else {
                self.bytes += 1;
            }
            if self.bytes > LONGEST_LINE {
                return Err(Error::failed_precondition(format!(
                    "a line is longer than the {LONGEST_LINE} bytes that the terminal keeps while the program reads \
                     whole lines, and the rest would be lost: break it up, put it into a file, or wait until the \
                     program takes single keys"
                )));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOKED: &str = "speed 38400 baud; rows 24; columns 80; line = 0; intr = ^C; quit = ^\\; erase = ^?; \
        kill = ^U; eof = ^D; eol = <undef>; eol2 = <undef>; swtch = <undef>; start = ^Q; stop = ^S; susp = ^Z; \
        rprnt = ^R; werase = ^W; lnext = ^V; discard = ^O; min = 1; time = 0; -parenb icrnl ixon -inlcr -igncr \
        iutf8 opost isig icanon iexten echo -noflsh";

    #[test]
    fn what_stty_prints_is_understood() {
        let read = Discipline::read(COOKED);
        assert_eq!(Discipline { special: vec![4, 0x15, 3, 0x1c, 0x1a], ..read.clone() }, read);
        assert_eq!(read, Discipline::usual());
        let odd = Discipline::read("speed 9600 baud;\nintr = ^C; eof = x; lnext = <undef>; -icanon -icrnl inlcr -isig");
        assert_eq!(
            odd,
            Discipline {
                canonical: false,
                end_of_file: b'x',
                return_ends: false,
                newline_ends: false,
                literal_next: None,
                special: vec![b'x'],
            }
        );
    }

    #[test]
    fn a_line_that_would_be_cut_is_refused() {
        let cooked = Discipline::usual();
        let pending = |pieces: &[&[u8]], discipline: &Discipline| {
            let mut pending = Pending::default();
            for piece in pieces {
                pending = pending.after(piece, discipline).ok()?;
            }
            Some(pending.bytes)
        };
        let long = [b'x'; LONGEST_LINE];
        assert_eq!(pending(&[&long], &cooked), Some(LONGEST_LINE));
        assert_eq!(pending(&[&long, b"x"], &cooked), None);
        assert_eq!(pending(&[&long, b"\r", &long], &cooked), Some(LONGEST_LINE));
        assert_eq!(pending(&[&long, b"\x16", b"\n"], &cooked), None, "a quoted newline is of the line");
        let raw = Discipline { canonical: false, ..cooked };
        assert_eq!(pending(&[&long, &long], &raw), Some(0));
    }
}
