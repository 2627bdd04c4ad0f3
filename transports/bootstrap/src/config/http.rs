//! What is configured of MCP over HTTP: `[http]`.

use std::time::Duration;

/// How `sessiond-mcp-http` is asked for, and how much of it there is for each identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// Where it listens.
    pub listen: Option<String>,
    /// The names it goes by besides those of the machine itself.
    pub allowed_hosts: Vec<String>,
    /// The origins of web pages that may ask it besides those of the machine itself.
    pub allowed_origins: Vec<String>,
    /// Scheme, host and port that clients know, where a proxy stands before it.
    pub public_url: Option<String>,
    /// Bytes of a request at most.
    pub max_request: usize,
    /// Requests and streams of one identity at one time, waits included.
    pub concurrent_per_identity: usize,
    /// Requests of one identity in a second.
    pub requests_per_second: u32,
    /// MCP sessions of one identity.
    pub sessions_per_identity: usize,
    /// How long nobody may be there before an MCP session ends.
    pub session_idle: Duration,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            listen: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            public_url: None,
            max_request: 4 << 20,
            concurrent_per_identity: 1_024,
            requests_per_second: 1_000,
            sessions_per_identity: 256,
            session_idle: Duration::from_secs(600),
        }
    }
}
