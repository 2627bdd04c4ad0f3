//! Who is let in.

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::uri::Authority;
use sessiond_bootstrap::identity::{Denied, Identities, Identity};
use sessiond_bootstrap::network::Origin;

use crate::allowed::{Allowed, Unexpected};

/// Who may come in.
#[derive(Clone)]
pub enum Admission {
    /// Whoever proves an identity that is known.
    Known(Identities),
    /// Everybody; for a server that only this machine reaches.
    Everybody,
}

/// Looks at who comes.
pub(crate) struct Door {
    pub(crate) allowed: Allowed,
    pub(crate) admission: Admission,
}

impl Door {
    /// Whether a request is for this server and from where it may be; the host that it is for.
    ///
    /// # Errors
    /// [`Unexpected`].
    pub(crate) fn expects(&self, parts: &Parts) -> Result<Authority, Unexpected> {
        self.allowed.check(parts)
    }

    /// Whom a request is from. A credential in its headers counts before a certificate of its connection.
    ///
    /// # Errors
    /// [`Denied`].
    pub(crate) async fn admit(&self, parts: &Parts) -> Result<Identity, Denied> {
        // No transport of ours leaves it out.
        let origin = parts.extensions.get::<Origin>().ok_or(Denied::Unavailable)?;
        let identity = self.ask(parts, origin).await?;
        origin.prove();
        Ok(identity)
    }

    async fn ask(&self, parts: &Parts, origin: &Origin) -> Result<Identity, Denied> {
        let known = match &self.admission {
            Admission::Known(known) => known,
            Admission::Everybody => return Ok(Identity::no_password()),
        };
        let mut headers = parts.headers.get_all(AUTHORIZATION).iter();
        match (headers.next(), headers.next(), &origin.certificate) {
            (Some(_), Some(_), _) => Err(Denied::Malformed),
            (None, _, Some(certificate)) => known.certificate(certificate),
            (header, _, _) => known.authorization(origin.ip(), header.map(http::HeaderValue::as_bytes)).await,
        }
    }

    /// The scheme under which a request has come.
    pub(crate) fn scheme(&self, parts: &Parts) -> &'static str {
        match parts.extensions.get::<Origin>() {
            Some(Origin { is_encrypted: true, .. }) => "https",
            _ => "http",
        }
    }
}
