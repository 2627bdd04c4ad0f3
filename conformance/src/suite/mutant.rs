//! Mutants: for each requirement a fault that breaks just it. A scenario that does not catch its mutant proves nothing.

use std::sync::Arc;

use serde_json::Value;
use sessiond_core::Service;

use super::house::{BackendKind, House, Key, Servers, Settings};
use super::mutants;
use super::requirement;
use super::runner::{Outcome, prove};
use super::verbs::Hooks;

/// A fault that breaks one requirement.
#[derive(Clone, Copy)]
pub struct Mutant {
    /// The requirement that it breaks.
    pub id: &'static str,
    /// What it does wrong, as a sentence.
    pub title: &'static str,
    /// Where the work runs: a fault that only a real shell shows needs one.
    pub backend: BackendKind,
    /// The fault.
    pub fault: Fault,
}

/// Where a fault is built in.
#[derive(Clone, Copy)]
#[allow(clippy::large_enum_variant, reason = "faults are constants, and a few at most are copied")]
pub enum Fault {
    /// Around the service, below the tool layer.
    Service(fn(Arc<dyn Service>) -> Arc<dyn Service>),
    /// Around the service: what goes in or comes out of a verb is changed.
    Hooks(Hooks),
    /// In what the server sends, message by message.
    Message(fn(&mut Value)),
    /// In what the server receives, message by message: as if it had understood something else.
    Request(fn(&mut Value)),
    /// In the lines that the server writes: this one comes before each message.
    Line(&'static str),
    /// In the settings that the server works by.
    Settings(fn(&mut Settings)),
    /// In the keys that let callers in.
    Keys(fn(&mut Key)),
    /// Nobody is asked for a key.
    NoPassword,
    /// The server's end ends nothing.
    NoEnd,
}

/// How a mutant came out.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The requirement.
    pub id: &'static str,
    /// What the mutant does wrong.
    pub title: &'static str,
    /// How its scenarios caught it; `None` when it survived.
    pub caught: Option<String>,
}

/// The requirements in force for which there is no mutant.
pub fn unbroken() -> Vec<&'static str> {
    let broken = |id: &str| mutants::all().any(|mutant| mutant.id == id);
    requirement::IN_FORCE.iter().map(|requirement| requirement.id).filter(|id| !broken(id)).collect()
}

/// Runs the scenarios of a mutant's requirement against it.
pub async fn hunt(mutant: &Mutant, servers: Servers) -> Verdict {
    let house = House::faulty(mutant.backend, mutant.fault, servers);
    let caught = match prove(mutant.id, &house).await {
        Outcome::Fail(why) => Some(why),
        Outcome::Pass | Outcome::NotApplicable(_) => None,
    };
    Verdict { id: mutant.id, title: mutant.title, caught }
}
