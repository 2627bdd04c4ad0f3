//! Named keys and the bytes that a terminal of type `xterm-256color` sends for them.
//!
//! Sources: ECMA-48 for the control characters, xterm's control sequences for the rest.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result, shown};

/// A key, perhaps with modifiers, by its name: `enter`, `ctrl-c`, `up`, `alt-x`, `ctrl-shift-left`, `f5`, `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    base: Base,
    modifiers: Modifiers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Base {
    /// A character.
    Char(char),
    /// A key that sends `CSI x`, or `SS3 x` in application form.
    Cursor(char),
    /// A key that always sends `SS3 x`.
    Function(char),
    /// A key that sends `CSI n ~`.
    Tilde(u8),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Modifiers {
    shift: bool,
    alt: bool,
    ctrl: bool,
}

impl Modifiers {
    /// xterm's number for the modifiers, when there are any.
    fn code(self) -> Option<u8> {
        let bits = u8::from(self.shift) | u8::from(self.alt) << 1 | u8::from(self.ctrl) << 2;
        (bits > 0).then_some(bits + 1)
    }
}

const NAMED: &[(&str, Base)] = &[
    ("enter", Base::Char('\r')),
    ("return", Base::Char('\r')),
    ("tab", Base::Char('\t')),
    ("escape", Base::Char('\x1b')),
    ("esc", Base::Char('\x1b')),
    ("space", Base::Char(' ')),
    ("backspace", Base::Char('\x7f')),
    ("up", Base::Cursor('A')),
    ("down", Base::Cursor('B')),
    ("right", Base::Cursor('C')),
    ("left", Base::Cursor('D')),
    ("home", Base::Cursor('H')),
    ("end", Base::Cursor('F')),
    ("insert", Base::Tilde(2)),
    ("delete", Base::Tilde(3)),
    ("page-up", Base::Tilde(5)),
    ("page-down", Base::Tilde(6)),
    ("f1", Base::Function('P')),
    ("f2", Base::Function('Q')),
    ("f3", Base::Function('R')),
    ("f4", Base::Function('S')),
    ("f5", Base::Tilde(15)),
    ("f6", Base::Tilde(17)),
    ("f7", Base::Tilde(18)),
    ("f8", Base::Tilde(19)),
    ("f9", Base::Tilde(20)),
    ("f10", Base::Tilde(21)),
    ("f11", Base::Tilde(23)),
    ("f12", Base::Tilde(24)),
];

impl Key {
    /// The names of all keys that are not a character of their own.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// The bytes that the key sends; `application` when the program has asked for cursor keys in that form.
    pub fn bytes(self, application: bool) -> Vec<u8> {
        match (self.base, self.modifiers.code()) {
            (Base::Char(char), _) => self.char_bytes(char),
            (Base::Cursor(letter), None) if application => format!("\x1bO{letter}"),
            (Base::Cursor(letter), None) => format!("\x1b[{letter}"),
            (Base::Function(letter), None) => format!("\x1bO{letter}"),
            (Base::Cursor(letter) | Base::Function(letter), Some(code)) => format!("\x1b[1;{code}{letter}"),
            (Base::Tilde(number), None) => format!("\x1b[{number}~"),
            (Base::Tilde(number), Some(code)) => format!("\x1b[{number};{code}~"),
        }
        .into_bytes()
    }

    fn char_bytes(self, char: char) -> String {
        let char = if self.modifiers.ctrl { control(char).unwrap_or(char) } else { char };
        let alt = if self.modifiers.alt { "\x1b" } else { "" };
        if self.modifiers.shift && char == '\t' { format!("{alt}\x1b[Z") } else { format!("{alt}{char}") }
    }
}

/// The control character of a key, where it has one.
fn control(char: char) -> Option<char> {
    match char.to_ascii_uppercase() {
        upper @ '@'..='_' => Some(char::from(upper as u8 & 0x1f)),
        ' ' => Some('\0'),
        '?' => Some('\x7f'),
        _ => None,
    }
}

impl fmt::Display for Key {
    /// The name that reads back as this key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Modifiers { shift, alt, ctrl } = self.modifiers;
        for (held, name) in [(ctrl, "ctrl-"), (alt, "alt-"), (shift, "shift-")] {
            f.write_str(if held { name } else { "" })?;
        }
        match (NAMED.iter().find(|(_, base)| *base == self.base), self.base) {
            (Some((name, _)), _) => f.write_str(name),
            (None, Base::Char(char)) => char.fmt(f),
            // Every other base has a name.
            (None, _) => Ok(()),
        }
    }
}

impl FromStr for Key {
    type Err = Error;

    /// Takes the name in any case; `-`, `+` and `_` part modifiers and words alike.
    fn from_str(text: &str) -> Result<Self> {
        let refused = || {
            let names: Vec<_> = Self::names().collect();
            Error::invalid_argument(format!(
                "key \"{}\" is not known; known are single characters and {}, with ctrl-, alt- and shift- before them",
                shown(text),
                names.join(", ")
            ))
        };
        let mut modifiers = Modifiers::default();
        let mut name = text.to_owned();
        while name.chars().count() > 1 {
            let lower = name.to_ascii_lowercase().replace(['+', '_'], "-");
            let (modifier, length) = if lower.starts_with("ctrl-") {
                (&mut modifiers.ctrl, 5)
            } else if lower.starts_with("alt-") {
                (&mut modifiers.alt, 4)
            } else if lower.starts_with("shift-") {
                (&mut modifiers.shift, 6)
            } else {
                break;
            };
            *modifier = true;
            name = name.split_off(length);
        }
        let mut chars = name.chars();
        let base = match (chars.next(), chars.next()) {
            (Some(char), None) if !char.is_control() => Base::Char(char),
            _ => {
                let lower = name.to_ascii_lowercase().replace(['+', '_'], "-");
                let known = NAMED.iter().find(|(known, _)| *known == lower || known.replace('-', "") == lower);
                known.ok_or_else(refused)?.1
            }
        };
        match base {
            Base::Char(char) if modifiers.ctrl && control(char).is_none() => Err(refused()),
            Base::Char(char) if modifiers.shift && char != '\t' => {
                let upper = char.to_ascii_uppercase();
                Ok(Self { base: Base::Char(upper), modifiers: Modifiers { shift: false, ..modifiers } })
            }
            base => Ok(Self { base, modifiers }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(name: &str, application: bool) -> Vec<u8> {
        name.parse::<Key>().unwrap().bytes(application)
    }

    #[test]
    fn keys_send_what_the_terminal_would_send() {
        for (name, expected) in [
            ("enter", &b"\r"[..]),
            ("Enter", b"\r"),
            ("tab", b"\t"),
            ("shift-tab", b"\x1b[Z"),
            ("escape", b"\x1b"),
            ("backspace", b"\x7f"),
            ("ctrl-c", b"\x03"),
            ("Ctrl+C", b"\x03"),
            ("ctrl-@", b"\0"),
            ("ctrl-space", b"\0"),
            ("ctrl-[", b"\x1b"),
            ("ctrl-\\", b"\x1c"),
            ("ctrl-?", b"\x7f"),
            ("alt-x", b"\x1bx"),
            ("alt-ctrl-x", b"\x1b\x18"),
            ("shift-a", b"A"),
            ("a", b"a"),
            ("-", b"-"),
            ("ctrl--", b"-"),
            ("é", "é".as_bytes()),
            ("up", b"\x1b[A"),
            ("ctrl-right", b"\x1b[1;5C"),
            ("home", b"\x1b[H"),
            ("f1", b"\x1bOP"),
            ("shift-f1", b"\x1b[1;2P"),
            ("f5", b"\x1b[15~"),
            ("f12", b"\x1b[24~"),
            ("delete", b"\x1b[3~"),
            ("ctrl-delete", b"\x1b[3;5~"),
            ("page-up", b"\x1b[5~"),
            ("PageUp", b"\x1b[5~"),
            ("page_down", b"\x1b[6~"),
        ] {
            if name == "ctrl--" {
                assert!(name.parse::<Key>().is_err(), "a key without a control character is refused");
                continue;
            }
            assert_eq!(bytes(name, false), expected, "{name}");
            let key: Key = name.parse().unwrap();
            assert_eq!(key.to_string().parse(), Ok(key), "{name} reads back as {key}");
        }
    }

    #[test]
    fn cursor_keys_have_an_application_form() {
        assert_eq!(bytes("up", true), b"\x1bOA");
        assert_eq!(bytes("end", true), b"\x1bOF");
        assert_eq!(bytes("ctrl-up", true), b"\x1b[1;5A");
        assert_eq!(bytes("delete", true), b"\x1b[3~");
    }

    #[test]
    fn unknown_keys_are_refused_with_the_known_ones() {
        for name in ["", "C-c", "ctrl-", "ctrl-é", "hyper-x", "\n", "f13"] {
            let error = name.parse::<Key>().unwrap_err();
            assert!(error.message().contains("page-up"), "{name}: {error}");
        }
    }
}
