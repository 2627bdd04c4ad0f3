//! Hosts that are reached over SSH: sessions on a terminal, commands on pipes, and a stop that is verified.
//!
//! The way to a host:
//!
//! 1. `hosts` says which hosts there are and resolves the `route` to one, anew for each connection.
//! 2. `link` goes along it, hop by hop. At each the host's key is judged (`known_hosts`), then somebody logs in
//!    (`auth`, with `secret`s from where the configuration says); `local` runs the
//!    programs that this takes here, in the `surroundings` that bootstrap gives.
//! 3. `pool` keeps an owner's links to a host, hands out channels on those with room, and makes another where none has.
//!    Nothing of it is shared between owners.
//!
//! The way of a process, all of it under `backend`:
//!
//! 1. `shell` makes of a request what the host's `sh` takes, and reads the first line that tells who the process is.
//! 2. `run` launches it on a `channel` of its own, and `drain` moves its output into the sink, the end last.
//! 3. `session`, `command` and `process` are the handles; `ask` runs scripts on the host beside it, and `stop` ends it
//!    with one of them, with everything that it has started.
//!
//! Types of russh never leave this crate.

mod ask;
mod auth;
mod backend;
mod channel;
mod command;
mod config;
mod drain;
mod error;
mod hosts;
mod known_hosts;
mod link;
mod local;
mod pool;
mod process;
mod route;
mod run;
mod secret;
mod session;
mod shell;
mod stop;
mod surroundings;
mod wildcard;

pub use config::{ClientConfig, Config, HostConfig, HostKeyPolicy};
pub use hosts::Hosts;
pub use secret::{Secret, SecretSource};
pub use surroundings::{Custodian, Surroundings};
