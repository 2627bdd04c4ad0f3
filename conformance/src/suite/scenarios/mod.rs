//! Every scenario, by group. One file a group; each scenario says which requirement it proves.
//!
//! - `tools`: how tools are listed and what arguments they take
//! - `owners`: whose sessions they are
//! - `reading`, `retention`, `waiting`, `ending`, `life`: the output of a session, from its first byte to its expiry
//! - `family`: starting, writing, stopping, running commands, listing
//! - `until`, `control`: waiting for something particular, steering
//! - `lines`, `commands`, `following`, `hosts`: commands on hosts: their output by line, how they are run, what is done
//!   with those that run, connections
//! - `describing`, `asking`, `records`, `runs`, `run_output`: agent platforms: what a session is described as and how
//!   the platform is asked for it, the other records, runs of agents as sessions and their text
//! - `everywhere`: what holds for all tools and transports

mod asking;
mod commands;
mod control;
mod describing;
mod ending;
mod everywhere;
mod family;
mod following;
mod hosts;
mod life;
mod lines;
mod owners;
mod reading;
mod records;
mod retention;
mod run_output;
mod runs;
mod tools;
mod until;
mod waiting;

use super::scenario::Scenario;

/// Every scenario.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [
        tools::SCENARIOS,
        owners::SCENARIOS,
        reading::SCENARIOS,
        retention::SCENARIOS,
        waiting::SCENARIOS,
        ending::SCENARIOS,
        life::SCENARIOS,
        family::SCENARIOS,
        until::SCENARIOS,
        control::SCENARIOS,
        lines::SCENARIOS,
        commands::SCENARIOS,
        following::SCENARIOS,
        hosts::SCENARIOS,
        describing::SCENARIOS,
        asking::SCENARIOS,
        records::SCENARIOS,
        runs::SCENARIOS,
        run_output::SCENARIOS,
        everywhere::SCENARIOS,
    ]
    .into_iter()
    .flatten()
}
