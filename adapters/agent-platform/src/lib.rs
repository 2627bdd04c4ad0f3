//! Runs of agents on agent platforms: followed as sessions, described and steered over REST.
//!
//! The way of a question:
//!
//! 1. `backend` takes what the core asks of a platform, with one deadline for all that it takes (`request`).
//! 2. A `dialect` knows the platform's routes, pages and words, and turns its records into the core's.
//! 3. `http` logs in, sends, asks again where the platform wants that, and gives nothing of it away. `json` decodes
//!    what may be of any form, `time` reads moments.
//!
//! The way of a run that is followed as a session:
//!
//! 1. `session` starts or finds it, and is the handle that stops it.
//! 2. `follow` looks at it, as often as somebody waits for its output, and puts its turns into the sink, the end last.
//!
//! Types of reqwest never leave this crate.

mod backend;
mod config;
mod dialect;
mod follow;
mod http;
mod json;
mod keepalive;
mod request;
mod session;
mod time;

pub use backend::Platform;
pub use config::{Auth, DialectName, PlatformConfig, Secret, SecretSource, Tls};
