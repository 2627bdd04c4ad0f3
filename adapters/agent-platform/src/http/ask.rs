//! One request as a dialect words it, before an address or a credential is near it.

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};
use serde::Serialize;
use sessiond_core::{Error, Json, Result};

use super::path::Path;

/// What to ask a platform for.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(super) method: Method,
    pub(super) path: Path,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Option<Body>,
    /// Whether something is different once the platform has done it.
    pub(super) changes: bool,
}

/// A request's body.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) content_type: &'static str,
    pub(super) bytes: Bytes,
}

impl Ask {
    fn new(method: Method, path: Path) -> Self {
        let changes = method != Method::GET;
        Self { method, path, query: Vec::new(), headers: Vec::new(), body: None, changes }
    }

    /// Something to read.
    pub(crate) fn get(path: Path) -> Self {
        Self::new(Method::GET, path)
    }

    /// Something to do.
    pub(crate) fn post(path: Path) -> Self {
        Self::new(Method::POST, path)
    }

    /// Something to read that takes a body to say what.
    pub(crate) fn search(path: Path) -> Self {
        Self { changes: false, ..Self::post(path) }
    }

    /// Something to change.
    pub(crate) fn patch(path: Path) -> Self {
        Self::new(Method::PATCH, path)
    }

    /// With a parameter.
    pub(crate) fn query(mut self, name: &'static str, value: impl ToString) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    /// With a header. A value that no header can hold is left out.
    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }

    /// With a value as its body.
    ///
    /// # Errors
    /// `internal` when the value has no JSON.
    pub(crate) fn json(mut self, value: &impl Serialize) -> Result<Self> {
        let bytes = serde_json::to_vec(value)
            .map_err(|_| Error::internal("a request to the platform cannot be written: report this"))?;
        self.body = Some(Body { content_type: "application/json", bytes: bytes.into() });
        Ok(self)
    }

    /// With a form as its body; the fields are encoded already.
    pub(super) fn form(mut self, encoded: String) -> Self {
        self.body = Some(Body { content_type: "application/x-www-form-urlencoded", bytes: encoded.into() });
        self
    }
}

/// A JSON value that a caller gave, as part of a body.
///
/// # Errors
/// `invalid_argument` when it does not parse.
pub(crate) fn raw(json: &Json) -> Result<Box<serde_json::value::RawValue>> {
    serde_json::from_str(json.as_str()).map_err(|_| Error::invalid_argument("what was given is not JSON: correct it"))
}
