//! The server and the client against each other, against clients by others, and against whoever should not get in.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod agents;
mod attach;
mod attacks;
mod buf;
mod follow;
mod network;
mod packaging;
mod person;
mod place;
mod python;
mod rig;
mod scope;
mod socket;
mod verbs;
