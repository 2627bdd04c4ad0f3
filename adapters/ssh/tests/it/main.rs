//! The adapter against real configuration files, keys and servers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod commands;
mod hosts;
mod many;
mod place;
mod rules;
mod sessions;
mod stops;
