//! Who is let in, and as whom: the same answer for every transport that listens on a network.
//!
//! 1. A transport hands over what a caller shows: a bearer credential with the address it comes from
//!    ([`Identities::bearer`]), or a certificate that TLS has verified ([`Identities::certificate`]). A unix socket proves
//!    an account ([`Identity::unix`]); with `--no-password` nobody proves anything ([`Identity::no_password`]).
//! 2. How many wrong ones an address may send is limited before anything is looked at (`guesses`).
//! 3. A key of this server is looked up by its hash (`key`, `table`); a token of an identity provider is verified
//!    (`token`); a certificate is known by its names (`certificate`).
//! 4. What comes out is an [`Identity`]: the [`Owner`] that calls are made for, with what it may reach and do (`role`),
//!    and how long that holds ([`Identity::ended`]); or why not ([`Denied`]).
//!
//! The keys file (`keys_file`) says who there is. It is read again on SIGHUP ([`Identities::reload`]): sessions stay,
//! and whoever is gone from it is refused at the next call, with the streams that are still open ended.

mod certificate;
mod command;
mod denied;
mod guesses;
mod key;
mod keys_file;
mod moment;
mod role;
mod table;
mod token;

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use sessiond_core::{Owner, Tasks};
use tokio_util::sync::CancellationToken;

pub use certificate::Certificate;
pub use command::KeyCommand;
pub use denied::Denied;
pub use key::{Digest, NewKey};

use self::guesses::Guesses;
use self::table::Table;
use self::token::Tokens;
use crate::config::NetworkSettings;
use crate::problem::Problems;

/// Longer than any credential, in bytes: tokens carry claims, but no documents.
const LONGEST: usize = 16 * 1024;

/// How somebody has proven who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// With a key of this server.
    Key,
    /// With a token of an identity provider.
    Token,
    /// With a certificate, in the TLS handshake.
    Certificate,
    /// With an account of this machine, at the other end of a unix socket.
    Unix,
    /// Not at all: the server was told to let everybody of this machine in.
    NoPassword,
}

/// Somebody who has been let in.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Whom calls are made for, with what that owner may reach and do.
    pub owner: Owner,
    /// How it was proven.
    pub kind: Kind,
    /// When it ends by itself.
    until: Option<SystemTime>,
    /// Fires when it is taken back; never for those that cannot be.
    revoked: CancellationToken,
    /// Fires when whoever has vouched for it is trusted no more: an authority, a key of an identity provider.
    trust: CancellationToken,
}

impl Identity {
    /// An account of this machine that has been proven by a unix socket. The transport decides which accounts it takes.
    pub fn unix(uid: u32) -> Self {
        Self::proven(Owner::management(format!("uid:{uid}")), Kind::Unix)
    }

    /// Everybody, where `--no-password` lets everybody in.
    pub fn no_password() -> Self {
        // No key has a name with a colon in it, so no key shares these sessions.
        static ANYBODY: LazyLock<Identity> =
            LazyLock::new(|| Identity::proven(Owner::management("anyone:loopback"), Kind::NoPassword));
        ANYBODY.clone()
    }

    /// An owner who has been proven in another way, for as long as the server runs.
    pub fn proven(owner: Owner, kind: Kind) -> Self {
        Self { owner, kind, until: None, revoked: CancellationToken::new(), trust: CancellationToken::new() }
    }

    /// Whether it can be taken back or expires, so that [`ended`](Self::ended) is worth waiting for.
    pub fn can_end(&self) -> bool {
        !matches!(self.kind, Kind::Unix | Kind::NoPassword)
    }

    /// Whether it has been taken back or has expired.
    pub fn has_ended(&self) -> bool {
        let is_taken_back = self.revoked.is_cancelled() || self.trust.is_cancelled();
        is_taken_back || self.until.is_some_and(|until| until <= SystemTime::now())
    }

    /// Whether the entry that has let it in is gone from the keys file, or says something else.
    pub fn is_revoked(&self) -> bool {
        self.revoked.is_cancelled()
    }

    /// Waits until that is so, for whatever outlives one credential: whoever comes with one token after another keeps an
    /// MCP session that the first one has opened. Never returns where there is no entry.
    pub async fn revoked(&self) {
        self.revoked.cancelled().await;
    }

    /// Waits until it has been taken back or has expired, for whoever serves something that takes long: a wait, a
    /// stream. Never returns for an account of this machine and for those who prove nothing.
    pub async fn ended(&self) {
        let expired = async {
            match self.until {
                Some(until) => expiry(until, SystemTime::now).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.revoked.cancelled() => {}
            () = self.trust.cancelled() => {}
            () = expired => {}
        }
    }
}

/// Waits for a moment of the calendar. Timers do not follow the clock when it is set, and stand still while the machine
/// sleeps: so it is looked at again each minute, and nothing outlives its time by more.
async fn expiry(until: SystemTime, now: impl Fn() -> SystemTime) {
    const LOOK: Duration = Duration::from_secs(60);
    while let Ok(left) = until.duration_since(now())
        && !left.is_zero()
    {
        tokio::time::sleep(left.min(LOOK)).await;
    }
}

/// Everybody whom this server knows. Clones are the same, a reload included.
#[derive(Clone)]
pub struct Identities(Arc<Known>);

struct Known {
    /// Where the keys file lies; `None` where there is none.
    file: Option<PathBuf>,
    table: RwLock<Arc<Table>>,
    tokens: Option<Tokens>,
    guesses: Guesses,
    /// Held by whoever reads the files again, so that the newest state is the one that stays.
    reloading: Mutex<()>,
}

impl Identities {
    /// Reads the keys file, and the key set of the identity provider where that is a file. Paths are absolute. `tasks`
    /// carry the fetching of key sets.
    ///
    /// # Errors
    /// Every problem of the keys file and of the key set, by line.
    pub(crate) fn load(settings: &NetworkSettings, tasks: &Tasks) -> Result<Self, Problems> {
        let table = settings.keys_file.as_deref().map(keys_file::read).transpose()?.unwrap_or_default();
        let tokens = settings.jwt.is_there().then(|| Tokens::new(&settings.jwt, tasks)).transpose()?;
        let table = RwLock::new(Arc::new(table));
        let known = Known {
            file: settings.keys_file.clone(),
            table,
            tokens,
            guesses: Guesses::default(),
            reloading: Mutex::new(()),
        };
        Ok(Self(Arc::new(known)))
    }

    /// Whether nobody could ever be let in: no key, no certificate, and no scope that an identity provider could give.
    pub fn is_empty(&self) -> bool {
        let table = self.table();
        table.keys.is_empty() && table.certificates.is_empty() && (table.scopes.is_empty() || self.0.tokens.is_none())
    }

    /// Whether certificates of callers let anybody in, so that TLS is to ask for them.
    pub fn takes_certificates(&self) -> bool {
        !self.table().certificates.is_empty()
    }

    /// The identity provider whose tokens are taken: its issuer URL, for RFC 9728. `None` where none is.
    pub fn issuer(&self) -> Option<&str> {
        self.0.tokens.as_ref().map(Tokens::issuer)
    }

    /// The scopes that let somebody in, for RFC 9728.
    pub fn scopes(&self) -> Vec<String> {
        self.table().scopes.iter().map(|(scope, _)| scope.clone()).collect()
    }

    /// Whom the value of an `authorization` header proves: `Bearer` and a credential (RFC 6750, section 2.1), from this
    /// address.
    ///
    /// # Errors
    /// [`Denied`]; [`Denied::Missing`] without the header.
    pub async fn authorization(&self, from: IpAddr, header: Option<&[u8]>) -> Result<Identity, Denied> {
        let text = std::str::from_utf8(header.ok_or(Denied::Missing)?).map_err(|_| Denied::Malformed)?;
        let (scheme, token) = text.trim_ascii().split_once(' ').ok_or(Denied::Malformed)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Denied::Malformed);
        }
        self.bearer(from, token.trim_ascii_start()).await
    }

    /// Whom a credential proves: a key of this server, or a token of the identity provider, from this address.
    ///
    /// # Errors
    /// [`Denied`]. Wrong ones are counted against the address.
    pub async fn bearer(&self, from: IpAddr, credential: &str) -> Result<Identity, Denied> {
        let digest = Digest::of(credential);
        self.0.guesses.admit(from, &digest).map_err(|retry_after| Denied::TooMany { retry_after })?;
        let judged = self.judge(credential, &digest).await;
        match &judged {
            Ok(_) => self.0.guesses.right(from, &digest),
            // That was no guess, or nobody knows.
            Err(Denied::Expired | Denied::Scope | Denied::Unavailable) => {}
            Err(_) => self.0.guesses.wrong(from),
        }
        judged
    }

    async fn judge(&self, credential: &str, digest: &Digest) -> Result<Identity, Denied> {
        if credential.is_empty()
            || credential.len() > LONGEST
            || !credential.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(Denied::Malformed);
        }
        let table = self.table();
        if let Some(entry) = table.key(digest) {
            return entry.identity(Kind::Key);
        }
        match &self.0.tokens {
            Some(tokens) if !credential.starts_with(key::PREFIX) => {
                // Requests that come with keys hold no room for it, and those are most.
                let token = Box::pin(tokens.verify(credential)).await?;
                // A key set may have been fetched meanwhile, and the file reloaded.
                let table = self.table();
                let entry = table.scope(&token.scopes).ok_or(Denied::Scope)?;
                entry.identity_of(token)
            }
            _ => Err(Denied::Unknown),
        }
    }

    /// Whom a certificate proves that TLS has verified.
    ///
    /// # Errors
    /// [`Denied::Unknown`] when no entry has one of its names; [`Denied::Expired`].
    pub fn certificate(&self, certificate: &Certificate) -> Result<Identity, Denied> {
        let table = self.table();
        let mut identity = table.certificate(certificate).ok_or(Denied::Unknown)?.identity(Kind::Certificate)?;
        identity.until = [identity.until, Some(certificate.until())].into_iter().flatten().min();
        identity.trust = certificate.trust().clone();
        if identity.has_ended() { Err(Denied::Expired) } else { Ok(identity) }
    }

    /// Reads the files again. Whoever is in the new keys file with the same entry as before notices nothing; whoever is
    /// gone or has another one ends ([`Identity::ended`]). Returns what there is now, in words.
    ///
    /// # Errors
    /// Every problem; then everything stays as it was.
    pub fn reload(&self) -> Result<String, Problems> {
        let _alone = self.0.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = self.0.tokens.as_ref().map(Tokens::read_again).transpose()?.flatten();
        if let Some(file) = &self.0.file {
            let mut new = keys_file::read(file)?;
            let mut table = self.0.table.write().unwrap_or_else(PoisonError::into_inner);
            new.take_over(&table);
            *table = Arc::new(new);
        }
        if let (Some(tokens), Some(keys)) = (&self.0.tokens, keys) {
            tokens.replace(keys);
        }
        Ok(self.to_string())
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.0.table.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Display for Identities {
    /// How many there are of each kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.table();
        let [keys, certificates] = [table.keys.len(), table.certificates.len()];
        write!(f, "{keys} keys, {certificates} certificates, {} scopes", table.scopes.len())
    }
}

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identities({self})")
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::UNIX_EPOCH;

    use tokio::time::{Instant, sleep};

    use super::*;

    fn after(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn what_expires_ends_at_its_moment_and_not_before() {
        let begun = Instant::now();
        for seconds in [1, 59, 60, 61, 100_000] {
            let begin = begun.elapsed();
            expiry(after(seconds) + begin, || UNIX_EPOCH + begun.elapsed()).await;
            assert_eq!((begun.elapsed() - begin).as_secs(), seconds);
        }
        let begin = begun.elapsed();
        expiry(after(0), || after(7)).await;
        assert_eq!(begun.elapsed(), begin, "what is over needs no waiting");
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_set_is_followed_within_a_minute() {
        // To what is it set, after two minutes and a half? And when is it an hour past the beginning then?
        for (set_to, ends) in [(7_200, 180), (0, 3_750)] {
            let (begun, set) = (Instant::now(), Cell::new(None));
            let clock = || match set.get() {
                None => UNIX_EPOCH + begun.elapsed(),
                Some((at, to)) => to + (begun.elapsed() - at),
            };
            let setting = async {
                sleep(Duration::from_secs(150)).await;
                set.set(Some((begun.elapsed(), after(set_to))));
            };
            tokio::join!(expiry(after(3_600), clock), setting);
            assert_eq!(begun.elapsed().as_secs(), ends);
        }
    }
}
