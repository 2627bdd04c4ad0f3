//! Which hosts there are, and how each is reached.
//!
//! A host is a target when sessiond's own configuration has it, when the OpenSSH client configuration names it
//! literally, or when any name will do (`any_host`). How it is reached is found out at each connect:
//!
//! 1. `book` knows who says that there is such a host, and asks what is said of it: of the OpenSSH client (`openssh`),
//!    else of the files themselves (`files`, `statement`, `evaluate`); `names` says which names may be asked for.
//! 2. `resolve` makes a [`Route`] of it, with the tokens replaced (`tokens`) and what sessiond's own configuration says
//!    on top (`wish`).
//! 3. `jump` reads the hosts on the way, each of which is resolved in the same manner.
//!
//! Nothing is read before somebody lists hosts or asks for one. What has been read is kept while its files stay as
//! they are.

mod account;
mod book;
mod evaluate;
mod files;
mod jump;
mod names;
mod openssh;
mod resolve;
mod settings;
mod statement;
mod tokens;
mod wish;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use sessiond_core::{Backend, Call, Error, HostInfo, ResolvedTarget, Result, TargetInfo, TargetName, Targets, shown};

use crate::backend::SshBackend;
use crate::config::{Config, HostConfig};
use crate::route::Route;
use book::Book;

/// The kind of adapter, as lists of targets name it.
const BACKEND: &str = "ssh";

/// How many hosts are remembered. Only with `any_host` there can be so many; those that nobody uses are forgotten first.
const MOST: usize = 16_384;

/// The hosts as targets. Each has one backend, made when it is first asked for.
pub struct Hosts {
    book: Arc<Book>,
    backends: Mutex<HashMap<TargetName, Arc<SshBackend>>>,
}

impl Hosts {
    /// The hosts of a configuration. Reads no file and starts no program.
    ///
    /// # Errors
    /// `invalid_argument` when a host of the configuration has a name that none can have, or one that another has.
    pub fn new(config: Config) -> Result<Self> {
        for (index, host) in config.hosts.iter().enumerate() {
            let name = &host.name;
            check(host)?;
            if config.hosts.iter().take(index).any(|other| other.name == *name) {
                return Err(Error::invalid_argument(format!("two hosts have the name \"{}\"", shown(name))));
            }
        }
        Ok(Self { book: Arc::new(Book::new(config)), backends: Mutex::default() })
    }

    fn backend(&self, name: &TargetName) -> Result<Arc<SshBackend>> {
        let mut backends = self.backends.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(backend) = backends.get(name) {
            return Ok(Arc::clone(backend));
        }
        if backends.len() >= MOST {
            backends.retain(|_, backend| Arc::strong_count(backend) > 1 || !backend.is_idle());
        }
        if backends.len() >= MOST {
            return Err(Error::limit_exceeded(format!(
                "{MOST} hosts are in use, and no more are remembered: restart the server"
            )));
        }
        let backend = SshBackend::new(HostRoutes { book: Arc::clone(&self.book), name: name.as_str().to_owned() });
        backends.insert(name.clone(), Arc::clone(&backend));
        Ok(backend)
    }
}

#[async_trait]
impl Targets for Hosts {
    fn list(&self) -> Vec<TargetInfo> {
        let listed = self.book.list().into_iter();
        listed.filter_map(|(name, host)| Some(info(TargetName::new(name).ok()?, host))).collect()
    }

    async fn resolve(&self, name: &TargetName) -> Result<ResolvedTarget> {
        let host = self.book.find(name.as_str())?;
        Ok(ResolvedTarget { backend: self.backend(name)?, info: info(name.clone(), host) })
    }

    async fn shutdown(&self, grace: Duration) {
        let backends: Vec<Arc<SshBackend>> = {
            let backends = self.backends.lock().unwrap_or_else(PoisonError::into_inner);
            backends.values().map(Arc::clone).collect()
        };
        futures_util::future::join_all(backends.iter().map(|backend| backend.shutdown(grace))).await;
    }
}

/// Whether a host of our own configuration can be one.
fn check(host: &HostConfig) -> Result<()> {
    let name = &host.name;
    TargetName::new(name)?;
    let plain = "leave out blanks, leading dashes and what a shell acts on";
    if !names::is_host(name) {
        return Err(Error::invalid_argument(format!("\"{}\" can be no host's name: {plain}", shown(name))));
    }
    let wrong = |setting: &str, value: &str, why: &str| {
        let (name, value) = (shown(name), shown(value));
        Err(Error::invalid_argument(format!("{setting} \"{value}\" of host {name} cannot be: {why}")))
    };
    match (&host.host, &host.user, &host.jump) {
        (Some(address), _, _) if !names::is_host(address) => wrong("host", address, plain),
        (_, Some(user), _) if !names::is_user(user) => wrong("user", user, plain),
        (_, _, Some(jump)) if !jump.eq_ignore_ascii_case("none") => match jump::parse(jump) {
            Ok(_) => Ok(()),
            Err(why) => wrong("jump", jump, &why),
        },
        _ if host.port == Some(0) => wrong("port", "0", "ports begin at 1"),
        _ => Ok(()),
    }
}

fn info(name: TargetName, host: HostInfo) -> TargetInfo {
    TargetInfo { host: Some(host), ..TargetInfo::new(name, BACKEND) }
}

/// How one host is reached, found out anew each time somebody asks.
#[derive(Clone, Debug)]
pub(crate) struct HostRoutes {
    book: Arc<Book>,
    name: String,
}

impl HostRoutes {
    /// The host's name, as the agent says it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What the operator has set for all hosts.
    pub(crate) fn config(&self) -> &Config {
        self.book.config()
    }

    /// How the host is reached now. May start a program (`ssh -G`), which is ended when this is dropped.
    ///
    /// # Errors
    /// `failed_precondition` when the host's configuration is wrong, `unsupported` when it has what we cannot do,
    /// `timed_out` when the call's deadline comes first.
    pub(crate) async fn route(&self, cx: &Call) -> Result<Route> {
        let name = shown(&self.name);
        match tokio::time::timeout_at(cx.deadline, self.book.route(&self.name)).await {
            Ok(route) => route,
            Err(_) => Err(Error::timed_out(format!("there was no time left to find out how {name} is reached"))),
        }
    }
}
