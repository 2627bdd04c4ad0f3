//! What is said to the host's shells: how a process is launched, what its first line tells, and the scripts that look
//! at processes, signal them and stop them.
//!
//! 1. The account's login shell may be any. What it is handed is one line that every shell reads alike: `exec sh -c`
//!    and a single-quoted text without a quote, a newline or an exclamation mark (`launch`).
//! 2. That POSIX `sh` gets the rest (`quote`), makes the surroundings, prints one line that begins with the process's
//!    mark, and becomes the shell that runs the command (`first`). What was printed before is not the command's.
//! 3. Everything else is a script of its own, run by another `sh` on another channel (`script`).

mod discipline;
mod first;
mod launch;
mod quote;
mod script;

pub(crate) use first::{First, FirstLine, Leader, SecondStream};
pub(crate) use launch::Launch;
pub(crate) use script::{Delivery, Group, Ladder, Reach, Script, facts, members, modes, signal};
