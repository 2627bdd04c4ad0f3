//! A provider's key set (RFC 7517), reduced to the keys that can verify something.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The most bytes of a set.
pub(super) const LARGEST: usize = 1 << 20;

/// The most keys that are kept.
const MOST: usize = 256;

/// The keys.
pub(crate) struct KeySet(Vec<Key>);

struct Key {
    id: Option<String>,
    family: Family,
    /// The one algorithm that the key is for, where the set says so.
    only: Option<Algorithm>,
    /// The key as the set has it, to know it again in another set.
    material: AlgorithmParameters,
    key: DecodingKey,
    /// Fires when the key is gone from the set.
    trust: CancellationToken,
}

/// Which algorithms a key can be for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl Family {
    fn of(algorithm: Algorithm) -> Option<Self> {
        Some(match algorithm {
            Algorithm::RS256 | Algorithm::RS384 | Algorithm::RS512 => Self::Rsa,
            Algorithm::PS256 | Algorithm::PS384 | Algorithm::PS512 => Self::Rsa,
            Algorithm::ES256 => Self::P256,
            Algorithm::ES384 => Self::P384,
            Algorithm::EdDSA => Self::Ed25519,
            _ => return None,
        })
    }
}

/// A key to verify a token with.
pub(super) struct Verifying {
    pub(super) key: DecodingKey,
    /// Fires when the provider has it no more: what has been verified with it then holds no more either.
    pub(super) trust: CancellationToken,
}

/// What a search has found.
pub(super) enum Found {
    Key(Box<Verifying>),
    /// There is none of that name, and a newer set may have it.
    Nothing,
    /// There is one, but not for this.
    Unfit,
}

impl KeySet {
    /// Reads a set. Keys that no algorithm here can use are left out: symmetric ones, those for encryption, odd curves.
    ///
    /// # Errors
    /// What it is instead, to go after its name.
    pub(super) fn parse(json: &[u8]) -> Result<Self, &'static str> {
        let set: Value = serde_json::from_slice(json).map_err(|_| "is no JSON")?;
        let keys = set.get("keys").and_then(Value::as_array).ok_or("is no key set: it lacks a list of keys")?;
        if keys.len() > MOST {
            return Err("has more than 256 keys");
        }
        // One odd key does not take the others away: a set is also for other readers.
        let keys: JwkSet =
            JwkSet { keys: keys.iter().filter_map(|key| serde_json::from_value(key.clone()).ok()).collect() };
        let keys: Vec<_> = keys.keys.iter().filter_map(Key::of).collect();
        if keys.is_empty() { Err("has no key that could verify a signature") } else { Ok(Self(keys)) }
    }

    /// Takes the place of another set: a key that is in both lives on, and all others of the old one end.
    pub(super) fn take_over(&mut self, old: &Self) {
        for before in &old.0 {
            match self.0.iter_mut().find(|key| key.is_same(before)) {
                Some(key) => key.trust = before.trust.clone(),
                None => before.trust.cancel(),
            }
        }
    }

    /// The key of this id, when it fits the algorithm; without an id the only one that fits.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Found {
        let fits =
            |key: &&Key| Family::of(algorithm) == Some(key.family) && key.only.is_none_or(|only| only == algorithm);
        let found = |key: &Key| Found::Key(Box::new(Verifying { key: key.key.clone(), trust: key.trust.clone() }));
        match id {
            Some(id) => {
                let mut named = self.0.iter().filter(|key| key.id.as_deref() == Some(id)).peekable();
                if named.peek().is_none() {
                    return Found::Nothing;
                }
                named.find(fits).map_or(Found::Unfit, found)
            }
            None => {
                let mut fitting = self.0.iter().filter(fits);
                match (fitting.next(), fitting.next()) {
                    (Some(key), None) => found(key),
                    _ => Found::Unfit,
                }
            }
        }
    }
}

impl Key {
    fn of(jwk: &Jwk) -> Option<Self> {
        let family = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => Family::Rsa,
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Family::P256,
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => Family::P384,
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Family::Ed25519,
            _ => return None,
        };
        if jwk.common.public_key_use.as_ref().is_some_and(|purpose| *purpose != PublicKeyUse::Signature) {
            return None;
        }
        let operations = jwk.common.key_operations.as_ref();
        if operations.is_some_and(|operations| !operations.contains(&KeyOperations::Verify)) {
            return None;
        }
        let only = match &jwk.common.key_algorithm {
            Some(named) => Some(named.to_string().parse().ok()?),
            None => None,
        };
        let (id, key, material) = (jwk.common.key_id.clone(), DecodingKey::from_jwk(jwk).ok()?, jwk.algorithm.clone());
        Some(Self { id, family, only, material, key, trust: CancellationToken::new() })
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.id, self.only, &self.material) == (&other.id, other.only, &other.material)
    }
}
