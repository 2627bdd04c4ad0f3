//! The servers, driven by the `ssh` client that OpenSSH brings.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test reports by panicking")]
#![cfg(target_os = "linux")]

mod accounts;
mod lifetime;
mod networks;
