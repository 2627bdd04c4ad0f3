//! The real binary, as clients, people and init systems meet it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is how a test reports a surprise"
)]

mod bridge;
mod call;
mod check;
mod command_line;
mod ending;
mod platforms;
mod protocol;
mod support;
