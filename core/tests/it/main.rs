//! The core's tests: laws of the output log, waits, and the registry over the scripted backend.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise, and its tasks end with it"
)]

mod agents;
mod census;
mod command_output;
mod commands;
mod events;
mod faults;
mod handles;
mod history;
mod hosts;
mod kills;
mod log;
mod manual;
mod misbehaviour;
mod mute;
mod registry;
mod rig;
mod roles;
mod runs;
mod waits;
