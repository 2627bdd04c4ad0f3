//! What programs of this machine find that are run on the way to a host, and who looks after them.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::{fmt, io};

/// Whoever reaps the children of this process, and so must know of a program before it can end.
pub trait Custodian: Send + Sync {
    /// Calls `start`, which starts a program and returns its process id. What comes back is kept until the program has
    /// been waited for.
    ///
    /// # Errors
    /// What `start` failed with, or that the program is not to be found.
    fn start(&self, start: &mut dyn FnMut() -> io::Result<u32>) -> io::Result<Box<dyn Send + Sync>>;
}

/// The variables that a program gets, and no others, and whoever reaps it beside us, where somebody does.
///
/// Values never show: a variable can hold a secret.
#[derive(Clone, Default)]
pub struct Surroundings {
    variables: Arc<[(OsString, OsString)]>,
    custodian: Option<Arc<dyn Custodian>>,
}

impl Surroundings {
    /// These variables; of two with one name the later one counts.
    pub fn new(variables: Vec<(OsString, OsString)>) -> Self {
        Self { variables: variables.into(), custodian: None }
    }

    /// The same, in the custody of somebody.
    pub fn in_custody(mut self, custodian: Arc<dyn Custodian>) -> Self {
        self.custodian = Some(custodian);
        self
    }

    /// The variables.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// A variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.variables.iter().rfind(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// Starts a program, and says so to whoever must know.
    ///
    /// # Errors
    /// As [`Custodian::start`].
    pub(crate) fn start(&self, start: &mut dyn FnMut() -> io::Result<u32>) -> io::Result<Box<dyn Send + Sync>> {
        match &self.custodian {
            Some(custodian) => custodian.start(start),
            None => start().map(|_| Box::new(()) as Box<dyn Send + Sync>),
        }
    }
}

impl FromIterator<(OsString, OsString)> for Surroundings {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self::new(variables.into_iter().collect())
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.variables.iter().map(|(name, _)| name)).finish()
    }
}

impl PartialEq for Surroundings {
    fn eq(&self, other: &Self) -> bool {
        self.variables == other.variables
    }
}

impl Eq for Surroundings {}
