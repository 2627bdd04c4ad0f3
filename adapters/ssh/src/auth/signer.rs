//! Signing what proves that we have a key: by its file or by the agent.

use std::sync::Arc;

use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use russh::keys::signature::Signer as _;
use russh::keys::ssh_encoding::Encode;
use russh::keys::ssh_key::Signature;
use russh::keys::ssh_key::private::KeypairData;
use russh::keys::{self, HashAlg, PrivateKey};
use sessiond_core::{TaskKind, Tasks};
use tokio::net::UnixStream;

use super::identity::Private;
use crate::local;
use crate::route::Route;
use crate::secret::Secret;

/// A key being unlocked, and used.
const SIGN: TaskKind = TaskKind("ssh signature");

/// Why there is no signature: words that continue a sentence about the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsigned(pub(crate) String);

impl From<russh::SendError> for Unsigned {
    fn from(_: russh::SendError) -> Self {
        Self("was not asked for, as the connection is gone".to_owned())
    }
}

/// Signs with one key.
pub(crate) enum Signer<'a> {
    /// By the agent, which knows the key by this.
    Agent {
        /// The agent.
        agent: &'a mut AgentClient<UnixStream>,
        /// The key.
        key: Box<AgentIdentity>,
    },
    /// By the key's file.
    File {
        /// The private key.
        private: Private,
        /// The route, which says what unlocks it.
        route: &'a Route,
        /// Where to work.
        tasks: &'a Tasks,
    },
}

impl russh::Signer for Signer<'_> {
    type Error = Unsigned;

    /// Returns what was to be signed with the signature behind it, as the protocol sends it (RFC 4252, section 7).
    async fn auth_sign(
        &mut self,
        _shown: &AgentIdentity,
        hash: Option<HashAlg>,
        to_sign: Vec<u8>,
    ) -> Result<Vec<u8>, Unsigned> {
        match self {
            // The host may have been shown a certificate that the agent has not: it signs with the key of it.
            Self::Agent { agent, key } => {
                let signed = agent.sign_request(key, hash, to_sign).await;
                signed.map_err(|_| Unsigned("was not signed with: the agent refuses".to_owned()))
            }
            Self::File { private, route, tasks } => {
                let passphrase = match (&*private, &route.passphrase) {
                    (Private::Locked(_), Some(source)) => {
                        let read = source.read(&route.surroundings, tasks).await;
                        Some(read.map_err(|error| Unsigned(format!("stays locked: {error}")))?)
                    }
                    _ => None,
                };
                let private = private.clone();
                // Both unlocking a key and signing with RSA keep a processor busy for a while.
                let signed = local::blocking(tasks, SIGN, move || sign(&private, passphrase.as_ref(), hash, to_sign));
                signed.await.map_err(|error| Unsigned(error.message().to_owned()))?
            }
        }
    }
}

fn sign(
    private: &Private,
    passphrase: Option<&Secret>,
    hash: Option<HashAlg>,
    mut data: Vec<u8>,
) -> Result<Vec<u8>, Unsigned> {
    let key = match private {
        Private::Open(key) => Arc::clone(key),
        Private::Locked(text) => Arc::new(unlock(text, passphrase)?),
        Private::Absent => return Err(Unsigned("has no private key".to_owned())),
    };
    let failed = |error: &dyn std::fmt::Display| Unsigned(format!("cannot be signed with: {error}"));
    let signature = signature(&key, hash, &data).map_err(|error| failed(&error))?;
    signature.encode_prefixed(&mut data).map_err(|error| failed(&error))?;
    Ok(data)
}

fn unlock(text: &str, passphrase: Option<&Secret>) -> Result<PrivateKey, Unsigned> {
    let Some(passphrase) = passphrase else { return Err(Unsigned("is encrypted".to_owned())) };
    keys::decode_secret_key(text, Some(passphrase.expose()))
        .map_err(|_| Unsigned("is not unlocked by the configured passphrase".to_owned()))
}

fn signature(key: &PrivateKey, hash: Option<HashAlg>, data: &[u8]) -> Result<Signature, keys::signature::Error> {
    match key.key_data() {
        KeypairData::Rsa(pair) => (pair, hash).try_sign(data),
        pair => pair.try_sign(data),
    }
}
