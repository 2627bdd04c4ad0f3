//! Programs from Debian packages: each is looked for by what it provides, never by the package's name.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::Missing;
use crate::{step, workspace};

/// How to see that something is there.
enum Probe {
    /// A program on the path.
    Program(&'static str),
    /// A module that Python can import.
    PythonModule(&'static str),
}

/// A Debian package that tests need.
struct Need {
    probe: Probe,
    package: &'static str,
    why: &'static str,
}

/// Keeps packages from starting what they install; relative to the root.
const WITHOUT_SERVICES: &str = "xtask/src/needs/without-services.sh";

/// Everything the tests use that a minimal Debian may lack.
const NEEDS: &[Need] = &[
    Need { probe: Probe::Program("make"), package: "make", why: "builds the allocator of the HTTP server" },
    Need { probe: Probe::Program("bash"), package: "bash", why: "job control in a session" },
    Need { probe: Probe::Program("stty"), package: "coreutils", why: "asks a session for its size" },
    Need { probe: Probe::Program("setsid"), package: "util-linux", why: "children that leave their session" },
    Need { probe: Probe::Program("setpriv"), package: "util-linux", why: "launches as an ordinary user" },
    Need { probe: Probe::Program("unshare"), package: "util-linux", why: "a machine without free terminals" },
    Need { probe: Probe::Program("prlimit"), package: "util-linux", why: "a server without free descriptors" },
    Need { probe: Probe::Program("vim"), package: "vim", why: "a full-screen editor in a session" },
    Need { probe: Probe::Program("less"), package: "less", why: "a pager in a session" },
    Need { probe: Probe::Program("top"), package: "procps", why: "a screen that refreshes by itself" },
    Need { probe: Probe::Program("htop"), package: "htop", why: "a screen steered by function keys" },
    Need { probe: Probe::Program("tmux"), package: "tmux", why: "terminals inside a session" },
    Need { probe: Probe::Program("dash"), package: "dash", why: "a plain shell in a session" },
    Need { probe: Probe::Program("zsh"), package: "zsh", why: "a shell with its own line editor" },
    Need { probe: Probe::Program("ssh-keygen"), package: "openssh-client", why: "asks a session for a passphrase" },
    Need { probe: Probe::Program("ssh"), package: "openssh-client", why: "a second opinion on SSH hosts" },
    Need { probe: Probe::Program("sshd"), package: "openssh-server", why: "a real SSH server" },
    Need { probe: Probe::Program("dropbear"), package: "dropbear-bin", why: "an SSH server by other people" },
    Need { probe: Probe::Program("fish"), package: "fish", why: "a login shell that is not POSIX" },
    Need { probe: Probe::Program("tcsh"), package: "tcsh", why: "a login shell of C's family" },
    Need { probe: Probe::Program("ip"), package: "iproute2", why: "an SSH server behind another" },
    Need { probe: Probe::Program("nsenter"), package: "util-linux", why: "a look at where an SSH server runs" },
    Need { probe: Probe::Program("perl"), package: "perl-base", why: "passwords of an SSH server's accounts" },
    Need { probe: Probe::Program("sudo"), package: "sudo", why: "asks a session for a password" },
    Need { probe: Probe::Program("su"), package: "util-linux", why: "asks a session for another's password" },
    Need { probe: Probe::Program("script"), package: "bsdutils", why: "a terminal for who joins a session" },
    Need { probe: Probe::Program("systemd-analyze"), package: "systemd", why: "checks the unit" },
    Need { probe: Probe::Program("git"), package: "git", why: "lists the files that tidy checks, and pages its log" },
    Need { probe: Probe::Program("python3"), package: "python3", why: "a REPL in a session, and the peer clients" },
    Need { probe: Probe::PythonModule("curses"), package: "python3", why: "draws a screen to each new size" },
    Need { probe: Probe::Program("npm"), package: "npm", why: "installs the TypeScript client" },
    Need { probe: Probe::PythonModule("ensurepip"), package: "python3-venv", why: "room for the peer clients" },
];

impl Need {
    fn is_met(&self, path: &str) -> bool {
        match self.probe {
            Probe::Program(name) => find(name, path),
            Probe::PythonModule(name) => Command::new("python3")
                .args(["-c", &format!("import {name}")])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success()),
        }
    }

    fn name(&self) -> String {
        match self.probe {
            Probe::Program(name) => name.to_owned(),
            Probe::PythonModule(name) => format!("Python's module {name}"),
        }
    }
}

/// Where servers stand, which an ordinary account's search path leaves out.
const SYSTEM: &str = ":/usr/sbin:/sbin";

/// Whether a program stands on the path.
fn find(name: &str, path: &str) -> bool {
    path.split(':').filter(|dir| !dir.is_empty()).any(|dir| Path::new(dir).join(name).is_file())
}

fn unmet() -> Vec<&'static Need> {
    let path = std::env::var("PATH").unwrap_or_default() + SYSTEM;
    NEEDS.iter().filter(|need| !need.is_met(&path)).collect()
}

/// What is not there.
pub(super) fn missing() -> Vec<Missing> {
    let missing = |need: &Need| Missing {
        what: format!("{} ({})", need.name(), need.why),
        remedy: format!("apt-get install {}", need.package),
    };
    unmet().into_iter().map(missing).collect()
}

/// Installs what is not there with apt-get, as root or through sudo without a question.
pub(super) fn install() -> Result<()> {
    let packages = packages(&unmet());
    if packages.is_empty() {
        println!("== packages: all programs are there");
        return Ok(());
    }
    let by_hand = format!("apt-get update && apt-get install --yes {}", packages.join(" "));
    if !find("apt-get", &std::env::var("PATH").unwrap_or_default()) {
        bail!("apt-get is not here; install what these Debian packages hold in your system's way: {packages:?}");
    }
    let prefix = elevation().with_context(|| format!("run this as root, then try again: {by_hand}"))?;
    step::run("package lists", &mut apt(prefix, &["update"]))?;
    let mut args = vec!["install", "--yes", "--no-install-recommends"];
    args.extend(&packages);
    step::run("packages", &mut apt(prefix, &args))?;
    match unmet().first() {
        None => Ok(()),
        Some(need) => bail!("{} is still missing after {by_hand}", need.name()),
    }
}

fn packages(needs: &[&Need]) -> Vec<&'static str> {
    let mut packages: Vec<_> = needs.iter().map(|need| need.package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// What stands before apt-get: nothing for root, sudo for those whom it asks no question.
fn elevation() -> Result<&'static [&'static str]> {
    let quiet = |program: &str, args: &[&str]| workspace::output(Command::new(program).args(args));
    if quiet("id", &["-u"])?.trim() == "0" {
        return Ok(&[]);
    }
    match quiet("sudo", &["-n", "true"]) {
        Ok(_) => Ok(&["sudo", "-n"]),
        Err(_) => bail!("not root, and sudo is not here or asks for a password"),
    }
}

/// An apt-get that asks nothing and starts no service. `env` carries the variable through sudo.
fn apt(prefix: &[&str], args: &[&str]) -> Command {
    let quietly = ["env", "DEBIAN_FRONTEND=noninteractive", "sh", WITHOUT_SERVICES, "apt-get"];
    let words = prefix.iter().chain(&quietly).chain(args);
    let mut words = words.copied();
    let mut command = workspace::command(words.next().unwrap_or_default());
    command.args(words).stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_that_is_not_met_is_seen() {
        let need = |probe| Need { probe, package: "x", why: "" };
        assert!(need(Probe::Program("sh")).is_met("/nowhere:/bin"));
        assert!(!need(Probe::Program("sh")).is_met("/nowhere"));
        assert!(!need(Probe::Program("sh")).is_met(""));
        assert!(!need(Probe::PythonModule("no_such_module_here")).is_met(""));
    }

    #[test]
    fn a_package_is_installed_once_whatever_it_provides() {
        let util_linux: Vec<&Need> = NEEDS.iter().filter(|need| need.package == "util-linux").collect();
        assert!(util_linux.len() > 1);
        assert_eq!(packages(&util_linux), ["util-linux"]);
    }

    #[test]
    fn apt_asks_nothing_and_goes_through_sudo_where_it_must() {
        let line = |prefix| step::line(&apt(prefix, &["update"]));
        let quietly =
            "env DEBIAN_FRONTEND=noninteractive sh xtask/src/needs/without-services.sh apt-get update".to_owned();
        assert_eq!(line(&["sudo", "-n"]), format!("sudo -n {quietly}"));
        assert_eq!(line(&[]), quietly);
        assert!(workspace::root().join(WITHOUT_SERVICES).is_file());
    }
}
