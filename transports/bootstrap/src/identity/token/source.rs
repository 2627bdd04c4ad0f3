//! Where a provider's key set comes from, and how long it is kept.
//!
//! A set from a URL is fetched when a token needs it: at first, when a token names a key that is not in it, and when it
//! has grown old. It is fetched at most once a minute (a failure may be followed by another try after five seconds), by
//! a task of its own, so that a caller who goes away does not take the fetching along, and whoever sends made-up key
//! names causes no more traffic than that.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jsonwebtoken::Algorithm;
use reqwest::{Certificate, Client, Url, redirect};
use sessiond_core::{TaskKind, Tasks};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use super::key_set::{Found, KeySet, LARGEST, Verifying};
use crate::config::JwtSettings;
use crate::identity::Denied;
use crate::private;
use crate::problem::Problem;

/// Fetches a key set.
const FETCH: TaskKind = TaskKind("key set fetch");
/// How long a fetch may take.
const LIMIT: Duration = Duration::from_secs(5);
/// After which time a set may be fetched again.
const PAUSE: Duration = Duration::from_secs(60);
/// After which time a fetch that has failed may be tried again.
const RETRY: Duration = Duration::from_secs(5);
/// When a set is old, so that a key that the provider has withdrawn goes: it is fetched again with the next token.
const OLD: Duration = Duration::from_secs(15 * 60);
/// When a set is too old to be used without having been fetched again.
const TOO_OLD: Duration = Duration::from_secs(24 * 3600);

/// Callers who wait for a fetch at one time. Whoever sends made-up tokens meanwhile is told at once that nobody can tell,
/// and does not pile up.
const WAITING: usize = 256;

/// Where the set comes from, and the set as it was last.
pub(super) struct Source {
    origin: Origin,
    kept: Arc<Mutex<Kept>>,
    waiting: Semaphore,
    tasks: Tasks,
}

enum Origin {
    File(PathBuf),
    Url(Url, Client),
}

#[derive(Default)]
struct Kept {
    keys: Option<(Arc<KeySet>, Instant)>,
    /// When the last fetch began.
    tried: Option<Instant>,
    /// Whether it has failed.
    failed: bool,
    /// Fires when the fetch that runs is over.
    running: Option<watch::Receiver<()>>,
}

impl Kept {
    /// Takes a set in place of the one before.
    fn take(&mut self, mut keys: KeySet) {
        if let Some((old, _)) = &self.keys {
            keys.take_over(old);
        }
        self.keys = Some((Arc::new(keys), Instant::now()));
    }
}

impl Source {
    /// Reads the set where it is a file; fetches nothing yet where it is not.
    ///
    /// # Errors
    /// There is none or two; the file cannot be read; the URL is none that can be trusted.
    pub(super) fn new(settings: &JwtSettings, tasks: &Tasks) -> Result<Self, Problem> {
        let origin = match (&settings.jwks_file, &settings.jwks_url) {
            (Some(file), None) => Origin::File(file.clone()),
            (None, Some(url)) => {
                let url = trusted(url)?;
                let client = client(&url, settings.ca_file.as_deref())?;
                Origin::Url(url, client)
            }
            (None, None) => {
                return Err(Problem::new("jwt.jwks_url or jwt.jwks_file is missing: one of them has the keys"));
            }
            (Some(_), Some(_)) => return Err(Problem::new("jwt.jwks_url excludes jwt.jwks_file: keep one of them")),
        };
        let source = Self { origin, kept: Arc::default(), waiting: Semaphore::new(WAITING), tasks: tasks.clone() };
        if let Some(keys) = source.read()? {
            source.replace(keys);
        }
        Ok(source)
    }

    /// The set as its file has it now; `None` where it comes from elsewhere.
    ///
    /// # Errors
    /// The file cannot be read or is no key set.
    pub(super) fn read(&self) -> Result<Option<KeySet>, Problem> {
        let Origin::File(path) = &self.origin else { return Ok(None) };
        let shown = path.display();
        let json = private::trusted(path, "the key set (jwt.jwks_file)", LARGEST as u64)?;
        let parsed = KeySet::parse(&json);
        parsed.map(Some).map_err(|why| Problem::new(format!("{shown}: the key set (jwt.jwks_file) {why}")))
    }

    /// Takes another set.
    pub(super) fn replace(&self, keys: KeySet) {
        self.kept().take(keys);
    }

    /// The key for a token.
    ///
    /// # Errors
    /// [`Denied::Unknown`] when the set has none; [`Denied::Unavailable`] when nobody can tell.
    pub(super) async fn key(&self, id: Option<&str>, algorithm: Algorithm) -> Result<Verifying, Denied> {
        if let Origin::Url(url, client) = &self.origin {
            let (found, age) = self.look(id, algorithm);
            let running = match (&found, age) {
                (Found::Nothing, _) | (_, None) => self.fetch(url, client),
                // The keys that are there will do meanwhile.
                (_, Some(age)) if age >= OLD => {
                    self.fetch(url, client);
                    None
                }
                _ => None,
            };
            if let Some(mut running) = running {
                let _place = self.waiting.try_acquire().map_err(|_| Denied::Unavailable)?;
                // Its sender goes with the fetch.
                let _ = running.changed().await;
            }
        }
        match self.look(id, algorithm) {
            (Found::Key(key), Some(_)) => Ok(*key),
            (_, None) => Err(Denied::Unavailable),
            (Found::Nothing, _) if self.kept().failed => Err(Denied::Unavailable),
            _ => Err(Denied::Unknown),
        }
    }

    /// What the set has, and how old the set is; `None` when there is none that can be used.
    fn look(&self, id: Option<&str>, algorithm: Algorithm) -> (Found, Option<Duration>) {
        let kept = self.kept();
        let Some((keys, since)) = &kept.keys else { return (Found::Nothing, None) };
        let age = since.elapsed();
        let is_fresh = matches!(self.origin, Origin::File(_)) || age < TOO_OLD;
        (keys.find(id, algorithm), is_fresh.then_some(age))
    }

    /// Fetches the set, when it may be fetched now. Returns what fires at the end of the fetch that runs.
    fn fetch(&self, url: &Url, client: &Client) -> Option<watch::Receiver<()>> {
        let mut kept = self.kept();
        if kept.running.is_some() {
            return kept.running.clone();
        }
        let pause = if kept.failed { RETRY } else { PAUSE };
        if kept.tried.is_some_and(|tried| tried.elapsed() < pause) {
            return None;
        }
        let (over, running) = watch::channel(());
        kept.tried = Some(Instant::now());
        kept.running = Some(running.clone());
        drop(kept);
        let (url, client, ended) = (url.clone(), client.clone(), self.tasks.cancelled());
        let fetching = Fetching { kept: Arc::clone(&self.kept), _over: over };
        self.tasks.spawn(FETCH, async move {
            let fetched = tokio::select! {
                fetched = tokio::time::timeout(LIMIT, get(&client, url)) => fetched.unwrap_or(Err("did not come in time")),
                () = ended => return,
            };
            fetching.done(fetched);
        });
        Some(running)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        kept(&self.kept)
    }
}

/// A panic leaves nothing half done there.
fn kept(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A fetch that runs. However it ends, it runs no more afterwards.
struct Fetching {
    kept: Arc<Mutex<Kept>>,
    _over: watch::Sender<()>,
}

impl Fetching {
    fn done(&self, fetched: Result<KeySet, &'static str>) {
        let mut kept = kept(&self.kept);
        kept.failed = fetched.is_err();
        match fetched {
            Ok(keys) => kept.take(keys),
            Err(why) => tracing::warn!("the key set of the identity provider {why}"),
        }
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        kept(&self.kept).running = None;
    }
}

async fn get(client: &Client, url: Url) -> Result<KeySet, &'static str> {
    let mut answer = client.get(url).send().await.map_err(|_| "cannot be fetched: nobody answers there")?;
    if !answer.status().is_success() {
        return Err("cannot be fetched: the answer is no success");
    }
    let mut json = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|_| "cannot be fetched: the answer breaks off")? {
        if json.len() + chunk.len() > LARGEST {
            return Err("is larger than 1 MiB");
        }
        json.extend_from_slice(&chunk);
    }
    KeySet::parse(&json)
}

/// A URL from which keys can be trusted: over TLS, or from this machine.
fn trusted(url: &str) -> Result<Url, Problem> {
    let parsed = Url::parse(url).ok().filter(|url| match url.scheme() {
        "https" => url.has_host(),
        "http" => matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")),
        _ => false,
    });
    let parsed = parsed.ok_or_else(|| {
        Problem::new("jwt.jwks_url must begin with https://: whoever can change the keys on their way lets anybody in")
    })?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(Problem::new("jwt.jwks_url holds a name or a password: key sets are public, so leave them out"));
    }
    Ok(parsed)
}

fn client(url: &Url, ca_file: Option<&Path>) -> Result<Client, Problem> {
    let mut client = Client::builder().redirect(redirect::Policy::none()).timeout(LIMIT);
    if url.scheme() == "http" {
        // It is from this machine, and not by way of a proxy, which could change it.
        client = client.no_proxy();
    }
    if let Some(path) = ca_file {
        let shown = path.display();
        let refused = |why: String| Problem::new(format!("{shown}: the certificates (jwt.ca_file) {why}"));
        let pem = private::trusted(path, "the certificates (jwt.ca_file)", LARGEST as u64)?;
        let trusted = Certificate::from_pem_bundle(&pem).ok().filter(|found| !found.is_empty());
        client = client.tls_certs_only(trusted.ok_or_else(|| refused("are none: PEM is wanted".to_owned()))?);
    }
    client.build().map_err(|error| Problem::new(format!("no client for jwt.jwks_url can be made: {error}")))
}
