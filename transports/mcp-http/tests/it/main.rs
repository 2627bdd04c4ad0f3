//! The server against clients that behave, against clients that do not, and against whoever should not get in.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod bodies;
mod callers;
mod command_line;
mod door;
mod ending;
mod eras;
mod numbers;
mod packaging;
mod rig;
mod roles;
mod sessions;
mod streams;
mod tls;
mod tokens;
mod wire;
