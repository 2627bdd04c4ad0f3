//! One attempt of each kind, and how the host takes it.

use russh::client::{AuthResult, KeyboardInteractiveAuthResponse, Prompt};
use russh::keys::{Algorithm, HashAlg, PublicKey};
use russh::{MethodKind, MethodSet};
use sessiond_core::Result;

use super::offer::{By, Offer, Shown};
use super::prompts::{self, Answer};
use super::signer::{Signer, Unsigned};
use super::{Login, Password, Questions, Taken, Trial};
use crate::secret::Secret;

/// How many rounds of questions are answered: PAM asks in two or three.
const ROUNDS: usize = 8;
/// How long an old host may keep its list of signature algorithms to itself. It has come by now, where there is one.
const SIGNATURES: std::time::Duration = std::time::Duration::from_millis(200);

impl Trial<'_> {
    /// Asks what the host offers: `none`, as every client begins.
    pub(super) async fn ask_for_nothing(&mut self) -> Result<Taken> {
        let user = self.login.route.user.clone();
        let asked = self.login.session.authenticate_none(user).await;
        self.judge(asked).await
    }

    /// Offers one key.
    pub(super) async fn offer(&mut self, offer: Offer) -> Result<Taken> {
        let public = match &offer.shown {
            Shown::Key(key) => key.clone(),
            Shown::Certificate(certificate) => PublicKey::from(certificate.public_key().clone()),
        };
        let Some(hash) = self.hash_for(&public).await else {
            self.report.note(format!("the host takes {} only with SHA-1, which proves nothing any more", offer.label));
            return Ok(Taken::Not);
        };
        let signer = match (offer.by, &mut self.agent) {
            (By::Agent(key), Some(agent)) => Signer::Agent { agent: &mut agent.0, key },
            (By::Agent(_), None) => return Ok(Taken::Not),
            (By::File(private), _) => {
                let Login { route, tasks, .. } = &self.login;
                Signer::File { private, route, tasks }
            }
        };
        self.report.tried_key(&offer.label);
        let (user, mut signer) = (self.login.route.user.clone(), signer);
        let session = &mut self.login.session;
        let result = match offer.shown {
            Shown::Key(key) => session.authenticate_publickey_with(user, key, hash, &mut signer).await,
            Shown::Certificate(shown) => session.authenticate_certificate_with(user, *shown, hash, &mut signer).await,
        };
        match result {
            Ok(result) => self.judge(Ok(result)).await,
            Err(Unsigned(why)) => {
                self.report.note(format!("{} {why}", offer.label));
                Ok(Taken::Not)
            }
        }
    }

    /// With which hash a key signs: `Some(None)` where it has its own, `None` where the host wants one that we do not.
    async fn hash_for(&self, key: &PublicKey) -> Option<Option<HashAlg>> {
        if !matches!(key.algorithm(), Algorithm::Rsa { .. }) {
            return Some(None);
        }
        let best = tokio::time::timeout(SIGNATURES, self.login.session.best_supported_rsa_hash()).await;
        match best {
            Ok(Ok(Some(None))) => None,
            Ok(Ok(Some(hash))) => Some(hash),
            // A host that does not say may take it all the same (RFC 8332, section 3.3).
            _ => Some(Some(HashAlg::Sha512)),
        }
    }

    /// Sends the password.
    pub(super) async fn send_password(&mut self) -> Result<Taken> {
        let Some(secret) = self.read_password().await else { return Ok(Taken::Not) };
        self.report.tried("password");
        let user = self.login.route.user.clone();
        let sent = self.login.session.authenticate_password(user, secret.expose()).await;
        self.judge(sent).await
    }

    /// Lets the host ask its questions.
    pub(super) async fn answer_questions(&mut self, offered: &MethodSet) -> Result<Taken> {
        self.questions = Questions::Asked;
        self.report.tried("keyboard-interactive");
        let only_way = !offered.contains(&MethodKind::Password);
        let user = self.login.route.user.clone();
        let mut reply = self.login.session.authenticate_keyboard_interactive_start(user, None).await;
        for _ in 0..ROUNDS {
            match reply {
                Ok(KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. }) => {
                    let answers = self.answers(&prompts, only_way).await;
                    reply = self.login.session.authenticate_keyboard_interactive_respond(answers).await;
                }
                Ok(KeyboardInteractiveAuthResponse::Success) => return Ok(Taken::In),
                Ok(KeyboardInteractiveAuthResponse::Failure { remaining_methods, partial_success }) => {
                    return Ok(Taken::Offers { methods: remaining_methods, counted: partial_success });
                }
                Err(_) => return self.gone().await,
            }
        }
        self.report.note("the host does not stop asking".to_owned());
        // It waits for an answer, and nothing else can be tried before it has one.
        Err(self.report.refused(self.login.route, offered, &self.login.seen.get().banner))
    }

    /// Answers to one round of questions. What cannot be answered is answered with nothing, which the host refuses:
    /// no other method can begin before it has its answer.
    async fn answers(&mut self, prompts: &[Prompt], only_way: bool) -> Vec<String> {
        match prompts::answer(prompts, only_way) {
            Answer::Nothing => return Vec::new(),
            Answer::Password if self.password == Password::Unsent => {
                if let Some(secret) = self.read_password().await {
                    return vec![secret.expose().to_owned()];
                }
            }
            Answer::Password => self.report.note("the host asks for a password".to_owned()),
            Answer::Unknown(question) => self.report.note(format!("the host asks '{question}', and nothing answers")),
        }
        vec![String::new(); prompts.len()]
    }

    /// The password, which is given once.
    async fn read_password(&mut self) -> Option<Secret> {
        self.password = Password::Sent;
        let source = self.login.route.password.as_ref()?;
        match source.read(&self.login.route.surroundings, self.login.tasks).await {
            Ok(secret) => Some(secret),
            Err(error) => {
                self.report.note(format!("the password cannot be had: {error}"));
                None
            }
        }
    }

    async fn judge(&mut self, result: Result<AuthResult, russh::Error>) -> Result<Taken> {
        match result {
            Ok(AuthResult::Success) => Ok(Taken::In),
            // What a host says that offers nothing more, and what the library says when there is no answer: both end the
            // connection.
            Ok(AuthResult::Failure { remaining_methods, .. }) if remaining_methods.is_empty() => self.gone().await,
            Ok(AuthResult::Failure { remaining_methods, partial_success }) => {
                Ok(Taken::Offers { methods: remaining_methods, counted: partial_success })
            }
            Err(_) => self.gone().await,
        }
    }

    /// The connection has ended, or is about to.
    async fn gone(&mut self) -> Result<Taken> {
        let why = self.login.loss.wait().await;
        Err(self.report.lost(self.login.route, &why))
    }
}
