//! The keys of MCP over HTTP.

use std::time::Duration;

use super::count;
use crate::config::Configuration;
use crate::setting::{Kind, Setting};

/// The keys, in the order of the documentation.
pub(super) const KEYS: &[Setting<Configuration>] = &[
    Setting {
        name: "http.listen",
        about: "Where sessiond-mcp-http listens: IP:PORT; not set: 127.0.0.1:7110.",
        kind: Kind::Text { get: |c| c.http.listen.as_deref(), set: |c, text| c.http.listen = Some(text) },
    },
    Setting {
        name: "http.allowed_hosts",
        about: "The names it goes by besides localhost, 127.0.0.1 and [::1]: NAME or NAME:PORT, one or a list.",
        kind: Kind::Texts { get: |c| &c.http.allowed_hosts, set: |c, texts| c.http.allowed_hosts = texts },
    },
    Setting {
        name: "http.allowed_origins",
        about: "Web pages that may ask it besides those of this machine: SCHEME://NAME, with a port, or :* for any.",
        kind: Kind::Texts { get: |c| &c.http.allowed_origins, set: |c, texts| c.http.allowed_origins = texts },
    },
    Setting {
        name: "http.public_url",
        about: "Scheme, host and port that clients know, where a proxy stands before it.",
        kind: Kind::Text { get: |c| c.http.public_url.as_deref(), set: |c, text| c.http.public_url = Some(text) },
    },
    Setting {
        name: "http.max_request_bytes",
        about: "What one request may hold.",
        kind: Kind::Integer {
            range: 65_536..=1 << 30,
            unit: "bytes",
            get: |c| Some(c.http.max_request as u64),
            set: |c, value| c.http.max_request = count(value),
        },
    },
    Setting {
        name: "http.concurrent_per_identity",
        about: "Requests and streams at one time, waits included, for each caller.",
        kind: Kind::Integer {
            range: 1..=1_000_000,
            unit: "requests",
            get: |c| Some(c.http.concurrent_per_identity as u64),
            set: |c, value| c.http.concurrent_per_identity = count(value),
        },
    },
    Setting {
        name: "http.requests_per_second",
        about: "Requests in a second, for each caller; as many again may come at once.",
        kind: Kind::Integer {
            range: 1..=1_000_000,
            unit: "requests",
            get: |c| Some(u64::from(c.http.requests_per_second)),
            set: |c, value| c.http.requests_per_second = u32::try_from(value).unwrap_or(u32::MAX),
        },
    },
    Setting {
        name: "http.sessions_per_identity",
        about: "MCP sessions (revisions up to 2025-11-25), for each caller; one more ends the one idle for longest.",
        kind: Kind::Integer {
            range: 1..=100_000,
            unit: "sessions",
            get: |c| Some(c.http.sessions_per_identity as u64),
            set: |c, value| c.http.sessions_per_identity = count(value),
        },
    },
    Setting {
        name: "http.session_idle_s",
        about: "How long nobody may be there before an MCP session ends.",
        kind: Kind::Integer {
            range: 1..=86_400,
            unit: "seconds",
            get: |c| Some(c.http.session_idle.as_secs()),
            set: |c, value| c.http.session_idle = Duration::from_secs(value),
        },
    },
];
