//! The one declaration of every key. Checking, variables' names, the `check` command and the test of the documented
//! example all read it.

use std::time::Duration;

use sessiond_core::{MAX_READ, MIN_READ};

use crate::config::{BackendSettings, Configuration, LogFormat, LogLevel, PtySettings, TargetSettings, TextStyle};
use crate::key_path::KeyPath;
use crate::setting::{Kind, Setting};

/// The backends by the name that `backend` takes, with their settings.
pub(crate) const BACKENDS: &[&str] = if cfg!(feature = "fake") { &["pty", "fake"] } else { &["pty"] };

/// A backend's settings by its name.
pub(crate) fn backend(name: &str) -> Option<BackendSettings> {
    match name {
        "pty" => Some(BackendSettings::Pty(PtySettings::default())),
        #[cfg(feature = "fake")]
        "fake" => Some(BackendSettings::Fake),
        _ => None,
    }
}

/// The keys of the server as a whole.
pub(crate) const SERVER: &[Setting<Configuration>] = &[
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
            get: |c| c.text.as_str(),
            set: |c, word| c.text = TextStyle::from_word(word).unwrap_or(c.text),
        },
    },
    Setting {
        name: "log.level",
        about: "From which level on to log, on stderr.",
        kind: Kind::Choice {
            words: LogLevel::WORDS,
            get: |c| c.log_level.as_str(),
            set: |c, word| c.log_level = LogLevel::from_word(word).unwrap_or(c.log_level),
        },
    },
    Setting {
        name: "log.format",
        about: "How log lines look.",
        kind: Kind::Choice {
            words: LogFormat::WORDS,
            get: |c| c.log_format.as_str(),
            set: |c, word| c.log_format = LogFormat::from_word(word).unwrap_or(c.log_format),
        },
    },
];

/// The keys of every target.
pub(crate) const TARGET: &[Setting<TargetSettings>] = &[
    Setting {
        name: "backend",
        about: "The kind of place: pty is this machine.",
        kind: Kind::Choice {
            words: BACKENDS,
            get: |target| target.backend.name(),
            // A backend brings its own keys, so the file's word for it is taken before any of them is set.
            set: |_, _| (),
        },
    },
    Setting {
        name: "enabled",
        about: "Whether the target is there.",
        kind: Kind::Switch { get: |target| target.enabled, set: |target, value| target.enabled = value },
    },
];

/// The keys of a target with the backend `pty`.
pub(crate) const PTY: &[Setting<PtySettings>] = &[
    Setting {
        name: "shell",
        about: "The shell that runs commands, with -c; not set: $SHELL, else /bin/sh.",
        kind: Kind::Path { home: false, get: |pty| pty.shell.as_deref(), set: |pty, path| pty.shell = Some(path) },
    },
    Setting {
        name: "cwd",
        about: "Where commands run that name no directory; not set: where the server runs.",
        kind: Kind::Path { home: true, get: |pty| pty.cwd.as_deref(), set: |pty, path| pty.cwd = Some(path) },
    },
    Setting {
        name: "env",
        about: "Variables for every session and command, over the server's own.",
        kind: Kind::Variables {
            get: |pty| pty.env.keys().map(String::as_str).collect(),
            set: |pty, name, value| drop(pty.env.insert(name, value)),
        },
    },
    Setting {
        name: "linger_ms",
        about: "How long to read on after the shell's exit while its background children hold the terminal or pipes.",
        kind: Kind::Integer {
            range: 0..=600_000,
            unit: "milliseconds",
            get: |pty| Some(milliseconds(pty.linger)),
            set: |pty, value| pty.linger = Duration::from_millis(value),
        },
    },
    Setting {
        name: "write_stall_ms",
        about: "How long a write waits for a program that takes nothing.",
        kind: Kind::Integer {
            range: 1..=600_000,
            unit: "milliseconds",
            get: |pty| Some(milliseconds(pty.write_stall)),
            set: |pty, value| pty.write_stall = Duration::from_millis(value),
        },
    },
];

/// The paths of every key there is, with these targets.
pub(crate) fn paths<'a>(targets: impl IntoIterator<Item = (&'a str, &'a BackendSettings)>) -> Vec<KeyPath> {
    let mut paths: Vec<_> = SERVER.iter().map(|setting| KeyPath::of(setting.name)).collect();
    for (name, backend) in targets {
        paths.extend(TARGET.iter().map(|setting| KeyPath::of_target(name, setting.name)));
        if backend.as_pty().is_some() {
            paths.extend(PTY.iter().map(|setting| KeyPath::of_target(name, setting.name)));
        }
    }
    paths
}

/// The full name of every key, with `local` for the target, as the documented example has them.
pub fn known_keys() -> Vec<String> {
    let pty = BackendSettings::Pty(PtySettings::default());
    paths([(crate::config::LOCAL, &pty)]).iter().map(KeyPath::to_string).collect()
}

fn count(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
