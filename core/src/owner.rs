//! Who asks: an identity that the transport has proven, what it may reach, and what it may do there.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::id::TargetName;
use crate::service::Verb;

/// The identity behind a call. Sessions belong to it.
///
/// A transport makes it from what the caller has proven; it is never a parameter of a call.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    name: Arc<str>,
    access: Access,
    permissions: Permissions,
}

/// What an owner may reach.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Every target; each call names the one it means.
    Management,
    /// One target, which calls need not name.
    Target(TargetName),
    /// These targets; each call names the one it means, unless there is exactly one.
    Targets(Arc<BTreeSet<TargetName>>),
}

/// Which verbs an owner may use.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Permissions(u64);

impl Permissions {
    /// Every verb.
    pub const ALL: Self = Self::of(&Verb::ALL);
    /// None.
    pub const NONE: Self = Self(0);

    /// Those that leave everything as it is ([`Verb::is_read_only`]).
    pub fn read_only() -> Self {
        Verb::ALL.into_iter().filter(|verb| verb.is_read_only()).collect()
    }

    /// Exactly these.
    pub const fn of(verbs: &[Verb]) -> Self {
        let mut bits = 0;
        let mut rest = verbs;
        while let [first, others @ ..] = rest {
            bits |= 1 << *first as u8;
            rest = others;
        }
        Self(bits)
    }

    /// Whether the verb is among them.
    pub const fn has(self, verb: Verb) -> bool {
        self.0 & 1 << verb as u8 != 0
    }

    /// Those that both permit.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// One bit for each verb.
const _: () = assert!(Verb::ALL.len() <= u64::BITS as usize);

impl FromIterator<Verb> for Permissions {
    fn from_iter<I: IntoIterator<Item = Verb>>(verbs: I) -> Self {
        Self(verbs.into_iter().fold(0, |bits, verb| bits | Self::of(&[verb]).0))
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Verb::ALL.into_iter().filter(|verb| self.has(*verb)).map(Verb::as_str)).finish()
    }
}

impl Owner {
    /// An owner who reaches every target.
    pub fn management(name: impl Into<Arc<str>>) -> Self {
        Self::new(name, Access::Management)
    }

    /// An owner who reaches one target only.
    pub fn scoped(name: impl Into<Arc<str>>, target: TargetName) -> Self {
        Self::new(name, Access::Target(target))
    }

    /// An owner with this access, who may do everything there.
    pub fn new(name: impl Into<Arc<str>>, access: Access) -> Self {
        Self { name: name.into(), access, permissions: Permissions::ALL }
    }

    /// The same owner, who may use just these verbs.
    pub fn with_permissions(self, permissions: Permissions) -> Self {
        Self { permissions, ..self }
    }

    /// The identity's name. Two owners of one name are the same owner.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What this owner may reach.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Whether this owner may use a verb at all. [`Guarded`](crate::service::Guarded) asks it.
    pub fn may(&self, verb: Verb) -> bool {
        self.permissions.has(verb)
    }

    /// Lets a call go on only when this owner may use the verb.
    ///
    /// # Errors
    /// `permission_denied`, saying what to do instead.
    pub fn permit(&self, verb: Verb) -> Result<()> {
        if self.may(verb) {
            return Ok(());
        }
        Err(Error::permission_denied(format!(
            "your role does not permit {verb}: do without it, or ask whoever runs this server for another role"
        )))
    }

    /// The one target that this owner has, which its calls need not name (SR13). `None` when each call names its own.
    pub fn only(&self) -> Option<&TargetName> {
        match &self.access {
            Access::Management => None,
            Access::Target(own) => Some(own),
            Access::Targets(own) if own.len() == 1 => own.first(),
            Access::Targets(_) => None,
        }
    }

    /// Whether a target exists for this owner at all.
    pub fn reaches(&self, target: &TargetName) -> bool {
        match &self.access {
            Access::Management => true,
            Access::Target(own) => own == target,
            Access::Targets(own) => own.contains(target),
        }
    }

    /// The target a call means: the named one, or the only one this owner has (SR12, SR13).
    ///
    /// # Errors
    /// `invalid_argument` when none is named and there is not exactly one; the one [`not_found`] when another's is
    /// named.
    pub fn select(&self, named: Option<&TargetName>) -> Result<TargetName> {
        let name = named.or(self.only()).ok_or_else(|| {
            Error::invalid_argument("client_token is missing: it names the target, and list_clients shows each")
        })?;
        if self.reaches(name) { Ok(name.clone()) } else { Err(not_found()) }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({}, {:?}", self.name, self.access)?;
        if self.permissions != Permissions::ALL {
            write!(f, ", {:?}", self.permissions)?;
        }
        f.write_str(")")
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
