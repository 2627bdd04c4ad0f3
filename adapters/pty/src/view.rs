//! Whether `/proc` shows this server's processes, and all of them: what it hides can be neither stopped nor ruled out.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::LazyLock;

use rustix::process::{geteuid, getpid};
use sessiond_core::{Error, Result};

/// The place of the capability to look at every process among those of a process.
const PTRACE: u32 = 19;

/// Checks that `/proc` shows the processes that this process sees by their numbers.
///
/// # Errors
/// `failed_precondition` when it shows others, or none.
pub(crate) fn check() -> Result<()> {
    let own = fs::read_link("/proc/self").ok();
    if own.as_deref() == Some(Path::new(&getpid().as_raw_pid().to_string())) {
        return Ok(());
    }
    Err(Error::failed_precondition(
        "/proc does not show this server's processes, so no stop could be verified: mount it where the server runs \
         (mount -t proc proc /proc), after a change of the process namespace too (unshare --mount-proc)",
    ))
}

/// Whether no process is hidden. How `/proc` is mounted is looked at once.
pub(crate) fn is_whole() -> bool {
    static WHOLE: LazyLock<bool> = LazyLock::new(|| {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let first = fs::read("/proc/1/stat").is_ok();
        first && (!hides(&mounts) || may_see_all(&status) || sees_others())
    });
    *WHOLE
}

/// What there is to say where processes are hidden.
pub(crate) const HIDDEN: &str = "/proc hides processes of other users from this server, so no stop can be confirmed: \
                                 mount it without hidepid, or with the server's group as gid";

/// Whether the last mount of `/proc` hides processes from those who may not look at them.
fn hides(mounts: &str) -> bool {
    let proc = mounts.lines().rfind(|line| line.split(' ').nth(4) == Some("/proc"));
    let options = proc.and_then(|line| line.rsplit(' ').next()).unwrap_or_default();
    let hidden = options.split(',').find_map(|option| option.strip_prefix("hidepid="));
    hidden.is_some_and(|how| !matches!(how, "0" | "off"))
}

fn may_see_all(status: &str) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    effective.is_some_and(|capabilities| capabilities >> PTRACE & 1 == 1)
}

/// Whoever sees the first process although it is another user's sees everybody's.
fn sees_others() -> bool {
    fs::metadata("/proc/1").is_ok_and(|first| first.uid() != geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_says_whether_it_hides_processes() {
        let mount = |options: &str| format!("22 28 0:21 / /proc rw,nosuid shared:5 - proc proc {options}\n");
        for (options, expected) in [("rw", false), ("rw,hidepid=0", false), ("rw,hidepid=off", false)]
            .into_iter()
            .chain([("rw,gid=5,hidepid=2", true), ("rw,hidepid=invisible", true), ("rw,hidepid=noaccess", true)])
        {
            assert_eq!(hides(&mount(options)), expected, "{options}");
        }
        assert!(!hides(&(mount("rw,hidepid=2") + &mount("rw"))), "the later mount covers the earlier");
        assert!(!hides(""));
    }

    #[test]
    fn the_right_to_look_at_everything_is_a_capability() {
        assert!(may_see_all("Name:\tx\nCapEff:\t000001ffffffffff\n"));
        assert!(!may_see_all("CapEff:\t00000000a80425fb\n"), "what a container has by default");
        assert!(!may_see_all("CapEff:\t0000000000000000\n"));
        assert!(!may_see_all(""));
    }
}
