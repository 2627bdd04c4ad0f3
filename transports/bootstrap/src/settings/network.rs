//! The keys of the network: who is let in, TLS, limits, and the way to another server.

use std::time::Duration;

use super::{count, milliseconds};
use crate::config::{Configuration, SecretSetting};
use crate::setting::{Kind, Setting};

/// The keys, in the order of the documentation.
pub(super) const KEYS: &[Setting<Configuration>] = &[
    Setting {
        name: "grpc.listen",
        about: "Where sessiond-grpc listens: unix:PATH or IP:PORT; not set: the user's socket.",
        kind: Kind::Text { get: |c| c.grpc_listen.as_deref(), set: |c, text| c.grpc_listen = Some(text) },
    },
    Setting {
        name: "network.keys_file",
        about: "Who is let in on a network, and as whom: keys, certificates and scopes.",
        kind: Kind::Path {
            home: true,
            get: |c| c.network.keys_file.as_deref(),
            set: |c, path| c.network.keys_file = Some(path),
        },
    },
    Setting {
        name: "network.certificate_file",
        about: "The server's certificate for TLS, with those of its issuers, in PEM.",
        kind: Kind::Path {
            home: true,
            get: |c| c.network.certificate_file.as_deref(),
            set: |c, path| c.network.certificate_file = Some(path),
        },
    },
    Setting {
        name: "network.certificate_key_file",
        about: "The certificate's private key, in PEM, in a file that others cannot read.",
        kind: Kind::Path {
            home: true,
            get: |c| c.network.certificate_key_file.as_deref(),
            set: |c, path| c.network.certificate_key_file = Some(path),
        },
    },
    Setting {
        name: "network.client_ca_file",
        about: "The authorities whose certificates callers may show in place of a key, in PEM.",
        kind: Kind::Path {
            home: true,
            get: |c| c.network.client_ca_file.as_deref(),
            set: |c, path| c.network.client_ca_file = Some(path),
        },
    },
    Setting {
        name: "network.max_connections",
        about: "Connections at one time.",
        kind: Kind::Integer {
            range: 1..=1_000_000,
            unit: "connections",
            get: |c| Some(c.network.max_connections as u64),
            set: |c, value| c.network.max_connections = count(value),
        },
    },
    Setting {
        name: "network.max_connections_per_address",
        about: "Connections at one time from one address; those from this machine do not count.",
        kind: Kind::Integer {
            range: 1..=1_000_000,
            unit: "connections",
            get: |c| Some(c.network.max_connections_per_address as u64),
            set: |c, value| c.network.max_connections_per_address = count(value),
        },
    },
    Setting {
        name: "network.handshake_timeout_ms",
        about: "How long a TLS handshake may take.",
        kind: Kind::Integer {
            range: 100..=600_000,
            unit: "milliseconds",
            get: |c| Some(milliseconds(c.network.handshake_timeout)),
            set: |c, value| c.network.handshake_timeout = Duration::from_millis(value),
        },
    },
    Setting {
        name: "network.header_timeout_ms",
        about: "How long the head of a request may take, and a new connection to say anything; six times that, to prove who it is.",
        kind: Kind::Integer {
            range: 100..=600_000,
            unit: "milliseconds",
            get: |c| Some(milliseconds(c.network.header_timeout)),
            set: |c, value| c.network.header_timeout = Duration::from_millis(value),
        },
    },
    Setting {
        name: "jwt.issuer",
        about: "The identity provider whose tokens are taken, as they name it (iss).",
        kind: Kind::Text { get: |c| c.network.jwt.issuer.as_deref(), set: |c, text| c.network.jwt.issuer = Some(text) },
    },
    Setting {
        name: "jwt.name",
        about: "What the names of its owners begin with, before a colon and the token's subject; not set: jwt.",
        kind: Kind::Text { get: |c| c.network.jwt.name.as_deref(), set: |c, text| c.network.jwt.name = Some(text) },
    },
    Setting {
        name: "jwt.audience",
        about: "This server, as tokens name it (aud): one, or a list.",
        kind: Kind::Texts { get: |c| &c.network.jwt.audience, set: |c, texts| c.network.jwt.audience = texts },
    },
    Setting {
        name: "jwt.jwks_url",
        about: "Where the provider publishes its keys.",
        kind: Kind::Text {
            get: |c| c.network.jwt.jwks_url.as_deref(),
            set: |c, text| c.network.jwt.jwks_url = Some(text),
        },
    },
    Setting {
        name: "jwt.jwks_file",
        about: "The provider's keys in a file, read again on SIGHUP.",
        kind: Kind::Path {
            home: true,
            get: |c| c.network.jwt.jwks_file.as_deref(),
            set: |c, path| c.network.jwt.jwks_file = Some(path),
        },
    },
    Setting {
        name: "jwt.ca_file",
        about: "The authorities of jwt.jwks_url, in PEM; not set: those of the system.",
        kind: Kind::Path {
            home: true,
            get: |c| c.network.jwt.ca_file.as_deref(),
            set: |c, path| c.network.jwt.ca_file = Some(path),
        },
    },
    Setting {
        name: "jwt.algorithms",
        about: "The algorithms of signatures that are taken, of RS, PS and ES with 256 or 384, RS and PS with 512, EdDSA.",
        kind: Kind::Texts { get: |c| &c.network.jwt.algorithms, set: |c, texts| c.network.jwt.algorithms = texts },
    },
    Setting {
        name: "jwt.leeway_s",
        about: "How far the provider's clock may be off.",
        kind: Kind::Integer {
            range: 0..=300,
            unit: "seconds",
            get: |c| Some(c.network.jwt.leeway.as_secs()),
            set: |c, value| c.network.jwt.leeway = Duration::from_secs(value),
        },
    },
    Setting {
        name: "connect.key_file",
        about: "Our key for the server behind --connect: the first line of a file that only its owner can read.",
        kind: Kind::Path {
            home: true,
            get: |c| c.connect.key.as_ref()?.file(),
            set: |c, path| c.connect.key = Some(SecretSetting::File(path)),
        },
    },
    Setting {
        name: "connect.key_env",
        about: "Our key: the value of a variable, which no child gets then; not set: SESSIOND_CONNECT_KEY.",
        kind: Kind::Text {
            get: |c| c.connect.key.as_ref()?.variable(),
            set: |c, name| c.connect.key = Some(SecretSetting::Variable(name)),
        },
    },
    Setting {
        name: "connect.key_command",
        about: "Our key: the first line that a command of this machine prints.",
        kind: Kind::Text {
            get: |c| c.connect.key.as_ref()?.command(),
            set: |c, command| c.connect.key = Some(SecretSetting::Command(command)),
        },
    },
    Setting {
        name: "connect.ca_file",
        about: "The authorities of that server's certificate, in PEM; not set: those of the system.",
        kind: Kind::Path {
            home: true,
            get: |c| c.connect.ca_file.as_deref(),
            set: |c, path| c.connect.ca_file = Some(path),
        },
    },
    Setting {
        name: "connect.certificate_file",
        about: "Our certificate for that server, in PEM.",
        kind: Kind::Path {
            home: true,
            get: |c| c.connect.certificate_file.as_deref(),
            set: |c, path| c.connect.certificate_file = Some(path),
        },
    },
    Setting {
        name: "connect.certificate_key_file",
        about: "Its private key, in PEM, in a file that others cannot read.",
        kind: Kind::Path {
            home: true,
            get: |c| c.connect.certificate_key_file.as_deref(),
            set: |c, path| c.connect.certificate_key_file = Some(path),
        },
    },
];

/// Keys that say the same thing in different ways, by the names that they have in full: of each row one can be set.
pub(crate) const ALTERNATIVES: [&[&str]; 2] =
    [&["connect.key_file", "connect.key_env", "connect.key_command"], &["jwt.jwks_url", "jwt.jwks_file"]];
