//! A login that answers with a cookie.

use reqwest::StatusCode;
use reqwest::header::{COOKIE, HeaderMap, SET_COOKIE};
use serde::Serialize;
use sessiond_core::{Error, Result};

use super::ask::Ask;
use super::login::{Ticket, judged, secret_header};
use super::path::Path;
use super::wire::{Answer, Wire};
use crate::config::Secret;
use crate::request::Request;

#[derive(Serialize)]
struct Nested<'a> {
    user: Flat<'a>,
}

#[derive(Clone, Copy, Serialize)]
struct Flat<'a> {
    username: &'a str,
    password: &'a str,
}

/// Logs in. Both bodies that platforms take are in use: the nested one first, the flat one when that is refused.
pub(super) async fn log_in(wire: &Wire, cx: &Request, user: &str, password: &Secret) -> Result<Ticket> {
    let flat = Flat { username: user, password: password.expose() };
    let mut answer = attempt(wire, cx, &Nested { user: flat }).await?;
    if matches!(
        answer.response.status(),
        StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::UNPROCESSABLE_ENTITY
    ) {
        drop(answer);
        answer = attempt(wire, cx, &flat).await?;
    }
    judged(answer.response.status())?;
    let cookies = cookies(answer.response.headers());
    // The body is read so that the connection can be used again; what it says is not needed.
    let _ = super::Reply::read(answer).await;
    if cookies.is_empty() {
        return Err(Error::unavailable("the platform's login answers without a cookie: check the target's auth"));
    }
    Ok(Ticket { header: (COOKIE, secret_header(&cookies)?), lifetime: None })
}

async fn attempt(wire: &Wire, cx: &Request, body: &impl Serialize) -> Result<Answer> {
    let ask = Ask::post(Path::of(&["login"])?).json(body)?;
    wire.exchange(cx, &ask, None).await
}

/// The cookies that an answer sets, as the next request sends them (RFC 6265 section 4.2). The attributes are not
/// looked at: they go to this platform only, and a login lives no longer than the platform says by refusing it.
fn cookies(headers: &HeaderMap) -> String {
    let mut set: Vec<(&str, &str)> = Vec::new();
    for value in headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok()) {
        let pair = value.split(';').next().unwrap_or_default();
        let Some((name, value)) = pair.split_once('=') else { continue };
        let (name, value) = (name.trim(), value.trim());
        set.retain(|(known, _)| *known != name);
        if !name.is_empty() && !value.is_empty() {
            set.push((name, value));
        }
    }
    set.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_go_back_without_their_attributes() {
        let mut headers = HeaderMap::new();
        assert_eq!(cookies(&headers), "");
        for value in ["token=old; Path=/", "gone=; Max-Age=0", "a=b=c; HttpOnly", "token=new; Secure", "nonsense"] {
            headers.append(SET_COOKIE, value.parse().unwrap());
        }
        assert_eq!(cookies(&headers), "a=b=c; token=new");
    }
}
