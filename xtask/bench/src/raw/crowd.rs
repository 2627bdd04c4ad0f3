//! Processes that only are there: what a scan of the machine has to walk past.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Sleeping processes in a group of their own, which end with their owner; by themselves after ten minutes.
pub(crate) struct Crowd {
    shell: Child,
}

impl Crowd {
    /// Starts so many, and one shell that waits for them.
    ///
    /// # Errors
    /// The machine does not allow so many.
    pub(crate) fn gather(count: usize) -> Result<Self> {
        let script =
            format!("i=0; while [ $i -lt {count} ]; do sleep 600 >/dev/null & i=$((i+1)); done; echo there; wait");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script]).process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut crowd = Self { shell: command.spawn().context("starting many processes")? };
        let mut said = String::new();
        BufReader::new(crowd.shell.stdout.take().context("the shell has no stdout")?).read_line(&mut said)?;
        ensure!(said == "there\n", "{count} processes could not be started");
        Ok(crowd)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        if let Ok(group) = libc::pid_t::try_from(self.shell.id()) {
            // SAFETY: the group is that of our child, which is not waited for yet, so the number is nobody else's.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many processes there are in a group.
    fn members(group: u32) -> usize {
        let group_of = |entry: std::fs::DirEntry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse::<u32>().ok()
        };
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(group_of).filter(|of| *of == group).count()
    }

    #[test]
    fn a_crowd_is_a_shell_and_as_many_as_were_asked_for() {
        let crowd = Crowd::gather(3).unwrap();
        assert_eq!(members(crowd.shell.id()), 4);
    }
}
