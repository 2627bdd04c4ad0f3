//! The keys of a target with the backend `pty`.

use std::time::Duration;

use super::milliseconds;
use crate::config::PtySettings;
use crate::setting::{Kind, Setting};

/// The keys, in the order of the documentation.
pub(super) const KEYS: &[Setting<PtySettings>] = &[
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
