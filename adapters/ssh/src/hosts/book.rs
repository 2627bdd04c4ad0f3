//! The book of hosts: which there are, who says so, and how each is reached.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sessiond_core::{Error, HostInfo, Result, shown};

use super::account::Account;
use super::evaluate::evaluate;
use super::files::{Base, Files, Item};
use super::jump::{self, Hop};
use super::resolve::{Carrier, draft};
use super::settings::Settings;
use super::wish::Wish;
use super::{names, openssh};
use crate::config::{ClientConfig, Config, HostConfig};
use crate::route::{Route, Via};

/// How many hosts may lie on the way to one.
const HOPS: usize = 16;

/// How many answers of the client are kept; more are asked for again.
const ANSWERS: usize = 1024;

/// The hosts of both configurations. What it knows of files is as new as the files.
#[derive(Debug)]
pub(super) struct Book {
    config: Config,
    account: Account,
    /// The client configuration of the user, which names hosts.
    user: Kept,
    /// That of the machine, which only says more of them.
    system: Kept,
    answers: Mutex<HashMap<Wish, Answer>>,
}

/// What the client configuration says of a host, and what has been read to know.
#[derive(Clone, Debug)]
struct Answer {
    files: [Arc<Files>; 2],
    settings: Arc<Settings>,
}

impl Book {
    /// Opens the book. Nothing is read yet.
    pub(super) fn new(config: Config) -> Self {
        let account = Account::of(&config);
        let (user, system) = match &config.client_config {
            // For a home that is not the account's the client is told its one file, and then reads no other.
            ClientConfig::OpenSsh => {
                let system = account.is_own_home.then(|| Account::system_config().to_owned());
                (Some(account.client_config()), system)
            }
            ClientConfig::File(file) => (Some(file.clone()), None),
            ClientConfig::Nothing => (None, None),
        };
        let home = account.home.clone();
        Self {
            user: Kept::new(user, account.ssh_directory(), home.clone()),
            system: Kept::new(system, PathBuf::from("/etc/ssh"), home),
            account,
            config,
            answers: Mutex::default(),
        }
    }

    /// What the operator has set.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// The hosts that are known by name: those of our own configuration, then those of the client's.
    pub(super) fn list(&self) -> Vec<(String, HostInfo)> {
        let files = self.user.files();
        let own = self.config.hosts.iter().map(|host| (host.name.clone(), configured(host)));
        let others = files.named().iter().filter(|named| self.own(&named.name).is_none());
        own.chain(others.map(|named| (named.name.clone(), from(&named.file)))).collect()
    }

    /// Who says that there is such a host.
    ///
    /// # Errors
    /// `not_found` with the ways to make it one.
    pub(super) fn find(&self, name: &str) -> Result<HostInfo> {
        if let Some(host) = self.own(name) {
            return Ok(configured(host));
        }
        match self.user.files().named().iter().find(|named| named.name == name) {
            Some(named) => Ok(from(&named.file)),
            None if self.config.any_host && names::is_host(name) => {
                Ok(HostInfo { description: None, source: "any_host".to_owned() })
            }
            None => Err(self.unknown(name)),
        }
    }

    fn own(&self, name: &str) -> Option<&HostConfig> {
        self.config.hosts.iter().find(|host| host.name == name)
    }

    fn unknown(&self, name: &str) -> Error {
        let entry = match &self.user.path {
            Some(file) => format!("a Host entry with this very name in {}, ", file.display()),
            None => String::new(),
        };
        Error::not_found(format!(
            "there is no target \"{}\": list_clients shows those there are; to reach another host, its operator adds \
             {entry}a host in the configuration of this server, or any_host = true",
            shown(name)
        ))
    }

    /// How a host is reached now.
    ///
    /// # Errors
    /// `failed_precondition` when its configuration is wrong, `unsupported` when we cannot do what it says.
    pub(super) async fn route(&self, name: &str) -> Result<Route> {
        self.reach(Wish::named(name), HOPS).await
    }

    fn reach(&self, wish: Wish, hops: usize) -> BoxFuture<'_, Result<Route>> {
        async move {
            let own = self.own(&wish.name);
            let wish = wish.or(own);
            let settings = self.settings(&wish).await?;
            let draft = draft(&self.config, &self.account, &wish, own, &settings)?;
            let via = match draft.carrier {
                Carrier::Direct => Via::Direct,
                Carrier::Command(command) => Via::Command(command),
                Carrier::Jump(hosts) => self.jump(&wish.name, &hosts, hops).await?,
            };
            Ok(Route { via, ..draft.route })
        }
        .boxed()
    }

    /// The way through other hosts. Each but the first is reached through the one before it, whatever else its own
    /// configuration says; the first is reached as it always is.
    async fn jump(&self, name: &str, hosts: &str, hops: usize) -> Result<Via> {
        let wrong = |why| Error::failed_precondition(format!("the way to {}: {why}; mend it", shown(name)));
        let on_the_way: Vec<Hop> = jump::parse(hosts).map_err(wrong)?;
        let Some((last, before)) = on_the_way.split_last() else { return Ok(Via::Direct) };
        let hops =
            hops.checked_sub(1).ok_or_else(|| wrong("it leads in a circle, or through too many hosts".to_owned()))?;
        let mut last = self.reach(Wish::hop(last.clone(), before), hops).await?;
        let mut way = match std::mem::replace(&mut last.via, Via::Direct) {
            Via::Jump(before) => before,
            via => {
                last.via = via;
                Vec::new()
            }
        };
        way.push(last);
        Ok(Via::Jump(way))
    }

    /// What the client configuration says of a host.
    async fn settings(&self, wish: &Wish) -> Result<Arc<Settings>> {
        let files = [self.user.files(), self.system.files()];
        if files.iter().all(|files| files.items.is_empty()) {
            return Ok(Arc::default());
        }
        if let Some(known) = self.known(wish, &files) {
            return Ok(known);
        }
        let settings = Arc::new(self.ask(wish, &files).await?);
        if files.iter().all(|files| answers_last(&files.items)) {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            if answers.len() >= ANSWERS {
                answers.clear();
            }
            answers.insert(wish.clone(), Answer { files, settings: Arc::clone(&settings) });
        }
        Ok(settings)
    }

    fn known(&self, wish: &Wish, files: &[Arc<Files>; 2]) -> Option<Arc<Settings>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.get(wish)?;
        let same = answer.files.iter().zip(files).all(|(then, now)| Arc::ptr_eq(then, now));
        same.then(|| Arc::clone(&answer.settings))
    }

    async fn ask(&self, wish: &Wish, files: &[Arc<Files>; 2]) -> Result<Settings> {
        if let Some(program) = &self.config.ssh_program {
            // The client finds its own files by itself; then it also sees to their permissions.
            let by_itself = self.config.client_config == ClientConfig::OpenSsh && self.account.is_own_home;
            let file = self.user.path.as_deref().filter(|_| !by_itself);
            if let Some(settings) = openssh::ask(&self.config, program, file, wish).await? {
                return Ok(settings);
            }
        }
        let wrong =
            |why| Error::failed_precondition(format!("the configuration of {} is wrong: {why}", shown(&wish.name)));
        if self.config.client_config == ClientConfig::OpenSsh {
            self.user.path.as_deref().map_or(Ok(()), only_ours).map_err(wrong)?;
        }
        let mut settings = wish.settings();
        for files in files {
            evaluate(&files.items, &wish.name, &mut settings).map_err(wrong)?;
        }
        Ok(settings)
    }
}

/// Whoever can write the user's file can have commands run, so OpenSSH wants nobody else to.
fn only_ours(path: &Path) -> Result<(), String> {
    // One that is not there is nobody's.
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    let own = [0, rustix::process::geteuid().as_raw()].contains(&found.uid());
    if own && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(format!("others than its owner can write {}: chmod 600 it", path.display()))
}

fn configured(host: &HostConfig) -> HostInfo {
    HostInfo { description: host.description.clone(), source: "configuration".to_owned() }
}

fn from(file: &Path) -> HostInfo {
    HostInfo { description: None, source: file.display().to_string() }
}

/// Whether the client says the same as long as the files do: not where it looks at anything else.
fn answers_last(items: &[Item]) -> bool {
    items.iter().all(|item| match item {
        Item::Included(files) => files.iter().all(|items| answers_last(items)),
        Item::Line(_, statement) => match statement.keyword.as_str() {
            "match" => ["exec", "localnetwork"].iter().all(|word| !statement.rest.to_lowercase().contains(word)),
            "canonicalizehostname" => false,
            _ => true,
        },
        Item::Broken(_) => false,
    })
}

/// A configuration that is read when it is needed, and again when it has changed.
#[derive(Debug)]
struct Kept {
    path: Option<PathBuf>,
    directory: PathBuf,
    home: PathBuf,
    files: Mutex<Option<Arc<Files>>>,
}

impl Kept {
    fn new(path: Option<PathBuf>, directory: PathBuf, home: PathBuf) -> Self {
        Self { path, directory, home, files: Mutex::default() }
    }

    fn files(&self) -> Arc<Files> {
        let mut kept = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(files) if files.is_current() => Arc::clone(files),
            _ => {
                let base = Base { directory: &self.directory, home: &self.home };
                let files = self.path.as_ref().map(|path| Files::read(path, base)).unwrap_or_default();
                Arc::clone(kept.insert(Arc::new(files)))
            }
        }
    }
}
