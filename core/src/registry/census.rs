//! How much runs and how much passes, of all owners together: for whoever watches the server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Registry;
use crate::output::{Status, Tally};

/// Processes of one kind of backend in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// The word for the backend, as targets are listed with it.
    pub backend: &'static str,
    /// How they do.
    pub status: Status,
    /// How many there are.
    pub count: usize,
}

/// Bytes of all processes of one kind of backend, those that have ended included, since the server began. Each number
/// only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The word for the backend, as targets are listed with it.
    pub backend: &'static str,
    /// Input that a target has taken: what was written to sessions, keys, and the stdin that a command was started with.
    pub input: u64,
    /// Output that has reached this server while its process counted as running, whether anybody has read it or not.
    pub output: u64,
    /// Output of that which retention has dropped: of sessions and commands under a handle the oldest, when there was
    /// more than is kept; of one-shot commands what came after they had their fill. What expires whole with a finished
    /// record is not in here, and what never reached this server neither.
    pub dropped: u64,
}

/// The counters of each kind of backend.
#[derive(Default)]
pub(super) struct Tallies(Mutex<BTreeMap<&'static str, Arc<Tally>>>);

impl Tallies {
    /// Those of this one.
    pub(super) fn of(&self, backend: &'static str) -> Arc<Tally> {
        self.lock().entry(backend).or_default().clone()
    }

    /// A panic leaves nothing half done here.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Arc<Tally>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    /// What has passed since the server began, by each kind of backend that anything was started on.
    pub fn traffic(&self) -> Vec<Traffic> {
        let tallies = self.tallies.lock();
        let of = |(backend, tally): (&&'static str, &Arc<Tally>)| {
            // First what has gone: so there is never more of that than of what has come.
            let dropped = tally.dropped();
            Traffic { backend, input: tally.taken(), output: tally.printed(), dropped }
        };
        tallies.iter().map(of).collect()
    }

    /// Counts what runs or is being stopped, sessions and commands of every owner. What has ended is no process any
    /// more.
    pub fn census(&self) -> Vec<Census> {
        let mut counts = BTreeMap::<_, [usize; 2]>::new();
        for run in self.table.running() {
            let [running, stopping] = counts.entry(run.target.backend).or_default();
            match run.log.status() {
                Status::Running => *running += 1,
                Status::Stopping => *stopping += 1,
                Status::Finished | Status::Lost => {}
            }
        }
        let of = |(backend, [running, stopping]): (&'static str, [usize; 2])| {
            [(Status::Running, running), (Status::Stopping, stopping)].map(|(status, count)| Census {
                backend,
                status,
                count,
            })
        };
        counts.into_iter().flat_map(of).collect()
    }
}
