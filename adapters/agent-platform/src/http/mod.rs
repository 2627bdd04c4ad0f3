//! Asking a platform over HTTP.
//!
//! 1. `ask` is what a dialect wants, with a `path` whose segments are encoded there and nowhere else.
//! 2. `login` has what lets us in (`cookie`, `oauth`, or what needs no request).
//! 3. `wire` sends it in its turn (`budget`), to the platform's own address alone, and again when the platform says
//!    when (`retry`).
//! 4. `reply` reads the body, and `error` makes of everything else an error that gives nothing away.

mod ask;
mod budget;
mod client;
mod cookie;
mod error;
mod login;
mod oauth;
mod path;
mod reply;
mod retry;
mod wire;

use std::future::Future;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use reqwest::StatusCode;
use sessiond_core::Result;

use self::budget::Budget;
use self::login::Login;
use self::wire::{Answer, Wire};
use crate::config::PlatformConfig;
use crate::request::Request;

pub(crate) use self::ask::{Ask, raw};
pub(crate) use self::error::malformed;
pub(crate) use self::path::Path;
pub(crate) use self::reply::Reply;

/// One platform over HTTP.
pub(crate) struct Http {
    wire: Wire,
    login: Login,
}

impl Http {
    /// The platform of this configuration. Nothing is connected yet.
    ///
    /// # Errors
    /// `invalid_argument` for an address or a header that is none, `failed_precondition` for certificates that cannot
    /// be used.
    pub(crate) fn new(config: &PlatformConfig) -> Result<Self> {
        let base = client::base(&config.url)?;
        let login = Login::new(config.auth.clone(), config.token_header.as_deref())?;
        let wire = Wire::new(client::client(&config.tls)?, base, Budget::new(config.requests_per_second));
        Ok(Self { wire, login })
    }

    /// Asks, and reads the answer. One deadline holds for all that this takes.
    ///
    /// # Errors
    /// By the answer's status: 404 `not_found`, 403 and a login that is refused twice `permission_denied`, 400 and 422
    /// `invalid_argument`, 409 `failed_precondition`, 405 `unsupported`, 429 and 5xx `unavailable`; the deadline is
    /// `timed_out`, and an answer that breaks off `unavailable`.
    pub(crate) async fn ask(&self, cx: &Request, ask: &Ask) -> Result<Reply> {
        let reply = within(cx, async { Reply::read(self.admitted(cx, ask).await?).await }).await;
        reply.map_err(|error| if ask.changes { error::left_open(error) } else { error })
    }

    /// Asks, and hands out the answer's body as it comes. The deadline holds for the answer's head.
    ///
    /// # Errors
    /// As for [`ask`](Self::ask).
    pub(crate) async fn stream(&self, cx: &Request, ask: &Ask) -> Result<BoxStream<'static, Result<Bytes>>> {
        within(cx, async { Ok(reply::stream(self.admitted(cx, ask).await?)) }).await
    }

    /// The head of a good answer. A login that the platform has forgotten is renewed once.
    async fn admitted(&self, cx: &Request, ask: &Ask) -> Result<Answer> {
        let pass = self.login.pass(&self.wire, cx).await?;
        let mut answer = self.wire.exchange(cx, ask, Some(&pass)).await?;
        if answer.response.status() == StatusCode::UNAUTHORIZED && pass.header().is_some() {
            drop(answer);
            let pass = self.login.another(&self.wire, cx, &pass).await?;
            answer = self.wire.exchange(cx, ask, Some(&pass)).await?;
            if answer.response.status() == StatusCode::UNAUTHORIZED {
                self.login.was_in_vain();
            }
        }
        error::judge(answer.response.status())?;
        Ok(answer)
    }
}

/// Until the deadline, and while somebody wants it.
async fn within<T>(cx: &Request, work: impl Future<Output = Result<T>> + Send) -> Result<T> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(error::timed_out()),
        done = tokio::time::timeout_at(cx.deadline, work) => done.unwrap_or_else(|_| Err(error::timed_out())),
    }
}
