//! What a terminal does to input lines, so that nothing is cut silently: in canonical mode it keeps 4,095 bytes of a line
//! and drops the rest without a word.

use crate::error::{Error, Result};

/// The longest line, without the character that ends it: `N_TTY_BUF_SIZE` less one of Linux (termios(3), "canonical
/// mode").
const LONGEST_LINE: usize = 4095;

/// Control-D, where the terminal has no other.
const END_OF_TRANSMISSION: u8 = 4;

/// A setting of a terminal that decides what becomes of input; named as termios(3) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TerminalMode {
    /// Input is read by lines.
    Icanon,
    /// Keys send signals.
    Isig,
    /// A signal's key throws no input away.
    Noflsh,
    /// Keys beyond the common ones are there.
    Iexten,
    /// A carriage return becomes a newline.
    Icrnl,
    /// A carriage return is thrown away.
    Igncr,
    /// A newline becomes a carriage return.
    Inlcr,
}

impl TerminalMode {
    /// The word of `stty`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Icanon => "icanon",
            Self::Isig => "isig",
            Self::Noflsh => "noflsh",
            Self::Iexten => "iexten",
            Self::Icrnl => "icrnl",
            Self::Igncr => "igncr",
            Self::Inlcr => "inlcr",
        }
    }
}

/// A key of a terminal that does something to its input; named as termios(3) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TerminalKey {
    /// Ends the input.
    Eof,
    /// Ends a line.
    Eol,
    /// Ends a line, too.
    Eol2,
    /// Throws the line away.
    Kill,
    /// Interrupts.
    Intr,
    /// Quits.
    Quit,
    /// Suspends.
    Susp,
    /// Makes the next character an ordinary one.
    Lnext,
}

impl TerminalKey {
    /// The word of `stty`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Eof => "eof",
            Self::Eol => "eol",
            Self::Eol2 => "eol2",
            Self::Kill => "kill",
            Self::Intr => "intr",
            Self::Quit => "quit",
            Self::Susp => "susp",
            Self::Lnext => "lnext",
        }
    }
}

/// How a terminal treats input just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discipline {
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
    /// That of a terminal with these modes and these keys.
    pub fn new(has: impl Fn(TerminalMode) -> bool, key: impl Fn(TerminalKey) -> Option<u8>) -> Self {
        use TerminalKey::{Eof, Eol, Eol2, Intr, Kill, Lnext, Quit, Susp};
        use TerminalMode::{Icanon, Icrnl, Iexten, Igncr, Inlcr, Isig, Noflsh};

        let signals = has(Isig) && !has(Noflsh);
        let extended = has(Iexten);
        let mut special: Vec<u8> = [Eof, Eol, Kill].into_iter().filter_map(&key).collect();
        special.extend([Intr, Quit, Susp].into_iter().filter_map(&key).filter(|_| signals));
        special.extend(key(Eol2).filter(|_| extended));
        Self {
            canonical: has(Icanon),
            end_of_file: key(Eof).unwrap_or(END_OF_TRANSMISSION),
            return_ends: has(Icrnl) && !has(Igncr),
            newline_ends: !has(Inlcr),
            literal_next: key(Lnext).filter(|_| extended),
            special,
        }
    }

    /// That of a terminal that nobody has changed.
    pub fn usual() -> Self {
        use TerminalMode::{Icanon, Icrnl, Iexten, Isig};

        Self::new(
            |mode| matches!(mode, Icanon | Isig | Iexten | Icrnl),
            |key| match key {
                TerminalKey::Eof => Some(END_OF_TRANSMISSION),
                TerminalKey::Kill => Some(0x15),
                TerminalKey::Intr => Some(0x03),
                TerminalKey::Quit => Some(0x1c),
                TerminalKey::Susp => Some(0x1a),
                TerminalKey::Lnext => Some(0x16),
                TerminalKey::Eol | TerminalKey::Eol2 => None,
            },
        )
    }

    /// The character that ends the input.
    pub fn end_of_file(&self) -> u8 {
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

/// How many bytes of an unfinished line a terminal may hold. Erased characters are counted as if they were there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PendingLine {
    bytes: usize,
    /// The last byte makes the next an ordinary one.
    literal: bool,
}

impl PendingLine {
    /// What is pending behind `input`, after what is pending before it.
    ///
    /// # Errors
    /// `failed_precondition` when a line in it is longer than the terminal keeps (SF02).
    pub fn after(mut self, input: &[u8], discipline: &Discipline) -> Result<Self> {
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

    fn pending(pieces: &[&[u8]], discipline: &Discipline) -> Option<usize> {
        let mut pending = PendingLine::default();
        for piece in pieces {
            pending = pending.after(piece, discipline).ok()?;
        }
        Some(pending.bytes)
    }

    #[test]
    fn a_line_may_have_4095_bytes_and_its_end() {
        let (line, cooked) = ([b'x'; 4096], Discipline::usual());
        assert_eq!(pending(&[&line[..4095]], &cooked), Some(4095));
        assert_eq!(pending(&[&line[..4095], b"\n"], &cooked), Some(0));
        assert_eq!(pending(&[&line], &cooked), None);
        assert_eq!(pending(&[&line[..4095], b"x\n"], &cooked), None);
        assert_eq!(pending(&[&line], &Discipline { canonical: false, ..cooked }), Some(0));
    }

    #[test]
    fn whatever_ends_or_throws_away_a_line_begins_a_new_one() {
        let cooked = Discipline::usual();
        for key in [b'\n', b'\r', 3, 4, 0x15] {
            assert_eq!(pending(&[b"abc", &[key], b"de"], &cooked), Some(2), "{key}");
            assert_eq!(pending(&[b"abc\x16", &[key], b"de"], &cooked), Some(6), "{key} after a literal-next");
        }
        let odd = Discipline { return_ends: false, newline_ends: false, ..cooked };
        assert_eq!(pending(&[b"abc\r\n"], &odd), Some(5));
    }

    #[test]
    fn keys_count_only_where_the_modes_say_so() {
        use TerminalMode::{Icanon, Iexten, Isig, Noflsh};

        let all = |_| Some(b'k');
        let with = |modes: &'static [TerminalMode]| Discipline::new(move |mode| modes.contains(&mode), all);
        assert_eq!(with(&[Icanon]).special.len(), 3);
        assert_eq!(with(&[Icanon, Isig]).special.len(), 6);
        assert_eq!(with(&[Icanon, Isig, Noflsh]).special.len(), 3);
        assert_eq!((with(&[Icanon]).literal_next, with(&[Icanon, Iexten]).literal_next), (None, Some(b'k')));
        assert_eq!(Discipline::new(|_| false, |_| None).end_of_file(), END_OF_TRANSMISSION);
    }
}
