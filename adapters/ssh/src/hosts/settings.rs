//! What a client configuration says of one host, in whichever way it was found out.

use std::collections::BTreeMap;
use std::time::Duration;

/// The settings that a route is made of, by their keyword in lower case; all others are dropped.
pub(super) const KEYWORDS: [&str; 20] = [
    "certificatefile",
    "checkhostip",
    "connecttimeout",
    "globalknownhostsfile",
    "hashknownhosts",
    "hostkeyalias",
    "hostname",
    "identitiesonly",
    "identityagent",
    "identityfile",
    "port",
    "proxycommand",
    "proxyjump",
    "proxyusefdpass",
    "revokedhostkeys",
    "serveralivecountmax",
    "serveraliveinterval",
    "stricthostkeychecking",
    "user",
    "userknownhostsfile",
];

/// Settings, each with its values in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    values: BTreeMap<&'static str, Vec<String>>,
    expanded: bool,
}

impl Settings {
    /// None yet; of those to come the client has replaced the tokens where it does so.
    pub(super) fn expanded() -> Self {
        Self { expanded: true, ..Self::default() }
    }

    /// Whether the tokens of `HostName`, `UserKnownHostsFile` and `IdentityAgent` have been replaced.
    pub(super) fn are_expanded(&self) -> bool {
        self.expanded
    }

    /// The keyword as this table has it, if a route is made of it.
    pub(super) fn keyword(name: &str) -> Option<&'static str> {
        KEYWORDS.iter().find(|keyword| **keyword == name).copied()
    }

    /// Adds a value.
    pub(super) fn add(&mut self, keyword: &'static str, value: impl Into<String>) {
        self.values.entry(keyword).or_default().push(value.into());
    }

    /// Whether it has a value.
    pub(super) fn has(&self, keyword: &str) -> bool {
        self.values.contains_key(keyword)
    }

    /// All its values.
    pub(super) fn all(&self, keyword: &str) -> &[String] {
        self.values.get(keyword).map_or(&[], Vec::as_slice)
    }

    /// Its first value.
    pub(super) fn first(&self, keyword: &str) -> Option<&str> {
        self.all(keyword).first().map(String::as_str)
    }

    /// Its first value, where that is not `none`.
    pub(super) fn some(&self, keyword: &str) -> Option<&str> {
        self.first(keyword).filter(|value| !value.eq_ignore_ascii_case("none"))
    }

    /// Whether it is switched on.
    pub(super) fn is_on(&self, keyword: &str) -> bool {
        self.first(keyword).is_some_and(is_yes)
    }

    /// A number of seconds that is not nought.
    pub(super) fn seconds(&self, keyword: &str) -> Option<Duration> {
        self.some(keyword).and_then(seconds).filter(|time| !time.is_zero())
    }
}

/// Whether a word switches something on.
pub(super) fn is_yes(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "yes" | "true")
}

/// A time as OpenSSH writes it: `90`, `1m30`, `1h30m` (sshd_config(5), "TIME FORMATS").
pub(super) fn seconds(text: &str) -> Option<Duration> {
    let mut total: u64 = 0;
    let mut number: Option<u64> = None;
    for char in text.chars() {
        if let Some(digit) = char.to_digit(10) {
            number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(u64::from(digit))?);
            continue;
        }
        let unit = match char.to_ascii_lowercase() {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'w' => 604_800,
            _ => return None,
        };
        total = total.checked_add(number.take()?.checked_mul(unit)?)?;
    }
    (!text.is_empty()).then_some(())?;
    total.checked_add(number.unwrap_or(0)).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, expected) in
            [("0", 0), ("90", 90), ("1m30", 90), ("1h30m", 5400), ("2W", 1_209_600), ("1d1s", 86_401)]
        {
            assert_eq!(seconds(text), Some(Duration::from_secs(expected)), "{text}");
        }
        for text in ["", "m", "1x", "-1", "1.5", "99999999999999999999"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
