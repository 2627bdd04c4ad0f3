//! What can be wrong with a configuration, and where.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use sessiond_core::Error;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A line of the configuration file, counted from 1.
    File {
        /// The file.
        path: Arc<Path>,
        /// The line.
        line: usize,
    },
    /// An environment variable.
    Variable(String),
    /// A flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// One thing that is wrong with a configuration. Its text names the place and what to do, never a value that could
/// be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem(String);

impl Problem {
    /// A problem of the configuration as a whole.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// A problem with one key: the subject is the variable where one set it, else the key's path.
    pub(crate) fn at(origin: &Origin, path: &impl fmt::Display, message: impl fmt::Display) -> Self {
        match origin {
            Origin::File { .. } => Self(format!("{origin}: {path} {message}")),
            Origin::Variable(_) | Origin::Flag(_) => Self(format!("{origin} {message}")),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Everything that is wrong with a configuration, so that one run shows it all. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, problem) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl From<Problems> for Error {
    fn from(problems: Problems) -> Self {
        Self::failed_precondition(problems.to_string())
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Problems::from(problem).into()
    }
}
