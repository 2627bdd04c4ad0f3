//! Every mutant: at least one for each requirement in force, in their order.
//!
//! - `messages`: faults in what goes over the wire
//! - `verbs`: faults in what a verb takes or gives, and in settings
//! - `hosts`: faults of commands on hosts and of their connections
//! - `agents`: faults of what is told of agent platforms
//! - `keys`: faults in who is let in
//! - `behaviour`: faults that need a service of their own

mod agents;
mod behaviour;
mod hosts;
mod keys;
mod messages;
mod verbs;

use super::mutant::Mutant;

/// Every mutant.
pub fn all() -> impl Iterator<Item = &'static Mutant> {
    [messages::MUTANTS, verbs::MUTANTS, hosts::MUTANTS, agents::MUTANTS, keys::MUTANTS, behaviour::MUTANTS]
        .into_iter()
        .flatten()
}
