//! From settings to a route.

use std::path::PathBuf;

use sessiond_core::{Error, Result, shown};

use super::account::Account;
use super::names;
use super::settings::Settings;
use super::tokens::{self, Tokens};
use super::wish::Wish;
use crate::config::{Config, HostConfig, HostKeyPolicy};
use crate::route::{Route, Via};

/// The port of SSH (RFC 4253, section 4).
const PORT: u16 = 22;

/// After how many unanswered questions a connection is lost, where nothing else is said.
const UNANSWERED: u32 = 3;

/// The keys that are offered where nobody has named any, below `~/.ssh`, in OpenSSH's order.
const DEFAULT_KEYS: [&str; 7] =
    ["id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss", "id_dsa"];

/// Where known hosts stand where nothing else is said: below `~/.ssh`, and of the machine.
const USER_KNOWN_HOSTS: [&str; 2] = ["known_hosts", "known_hosts2"];
const SYSTEM_KNOWN_HOSTS: [&str; 2] = ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"];

/// A route whose carrier is still a matter of names.
#[derive(Debug)]
pub(super) struct Draft {
    /// The route; its `via` is yet to be set.
    pub(super) route: Route,
    /// What carries it.
    pub(super) carrier: Carrier,
}

/// What carries a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// TCP from here.
    Direct,
    /// Other hosts, as `ProxyJump` names them.
    Jump(String),
    /// A command, with its tokens replaced.
    Command(String),
}

/// Makes a route of what is wished, of sessiond's own configuration, and of what the client configuration says.
///
/// # Errors
/// `failed_precondition` when a setting makes no sense, `unsupported` when we cannot do what it says.
pub(super) fn draft(
    config: &Config,
    account: &Account,
    wish: &Wish,
    own: Option<&HostConfig>,
    settings: &Settings,
) -> Result<Draft> {
    let wrong = |why: String| {
        Error::failed_precondition(format!("the configuration of {} is wrong: {why}; mend it", shown(&wish.name)))
    };
    let place = Place::of(account, wish, settings).map_err(wrong)?;
    let default = HostConfig::default();
    let own = own.unwrap_or(&default);
    let alias = own.key_alias.as_deref().or(settings.some("hostkeyalias"));
    if let Some(alias) = alias.filter(|alias| !names::is_alias(alias)) {
        return Err(wrong(format!("the alias \"{}\" would stand for more than one host", shown(alias))));
    }
    let (name, host, user) = (wish.name.as_str(), place.host.as_str(), place.user.as_str());
    let tokens = Tokens { account, config, name, host, port: place.port, user, alias };
    let carrier = carrier(&place, &tokens, wish, settings)?;
    let files = Paths { tokens, settings, account, own };
    files.route(config, &place, wish).map(|route| Draft { route, carrier }).map_err(wrong)
}

fn is_none(value: &str) -> bool {
    value.eq_ignore_ascii_case("none")
}

/// Where a host is.
#[derive(Debug)]
struct Place {
    host: String,
    port: u16,
    user: String,
}

impl Place {
    fn of(account: &Account, wish: &Wish, settings: &Settings) -> Result<Self, String> {
        let port = match settings.first("port").filter(|_| wish.port.is_none()) {
            Some(port) => port.parse().map_err(|_| format!("{port} is no port"))?,
            None => wish.port.unwrap_or(PORT),
        };
        let host = match (&wish.host, settings.first("hostname")) {
            (Some(host), _) => host.clone(),
            // A `%` that is left is part of an IPv6 address.
            (None, Some(host)) if settings.are_expanded() => host.to_owned(),
            (None, Some(host)) => tokens::address(host, &wish.name)?,
            (None, None) => wish.name.clone(),
        };
        let user = wish.user.as_deref().or(settings.first("user")).unwrap_or(&account.user).to_owned();
        match (names::is_host(&host), names::is_user(&user)) {
            (false, _) => Err(format!("\"{}\" is no address", shown(&host))),
            (_, false) => Err(format!("\"{}\" is no user's name", shown(&user))),
            _ => Ok(Self { host, port, user }),
        }
    }
}

fn carrier(place: &Place, tokens: &Tokens<'_>, wish: &Wish, settings: &Settings) -> Result<Carrier> {
    let wrong = |why| Error::failed_precondition(format!("the way to {}: {why}; mend it", shown(&wish.name)));
    match wish.jump.as_deref().or(settings.some("proxyjump")) {
        Some(none) if is_none(none) => return Ok(Carrier::Direct),
        Some(jump) => return tokens.command(jump).map(Carrier::Jump).map_err(wrong),
        None => {}
    }
    let Some(command) = settings.some("proxycommand") else { return Ok(Carrier::Direct) };
    if settings.is_on("proxyusefdpass") {
        return Err(Error::unsupported(format!(
            "ProxyUseFdpass, which {} has, is not understood: use a ProxyCommand that carries the connection itself",
            shown(&wish.name)
        )));
    }
    // It is a shell's text: what is put into it must be nothing that a shell acts on.
    if place.user.contains(['$', '\\', ' ', '~', '*', '?', '#']) {
        return Err(wrong(format!("the user \"{}\" cannot stand in a ProxyCommand", shown(&place.user))));
    }
    tokens.command(command).map(Carrier::Command).map_err(wrong)
}

/// What the files of a route are made of.
struct Paths<'a> {
    tokens: Tokens<'a>,
    settings: &'a Settings,
    account: &'a Account,
    own: &'a HostConfig,
}

impl Paths<'_> {
    fn route(&self, config: &Config, place: &Place, wish: &Wish) -> Result<Route, String> {
        let (settings, own) = (self.settings, self.own);
        let user_known_hosts = self.user_known_hosts()?;
        Ok(Route {
            name: wish.name.clone(),
            host: place.host.clone(),
            port: place.port,
            user: place.user.clone(),
            key_alias: self.tokens.alias.map(str::to_owned),
            learn_into: user_known_hosts.first().cloned(),
            known_hosts: user_known_hosts.into_iter().chain(self.system_known_hosts()).collect(),
            revoked_keys: settings.some("revokedhostkeys").map(|file| self.tokens.path(file)).transpose()?,
            hash_known_hosts: settings.is_on("hashknownhosts"),
            check_address: settings.is_on("checkhostip"),
            policy: self.policy(config),
            identities: self.identities()?,
            certificates: self.certificates()?,
            identities_only: own.identities_only.unwrap_or_else(|| settings.is_on("identitiesonly")),
            agent: self.agent(config)?,
            password: own.password.clone(),
            passphrase: own.passphrase.clone(),
            via: Via::Direct,
            connect_timeout: own
                .connect_timeout
                .or_else(|| settings.seconds("connecttimeout"))
                .unwrap_or(config.connect_timeout),
            keepalive: own.keepalive.or_else(|| settings.seconds("serveraliveinterval")).or(config.keepalive),
            keepalive_max: self.unanswered(),
            surroundings: config.surroundings.clone(),
        })
    }

    fn unanswered(&self) -> u32 {
        let max = self.settings.first("serveralivecountmax").and_then(|max| max.parse().ok());
        max.filter(|max| *max > 0).unwrap_or(UNANSWERED)
    }

    fn policy(&self, config: &Config) -> HostKeyPolicy {
        self.own.host_keys.unwrap_or_else(|| {
            match self.settings.first("stricthostkeychecking").map(str::to_ascii_lowercase).as_deref() {
                Some("yes" | "true") => HostKeyPolicy::Strict,
                Some("accept-new" | "no" | "off" | "false") => HostKeyPolicy::AcceptNew,
                // To ask is the default; nobody can be asked.
                _ => config.host_keys,
            }
        })
    }

    fn user_known_hosts(&self) -> Result<Vec<PathBuf>, String> {
        if !self.own.known_hosts.is_empty() {
            return Ok(self.own.known_hosts.iter().map(|file| self.at_home(file)).collect());
        }
        let named = self.settings.all("userknownhostsfile");
        if named.is_empty() {
            return Ok(USER_KNOWN_HOSTS.iter().map(|file| self.account.ssh_directory().join(file)).collect());
        }
        if self.settings.are_expanded() {
            return Ok(self.listed(named));
        }
        named.iter().filter(|file| !is_none(file)).map(|file| self.tokens.path(file)).collect()
    }

    fn system_known_hosts(&self) -> Vec<PathBuf> {
        let named = self.settings.all("globalknownhostsfile");
        if named.is_empty() { SYSTEM_KNOWN_HOSTS.map(PathBuf::from).to_vec() } else { self.listed(named) }
    }

    /// Files that have no tokens, without `none`.
    fn listed(&self, named: &[String]) -> Vec<PathBuf> {
        named.iter().filter(|file| !is_none(file)).map(|file| self.account.expand_home(file)).collect()
    }

    /// The keys that somebody has named, those of our own configuration first; where nobody has named any, the default
    /// ones that are there.
    fn identities(&self) -> Result<Vec<PathBuf>, String> {
        let defaults = DEFAULT_KEYS.map(|name| format!("~/.ssh/{name}"));
        let mut identities: Vec<PathBuf> = self.own.identities.iter().map(|file| self.at_home(file)).collect();
        let listed = self.settings.all("identityfile");
        // `ssh -G` prints the default keys where none are named.
        if listed.is_empty() || listed.iter().all(|file| defaults.contains(file)) {
            if identities.is_empty() {
                let listed = if listed.is_empty() { &defaults } else { listed };
                let there = |path: &PathBuf| path.exists() || path.with_added_extension("pub").exists();
                identities.extend(listed.iter().map(|file| self.account.expand_home(file)).filter(there));
            }
            return Ok(identities);
        }
        for file in listed.iter().filter(|file| !is_none(file)) {
            let path = self.tokens.path(file)?;
            if !identities.contains(&path) {
                identities.push(path);
            }
        }
        Ok(identities)
    }

    fn certificates(&self) -> Result<Vec<PathBuf>, String> {
        let mut certificates: Vec<PathBuf> = self.own.certificates.iter().map(|file| self.at_home(file)).collect();
        for file in self.settings.all("certificatefile").iter().filter(|file| !is_none(file)) {
            certificates.push(self.tokens.path(file)?);
        }
        Ok(certificates)
    }

    fn agent(&self, config: &Config) -> Result<Option<PathBuf>, String> {
        let of_environment = |name: &str| config.surroundings.variable(name).map(PathBuf::from);
        if let Some(agent) = &self.own.agent {
            return Ok(Some(self.at_home(agent)));
        }
        match self.settings.first("identityagent") {
            None | Some("SSH_AUTH_SOCK") => Ok(of_environment("SSH_AUTH_SOCK")),
            Some(none) if is_none(none) => Ok(None),
            Some(socket) => match socket.strip_prefix('$').filter(|rest| !rest.starts_with('{')) {
                Some(name) => Ok(of_environment(name)),
                None if self.settings.are_expanded() => Ok(Some(self.account.expand_home(socket))),
                None => self.tokens.path(socket).map(Some),
            },
        }
    }

    /// A path of our own configuration, where `~/` is the home directory.
    fn at_home(&self, path: &std::path::Path) -> PathBuf {
        path.to_str().map_or_else(|| path.to_owned(), |text| self.account.expand_home(text))
    }
}
