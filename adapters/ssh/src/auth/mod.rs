//! Logging in to a host, in OpenSSH's order and with as many methods as the host asks for.
//!
//! 1. `none` asks the host what it offers.
//! 2. `identity` reads the keys that the route names, `agent` lists those of the agent, `offer` orders them; `signer`
//!    signs once the host has said that it would accept one.
//! 3. Then keyboard-interactive, where `prompts` knows an answer, and the password.
//!
//! After each partial success (RFC 4252, section 5.1) the order begins anew with what the host then offers. Nothing is
//! tried twice. `report` says what was tried when nothing is left.

mod agent;
mod attempt;
mod identity;
mod offer;
mod prompts;
mod report;
mod signer;

use std::time::{SystemTime, UNIX_EPOCH};

use russh::client::Handle;
use russh::{MethodKind, MethodSet};
use sessiond_core::{Result, TaskKind, Tasks};

use self::agent::Agent;
use self::identity::Identities;
use self::offer::{Offer, Offers, Terms};
use self::report::Report;
use crate::link::loss::Loss;
use crate::link::watcher::{Seen, Watcher};
use crate::local;
use crate::route::Route;

/// Key files being read.
const KEYS: TaskKind = TaskKind("ssh key files");

/// What a login works with.
pub(crate) struct Login<'a> {
    /// The connection, not yet logged in.
    pub(crate) session: &'a mut Handle<Watcher>,
    /// Whither, as whom and with what.
    pub(crate) route: &'a Route,
    /// What has been seen of the host.
    pub(crate) seen: &'a Seen,
    /// The connection's end.
    pub(crate) loss: &'a Loss,
    /// Where to work.
    pub(crate) tasks: &'a Tasks,
}

/// A login under way.
struct Trial<'a> {
    login: Login<'a>,
    report: Report,
    /// The keys, once the host has asked for one.
    offers: Option<Offers>,
    agent: Option<Agent>,
    questions: Questions,
    password: Password,
}

/// Whether the host has been let ask its questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Questions {
    Unasked,
    Asked,
}

/// What has become of the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Password {
    /// None is configured.
    Absent,
    /// It has not been sent.
    Unsent,
    /// It has been sent, and once is enough.
    Sent,
}

/// What to try next.
enum Attempt {
    Key(Box<Offer>),
    Questions,
    Password,
}

/// How the host took an attempt.
enum Taken {
    /// It lets us in.
    In,
    /// It offers these methods now, and said whether the attempt has counted for something.
    Offers { methods: MethodSet, counted: bool },
    /// It did not hear of it.
    Not,
}

impl Attempt {
    fn method(&self) -> &'static str {
        match self {
            Self::Key(_) => "publickey",
            Self::Questions => "keyboard-interactive",
            Self::Password => "password",
        }
    }
}

/// Logs in, and returns the methods that let us in, with commas between them.
///
/// # Errors
/// `permission_denied` when the host refuses all that there is: with what was tried and what it still offers.
/// `unavailable` when the connection is lost meanwhile.
pub(crate) async fn log_in(login: Login<'_>) -> Result<String> {
    let password = if login.route.password.is_some() { Password::Unsent } else { Password::Absent };
    let trial =
        Trial { login, report: Report::default(), offers: None, agent: None, questions: Questions::Unasked, password };
    trial.run().await
}

impl Trial<'_> {
    async fn run(mut self) -> Result<String> {
        let mut offered = match self.ask_for_nothing().await? {
            Taken::In => return Ok("none".to_owned()),
            Taken::Offers { methods, .. } => methods,
            Taken::Not => MethodSet::empty(),
        };
        loop {
            // A host that offers nothing, or that has gone, ends the connection.
            if offered.is_empty() || self.login.loss.get().is_some() {
                let why = self.login.loss.wait().await;
                return Err(self.report.lost(self.login.route, &why));
            }
            if offered.contains(&MethodKind::PublicKey) && self.offers.is_none() {
                self.load_keys().await?;
            }
            let Some(attempt) = self.next(&offered) else {
                return Err(self.report.refused(self.login.route, &offered, &self.login.seen.get().banner));
            };
            let method = attempt.method();
            let taken = match attempt {
                Attempt::Key(offer) => self.offer(*offer).await?,
                Attempt::Questions => self.answer_questions(&offered).await?,
                Attempt::Password => self.send_password().await?,
            };
            match taken {
                Taken::In => return Ok(self.report.passed(method)),
                Taken::Not => {}
                Taken::Offers { methods, counted } => {
                    offered = methods;
                    match counted {
                        true => self.report.counted(method),
                        false => self.report.was_refused(),
                    }
                }
            }
        }
    }

    /// What to try next of what the host offers.
    fn next(&mut self, offered: &MethodSet) -> Option<Attempt> {
        let takes = |method| offered.contains(&method);
        let key = |offers: &mut std::collections::VecDeque<Offer>| {
            let offer = if takes(MethodKind::PublicKey) { offers.pop_front() } else { None };
            offer.map(|offer| Attempt::Key(Box::new(offer)))
        };
        let has_password = self.password == Password::Unsent;
        if let Some(named) = self.offers.as_mut().and_then(|offers| key(&mut offers.named)) {
            return Some(named);
        }
        // A password that somebody has configured is meant for this host; the agent's other keys are a guess, and few
        // wrong guesses are the end of a login.
        if !has_password && let Some(other) = self.offers.as_mut().and_then(|offers| key(&mut offers.others)) {
            return Some(other);
        }
        // Without a password only where the host wants more than it has got: it may ask for nothing that is typed.
        let may_ask = has_password || self.report.has_counted();
        if takes(MethodKind::KeyboardInteractive) && may_ask && self.questions == Questions::Unasked {
            return Some(Attempt::Questions);
        }
        if takes(MethodKind::Password) && has_password {
            return Some(Attempt::Password);
        }
        self.offers.as_mut().and_then(|offers| key(&mut offers.others))
    }

    async fn load_keys(&mut self) -> Result<()> {
        let Login { session, route, tasks, .. } = &self.login;
        let (keys, certificates) = (route.identities.clone(), route.certificates.clone());
        let files = local::blocking(tasks, KEYS, move || Identities::read(&keys, &certificates)).await?;
        let mut held = Vec::new();
        if let Some(socket) = &route.agent {
            match Agent::connect(socket, session.agent_session_binding()).await {
                Ok((agent, keys)) => {
                    held = keys;
                    self.agent = Some(agent);
                }
                Err(note) => self.report.note(note),
            }
        }
        let terms = Terms {
            named_only: route.identities_only,
            has_passphrase: route.passphrase.is_some(),
            now: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        };
        let mut offers = Offers::of(files, held, &terms);
        offers.notes.drain(..).for_each(|note| self.report.note(note));
        self.offers = Some(offers);
        Ok(())
    }
}
