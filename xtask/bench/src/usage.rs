//! What a process takes of the machine, as `/proc` tells.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow};

/// What a process takes now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) resident_kib: u64,
    /// The most that was resident since [`forget_peak`], or ever.
    pub(crate) peak_kib: u64,
    pub(crate) threads: u64,
    /// How often one of its threads has slept and been woken.
    pub(crate) wakeups: u64,
}

impl Usage {
    /// Looks at a process.
    ///
    /// # Errors
    /// It is gone.
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).context("looking at a process")?;
        let mut wakeups = 0;
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            // A thread may have ended since it was listed.
            let Ok(status) = fs::read_to_string(thread?.path().join("status")) else { continue };
            wakeups += field::<u64>(&status, "voluntary_ctxt_switches:")?;
        }
        Ok(Self {
            resident_kib: field(&status, "VmRSS:")?,
            peak_kib: field(&status, "VmHWM:")?,
            threads: field(&status, "Threads:")?,
            wakeups,
        })
    }

    /// This process.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub(crate) fn own() -> Result<Self> {
        Self::of(std::process::id())
    }
}

/// Sets the peak of a process back to what it takes now.
///
/// # Errors
/// The system does not allow it.
pub(crate) fn forget_peak(pid: u32) -> Result<()> {
    let file = format!("/proc/{pid}/clear_refs");
    fs::write(&file, "5").with_context(|| format!("writing {file}"))
}

/// How many processes there are on the machine.
///
/// # Errors
/// There is no `/proc`.
pub(crate) fn processes() -> Result<usize> {
    let is_process = |name: &Path| name.to_str().is_some_and(|name| u32::from_str(name).is_ok());
    let entries = fs::read_dir("/proc").context("counting processes")?;
    Ok(entries.flatten().filter(|entry| is_process(Path::new(&entry.file_name()))).count())
}

fn field<T: FromStr>(status: &str, name: &str) -> Result<T> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let figure = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    figure.ok_or_else(|| anyhow!("/proc tells no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_takes_memory_and_has_a_thread() {
        let usage = Usage::own().unwrap();
        assert!(usage.resident_kib > 0 && usage.peak_kib >= usage.resident_kib && usage.threads > 0);
        assert!(processes().unwrap() > 0);
        assert_eq!(field::<u64>("Threads:\t12\nVmRSS:\t 34 kB\n", "VmRSS:").unwrap(), 34);
        assert!(field::<u64>("", "VmRSS:").is_err());
    }
}
