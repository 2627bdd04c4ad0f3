//! Tokens of an identity provider: JSON Web Tokens (RFC 7519), signed with a key of the provider's key set.
//!
//! 1. The header says which algorithm and which key. Only algorithms with a public key can be configured, so a token
//!    that is not signed, or signed with the public key as if that were a shared secret, has none of them (RFC 8725,
//!    section 3.1).
//! 2. The key is taken from the provider's set (`key_set`), which is kept and fetched again (`source`).
//! 3. Signature, issuer, audience and times are verified, in this order: nobody is told of a token's time before its
//!    signature holds.

mod key_set;
mod source;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Number, Value};
use sessiond_core::Tasks;
use tokio_util::sync::CancellationToken;

use self::key_set::{KeySet, Verifying};
use self::source::Source;
use super::Denied;
use super::keys_file::is_name;
use crate::config::JwtSettings;
use crate::problem::{Problem, Problems};

/// The algorithms that can be configured: those with a public key.
pub(crate) const ALGORITHMS: &[&str] =
    &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

/// The most characters of a subject: what OpenID Connect Core allows one to have (section 2).
const LONGEST_SUBJECT: usize = 255;

/// A token whose signature, issuer, audience and times hold.
#[derive(Debug)]
pub(super) struct Verified {
    /// The owner's name: the provider's, a colon, the subject.
    pub(super) owner: String,
    pub(super) scopes: Vec<String>,
    pub(super) until: SystemTime,
    /// Fires when the key of its signature is the provider's no more.
    pub(super) trust: CancellationToken,
}

/// The verifier.
pub(super) struct Tokens {
    name: String,
    issuer: String,
    audience: Vec<String>,
    algorithms: Vec<Algorithm>,
    leeway: Duration,
    source: Source,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
    /// A list of issuers is none.
    #[serde(rename = "iss")]
    _iss: String,
    exp: Number,
    /// RFC 8693, section 4.2: words with blanks between them. Some providers send a list, some call it `scp`.
    #[serde(default)]
    scope: Value,
    #[serde(default)]
    scp: Value,
}

impl Tokens {
    /// A verifier for tokens of this provider.
    ///
    /// # Errors
    /// Something is missing or makes no sense; the key set is a file that cannot be read.
    pub(super) fn new(settings: &JwtSettings, tasks: &Tasks) -> Result<Self, Problems> {
        let missing = |key: &str, why: &str| Problem::new(format!("jwt.{key} is missing: {why}"));
        let issuer = settings.issuer.clone().ok_or_else(|| missing("issuer", "it says whose tokens are taken"))?;
        if settings.audience.is_empty() {
            let why = "tokens that are meant for another service would be taken";
            return Err(missing("audience", why).into());
        }
        let name = settings.name.clone().unwrap_or_else(|| JwtSettings::NAME.to_owned());
        if !is_name(&name) || RESERVED.contains(&name.as_str()) {
            return Err(Problem::new(
                "jwt.name must have only letters, digits, '.', '_' and '-', and be neither uid nor anyone",
            )
            .into());
        }
        let algorithms = settings.algorithms.iter().map(|word| algorithm(word)).collect::<Result<_, _>>()?;
        let source = Source::new(settings, tasks)?;
        Ok(Self { name, issuer, audience: settings.audience.clone(), algorithms, leeway: settings.leeway, source })
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The key set as its file has it now; `None` where it comes from elsewhere.
    ///
    /// # Errors
    /// The file cannot be read or is no key set.
    pub(super) fn read_again(&self) -> Result<Option<KeySet>, Problems> {
        Ok(self.source.read()?)
    }

    /// Takes another key set.
    pub(super) fn replace(&self, keys: KeySet) {
        self.source.replace(keys);
    }

    /// Verifies a token.
    ///
    /// # Errors
    /// [`Denied::Unknown`] for whatever it lacks, [`Denied::Expired`], [`Denied::Unavailable`] when its key cannot be had.
    pub(super) async fn verify(&self, token: &str) -> Result<Verified, Denied> {
        let header = decode_header(token).map_err(|_| Denied::Unknown)?;
        if !self.algorithms.contains(&header.alg) {
            return Err(Denied::Unknown);
        }
        let Verifying { key, trust } = self.source.key(header.kid.as_deref(), header.alg).await?;
        let mut validation = Validation::new(header.alg);
        validation.leeway = self.leeway.as_secs();
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&self.audience);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let claims = decode::<Claims>(token, &key, &validation).map_err(|error| match error.kind() {
            ErrorKind::ExpiredSignature | ErrorKind::ImmatureSignature => Denied::Expired,
            _ => Denied::Unknown,
        })?;
        self.verified(claims.claims, trust)
    }

    fn verified(&self, claims: Claims, trust: CancellationToken) -> Result<Verified, Denied> {
        let Claims { sub, exp, scope, scp, .. } = claims;
        let length = sub.chars().count();
        if !(1..=LONGEST_SUBJECT).contains(&length) || sub.contains(char::is_control) {
            return Err(Denied::Unknown);
        }
        let scopes = words(&scope).chain(words(&scp)).map(str::to_owned).collect();
        Ok(Verified { owner: format!("{}:{sub}", self.name), scopes, until: moment(&exp)? + self.leeway, trust })
    }
}

/// Names before a colon that are those of other identities.
const RESERVED: [&str; 2] = ["uid", "anyone"];

fn algorithm(word: &str) -> Result<Algorithm, Problem> {
    word.parse().ok().filter(|_| ALGORITHMS.contains(&word)).ok_or_else(|| {
        let known = ALGORITHMS.join(", ");
        Problem::new(format!("jwt.algorithms must hold names of {known}: only those have a public key"))
    })
}

/// The scopes in a claim.
fn words(claim: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match claim {
        Value::String(text) => Box::new(text.split(' ').filter(|word| !word.is_empty())),
        Value::Array(list) => Box::new(list.iter().filter_map(Value::as_str)),
        _ => Box::new(std::iter::empty()),
    }
}

/// The moment of a `NumericDate` (RFC 7519, section 2), which may have a fraction.
fn moment(number: &Number) -> Result<SystemTime, Denied> {
    /// The end of the year 9999: beyond it the clock's arithmetic could overflow.
    const LAST: u64 = 253_402_300_799;
    let seconds = number.as_u64().or_else(|| {
        let seconds = number.as_f64().filter(|seconds| *seconds >= 0.0)?;
        // Saturates, and is cut to the last moment below.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and saturating")]
        Some(seconds as u64)
    });
    seconds.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds.min(LAST))).ok_or(Denied::Unknown)
}
