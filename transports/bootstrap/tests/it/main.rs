//! The configuration as its users meet it: what they write, and what they are told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is how a test reports a surprise"
)]

mod assembly;
mod example;
mod file;
mod hosts;
mod identity;
mod logs;
mod network;
mod overlay;
mod platforms;
mod rig;
mod support;
mod telemetry;
mod tokens;
