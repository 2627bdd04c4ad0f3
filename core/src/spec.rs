//! What to run and how: the typed requests that a backend receives, and the values they are made of.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use crate::error::{Error, Result, shown};

/// What to run in which surroundings: shared by sessions and commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// One or more lines for the target's shell, handed to it with `-c`.
    pub command: String,
    /// Where to run; the target's default when left out. A leading `~` is the home directory.
    pub cwd: Option<String>,
    /// Variables added to the target's environment, in order.
    pub env: Vec<(String, String)>,
}

impl Invocation {
    /// A command in the target's default surroundings.
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), ..Self::default() }
    }

    /// Refuses what no operating system can run.
    ///
    /// # Errors
    /// `invalid_argument` for an empty command, a NUL anywhere, or an environment name that is empty or has a `=`.
    pub fn check(&self) -> Result<()> {
        if self.command.trim().is_empty() {
            return Err(Error::invalid_argument("command is empty: give one or more lines for the shell"));
        }
        no_nul("command", &self.command)?;
        if let Some(cwd) = &self.cwd {
            if cwd.is_empty() {
                return Err(Error::invalid_argument("cwd is empty: leave it out for the target's default directory"));
            }
            no_nul("cwd", cwd)?;
        }
        for (name, value) in &self.env {
            if name.is_empty() || name.contains('=') {
                return Err(Error::invalid_argument(format!(
                    "env has the name \"{}\": a name is not empty and has no '='",
                    shown(name)
                )));
            }
            no_nul("a name in env", name)?;
            no_nul(&format!("env.{}", shown(name)), value)?;
        }
        Ok(())
    }
}

fn no_nul(what: &str, text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(Error::invalid_argument(format!("{what} has a NUL character, which no program can receive")));
    }
    Ok(())
}

/// A session to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSpec {
    /// What to run.
    pub invocation: Invocation,
    /// The terminal's size at the start.
    pub size: WindowSize,
    /// Whether the shell is a login shell.
    pub login: bool,
}

/// A one-shot command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSpec {
    /// What to run.
    pub invocation: Invocation,
    /// All of its standard input; the input ends behind it.
    pub stdin: Bytes,
}

/// The size of a terminal in character cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowSize {
    cols: u16,
    rows: u16,
}

impl WindowSize {
    /// The largest number of columns or rows.
    pub const MAX: u16 = 1000;

    /// A size of 1 to [`Self::MAX`] columns and rows.
    ///
    /// # Errors
    /// `invalid_argument`, naming the range.
    pub fn new(cols: u16, rows: u16) -> Result<Self> {
        for (name, value) in [("cols", cols), ("rows", rows)] {
            if value == 0 || value > Self::MAX {
                return Err(Error::invalid_argument(format!("{name} is {value}: it must be 1 to {}", Self::MAX)));
            }
        }
        Ok(Self { cols, rows })
    }

    /// Columns.
    pub fn cols(self) -> u16 {
        self.cols
    }

    /// Rows.
    pub fn rows(self) -> u16 {
        self.rows
    }
}

impl Default for WindowSize {
    /// 80 columns, 24 rows: what a terminal has always been.
    fn default() -> Self {
        Self { cols: 80, rows: 24 }
    }
}

macro_rules! signals {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// A POSIX signal by its name; numbers differ between systems and are the adapter's.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Signal {
            $(#[doc = concat!("`SIG", $name, "`")] $variant),*
        }

        impl Signal {
            /// Every signal.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name without `SIG`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
    };
}

signals! {
    Hup = "HUP", Int = "INT", Quit = "QUIT", Ill = "ILL", Trap = "TRAP", Abrt = "ABRT", Bus = "BUS", Fpe = "FPE",
    Kill = "KILL", Usr1 = "USR1", Segv = "SEGV", Usr2 = "USR2", Pipe = "PIPE", Alrm = "ALRM", Term = "TERM",
    Chld = "CHLD", Cont = "CONT", Stop = "STOP", Tstp = "TSTP", Ttin = "TTIN", Ttou = "TTOU", Urg = "URG",
    Xcpu = "XCPU", Xfsz = "XFSZ", Vtalrm = "VTALRM", Prof = "PROF", Winch = "WINCH", Io = "IO", Sys = "SYS",
}

impl FromStr for Signal {
    type Err = Error;

    /// Takes the name in any case, with or without `SIG`.
    fn from_str(text: &str) -> Result<Self> {
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        Self::ALL.iter().copied().find(|signal| signal.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|signal| signal.name()).collect();
            Error::invalid_argument(format!("signal \"{}\" is not known; known are {}", shown(text), names.join(", ")))
        })
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn signals_are_read_as_people_write_them() {
        for text in ["TERM", "term", "SIGTERM", "SigTerm"] {
            assert_eq!(text.parse(), Ok(Signal::Term));
        }
        assert_eq!("NOPE".parse::<Signal>().map_err(|e| e.kind()), Err(ErrorKind::InvalidArgument));
        assert!("S".repeat(1_000_000).parse::<Signal>().unwrap_err().message().len() < 400);
    }

    #[test]
    fn what_cannot_run_is_refused_before_a_backend_sees_it() {
        let refused = |invocation: Invocation| invocation.check().unwrap_err().message().to_owned();
        assert!(refused(Invocation::new(" \n")).starts_with("command is empty"));
        assert!(refused(Invocation::new("echo \0")).starts_with("command has a NUL"));
        let cwd = |cwd: &str| Invocation { cwd: Some(cwd.into()), ..Invocation::new("true") };
        assert!(refused(cwd("")).starts_with("cwd is empty"));
        assert!(refused(cwd("/\0")).starts_with("cwd has a NUL"));
        let env =
            |name: &str, value: &str| Invocation { env: vec![(name.into(), value.into())], ..Invocation::new("true") };
        assert!(refused(env("", "x")).starts_with("env has the name"));
        assert!(refused(env("A=B", "x")).starts_with("env has the name"));
        assert!(refused(env("A", "\0")).starts_with("env.A has a NUL"));
        assert_eq!(env("A", "").check(), Ok(()));
        assert!(refused(env(&"B=".repeat(1_000_000), "x")).len() < 400);
        assert!(refused(env(&"B".repeat(1_000_000), "\0")).len() < 400);
    }
}
