//! The requests that reached the platform.

use std::collections::VecDeque;
use std::time::Instant;

use crate::routes::Route;

/// The most requests that are remembered; the oldest are forgotten first.
const KEPT: usize = 100_000;

/// A request as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// What it was for.
    pub route: Route,
    /// `GET`.
    pub method: String,
    /// The path as it stood in the request, nothing decoded.
    pub path: String,
    /// The query as it stood in the request, empty when there was none.
    pub query: String,
    /// `Authorization`.
    pub authorization: Option<String>,
    /// `Cookie`.
    pub cookie: Option<String>,
    /// The body as text.
    pub body: String,
    /// The status that it was answered with; `None` while it has not been.
    pub status: Option<u16>,
    /// When it came.
    pub at: Instant,
    /// The client's port: one number, one connection.
    pub port: u16,
}

impl Seen {
    /// Whether it carries anything to log in with.
    pub fn has_credential(&self) -> bool {
        self.authorization.is_some() || self.cookie.is_some()
    }
}

/// The requests so far.
#[derive(Debug, Default)]
pub(crate) struct Log {
    kept: VecDeque<Seen>,
    /// How many have been forgotten, so that a place in the log stays one.
    forgotten: usize,
}

impl Log {
    /// Takes a request; its place.
    pub(crate) fn add(&mut self, seen: Seen) -> usize {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
            self.forgotten += 1;
        }
        self.kept.push_back(seen);
        self.forgotten + self.kept.len() - 1
    }

    pub(crate) fn answered(&mut self, place: usize, status: u16) {
        if let Some(seen) = place.checked_sub(self.forgotten).and_then(|place| self.kept.get_mut(place)) {
            seen.status = Some(status);
        }
    }

    pub(crate) fn all(&self) -> Vec<Seen> {
        self.kept.iter().cloned().collect()
    }

    pub(crate) fn count(&self, wanted: impl Fn(&Seen) -> bool) -> usize {
        self.kept.iter().filter(|seen| wanted(seen)).count()
    }

    pub(crate) fn forget(&mut self) {
        self.forgotten += self.kept.len();
        self.kept.clear();
    }
}
