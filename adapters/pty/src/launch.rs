//! What to start, as the operating system takes it: the shell and its arguments, the environment, the directory.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use sessiond_core::{Error, Invocation, Mark, Result};

use crate::config::Config;
use crate::sys::{Program, Stdio};

/// What kind of place a program is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A terminal, with or without a login shell.
    Terminal {
        /// Whether the shell is a login shell.
        login: bool,
    },
    /// Pipes.
    Pipes,
}

/// The parts of a launch that do not change while the server runs.
pub(crate) struct Base {
    shell: CString,
    /// The shell's name as its argument zero, and the same as a login shell.
    name: CString,
    login_name: CString,
    /// `NAME=value`, without what every launch sets anew.
    environment: Vec<CString>,
}

impl Base {
    /// # Errors
    /// `invalid_argument` when the configuration has a NUL character, a name that is none, or a shell without its
    /// directory.
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let shell = config.shell();
        if !shell.is_absolute() {
            return Err(Error::invalid_argument(format!(
                "the shell {} is not named in full: give its path from / on",
                shell.display()
            )));
        }
        let name = shell.file_name().unwrap_or(shell.as_os_str());
        let mut login_name = OsString::from("-");
        login_name.push(name);
        let mut environment = Vec::with_capacity(config.environment.len());
        for (key, value) in &config.environment {
            if key.is_empty() || key.as_bytes().contains(&b'=') {
                return Err(Error::invalid_argument(format!(
                    "the base environment has the name {key:?}: a name is not empty and has no '='"
                )));
            }
            if key != Mark::VARIABLE {
                environment.push(entry(key, value)?);
            }
        }
        Ok(Self {
            shell: string(shell.as_os_str())?,
            name: string(name)?,
            login_name: string(&login_name)?,
            environment,
        })
    }
}

/// Everything of one launch, ready to be handed over.
pub(crate) struct Launch<'a> {
    base: &'a Base,
    argument: CString,
    login: bool,
    environment: Vec<Cow<'a, CStr>>,
    directory: CString,
}

impl<'a> Launch<'a> {
    /// # Errors
    /// `invalid_argument` for a NUL character, `failed_precondition` when `~` stands for nothing.
    pub(crate) fn new(
        config: &Config,
        base: &'a Base,
        invocation: &Invocation,
        place: Place,
        mark: Mark,
    ) -> Result<Self> {
        Ok(Self {
            base,
            argument: string(OsStr::new(&invocation.command))?,
            login: place == Place::Terminal { login: true },
            environment: environment(base, invocation, place, mark)?,
            directory: string(directory(config, invocation.cwd.as_deref())?.as_os_str())?,
        })
    }

    /// Hands the program over with these standard descriptors.
    pub(crate) fn with_program<T>(&self, stdio: Stdio<'_>, start: impl FnOnce(&Program<'_>) -> T) -> T {
        let name = if self.login { &self.base.login_name } else { &self.base.name };
        let argv = [name.as_c_str(), c"-c", &self.argument];
        let envp: Vec<&CStr> = self.environment.iter().map(AsRef::as_ref).collect();
        start(&Program { path: &self.base.shell, argv: &argv, envp: &envp, cwd: &self.directory, stdio })
    }

    /// The shell's path.
    pub(crate) fn shell(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.base.shell.to_bytes()))
    }

    /// Where it is to run.
    pub(crate) fn directory(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.directory.to_bytes()))
    }
}

/// Where something runs that names this directory, or none (SF01).
///
/// # Errors
/// `failed_precondition` when `~` is asked for and the environment has no home directory.
pub(crate) fn directory(config: &Config, asked: Option<&str>) -> Result<PathBuf> {
    let default = match &config.cwd {
        Some(cwd) => expand(config, cwd)?,
        None => match std::env::current_dir() {
            Ok(own) if own != Path::new("/") => own,
            _ => config.variable("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from),
        },
    };
    match asked {
        Some(asked) => Ok(default.join(expand(config, Path::new(asked))?)),
        None => Ok(default),
    }
}

/// `~` and `~/x`; every other path is left as it is.
fn expand(config: &Config, path: &Path) -> Result<PathBuf> {
    let Ok(rest) = path.strip_prefix("~") else { return Ok(path.to_owned()) };
    let home = config.variable("HOME").ok_or_else(|| {
        Error::failed_precondition("\"~\" stands for nothing, because HOME is not set: name the directory in full")
    })?;
    Ok(Path::new(home).join(rest))
}

/// The base environment, what the kind of place asks for, the caller's own variables, and the mark.
fn environment<'a>(base: &'a Base, invocation: &Invocation, place: Place, mark: Mark) -> Result<Vec<Cow<'a, CStr>>> {
    let mut all: Vec<Cow<'a, CStr>> = Vec::with_capacity(base.environment.len() + invocation.env.len() + 3);
    all.extend(base.environment.iter().map(|entry| Cow::Borrowed(entry.as_c_str())));
    if matches!(place, Place::Terminal { .. }) {
        // The terminal knows its own size, and these would be another's.
        unset(&mut all, "LINES");
        unset(&mut all, "COLUMNS");
        set(&mut all, "TERM", "xterm-256color")?;
    }
    for (name, value) in &invocation.env {
        set(&mut all, name, value)?;
    }
    if !["LC_ALL", "LC_CTYPE", "LANG"].iter().any(|name| has_value(&all, name)) {
        set(&mut all, "LC_CTYPE", "C.UTF-8")?;
    }
    set(&mut all, Mark::VARIABLE, &mark.to_string())?;
    Ok(all)
}

fn set(all: &mut Vec<Cow<'_, CStr>>, name: &str, value: &str) -> Result<()> {
    unset(all, name);
    all.push(Cow::Owned(entry(OsStr::new(name), OsStr::new(value))?));
    Ok(())
}

fn unset(all: &mut Vec<Cow<'_, CStr>>, name: &str) {
    all.retain(|entry| value_of(entry, name).is_none());
}

fn has_value(all: &[Cow<'_, CStr>], name: &str) -> bool {
    all.iter().any(|entry| value_of(entry, name).is_some_and(|value| !value.is_empty()))
}

fn value_of<'e>(entry: &'e CStr, name: &str) -> Option<&'e [u8]> {
    entry.to_bytes().strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

fn entry(name: &OsStr, value: &OsStr) -> Result<CString> {
    let mut entry = name.to_owned();
    entry.push("=");
    entry.push(value);
    string(&entry)
}

fn string(text: &OsStr) -> Result<CString> {
    CString::new(text.to_owned().into_vec()).map_err(|error| {
        let text = OsString::from_vec(error.into_vec());
        // The name alone: a value may be a secret.
        let name = text.to_string_lossy().split(['=', '\0']).next().unwrap_or_default().to_owned();
        Error::invalid_argument(format!("{name:?} has a NUL character behind it, which no program can receive"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(environment: &[(&str, &str)]) -> Config {
        Config {
            environment: environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            ..Config::default()
        }
    }

    fn launched(environment: &[(&str, &str)], own: &[(&str, &str)], place: Place) -> Vec<String> {
        let config = config(environment);
        let base = Base::new(&config).unwrap();
        let mut invocation = Invocation::new("true");
        invocation.env = own.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let launch = Launch::new(&config, &base, &invocation, place, Mark::random().unwrap()).unwrap();
        let mut all: Vec<String> =
            launch.environment.iter().map(|entry| entry.to_string_lossy().into_owned()).collect();
        let mark = all.pop().unwrap();
        assert_eq!(mark.len(), "SESSIOND_SESSION=".len() + 32, "{mark}");
        all
    }

    const TERMINAL: Place = Place::Terminal { login: false };

    #[test]
    fn a_terminal_has_its_type_and_characters() {
        assert_eq!(launched(&[("A", "1")], &[], TERMINAL), ["A=1", "TERM=xterm-256color", "LC_CTYPE=C.UTF-8"]);
        assert_eq!(
            launched(&[("TERM", "dumb"), ("COLUMNS", "7"), ("LINES", "7"), ("LANG", "de_DE")], &[], TERMINAL),
            ["LANG=de_DE", "TERM=xterm-256color"]
        );
        assert_eq!(
            launched(&[("LC_ALL", "")], &[("LC_CTYPE", "C")], TERMINAL),
            ["LC_ALL=", "TERM=xterm-256color", "LC_CTYPE=C"]
        );
        assert_eq!(launched(&[("TERM", "dumb"), ("LANG", "C")], &[], Place::Pipes), ["TERM=dumb", "LANG=C"]);
    }

    #[test]
    fn the_caller_has_the_last_word_but_not_on_the_mark() {
        let own = [("TERM", "vt100"), ("A", "2"), ("A", "3"), ("SESSIOND_SESSION", "mine")];
        assert_eq!(launched(&[("A", "1"), ("LANG", "C")], &own, TERMINAL), ["LANG=C", "TERM=vt100", "A=3"]);
    }

    #[test]
    fn a_directory_is_the_asked_one_or_a_default() {
        let mut config = config(&[("HOME", "/home/me")]);
        let named = |config: &Config, asked| directory(config, asked).unwrap();
        assert_eq!(named(&config, None), std::env::current_dir().unwrap());
        config.cwd = Some("/srv".into());
        assert_eq!(named(&config, None), Path::new("/srv"));
        assert_eq!(named(&config, Some("~")), Path::new("/home/me"));
        assert_eq!(named(&config, Some("~/x")), Path::new("/home/me/x"));
        assert_eq!(named(&config, Some("~x")), Path::new("/srv/~x"));
        assert_eq!(named(&config, Some("x")), Path::new("/srv/x"));
        config.environment.clear();
        assert!(directory(&config, Some("~")).is_err());
    }

    #[test]
    fn a_nul_is_refused_without_telling_a_value() {
        let refused = Base::new(&config(&[("TOKEN", "secret\0")])).err().unwrap();
        assert!(refused.message().starts_with("\"TOKEN\""), "{refused}");
        assert!(!refused.message().contains("secret"), "{refused}");
    }
}
