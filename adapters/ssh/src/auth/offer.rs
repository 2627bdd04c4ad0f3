//! Which keys are offered to a host, in which order.

use std::collections::VecDeque;

use russh::keys::agent::AgentIdentity;
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Certificate, HashAlg, PublicKey};

use super::identity::{Identities, Identity, Private};

/// A key, or a certificate of one, to be offered.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    /// What the host is shown.
    pub(crate) shown: Shown,
    /// Who signs with the key.
    pub(crate) by: By,
    /// What to call it in a message.
    pub(crate) label: String,
}

/// What a host is shown of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The key itself.
    Key(PublicKey),
    /// A certificate of it.
    Certificate(Box<Certificate>),
}

/// Who signs with a key.
#[derive(Clone, Debug)]
pub(crate) enum By {
    /// The agent, which knows it by this.
    Agent(Box<AgentIdentity>),
    /// Its file.
    File(Private),
}

/// All offers of a route.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offers {
    /// The keys that the route names.
    pub(crate) named: VecDeque<Offer>,
    /// The agent's other keys.
    pub(crate) others: VecDeque<Offer>,
    /// Why a key is not offered.
    pub(crate) notes: Vec<String>,
}

/// What decides about the order.
pub(crate) struct Terms {
    /// Whether only the keys that the route names are offered.
    pub(crate) named_only: bool,
    /// Whether a passphrase can be had.
    pub(crate) has_passphrase: bool,
    /// The time, in seconds since 1970.
    pub(crate) now: u64,
}

impl Offers {
    /// Orders the keys: those that the route names, first of them those that the agent holds; then the agent's other
    /// keys. Each after its certificates. A host takes few attempts (six, as OpenSSH comes), so whatever can be known
    /// to be useless is not offered.
    pub(crate) fn of(files: Identities, agent: Vec<AgentIdentity>, terms: &Terms) -> Self {
        let mut all = Self { notes: files.notes, ..Self::default() };
        let (held, filed): (Vec<Identity>, Vec<Identity>) =
            files.keys.into_iter().partition(|identity| holder(&agent, &identity.public).is_some());
        for identity in held.into_iter().chain(filed) {
            all.offer_named(identity, &agent, terms);
        }
        for certificate in files.spare {
            let public = PublicKey::from(certificate.public_key().clone());
            match holder(&agent, &public) {
                Some(by) => all.offer_certificates(vec![certificate], &by, &label_of(&public), terms),
                None => all.notes.push(format!("there is no private key for the certificate {}", id(&certificate))),
            }
        }
        if !terms.named_only {
            all.offer_others(agent, terms);
        }
        all
    }

    fn offer_named(&mut self, identity: Identity, agent: &[AgentIdentity], terms: &Terms) {
        let label = identity.path.display().to_string();
        let by = match (holder(agent, &identity.public), identity.private) {
            (Some(by), _) => by,
            (None, Private::Absent) => {
                self.notes.push(format!("{label} has no private key beside it, and the agent does not hold it"));
                return;
            }
            (None, Private::Locked(_)) if !terms.has_passphrase => {
                self.notes.push(format!("{label} is encrypted (configure its passphrase, or add it to the agent)"));
                return;
            }
            (None, private) => By::File(private),
        };
        let mut certificates = identity.certificates;
        let held = agent.iter().filter_map(certificate_in);
        let own = held.filter(|held| held.public_key() == identity.public.key_data());
        for certificate in own {
            if !certificates.contains(certificate) {
                certificates.push(certificate.clone());
            }
        }
        self.offer_certificates(certificates, &by, &label, terms);
        self.named.push_back(Offer { shown: Shown::Key(bare(&identity.public)), by, label });
    }

    fn offer_certificates(&mut self, certificates: Vec<Certificate>, by: &By, label: &str, terms: &Terms) {
        for certificate in certificates {
            if let Some(flaw) = flaw(&certificate, terms.now) {
                self.notes.push(format!("the certificate {} of {label} {flaw}", id(&certificate)));
                continue;
            }
            let label = format!("{label} with the certificate {}", id(&certificate));
            let shown = Shown::Certificate(Box::new(certificate));
            self.named.push_back(Offer { shown, by: by.clone(), label });
        }
    }

    fn offer_others(&mut self, agent: Vec<AgentIdentity>, terms: &Terms) {
        let is_named = |shown: &Shown| self.named.iter().any(|offer| offer.shown == *shown);
        let mut others = Vec::new();
        for held in agent {
            let label = label_of(&held.public_key());
            let (shown, label) = match &held {
                AgentIdentity::PublicKey { key, .. } => (Shown::Key(bare(key)), label),
                AgentIdentity::Certificate { certificate, .. } => {
                    let label = format!("{label} with the certificate {}", id(certificate));
                    (Shown::Certificate(Box::new(certificate.clone())), label)
                }
            };
            let useless = matches!(&shown, Shown::Certificate(held) if flaw(held, terms.now).is_some());
            if !useless && !is_named(&shown) {
                others.push(Offer { shown, by: By::Agent(Box::new(held)), label });
            }
        }
        // An agent lists a key and its certificate in either order.
        others.sort_by_key(|offer| matches!(offer.shown, Shown::Key(_)));
        self.others = others.into();
    }
}

/// How the agent holds a key, if it does.
fn holder(agent: &[AgentIdentity], public: &PublicKey) -> Option<By> {
    let plain = |held: &&AgentIdentity| matches!(held, AgentIdentity::PublicKey { key, .. } if key.key_data() == public.key_data());
    agent.iter().find(plain).map(|held| By::Agent(Box::new(held.clone())))
}

fn certificate_in(held: &AgentIdentity) -> Option<&Certificate> {
    match held {
        AgentIdentity::Certificate { certificate, .. } => Some(certificate),
        AgentIdentity::PublicKey { .. } => None,
    }
}

/// A key without its comment, which is not part of it.
fn bare(key: &PublicKey) -> PublicKey {
    PublicKey::from(key.key_data().clone())
}

fn id(certificate: &Certificate) -> String {
    format!("'{}'", sessiond_core::shown(certificate.key_id()))
}

fn label_of(key: &PublicKey) -> String {
    format!("{} {} of the agent", key.algorithm().as_str(), key.fingerprint(HashAlg::Sha256))
}

/// Why no host can accept a certificate.
fn flaw(certificate: &Certificate, now: u64) -> Option<&'static str> {
    match certificate.cert_type() {
        CertType::User if now < certificate.valid_after() => Some("is not valid yet"),
        CertType::User if now >= certificate.valid_before() => Some("has expired"),
        CertType::User => None,
        CertType::Host => Some("is one for hosts"),
    }
}
