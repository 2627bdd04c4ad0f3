//! The shared suite: what every backend and every transport must do, proven the same way for each.
//!
//! - `backend`: the rules of the traits [`Backend`](sessiond_core::Backend), [`Process`](sessiond_core::Process),
//!   [`Session`](sessiond_core::Session) and [`Command`](sessiond_core::Command), one function a rule
//! - `suite` (feature `suite`): the requirements in force, each proven through every transport over every backend
//! - `contracts/` beside `src/`: the structures of the published tools, as data that the tool layer is checked against

pub mod backend;
#[cfg(feature = "suite")]
pub mod suite;
