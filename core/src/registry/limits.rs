//! How much one owner may have, and for how long.

use std::time::Duration;

/// The bounds that the registry keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Running sessions and commands of one owner (SF06).
    pub running_per_owner: usize,
    /// Finished records of one owner; beyond it the oldest go (SR60).
    pub finished_per_owner: usize,
    /// Bytes of output in the finished records of one owner, long texts of commands included; beyond it the oldest go
    /// (SR60).
    pub finished_bytes_per_owner: usize,
    /// How long a finished record can still be read (SR60).
    pub finished_ttl: Duration,
    /// The time between asking a process to end and forcing it (SF03).
    pub stop_grace: Duration,
    /// The longest that a launch may take.
    pub launch: Duration,
    /// Bytes of a session's output that are kept, the newest (SR30).
    pub session_output: usize,
    /// Bytes of a one-shot command's output that are kept, the first, of both streams together (SR34).
    pub command_output: usize,
    /// Bytes of each stream of a command under a handle that are kept, the newest (CO20).
    pub handle_output: usize,
    /// What a read returns at most when the caller does not say; `None` is all that is kept (SR04).
    pub default_max_bytes: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            running_per_owner: 64,
            finished_per_owner: 16_384,
            finished_bytes_per_owner: 64 << 20,
            finished_ttl: Duration::from_secs(30 * 60),
            stop_grace: Duration::from_secs(2),
            launch: Duration::from_secs(30),
            session_output: 1 << 20,
            command_output: 1 << 20,
            handle_output: 2 << 20,
            default_max_bytes: None,
        }
    }
}
