//! The text of an sshd_config(5).

use std::path::Path;

use crate::account::Account;
use crate::keys::Key;

/// What our servers do where their owner has not said otherwise.
const DEFAULTS: [(&str, &str); 14] = [
    ("PidFile", "none"),
    ("PermitRootLogin", "yes"),
    ("PasswordAuthentication", "yes"),
    ("KbdInteractiveAuthentication", "no"),
    ("UsePAM", "no"),
    // As Debian sets it.
    ("AcceptEnv", "LANG LC_*"),
    ("Subsystem", "sftp internal-sftp"),
    ("AuthorizedKeysFile", ".ssh/authorized_keys"),
    ("UseDNS", "no"),
    ("PrintMotd", "no"),
    ("PrintLastLog", "no"),
    // Tests connect as often and as many at once as they like.
    ("MaxStartups", "1000"),
    ("LogLevel", "VERBOSE"),
    ("StrictModes", "yes"),
];

/// Where the first value of a keyword does not hold against later ones, but adds to them.
const CUMULATIVE: [&str; 4] = ["acceptenv", "hostkey", "hostcertificate", "listenaddress"];

/// What a server's configuration says.
pub(crate) struct Config<'a> {
    pub(crate) port: u16,
    pub(crate) listen: &'a str,
    pub(crate) host_keys: &'a [Key],
    pub(crate) options: &'a [(String, String)],
    pub(crate) accounts: &'a [Account],
    /// The version of OpenSSH: major, minor.
    pub(crate) version: (u32, u32),
}

impl Config<'_> {
    pub(crate) fn text(&self) -> String {
        let mut text = format!("Port {}\nListenAddress {}\n", self.port, self.listen);
        for key in self.host_keys {
            line(&mut text, "HostKey", &quoted(key.path()));
        }
        // OpenSSH holds on to the first value it reads, and does not like some keywords twice.
        for (keyword, value) in self.options {
            line(&mut text, keyword, value);
        }
        for (keyword, value) in self.defaults() {
            let lower = keyword.to_lowercase();
            if CUMULATIVE.contains(&lower.as_str()) || !self.options.iter().any(|(set, _)| set.to_lowercase() == lower)
            {
                line(&mut text, keyword, value);
            }
        }
        for account in self.accounts.iter().filter(|account| !account.options().is_empty()) {
            line(&mut text, "Match", &format!("User {}", account.name()));
            for (keyword, value) in account.options() {
                line(&mut text, keyword, value);
            }
        }
        text
    }

    fn defaults(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        // Tests fail to log in on purpose, and go on from the same address.
        let penalties = (self.version >= (9, 8)).then_some(("PerSourcePenalties", "no"));
        DEFAULTS.into_iter().chain(penalties)
    }

    /// How many addresses the server listens on.
    pub(crate) fn addresses(&self) -> usize {
        1 + self.options.iter().filter(|(keyword, _)| keyword.eq_ignore_ascii_case("ListenAddress")).count()
    }
}

fn line(text: &mut String, keyword: &str, value: &str) {
    text.push_str(&format!("{keyword} {value}\n"));
}

fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display())
}

/// The version in what `sshd -V` prints, such as `OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.19`.
pub(crate) fn version(printed: &str) -> Option<(u32, u32)> {
    let (_, rest) = printed.split_once("OpenSSH_")?;
    let (major, rest) = rest.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(lines: &[(&str, &str)]) -> Vec<(String, String)> {
        lines.iter().map(|(keyword, value)| ((*keyword).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_option_replaces_the_default() {
        let options = options(&[("usepam", "yes"), ("MaxSessions", "3"), ("ListenAddress", "::1")]);
        let accounts = [Account::new("alice"), Account::new("bob").option("ChrootDirectory", "/x")];
        let keys = [Key::at("/k")];
        let config = |version| Config {
            port: 7,
            listen: "127.0.0.1",
            host_keys: &keys,
            options: &options,
            accounts: &accounts,
            version,
        };
        let text = config((9, 2)).text();
        assert!(
            text.starts_with("Port 7\nListenAddress 127.0.0.1\nHostKey \"/k\"\nusepam yes\nMaxSessions 3\n"),
            "{text}"
        );
        assert!(!text.contains("UsePAM"), "{text}");
        assert!(text.ends_with("Match User bob\nChrootDirectory /x\n"), "{text}");
        assert_eq!(config((9, 2)).addresses(), 2);
        assert!(!text.contains("PerSourcePenalties"));
        assert!(config((10, 0)).text().contains("PerSourcePenalties no\n"));
    }

    #[test]
    fn the_version_is_read_whatever_follows_it() {
        assert_eq!(version("OpenSSH_9.2p1 Debian-2+deb12u3, OpenSSL 3.0.19"), Some((9, 2)));
        assert_eq!(version("OpenSSH_10.0, OpenSSL"), Some((10, 0)));
        assert_eq!(version("unknown option -- V"), None);
    }
}
