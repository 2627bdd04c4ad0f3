//! Logging in: lazily, once however many want it at once, and once more when the platform forgets us (DS43).

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use sessiond_core::{Error, ErrorKind, Result};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::wire::Wire;
use super::{cookie, error, oauth};
use crate::config::{Auth, Secret};
use crate::request::Request;

/// For how long a refused login is not tried again, and one that was no help not renewed, so that many callers and runs
/// neither lock an account nor storm a platform.
const REFUSED_FOR: Duration = Duration::from_secs(10);

/// What lets a request in.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    /// Which one it is, of all that this login has had.
    number: u64,
    header: Option<(HeaderName, HeaderValue)>,
    /// When it is no good any more, where that is known.
    until: Option<Instant>,
}

impl Pass {
    /// The header that carries it.
    pub(super) fn header(&self) -> Option<&(HeaderName, HeaderValue)> {
        self.header.as_ref()
    }

    fn is_good(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// What a login answered with.
pub(super) struct Ticket {
    /// The header that carries it.
    pub(super) header: (HeaderName, HeaderValue),
    /// For how long it is good, where that is known.
    pub(super) lifetime: Option<Duration>,
}

/// The login to one platform.
pub(super) struct Login {
    auth: Auth,
    /// What carries a token in place of `Authorization: Bearer`.
    token_header: Option<HeaderName>,
    /// One logs in at a time; the others find what it found.
    gate: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pass: Option<Pass>,
    /// The latest refusal, and when it was.
    refusal: Option<(Instant, Error)>,
}

impl Login {
    /// Not logged in yet.
    ///
    /// # Errors
    /// `invalid_argument` for what cannot be a header's name.
    pub(super) fn new(auth: Auth, token_header: Option<&str>) -> Result<Self> {
        let token_header = token_header.map(HeaderName::try_from).transpose().map_err(|_| {
            Error::invalid_argument("the target's token_header is no header's name: write it like X-Api-Key")
        })?;
        Ok(Self { auth, token_header, gate: Semaphore::new(1), state: Mutex::default() })
    }

    /// A pass, from a login where there is none that is still good.
    ///
    /// # Errors
    /// `permission_denied` when the login is refused, and what keeps its secret from being read.
    pub(super) async fn pass(&self, wire: &Wire, cx: &Request) -> Result<Pass> {
        match self.known(None) {
            Some(pass) => Ok(pass),
            None => self.renew(wire, cx, None).await,
        }
    }

    /// Another pass than the one of which the platform will hear no more.
    ///
    /// # Errors
    /// As for [`pass`](Self::pass).
    pub(super) async fn another(&self, wire: &Wire, cx: &Request, refused: &Pass) -> Result<Pass> {
        self.renew(wire, cx, Some(refused)).await
    }

    /// What a renewed pass was refused for is not a matter of logging in: nobody renews another one for that for a while.
    pub(super) fn was_in_vain(&self) {
        self.state().refusal = Some((Instant::now(), error::refused()));
    }

    async fn renew(&self, wire: &Wire, cx: &Request, refused: Option<&Pass>) -> Result<Pass> {
        let _one = self.gate.acquire().await.map_err(|_| error::refused())?;
        if let Some(pass) = self.known(refused) {
            return Ok(pass);
        }
        if let Some((since, error)) = &self.state().refusal
            && since.elapsed() < REFUSED_FOR
        {
            return Err(error.clone());
        }
        let ticket = self.log_in(wire, cx).await.and_then(|ticket| self.is_new(ticket, refused));
        self.keep(ticket)
    }

    /// The pass there is, when it is good and not the refused one.
    fn known(&self, refused: Option<&Pass>) -> Option<Pass> {
        let state = self.state();
        let pass = state.pass.as_ref()?;
        let fresh = refused.is_none_or(|refused| refused.number != pass.number);
        (fresh && pass.is_good()).then(|| pass.clone())
    }

    fn keep(&self, ticket: Result<Option<Ticket>>) -> Result<Pass> {
        let mut state = self.state();
        let number = state.pass.as_ref().map_or(0, |pass| pass.number + 1);
        match ticket {
            Ok(ticket) => {
                let until = ticket.as_ref().and_then(|ticket| ticket.lifetime).map(|life| Instant::now() + early(life));
                let pass = Pass { number, header: ticket.map(|ticket| ticket.header), until };
                *state = State { pass: Some(pass.clone()), refusal: None };
                Ok(pass)
            }
            Err(error) => {
                if error.kind() == ErrorKind::PermissionDenied {
                    state.refusal = Some((Instant::now(), error.clone()));
                }
                Err(error)
            }
        }
    }

    async fn log_in(&self, wire: &Wire, cx: &Request) -> Result<Option<Ticket>> {
        let ticket = match &self.auth {
            Auth::None => return Ok(None),
            Auth::Token(token) => self.token(&token.read().await?)?,
            Auth::Basic { user, password } => constant(&basic(user, &password.read().await?))?,
            Auth::Login { user, password } => cookie::log_in(wire, cx, user, &password.read().await?).await?,
            Auth::OAuth { client_id, client_secret } => {
                let (id, secret) = (client_id.read().await?, client_secret.read().await?);
                oauth::log_in(wire, cx, &id, &secret).await?
            }
        };
        Ok(Some(ticket))
    }

    fn token(&self, token: &Secret) -> Result<Ticket> {
        match &self.token_header {
            Some(name) => Ok(Ticket { header: (name.clone(), secret_header(token.expose())?), lifetime: None }),
            None => constant(&format!("Bearer {}", token.expose())),
        }
    }

    /// A secret that is the refused one still is refused without another request; a login may give the same again.
    fn is_new(&self, ticket: Option<Ticket>, refused: Option<&Pass>) -> Result<Option<Ticket>> {
        let constant = matches!(self.auth, Auth::Token(_) | Auth::Basic { .. });
        let same = refused.is_some_and(|pass| pass.header.as_ref() == ticket.as_ref().map(|ticket| &ticket.header));
        if constant && same { Err(error::refused()) } else { Ok(ticket) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pass is renewed a little before its end, because a request takes its time.
fn early(lifetime: Duration) -> Duration {
    lifetime.saturating_sub((lifetime / 10).min(Duration::from_secs(30)))
}

fn constant(value: &str) -> Result<Ticket> {
    Ok(Ticket { header: (AUTHORIZATION, secret_header(value)?), lifetime: None })
}

/// A header's value that no log shows.
pub(super) fn secret_header(value: &str) -> Result<HeaderValue> {
    let mut header = HeaderValue::from_str(value).map_err(|_| {
        Error::failed_precondition(
            "a secret of the target has a character that no header can carry: check where it is read",
        )
    })?;
    header.set_sensitive(true);
    Ok(header)
}

fn basic(user: &str, password: &Secret) -> String {
    let pair = zeroize::Zeroizing::new(format!("{user}:{}", password.expose()));
    format!("Basic {}", data_encoding::BASE64.encode(pair.as_bytes()))
}

/// Whether a status says that who logs in is not known, or its password wrong.
pub(super) fn judged(status: reqwest::StatusCode) -> Result<()> {
    match status.as_u16() {
        400..=403 | 422 => Err(error::refused()),
        404 | 405 => {
            Err(Error::failed_precondition("the platform has no login of this kind: check the target's auth and url"))
        }
        _ => error::judge(status),
    }
}
