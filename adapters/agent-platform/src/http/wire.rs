//! One request on the wire: sent to one address only, in the platform's budget, and again when the platform asks for
//! that.

use std::time::SystemTime;

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Method, Response, Url};
use sessiond_core::Result;
use tokio::time::Instant;

use super::ask::Ask;
use super::budget::{Budget, Room};
use super::login::Pass;
use super::{error, retry};
use crate::request::Request;

/// How many redirects one request follows.
const REDIRECTS: usize = 4;

/// The way to one platform.
pub(super) struct Wire {
    client: Client,
    base: Url,
    budget: Budget,
}

/// What a platform answered, before its body has come.
pub(super) struct Answer {
    /// Its status and headers.
    pub(super) response: Response,
    /// The budget's room that it takes.
    pub(super) room: Room,
}

impl Wire {
    /// The platform at this address.
    pub(super) fn new(client: Client, base: Url, budget: Budget) -> Self {
        Self { client, base, budget }
    }

    /// Sends a request and waits for the head of an answer of any status. A platform that takes no request now is
    /// asked again when it wants to be, unless that would be too late (DS43).
    pub(super) async fn exchange(&self, cx: &Request, ask: &Ask, pass: Option<&Pass>) -> Result<Answer> {
        loop {
            let answer = self.redirected(cx, ask, pass).await?;
            let head = &answer.response;
            match retry::after(head.status(), head.headers(), SystemTime::now()) {
                Some(wait) if Instant::now() + wait < cx.deadline => {
                    drop(answer);
                    tokio::time::sleep(wait).await;
                }
                _ => return Ok(answer),
            }
        }
    }

    /// Sends a request, and follows a redirect of one that only reads, to the same origin alone.
    async fn redirected(&self, cx: &Request, ask: &Ask, pass: Option<&Pass>) -> Result<Answer> {
        let mut url = self.url(ask);
        for _ in 0..=REDIRECTS {
            let room = self.budget.turn(cx.who).await?;
            let response = self.sent(ask, &url, pass).await?;
            match elsewhere(&response, &url) {
                None => return Ok(Answer { response, room }),
                Some(_) if ask.method != Method::GET => return Err(error::redirected()),
                Some(next) if !is_ours(&next, &self.base) => return Err(error::redirected()),
                Some(next) => url = next,
            }
        }
        Err(error::redirected())
    }

    /// The head of the answer. A server may close a connection that has been idle just as a request sets out on it:
    /// what only reads is sent once more, on another one.
    async fn sent(&self, ask: &Ask, url: &Url, pass: Option<&Pass>) -> Result<Response> {
        let send = || self.client.execute(request(ask, url.clone(), pass));
        match send().await {
            Err(fault) if ask.method == Method::GET && !fault.is_connect() => send().await,
            answered => answered,
        }
        .map_err(error::broken)
    }

    fn url(&self, ask: &Ask) -> Url {
        let mut url = self.base.clone();
        let below = self.base.path().trim_end_matches('/');
        url.set_path(&format!("{below}{}", ask.path.as_str()));
        if !ask.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&ask.query);
        }
        url
    }
}

fn request(ask: &Ask, url: Url, pass: Option<&Pass>) -> reqwest::Request {
    let mut request = reqwest::Request::new(ask.method.clone(), url);
    let headers = request.headers_mut();
    for (name, value) in ask.headers.iter().chain(pass.and_then(Pass::header)) {
        headers.insert(name.clone(), value.clone());
    }
    if let Some(body) = &ask.body {
        headers.insert(CONTENT_TYPE, reqwest::header::HeaderValue::from_static(body.content_type));
        *request.body_mut() = Some(body.bytes.clone().into());
    }
    request
}

/// Where the answer sends us, when it does.
fn elsewhere(response: &Response, from: &Url) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    from.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()
}

/// Whether an address is the platform's own. One with a credential in it is not: it would be sent.
fn is_ours(url: &Url, base: &Url) -> bool {
    url.origin() == base.origin() && url.username().is_empty() && url.password().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_origin_is_ours() {
        let base = Url::parse("https://platform.test/base").unwrap();
        let ours = |to: &str| is_ours(&base.join(to).unwrap(), &base);
        assert!(ours("/elsewhere"));
        assert!(ours("https://platform.test:443/x"));
        for to in [
            "//evil.test/x",
            "http://platform.test/",
            "https://platform.test:8443/",
            "https://platform.test.evil.test/",
            "https://platform.test@evil.test/",
            "https://user:word@platform.test/",
            "file:///etc/passwd",
        ] {
            assert!(!ours(to), "{to}");
        }
    }
}
