//! One line of a known_hosts file, taken apart as OpenSSH does it (`hostfile.c`).

use data_encoding::BASE64;

/// What a line says of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// It is the host's key.
    None,
    /// `@cert-authority`: it signs certificates of hosts.
    Authority,
    /// `@revoked`: it must never be accepted, neither as a host's key nor as an authority.
    Revoked,
}

/// A line that names hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// What it says of its key.
    pub(super) marker: Marker,
    /// The hosts, as they are written: see [`matches`](super::pattern::matches).
    pub(super) hosts: &'a str,
    /// The rest: the key and its comment.
    pub(super) key: &'a str,
}

impl<'a> Line<'a> {
    /// Takes a line without its newline apart; `None` for comments, empty lines and what names no host.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line = line.trim_start_matches(BLANK);
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let (marker, rest) = marker(line)?;
        let (hosts, key) = word(rest)?;
        Some(Self { marker, hosts, key })
    }
}

/// What separates the fields.
const BLANK: [char; 2] = [' ', '\t'];

/// The marker in front, if there is one; `None` where it is none that we know or more than one.
fn marker(line: &str) -> Option<(Marker, &str)> {
    if !line.starts_with('@') {
        return Some((Marker::None, line));
    }
    let (name, rest) = word(line)?;
    let marker = match name {
        "@cert-authority" => Marker::Authority,
        "@revoked" => Marker::Revoked,
        _ => return None,
    };
    (!rest.starts_with('@')).then_some((marker, rest))
}

/// The first field and what follows it; `None` where nothing follows.
fn word(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once(BLANK)?;
    let rest = rest.trim_start_matches(BLANK);
    (!rest.is_empty() && !rest.starts_with('#')).then_some((word, rest))
}

/// A public key in a file. It is compared as bytes, so that a key of a type unknown to us is still a key of its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The name of its type.
    pub(super) kind: String,
    /// The key as it is sent in the protocol (RFC 4253, section 6.6).
    pub(super) blob: Vec<u8>,
}

impl Key {
    /// Reads `TYPE BASE64 [COMMENT]`; `None` where that is no key.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(BLANK)?;
        let encoded = rest.trim_start_matches(BLANK).split(BLANK).next()?;
        let blob = BASE64.decode(encoded.as_bytes()).ok()?;
        (name_in(&blob)? == kind.as_bytes()).then(|| Self { kind: kind.to_owned(), blob })
    }
}

/// The type that a key names itself: its first string.
fn name_in(blob: &[u8]) -> Option<&[u8]> {
    let (length, rest) = blob.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    // Something must follow the name: a name alone is no key.
    rest.get(..length).filter(|name| name.len() < rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnAS";

    #[test]
    fn a_line_is_a_marker_hosts_and_a_key() {
        let parsed = |marker, hosts| Some(Line { marker, hosts, key: KEY });
        assert_eq!(Line::parse(&format!("a,b {KEY}")), parsed(Marker::None, "a,b"));
        assert_eq!(Line::parse(&format!(" \ta\t \t{KEY}\r")), parsed(Marker::None, "a"));
        assert_eq!(Line::parse(&format!("@revoked * {KEY}")), parsed(Marker::Revoked, "*"));
        assert_eq!(Line::parse(&format!("@cert-authority\t*.b {KEY}")), parsed(Marker::Authority, "*.b"));
    }

    #[test]
    fn comments_and_what_is_no_line_are_passed_over() {
        for line in [
            "",
            "  ",
            "\r",
            "# a b c",
            " # a",
            "alone",
            "alone ",
            "alone # b",
            "@revoked",
            "@revoked a",
            "@other a b c",
        ] {
            assert_eq!(Line::parse(line), None, "{line:?}");
        }
        assert_eq!(Line::parse(&format!("@revoked @cert-authority a {KEY}")), None);
    }

    #[test]
    fn a_key_is_what_its_type_says() {
        let key = Key::parse(&format!("{KEY} comment # more")).unwrap();
        assert_eq!((key.kind.as_str(), key.blob.len()), ("ssh-ed25519", 51));
        assert_eq!(Key::parse(&KEY.replace("ssh-ed25519", "ssh-rsa")), None);
        assert_eq!(Key::parse("ssh-ed25519"), None);
        assert_eq!(Key::parse("ssh-ed25519 AAAA"), None);
        assert_eq!(Key::parse("ssh-ed25519 ????"), None);
        // The name alone.
        assert_eq!(Key::parse("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5"), None);
        assert_eq!(Key::parse("1024 35 1234567890"), None);
    }
}
