//! The scripted platform, asked by a client that we did not write.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod access;
mod faults;
mod forms;
mod runs;
mod support;
