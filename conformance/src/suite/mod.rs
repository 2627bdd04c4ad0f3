//! The suite: every requirement in force as a scenario, run through every transport over every backend.
//!
//! 1. `requirement` lists the requirements in force, and what decides each: the backend, the transport, both, neither.
//! 2. `scenarios` proves them, one file a group; a `scenario` is a function over a house.
//! 3. A `house` opens stages: a sessiond with one target, reached through one transport. Adding a backend or a
//!    transport is one line in `house/mod.rs`.
//! 4. A `stage` is what a scenario acts on: the verbs of [`Service`](sessiond_core::Service), and the `wire` below
//!    them where a requirement speaks of messages.
//! 5. `runner` runs every row, `report` prints them, `baseline` knows which cannot hold yet.
//! 6. `mutants` break one requirement each, and `mutant` proves that its scenarios notice.
//!
//! `remote` is the same `Service` over MCP messages; `client` speaks them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "the suite reports by panicking, and its tasks end with their stage"
)]

pub mod baseline;
pub mod client;
pub mod house;
pub mod mutant;
pub mod mutants;
pub mod published;
pub mod remote;
pub mod report;
pub mod requirement;
pub mod runner;
pub mod scenario;
pub mod scenarios;
pub mod stage;
pub mod verbs;
