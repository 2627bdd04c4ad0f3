//! What the kernel does to input lines, so that nothing is cut silently: a terminal in canonical mode keeps 4,095 bytes
//! of a line and drops the rest without a word.

use std::os::fd::AsFd;

use rustix::termios::{InputModes, LocalModes, SpecialCodeIndex, Termios, tcgetattr};
use sessiond_core::{Error, Result};

use crate::error;

/// The longest line, without the character that ends it.
const LONGEST_LINE: usize = 4095;

/// Control-D, where the terminal has no other.
const END_OF_TRANSMISSION: u8 = 4;

/// How the terminal treats input just now.
#[derive(Debug)]
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
    /// Asks the terminal.
    ///
    /// # Errors
    /// `failed_precondition` when the terminal is gone.
    pub(crate) fn of(terminal: impl AsFd) -> Result<Self> {
        tcgetattr(terminal).map(|modes| Self::from(&modes)).map_err(|_| error::ended())
    }

    /// The character that ends the input.
    pub(crate) fn end_of_file(&self) -> u8 {
        self.end_of_file
    }
}

impl From<&Termios> for Discipline {
    fn from(modes: &Termios) -> Self {
        let key = |index| Some(modes.special_codes[index]).filter(|key| *key != 0);
        let signals = modes.local_modes.contains(LocalModes::ISIG) && !modes.local_modes.contains(LocalModes::NOFLSH);
        let extended = modes.local_modes.contains(LocalModes::IEXTEN);
        let line_keys = [SpecialCodeIndex::VEOF, SpecialCodeIndex::VEOL, SpecialCodeIndex::VKILL];
        let signal_keys = [SpecialCodeIndex::VINTR, SpecialCodeIndex::VQUIT, SpecialCodeIndex::VSUSP];
        let mut special: Vec<u8> = line_keys.into_iter().filter_map(key).collect();
        special.extend(signal_keys.into_iter().filter_map(key).filter(|_| signals));
        special.extend(key(SpecialCodeIndex::VEOL2).filter(|_| extended));
        Self {
            canonical: modes.local_modes.contains(LocalModes::ICANON),
            end_of_file: key(SpecialCodeIndex::VEOF).unwrap_or(END_OF_TRANSMISSION),
            return_ends: modes.input_modes.contains(InputModes::ICRNL)
                && !modes.input_modes.contains(InputModes::IGNCR),
            newline_ends: !modes.input_modes.contains(InputModes::INLCR),
            literal_next: key(SpecialCodeIndex::VLNEXT).filter(|_| extended),
            special,
        }
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

impl Discipline {
    fn ends_line(&self, byte: u8) -> bool {
        match byte {
            b'\n' => self.newline_ends,
            b'\r' => self.return_ends,
            other => self.special.contains(&other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cooked() -> Discipline {
        Discipline {
            canonical: true,
            end_of_file: 4,
            return_ends: true,
            newline_ends: true,
            literal_next: Some(0x16),
            special: vec![3, 4, 0x15],
        }
    }

    fn pending(pieces: &[&[u8]], discipline: &Discipline) -> Option<usize> {
        let mut pending = Pending::default();
        for piece in pieces {
            pending = pending.after(piece, discipline).ok()?;
        }
        Some(pending.bytes)
    }

    #[test]
    fn a_line_may_have_4095_bytes_and_its_end() {
        let line = [b'x'; 4096];
        assert_eq!(pending(&[&line[..4095]], &cooked()), Some(4095));
        assert_eq!(pending(&[&line[..4095], b"\n"], &cooked()), Some(0));
        assert_eq!(pending(&[&line], &cooked()), None);
        assert_eq!(pending(&[&line[..4095], b"x\n"], &cooked()), None);
        assert_eq!(pending(&[&line], &Discipline { canonical: false, ..cooked() }), Some(0));
    }

    #[test]
    fn whatever_ends_or_throws_away_a_line_begins_a_new_one() {
        for key in [b'\n', b'\r', 3, 4, 0x15] {
            assert_eq!(pending(&[b"abc", &[key], b"de"], &cooked()), Some(2), "{key}");
            assert_eq!(pending(&[b"abc\x16", &[key], b"de"], &cooked()), Some(6), "{key} after a literal-next");
        }
        let odd = Discipline { return_ends: false, newline_ends: false, ..cooked() };
        assert_eq!(pending(&[b"abc\r\n"], &odd), Some(5));
    }
}
