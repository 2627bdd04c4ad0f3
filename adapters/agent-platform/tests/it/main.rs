//! The adapter against the scripted platform.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod auth;
mod follow;
mod followed;
mod http;
mod langgraph;
mod raw;
mod records;
mod support;
mod tls;
