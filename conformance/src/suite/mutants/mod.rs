//! Every mutant: one for each requirement in force, in their order.
//!
//! - `messages`: faults in what goes over the wire
//! - `verbs`: faults in what a verb takes or gives, and in settings
//! - `hosts`: faults of commands on hosts and of their connections
//! - `behaviour`: faults that need a service of their own

mod behaviour;
mod hosts;
mod messages;
mod verbs;

use super::mutant::Mutant;

/// Every mutant.
pub fn all() -> impl Iterator<Item = &'static Mutant> {
    [messages::MUTANTS, verbs::MUTANTS, hosts::MUTANTS, behaviour::MUTANTS].into_iter().flatten()
}
