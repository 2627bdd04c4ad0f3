//! What the platform asks of a caller before it answers, and the credentials that it has given out.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// What a caller must show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    #[default]
    Open,
    /// `Authorization: Bearer` with this token.
    Token(String),
    /// HTTP basic.
    Basic {
        /// The user's name.
        user: String,
        /// The password.
        password: String,
    },
    /// `POST /login`, which gives a cookie.
    Login {
        /// The user's name.
        user: String,
        /// The password.
        password: String,
        /// Which body it takes.
        body: LoginBody,
    },
    /// `POST /oauth/token` by client credentials, which gives a bearer token.
    OAuth {
        /// The client's id.
        client_id: String,
        /// The client's secret.
        client_secret: String,
        /// What it says of how long a token lasts, in seconds. The token itself lasts until it is told otherwise.
        expires_in: Option<u64>,
    },
}

/// Which body of a login is taken. The other one is a 400.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoginBody {
    /// Both.
    #[default]
    Either,
    /// `{"user": {"username": …, "password": …}}`.
    Nested,
    /// `{"username": …, "password": …}`.
    Flat,
}

/// Whom the platform lets in.
#[derive(Debug, Default)]
pub(crate) struct Door {
    pub(crate) access: Access,
    valid: HashSet<String>,
    given: u64,
}

impl Door {
    /// A token that has not been given before.
    fn give(&mut self) -> String {
        self.given += 1;
        let token = format!("pass-{:04}", self.given);
        self.valid.insert(token.clone());
        token
    }

    /// Nothing that has been given out opens it any more.
    pub(crate) fn expire(&mut self) {
        self.valid.clear();
    }

    /// Whether these headers open it.
    pub(crate) fn opens(&self, authorization: Option<&str>, cookie: Option<&str>) -> bool {
        let bearer = authorization.and_then(|value| value.strip_prefix("Bearer "));
        match &self.access {
            Access::Open => true,
            Access::Token(token) => bearer == Some(token.as_str()),
            Access::Basic { user, password } => {
                authorization == Some(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))).as_str())
            }
            Access::OAuth { .. } => bearer.is_some_and(|token| self.valid.contains(token)),
            Access::Login { .. } => cookie
                .into_iter()
                .flat_map(|all| all.split("; "))
                .any(|cookie| cookie.strip_prefix("token=").is_some_and(|token| self.valid.contains(token))),
        }
    }

    /// The cookie for whoever logs in rightly; the status otherwise.
    pub(crate) fn log_in(&mut self, sent: &Value) -> Result<String, u16> {
        let Access::Login { user, password, body } = &self.access else { return Err(404) };
        let (nested, flat) = (sent.get("user").filter(|user| user.is_object()), sent.get("username").map(|_| sent));
        let account = match body {
            LoginBody::Either => nested.or(flat),
            LoginBody::Nested => nested,
            LoginBody::Flat => flat,
        };
        let account = account.ok_or(400_u16)?;
        let said = |name: &str| account.get(name).and_then(Value::as_str);
        if (said("username"), said("password")) != (Some(user.as_str()), Some(password.as_str())) {
            return Err(401);
        }
        Ok(self.give())
    }

    /// The token for a client with the right secret, and for how long it is said to last; the status otherwise.
    pub(crate) fn grant(&mut self, form: &[u8]) -> Result<(String, Option<u64>), u16> {
        let Access::OAuth { client_id, client_secret, expires_in } = &self.access else { return Err(404) };
        let fields: Vec<_> = form_urlencoded::parse(form).collect();
        let said = |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_ref());
        if said("grant_type") != Some("client_credentials") {
            return Err(400);
        }
        if (said("client_id"), said("client_secret")) != (Some(client_id.as_str()), Some(client_secret.as_str())) {
            return Err(401);
        }
        let expires_in = *expires_in;
        Ok((self.give(), expires_in))
    }
}
