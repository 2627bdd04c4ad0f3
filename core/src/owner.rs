//! Who asks: an identity that the transport has proven.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::id::TargetName;

/// The identity behind a call. Sessions belong to it.
///
/// A transport makes it from what the caller has proven; it is never a parameter of a call.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    name: Arc<str>,
    access: Access,
}

/// What an owner may reach.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Every target; each call names the one it means.
    Management,
    /// One target, which calls need not name.
    Target(TargetName),
}

impl Owner {
    /// An owner who reaches every target.
    pub fn management(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), access: Access::Management }
    }

    /// An owner who reaches one target only.
    pub fn scoped(name: impl Into<Arc<str>>, target: TargetName) -> Self {
        Self { name: name.into(), access: Access::Target(target) }
    }

    /// The identity's name. Two owners of one name are the same owner.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What this owner may reach.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Whether a target exists for this owner at all.
    pub fn reaches(&self, target: &TargetName) -> bool {
        match &self.access {
            Access::Management => true,
            Access::Target(own) => own == target,
        }
    }

    /// The target a call means: the named one, or the only one this owner has (SR12, SR13).
    ///
    /// # Errors
    /// `invalid_argument` when management access names none; the one [`not_found`] when scoped access names another.
    pub fn select(&self, named: Option<&TargetName>) -> Result<TargetName> {
        match (&self.access, named) {
            (Access::Management, Some(name)) => Ok(name.clone()),
            (Access::Management, None) => Err(Error::invalid_argument(
                "client_token is missing: it names the target, and list_clients shows each",
            )),
            (Access::Target(own), None) => Ok(own.clone()),
            (Access::Target(own), Some(name)) if own == name => Ok(own.clone()),
            (Access::Target(_), Some(_)) => Err(not_found()),
        }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({}, {:?})", self.name, self.access)
    }
}

/// The one answer for every session that is not there for this caller (SR14): unknown, expired, foreign, or named
/// with another target's token. It tells them apart for nobody.
pub fn not_found() -> Error {
    Error::not_found(
        "no such session here: it never was, has expired, is another's, or client_token names another target; \
         session_list shows yours",
    )
}

/// The one answer for every command that is not there for this caller (CO32): unknown, expired, forgotten, foreign, or
/// of an earlier connection to its host. It tells them apart for nobody.
pub fn no_such_command() -> Error {
    Error::not_found(
        "no such command here: handle_id never was, has expired or been cleared, is another's, or its host has been \
         connected anew since; ssh_cmd_history shows yours",
    )
}
