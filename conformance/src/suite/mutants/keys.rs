//! Faults in who is let in, and as whom.

use crate::suite::house::{BackendKind, Key};
use crate::suite::mutant::{Fault, Mutant};
use crate::suite::stage::{OWNER, target};

const fn keys(id: &'static str, title: &'static str, change: fn(&mut Key)) -> Mutant {
    Mutant { id, title, backend: BackendKind::Fake, fault: Fault::Keys(change) }
}

pub(super) const MUTANTS: &[Mutant] = &[
    keys("SR02", "a device's key is taken for one for everything", |key| key.target = None),
    keys("SR12", "a key for everything is taken for a device's", |key| key.target = Some(target())),
    keys("SR13", "a device's key reaches every target", |key| key.target = None),
    keys("SR14", "two keys are one owner", |key| key.owner = OWNER),
    Mutant { id: "AL03", title: "nobody is asked for a key", backend: BackendKind::Fake, fault: Fault::NoPassword },
];
