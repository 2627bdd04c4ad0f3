//! The tokens of OpenSSH's settings, `%h` and the like, and variables of the environment (ssh_config(5), "TOKENS").

use super::account::Account;
use crate::config::Config;

/// What the tokens of a host stand for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens<'a> {
    /// Who this server is.
    pub(super) account: &'a Account,
    /// For variables of the environment.
    pub(super) config: &'a Config,
    /// The name that the host was asked for by.
    pub(super) name: &'a str,
    /// The address to dial.
    pub(super) host: &'a str,
    /// The port.
    pub(super) port: u16,
    /// The user on the host.
    pub(super) user: &'a str,
    /// The name under which its key is known, if it has one of its own.
    pub(super) alias: Option<&'a str>,
}

/// The tokens that paths may have.
const PATHS: &str = "%dhiklLnpru";

/// The tokens that the command of `ProxyCommand` and the hosts of `ProxyJump` may have.
const COMMANDS: &str = "%hnpr";

impl Tokens<'_> {
    /// A path in full: `~/`, tokens and `${VARIABLE}`s replaced.
    ///
    /// # Errors
    /// Words that name the token or the variable that there is not.
    pub(super) fn path(&self, text: &str) -> Result<std::path::PathBuf, String> {
        let text = self.variables(text)?;
        Ok(self.account.expand_home(&self.replace(&text, PATHS)?))
    }

    /// A command or a list of hops with its tokens replaced.
    ///
    /// # Errors
    /// Words that name the token that there is not.
    pub(super) fn command(&self, text: &str) -> Result<String, String> {
        self.replace(text, COMMANDS)
    }

    fn replace(&self, text: &str, known: &str) -> Result<String, String> {
        replace(text, |token| if known.contains(token) { self.token(token) } else { None })
    }

    fn token(&self, token: char) -> Option<String> {
        Some(match token {
            '%' => "%".to_owned(),
            'd' => self.account.home.display().to_string(),
            'h' => self.host.to_owned(),
            'i' => self.account.uid.to_string(),
            'k' => self.alias.unwrap_or(self.name).to_owned(),
            'l' => machine(),
            'L' => machine().split('.').next().unwrap_or_default().to_owned(),
            'n' => self.name.to_owned(),
            'p' => self.port.to_string(),
            'r' => self.user.to_owned(),
            'u' => self.account.user.clone(),
            _ => return None,
        })
    }

    /// Replaces `${VARIABLE}`s.
    fn variables(&self, text: &str) -> Result<String, String> {
        let mut replaced = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or_else(|| format!("\"{text}\" has a ${{ without its }}"))?;
            let value = self.config.surroundings.variable(name).and_then(|value| value.to_str());
            replaced.push_str(before);
            replaced.push_str(value.ok_or_else(|| format!("\"{text}\": the variable {name} is not set"))?);
            rest = after;
        }
        replaced.push_str(rest);
        Ok(replaced)
    }
}

/// An address with its tokens replaced: `%h` is the name that the host was asked for by.
///
/// # Errors
/// Words that name the token that there is not.
pub(super) fn address(text: &str, name: &str) -> Result<String, String> {
    replace(text, |token| match token {
        'h' => Some(name.to_owned()),
        '%' => Some("%".to_owned()),
        _ => None,
    })
}

fn replace(text: &str, token: impl Fn(char) -> Option<String>) -> Result<String, String> {
    let mut replaced = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '%' {
            replaced.push(char);
            continue;
        }
        replaced.push_str(
            &chars.next().and_then(&token).ok_or_else(|| {
                format!("\"{text}\" has a % that stands for nothing here: write %% for the sign itself")
            })?,
        );
    }
    Ok(replaced)
}

/// This machine's name.
fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn tokens_and_variables_are_replaced_where_they_may_stand() {
        let account = Account { user: "ada".to_owned(), uid: 7, home: "/home/ada".into(), is_own_home: true };
        let config = Config {
            surroundings: crate::surroundings::Surroundings::new(vec![("X".into(), "x%h".into())]),
            ..Config::default()
        };
        let (name, host, user) = ("web", "10.0.0.1", "op");
        let tokens = Tokens { account: &account, config: &config, name, host, port: 2222, user, alias: None };

        assert_eq!(
            tokens.path("~/%h-%n-%r-%u-%p-%i-%k-100%%").unwrap(),
            Path::new("/home/ada/10.0.0.1-web-op-ada-2222-7-web-100%")
        );
        assert_eq!(tokens.path("%d/${X}/y").unwrap(), Path::new("/home/ada/x10.0.0.1/y"));
        assert_eq!(tokens.command("nc %h %p # %%d ${X}"), Ok("nc 10.0.0.1 2222 # %d ${X}".to_owned()));
        for text in ["%C", "%", "%x"] {
            assert!(tokens.path(text).is_err(), "{text}");
        }
        assert!(tokens.command("%d").is_err());
        assert!(tokens.path("${NONE}").is_err());
        assert!(tokens.path("${X").is_err());
    }
}
