//! OAuth 2.0 client credentials (RFC 6749 section 4.4).

use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::AUTHORIZATION;
use serde::Deserialize;
use sessiond_core::Result;

use super::ask::Ask;
use super::login::{Ticket, judged, secret_header};
use super::path::Path;
use super::wire::Wire;
use super::{Reply, error};
use crate::config::Secret;
use crate::request::Request;

/// What the token endpoint answers (section 5.1). Servers write the lifetime as a number or as text.
#[derive(Deserialize)]
struct Granted {
    access_token: String,
    #[serde(default)]
    expires_in: serde_json::Value,
}

/// Asks for a token.
pub(super) async fn log_in(wire: &Wire, cx: &Request, id: &Secret, secret: &Secret) -> Result<Ticket> {
    let encoded = |secret: &Secret| utf8_percent_encode(secret.expose(), NON_ALPHANUMERIC).to_string();
    let form = format!("grant_type=client_credentials&client_id={}&client_secret={}", encoded(id), encoded(secret));
    let ask = Ask::post(Path::of(&["oauth", "token"])?).form(form);
    let answer = wire.exchange(cx, &ask, None).await?;
    judged(answer.response.status())?;
    let granted: Granted = Reply::read(answer).await?.json()?;
    if granted.access_token.is_empty() {
        return Err(error::malformed());
    }
    let header = secret_header(&format!("Bearer {}", granted.access_token))?;
    Ok(Ticket { header: (AUTHORIZATION, header), lifetime: lifetime(&granted.expires_in) })
}

fn lifetime(said: &serde_json::Value) -> Option<Duration> {
    let seconds = said.as_f64().or_else(|| said.as_str()?.trim().parse().ok())?;
    // Whatever is longer than a year is as good as for ever.
    (seconds > 0.0 && seconds < 31_536_000.0).then(|| Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lifetime_is_read_in_every_form() {
        assert_eq!(lifetime(&json!(3600)), Some(Duration::from_secs(3600)));
        assert_eq!(lifetime(&json!("60")), Some(Duration::from_secs(60)));
        assert_eq!(lifetime(&json!(0.5)), Some(Duration::from_millis(500)));
        for odd in [json!(null), json!(0), json!(-1), json!("soon"), json!([]), json!(1e300)] {
            assert_eq!(lifetime(&odd), None, "{odd}");
        }
    }
}
