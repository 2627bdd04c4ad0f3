//! The adapter driven against real programs, the real kernel, and the shared rules of the traits.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test reports by panicking"
)]
#![cfg(target_os = "linux")]

mod commands;
mod foreign;
mod input;
mod launches;
mod limits;
mod namespaces;
mod orphans;
mod programs;
mod rules;
mod sessions;
mod stops;
mod support;
