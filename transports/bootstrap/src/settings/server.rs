//! The keys of the server as a whole.

use std::time::Duration;

use sessiond_core::{MAX_READ, MIN_READ};

use super::{count, milliseconds};
use crate::config::{Configuration, LogFormat, LogLevel, TextStyle};
use crate::setting::{Kind, Setting};

/// The keys, in the order of the documentation.
pub(super) const KEYS: &[Setting<Configuration>] = &[
    Setting {
        name: "limits.running_per_owner",
        about: "Running sessions and commands together, for each caller.",
        kind: Kind::Integer {
            range: 1..=100_000,
            unit: "processes",
            get: |c| Some(c.limits.running_per_owner as u64),
            set: |c, value| c.limits.running_per_owner = count(value),
        },
    },
    Setting {
        name: "limits.finished_per_owner",
        about: "Finished sessions that stay readable, for each caller; beyond it the oldest go.",
        kind: Kind::Integer {
            range: 1..=1_000_000,
            unit: "sessions",
            get: |c| Some(c.limits.finished_per_owner as u64),
            set: |c, value| c.limits.finished_per_owner = count(value),
        },
    },
    Setting {
        name: "limits.finished_bytes_per_owner",
        about: "Output of finished sessions together, for each caller; beyond it the oldest go.",
        kind: Kind::Integer {
            range: 1..=1 << 40,
            unit: "bytes",
            get: |c| Some(c.limits.finished_bytes_per_owner as u64),
            set: |c, value| c.limits.finished_bytes_per_owner = count(value),
        },
    },
    Setting {
        name: "limits.finished_ttl_s",
        about: "How long a finished session stays readable.",
        kind: Kind::Integer {
            range: 1..=31 * 86_400,
            unit: "seconds",
            get: |c| Some(c.limits.finished_ttl.as_secs()),
            set: |c, value| c.limits.finished_ttl = Duration::from_secs(value),
        },
    },
    Setting {
        name: "limits.stop_grace_ms",
        about: "How long a stop waits between asking and killing; for the server's own end too.",
        kind: Kind::Integer {
            range: 0..=600_000,
            unit: "milliseconds",
            get: |c| Some(milliseconds(c.limits.stop_grace)),
            set: |c, value| c.limits.stop_grace = Duration::from_millis(value),
        },
    },
    Setting {
        name: "limits.launch_ms",
        about: "How long starting something may take.",
        kind: Kind::Integer {
            range: 100..=600_000,
            unit: "milliseconds",
            get: |c| Some(milliseconds(c.limits.launch)),
            set: |c, value| c.limits.launch = Duration::from_millis(value),
        },
    },
    Setting {
        name: "limits.session_output_bytes",
        about: "The newest output of a session that is kept.",
        kind: Kind::Integer {
            range: 4_096..=1 << 30,
            unit: "bytes",
            get: |c| Some(c.limits.session_output as u64),
            set: |c, value| c.limits.session_output = count(value),
        },
    },
    Setting {
        name: "limits.command_output_bytes",
        about: "The first output of a one-shot command that is kept, stdout and stderr together.",
        kind: Kind::Integer {
            range: 4_096..=1 << 30,
            unit: "bytes",
            get: |c| Some(c.limits.command_output as u64),
            set: |c, value| c.limits.command_output = count(value),
        },
    },
    Setting {
        name: "limits.handle_output_bytes",
        about: "The newest output of a command under a handle (ssh_cmd_run) that is kept, of stdout and stderr each.",
        kind: Kind::Integer {
            range: 4_096..=1 << 30,
            unit: "bytes",
            get: |c| Some(c.limits.handle_output as u64),
            set: |c, value| c.limits.handle_output = count(value),
        },
    },
    Setting {
        name: "limits.default_max_bytes",
        about: "What one read returns at most when the caller names no max_bytes; not set: all that is kept.",
        kind: Kind::Integer {
            range: MIN_READ as u64..=MAX_READ as u64,
            unit: "bytes",
            get: |c| c.limits.default_max_bytes.map(|bytes| bytes as u64),
            set: |c, value| c.limits.default_max_bytes = Some(count(value)),
        },
    },
    Setting {
        name: "mcp.text",
        about: "How much output the text beside a structured MCP result repeats.",
        kind: Kind::Choice {
            words: TextStyle::WORDS,
            get: |c| Some(c.text.as_str()),
            set: |c, word| c.text = TextStyle::from_word(word).unwrap_or(c.text),
        },
    },
    Setting {
        name: "log.level",
        about: "From which level on to log, on stderr.",
        kind: Kind::Choice {
            words: LogLevel::WORDS,
            get: |c| Some(c.log_level.as_str()),
            set: |c, word| c.log_level = LogLevel::from_word(word).unwrap_or(c.log_level),
        },
    },
    Setting {
        name: "log.format",
        about: "How log lines look.",
        kind: Kind::Choice {
            words: LogFormat::WORDS,
            get: |c| Some(c.log_format.as_str()),
            set: |c, word| c.log_format = LogFormat::from_word(word).unwrap_or(c.log_format),
        },
    },
];
