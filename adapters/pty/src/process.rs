//! What the server's own process must be before it starts others.

use std::fs;
use std::io;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, Signal, getpid, getrlimit, set_child_subreaper, setrlimit};
use sessiond_core::{Error, Result};

use crate::{error, sys, view};

/// The soft limit of open files that the process was started with, where it was raised.
static ORIGINAL_LIMIT: OnceLock<Option<Rlimit>> = OnceLock::new();

/// Prepares this process for being a server. To be called once at the start of `main`; again is harmless.
///
/// - Orphans of what it starts become its own children, so that a stop can find them.
/// - The soft limit of open files is raised to the hard one; children get the original (AL04).
/// - Descriptors it was started with are marked, so that no child inherits them (AL04).
/// - It hears of the exits of its children, whatever the signals that it was started with.
///
/// # Errors
/// `internal` when the system refuses to make it the parent of orphans, `failed_precondition` when `/proc` does not
/// show its processes.
pub fn prepare_process() -> Result<()> {
    view::check()?;
    sys::unblock(Signal::CHILD).map_err(|error| error::refused("unblocking a signal", &error))?;
    set_child_subreaper(Some(getpid())).map_err(|error| {
        Error::internal(format!(
            "the system does not let this process adopt orphans, so no stop could be verified: {error}"
        ))
    })?;
    ORIGINAL_LIMIT.get_or_init(|| {
        // What is listed is all that can be marked.
        let _ = mark_inherited();
        raise_limit()
    });
    Ok(())
}

/// Raises the soft limit and returns the original, or nothing where there was nothing to raise.
fn raise_limit() -> Option<Rlimit> {
    let original = getrlimit(Resource::Nofile);
    if original.current == original.maximum {
        return None;
    }
    setrlimit(Resource::Nofile, Rlimit { current: original.maximum, ..original }).ok()?;
    Some(original)
}

fn mark_inherited() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        if let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse().ok())
            && number > 2
        {
            sys::close_on_exec(number);
        }
    }
    Ok(())
}

/// Runs `birth` with the limit that children are to inherit.
///
/// The limit is the whole process's: descriptors beyond it stay open, and others that ask for one meanwhile may be
/// refused, which is why the call must be short.
pub(crate) fn with_original_limit<T>(birth: impl FnOnce() -> T) -> T {
    let Some(original) = ORIGINAL_LIMIT.get().copied().flatten() else { return birth() };
    let raised = getrlimit(Resource::Nofile);
    // Lowering a soft limit and raising it to the hard one are always allowed.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: original.current, maximum: raised.maximum });
    let born = birth();
    let _ = setrlimit(Resource::Nofile, raised);
    born
}
