//! Who this server is on this machine: its user and home directory.

use std::path::{Path, PathBuf};

use crate::config::Config;

/// The user that this server runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    /// The user's name.
    pub(super) user: String,
    /// The user's number.
    pub(super) uid: u32,
    /// The home directory: `HOME`, else that of the list of accounts.
    pub(super) home: PathBuf,
    /// Whether that is where the OpenSSH client looks, which knows the list of accounts alone.
    pub(super) is_own_home: bool,
}

impl Account {
    /// The user of this process.
    pub(super) fn of(config: &Config) -> Self {
        let uid = rustix::process::getuid().as_raw();
        // What cannot be read has no entry; the environment is left.
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self::find(config, uid, &accounts)
    }

    fn find(config: &Config, uid: u32, accounts: &str) -> Self {
        let entry = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>()).find_map(|fields| match *fields {
            [name, _, id, _, _, home, ..] if id.parse() == Ok(uid) => Some((name.to_owned(), PathBuf::from(home))),
            _ => None,
        });
        let variable = |name| config.surroundings.variable(name).and_then(|value| value.to_str()).map(str::to_owned);
        let home = config.surroundings.variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let (name, listed) = entry.unzip();
        Self {
            user: name.or_else(|| variable("USER")).or_else(|| variable("LOGNAME")).unwrap_or_else(|| uid.to_string()),
            uid,
            is_own_home: home.is_none() || home == listed,
            home: home.or(listed).unwrap_or_else(|| PathBuf::from("/")),
        }
    }

    /// A path with `~/` in front put below the home directory.
    pub(super) fn expand_home(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None if path == "~" => self.home.clone(),
            None => PathBuf::from(path),
        }
    }

    /// A directory or file below the home directory's `.ssh`.
    pub(super) fn ssh_directory(&self) -> PathBuf {
        self.home.join(".ssh")
    }

    /// The client configuration of the user.
    pub(super) fn client_config(&self) -> PathBuf {
        self.ssh_directory().join("config")
    }

    /// That of the machine.
    pub(super) fn system_config() -> &'static Path {
        Path::new("/etc/ssh/ssh_config")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNTS: &str = "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000::/home/ada:/bin/sh\n";

    fn with(environment: &[(&str, &str)]) -> Config {
        let surroundings = environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Config { surroundings, ..Config::default() }
    }

    #[test]
    fn the_list_of_accounts_knows_the_user() {
        let account = Account::find(&with(&[]), 1000, ACCOUNTS);
        let home = PathBuf::from("/home/ada");
        assert_eq!(account, Account { user: "ada".to_owned(), uid: 1000, home, is_own_home: true });
        assert_eq!(account.expand_home("~/x"), Path::new("/home/ada/x"));
        assert_eq!(account.expand_home("/x/~/y"), Path::new("/x/~/y"));
    }

    #[test]
    fn the_environment_moves_the_home_and_names_who_has_no_account() {
        let account = Account::find(&with(&[("HOME", "/elsewhere"), ("USER", "eve")]), 1000, ACCOUNTS);
        let home = PathBuf::from("/elsewhere");
        assert_eq!(account, Account { user: "ada".to_owned(), uid: 1000, home, is_own_home: false });
        let account = Account::find(&with(&[("USER", "eve")]), 7, ACCOUNTS);
        assert_eq!(account, Account { user: "eve".to_owned(), uid: 7, home: "/".into(), is_own_home: true });
    }
}
