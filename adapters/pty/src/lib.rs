//! This machine: sessions on a pseudo-terminal, commands on pipes, and a stop that is verified.
//!
//! The way of a process:
//!
//! 1. `launch` makes of a request what the operating system takes: shell, environment, directory.
//! 2. `terminal` or `pipes` opens what it is to read and write; `children` starts it, all in one critical section.
//! 3. `pump` or `pipes` moves its output into the sink, and ends the sink when its leader has been reaped and the last
//!    byte read.
//! 4. `write` and `line` hand input over without ever cutting it silently.
//! 5. `stop` ends it with everything it has started: `procs` looks who that is, `scans` shares each look among all
//!    stops in flight, `certainty` says when nobody is left, and `reaper` buries the orphans.
//!
//! Who belongs to a process is known by its session id, as long as that proves it (`sids`), by the mark in the
//! environment of whoever left that session, and by descent: this server is the parent of every orphan (`process`).
//! What others in this process start is theirs (`foreign`).
//!
//! There is no thread for each session and no buffer for each idle one: a session costs two descriptors, the terminal
//! and its leader, and one task.

#[cfg(target_os = "linux")]
mod backend;
#[cfg(target_os = "linux")]
mod certainty;
#[cfg(target_os = "linux")]
mod children;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod command;
mod config;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod foreign;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod line;
#[cfg(target_os = "linux")]
mod pipes;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod procs;
#[cfg(target_os = "linux")]
mod pump;
#[cfg(target_os = "linux")]
mod reaper;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod scans;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod sids;
#[cfg(target_os = "linux")]
mod signal;
#[cfg(target_os = "linux")]
mod stat;
#[cfg(target_os = "linux")]
mod stop;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(target_os = "linux")]
mod view;
#[cfg(target_os = "linux")]
mod write;

#[cfg(target_os = "linux")]
pub use backend::Pty;
pub use config::Config;
#[cfg(target_os = "linux")]
pub use foreign::Foreign;
#[cfg(target_os = "linux")]
pub use process::prepare_process;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Foreign, Pty, prepare_process};
