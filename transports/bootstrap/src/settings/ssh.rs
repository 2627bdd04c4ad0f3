//! The keys of SSH: those of all hosts, and those of a target with the backend `ssh`.

use std::time::Duration;

use super::{count, milliseconds};
use crate::config::{Configuration, HostKeys, SecretSetting, SshHostSettings};
use crate::setting::{Kind, Setting};

/// The keys of all hosts, in the order of the documentation.
pub(super) const KEYS: &[Setting<Configuration>] = &[
    Setting {
        name: "ssh.enabled",
        about: "Whether there are SSH hosts at all.",
        kind: Kind::Switch { get: |c| Some(c.ssh.enabled), set: |c, value| c.ssh.enabled = value },
    },
    Setting {
        name: "ssh.config",
        about: "The OpenSSH client configuration whose Host entries are targets; not set: that of the server's user.",
        kind: Kind::Path { home: true, get: |c| c.ssh.config.as_deref(), set: |c, path| c.ssh.config = Some(path) },
    },
    Setting {
        name: "ssh.program",
        about: "The OpenSSH client, asked for what its configuration means; not set: ssh in PATH, where there is one.",
        kind: Kind::Path { home: true, get: |c| c.ssh.program.as_deref(), set: |c, path| c.ssh.program = Some(path) },
    },
    Setting {
        name: "ssh.any_host",
        about: "Whether a name that stands in no configuration is a host to connect to.",
        kind: Kind::Switch { get: |c| Some(c.ssh.any_host), set: |c, value| c.ssh.any_host = value },
    },
    Setting {
        name: "ssh.host_keys",
        about: "Which host keys are accepted where the client configuration leaves it at asking.",
        kind: Kind::Choice {
            words: HostKeys::WORDS,
            get: |c| Some(c.ssh.host_keys.as_str()),
            set: |c, word| c.ssh.host_keys = HostKeys::from_word(word).unwrap_or(c.ssh.host_keys),
        },
    },
    Setting {
        name: "ssh.connect_timeout_ms",
        about: "How long a connection may take, with all its hops and the login.",
        kind: Kind::Integer {
            range: 100..=600_000,
            unit: "milliseconds",
            get: |c| Some(milliseconds(c.ssh.connect_timeout)),
            set: |c, value| c.ssh.connect_timeout = Duration::from_millis(value),
        },
    },
    Setting {
        name: "ssh.keepalive_ms",
        about: "How often a silent connection is asked whether it lives; 0 never asks.",
        kind: Kind::Integer {
            range: 0..=3_600_000,
            unit: "milliseconds",
            get: |c| Some(c.ssh.keepalive.map_or(0, milliseconds)),
            set: |c, value| c.ssh.keepalive = Some(Duration::from_millis(value)).filter(|time| !time.is_zero()),
        },
    },
    Setting {
        name: "ssh.max_connections",
        about: "Connections to one host, for each caller: another is made when the host takes no more on those there are.",
        kind: Kind::Integer {
            range: 1..=1000,
            unit: "connections",
            get: |c| Some(c.ssh.max_connections as u64),
            set: |c, value| c.ssh.max_connections = count(value),
        },
    },
    Setting {
        name: "ssh.linger_ms",
        about: "As linger_ms of a target with the backend pty, on every host.",
        kind: Kind::Integer {
            range: 0..=600_000,
            unit: "milliseconds",
            get: |c| Some(milliseconds(c.ssh.linger)),
            set: |c, value| c.ssh.linger = Duration::from_millis(value),
        },
    },
    Setting {
        name: "ssh.write_stall_ms",
        about: "As write_stall_ms of a target with the backend pty, on every host.",
        kind: Kind::Integer {
            range: 1..=600_000,
            unit: "milliseconds",
            get: |c| Some(milliseconds(c.ssh.write_stall)),
            set: |c, value| c.ssh.write_stall = Duration::from_millis(value),
        },
    },
];

/// The keys of one host, in the order of the documentation.
pub(super) const HOST_KEYS: &[Setting<SshHostSettings>] = &[
    Setting {
        name: "description",
        about: "What the host is for, as ssh_host_list shows it.",
        kind: Kind::Text { get: |host| host.description.as_deref(), set: |host, text| host.description = Some(text) },
    },
    Setting {
        name: "host",
        about: "The address to dial.",
        kind: Kind::Text { get: |host| host.host.as_deref(), set: |host, text| host.host = Some(text) },
    },
    Setting {
        name: "port",
        about: "The port.",
        kind: Kind::Integer {
            range: 1..=65_535,
            unit: "ports",
            get: |host| host.port.map(u64::from),
            set: |host, value| host.port = u16::try_from(value).ok(),
        },
    },
    Setting {
        name: "user",
        about: "The account on the host.",
        kind: Kind::Text { get: |host| host.user.as_deref(), set: |host, text| host.user = Some(text) },
    },
    Setting {
        name: "identity_files",
        about: "Private keys to offer, besides those of the agent.",
        kind: Kind::Paths { get: |host| &host.identity_files, set: |host, paths| host.identity_files = paths },
    },
    Setting {
        name: "certificate_files",
        about: "Certificates of these keys.",
        kind: Kind::Paths { get: |host| &host.certificate_files, set: |host, paths| host.certificate_files = paths },
    },
    Setting {
        name: "identities_only",
        about: "Whether only the keys named here are offered, also of those that the agent has.",
        kind: Kind::Switch { get: |host| host.identities_only, set: |host, value| host.identities_only = Some(value) },
    },
    Setting {
        name: "agent_socket",
        about: "The socket of the key agent; not set: $SSH_AUTH_SOCK.",
        kind: Kind::Path {
            home: true,
            get: |host| host.agent_socket.as_deref(),
            set: |host, path| host.agent_socket = Some(path),
        },
    },
    Setting {
        name: "password_file",
        about: "The password: the first line of a file that only its owner can read.",
        kind: Kind::Path {
            home: true,
            get: |host| host.password.as_ref()?.file(),
            set: |host, path| host.password = Some(SecretSetting::File(path)),
        },
    },
    Setting {
        name: "password_env",
        about: "The password: the value of a variable of the server's environment, which no child gets then.",
        kind: Kind::Text {
            get: |host| host.password.as_ref()?.variable(),
            set: |host, name| host.password = Some(SecretSetting::Variable(name)),
        },
    },
    Setting {
        name: "password_command",
        about: "The password: the first line that a command of this machine prints.",
        kind: Kind::Text {
            get: |host| host.password.as_ref()?.command(),
            set: |host, command| host.password = Some(SecretSetting::Command(command)),
        },
    },
    Setting {
        name: "passphrase_file",
        about: "The passphrase of the private keys, as password_file.",
        kind: Kind::Path {
            home: true,
            get: |host| host.passphrase.as_ref()?.file(),
            set: |host, path| host.passphrase = Some(SecretSetting::File(path)),
        },
    },
    Setting {
        name: "passphrase_env",
        about: "The passphrase of the private keys, as password_env.",
        kind: Kind::Text {
            get: |host| host.passphrase.as_ref()?.variable(),
            set: |host, name| host.passphrase = Some(SecretSetting::Variable(name)),
        },
    },
    Setting {
        name: "passphrase_command",
        about: "The passphrase of the private keys, as password_command.",
        kind: Kind::Text {
            get: |host| host.passphrase.as_ref()?.command(),
            set: |host, command| host.passphrase = Some(SecretSetting::Command(command)),
        },
    },
    Setting {
        name: "host_keys",
        about: "Which keys of this host are accepted.",
        kind: Kind::Choice {
            words: HostKeys::WORDS,
            get: |host| host.host_keys.map(HostKeys::as_str),
            set: |host, word| host.host_keys = HostKeys::from_word(word),
        },
    },
    Setting {
        name: "known_hosts_files",
        about: "The known_hosts files, in place of those of the client configuration.",
        kind: Kind::Paths { get: |host| &host.known_hosts_files, set: |host, paths| host.known_hosts_files = paths },
    },
    Setting {
        name: "host_key_alias",
        about: "The name under which the host's key stands in those files.",
        kind: Kind::Text {
            get: |host| host.host_key_alias.as_deref(),
            set: |host, text| host.host_key_alias = Some(text),
        },
    },
    Setting {
        name: "proxy_jump",
        about: "Hosts to go through, with commas between them: names of targets, or user@host:port.",
        kind: Kind::Text { get: |host| host.proxy_jump.as_deref(), set: |host, text| host.proxy_jump = Some(text) },
    },
    Setting {
        name: "connect_timeout_ms",
        about: "As ssh.connect_timeout_ms, for this host.",
        kind: Kind::Integer {
            range: 100..=600_000,
            unit: "milliseconds",
            get: |host| host.connect_timeout.map(milliseconds),
            set: |host, value| host.connect_timeout = Some(Duration::from_millis(value)),
        },
    },
    Setting {
        name: "keepalive_ms",
        about: "As ssh.keepalive_ms, for this host.",
        kind: Kind::Integer {
            range: 1..=3_600_000,
            unit: "milliseconds",
            get: |host| host.keepalive.map(milliseconds),
            set: |host, value| host.keepalive = Some(Duration::from_millis(value)),
        },
    },
];

/// Keys that say the same thing in different ways: of each row one can be set.
pub(crate) const ALTERNATIVES: [[&str; 3]; 2] = [
    ["password_file", "password_env", "password_command"],
    ["passphrase_file", "passphrase_env", "passphrase_command"],
];
