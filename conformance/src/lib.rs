//! The shared suite: what every backend and every transport must do, proven the same way for each.
//!
//! - `backend`: the rules of the traits [`Backend`](sessiond_core::Backend), [`Process`](sessiond_core::Process),
//!   [`Session`](sessiond_core::Session) and [`Command`](sessiond_core::Command), one function a rule
//! - `faults`: a backend that misbehaves by a seed, over any other
//! - `suite` (feature `suite`): the requirements in force, each proven through every transport over every backend
//! - `schema` (feature `suite`): what callers see, recorded by contract version, and the differ that judges changes
//! - `contracts/` beside `src/`: the structures of the published tools, as data that the tool layer is checked against

pub mod backend;
pub mod faults;
#[cfg(feature = "suite")]
pub mod schema;
#[cfg(feature = "suite")]
pub mod suite;
