//! What the adapter is told at its start. It never reads the process's environment itself.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How this machine runs sessions and commands.
#[derive(Clone, Debug)]
pub struct Config {
    /// The shell's full path; when left out, `SHELL` of [`environment`](Self::environment), else `/bin/sh` (SF01).
    pub shell: Option<PathBuf>,
    /// Where things run that name no directory; when left out the server's own directory, or the home directory
    /// where that is `/` (SF01).
    pub cwd: Option<PathBuf>,
    /// What every child gets, before its own variables. Whoever makes it leaves the server's secrets out.
    pub environment: Vec<(OsString, OsString)>,
    /// How long the end of a process waits for others that keep its terminal or pipes open (SR56).
    pub linger: Duration,
    /// How long a write waits for a program that takes nothing (SF02).
    pub write_stall: Duration,
}

#[cfg(target_os = "linux")]
impl Config {
    /// The shell that runs everything.
    pub(crate) fn shell(&self) -> &std::path::Path {
        use std::path::Path;

        match &self.shell {
            Some(shell) => shell,
            // A name without its directory is none that a program could be started by.
            None => {
                let named = self.variable("SHELL").map(Path::new).filter(|shell| shell.is_absolute());
                named.unwrap_or(Path::new("/bin/sh"))
            }
        }
    }

    /// A variable of the base environment that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&std::ffi::OsStr> {
        let found = self.environment.iter().rfind(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }
}

impl Default for Config {
    /// `/bin/sh` in the server's directory with nothing but a path, the published grace and the published stall.
    fn default() -> Self {
        Self {
            shell: None,
            cwd: None,
            environment: vec![("PATH".into(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into())],
            linger: Duration::from_secs(2),
            write_stall: Duration::from_secs(5),
        }
    }
}
