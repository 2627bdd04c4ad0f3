//! The keys of a target with the backend `agent-platform`, and what must be set together.

use std::time::Duration;

use sessiond_agent_platform::DialectName;

use super::milliseconds;
use crate::config::{PlatformAuth, PlatformSettings, SecretSetting};
use crate::setting::{Kind, Setting};

/// The three ways to a secret.
macro_rules! secret {
    ($name:literal, $field:ident, $about:literal) => {
        [
            Setting {
                name: concat!($name, "_file"),
                about: concat!($about, ": the first line of a file that only its owner can read."),
                kind: Kind::Path {
                    home: true,
                    get: |platform| platform.$field.as_ref()?.file(),
                    set: |platform, path| platform.$field = Some(SecretSetting::File(path)),
                },
            },
            Setting {
                name: concat!($name, "_env"),
                about: concat!(
                    $about,
                    ": the value of a variable of the server's environment, which no child gets then."
                ),
                kind: Kind::Text {
                    get: |platform| platform.$field.as_ref()?.variable(),
                    set: |platform, name| platform.$field = Some(SecretSetting::Variable(name)),
                },
            },
            Setting {
                name: concat!($name, "_command"),
                about: concat!($about, ": the first line that a command of this machine prints."),
                kind: Kind::Text {
                    get: |platform| platform.$field.as_ref()?.command(),
                    set: |platform, command| platform.$field = Some(SecretSetting::Command(command)),
                },
            },
        ]
    };
}

/// The keys, in the order of the documentation.
pub(super) fn keys() -> impl Iterator<Item = &'static Setting<PlatformSettings>> {
    PLACE.iter().chain(SECRETS.iter().flatten()).chain(REST)
}

const PLACE: &[Setting<PlatformSettings>] = &[
    Setting {
        name: "dialect",
        about: "What the platform speaks.",
        kind: Kind::Choice {
            words: DialectName::WORDS,
            get: |platform| platform.dialect.map(DialectName::as_str),
            set: |platform, word| platform.dialect = DialectName::from_word(word),
        },
    },
    Setting {
        name: "url",
        about: "Where the platform is.",
        kind: Kind::Text { get: |platform| platform.url.as_deref(), set: |platform, url| platform.url = Some(url) },
    },
    Setting {
        name: "auth",
        about: "How to log in: not at all, with a token, with HTTP basic, with a login that gives a cookie, with OAuth.",
        kind: Kind::Choice {
            words: PlatformAuth::WORDS,
            get: |platform| Some(platform.auth.as_str()),
            set: |platform, word| platform.auth = PlatformAuth::from_word(word).unwrap_or(platform.auth),
        },
    },
    Setting {
        name: "user",
        about: "The account, for basic and login.",
        kind: Kind::Text { get: |platform| platform.user.as_deref(), set: |platform, user| platform.user = Some(user) },
    },
    Setting {
        name: "token_header",
        about: "The header that carries the token as it is, such as X-Api-Key. Not set: Authorization: Bearer.",
        kind: Kind::Text {
            get: |platform| platform.token_header.as_deref(),
            set: |platform, name| platform.token_header = Some(name),
        },
    },
];

const SECRETS: &[[Setting<PlatformSettings>; 3]] = &[
    secret!("password", password, "The account's password"),
    secret!("token", token, "The token, for auth = \"token\""),
    secret!("client_id", client_id, "The id of the OAuth client"),
    secret!("client_secret", client_secret, "The secret of the OAuth client"),
];

const REST: &[Setting<PlatformSettings>] = &[
    Setting {
        name: "ca_file",
        about: "The certificates that vouch for the platform, in place of the system's.",
        kind: Kind::Path {
            home: true,
            get: |platform| platform.ca_file.as_deref(),
            set: |platform, path| platform.ca_file = Some(path),
        },
    },
    Setting {
        name: "client_cert_file",
        about: "The certificate that this server shows.",
        kind: Kind::Path {
            home: true,
            get: |platform| platform.client_cert_file.as_deref(),
            set: |platform, path| platform.client_cert_file = Some(path),
        },
    },
    Setting {
        name: "client_key_file",
        about: "The private key of that certificate.",
        kind: Kind::Path {
            home: true,
            get: |platform| platform.client_key_file.as_deref(),
            set: |platform, path| platform.client_key_file = Some(path),
        },
    },
    Setting {
        name: "timeout_ms",
        about: "How long one call may take, with its login, every page and every repetition.",
        kind: Kind::Integer {
            range: 100..=600_000,
            unit: "milliseconds",
            get: |platform| Some(milliseconds(platform.timeout)),
            set: |platform, value| platform.timeout = Duration::from_millis(value),
        },
    },
    Setting {
        name: "keepalive_ms",
        about: "How often a platform in use is asked whether it is there, so that no login expires; 0 never asks.",
        kind: Kind::Integer {
            range: 0..=3_600_000,
            unit: "milliseconds",
            get: |platform| Some(platform.keepalive.map_or(0, milliseconds)),
            set: |platform, value| {
                platform.keepalive = Some(Duration::from_millis(value)).filter(|time| !time.is_zero());
            },
        },
    },
    Setting {
        name: "requests_per_second",
        about: "The most requests a second, of all callers and followed runs together; 0 is no limit.",
        kind: Kind::Integer {
            range: 0..=100_000,
            unit: "requests",
            get: |platform| Some(platform.requests_per_second.into()),
            set: |platform, value| platform.requests_per_second = u32::try_from(value).unwrap_or(u32::MAX),
        },
    },
    Setting {
        name: "lost_after_ms",
        about: "How long a platform may not answer before a run that is followed counts as lost.",
        kind: Kind::Integer {
            range: 1000..=86_400_000,
            unit: "milliseconds",
            get: |platform| Some(milliseconds(platform.lost_after)),
            set: |platform, value| platform.lost_after = Duration::from_millis(value),
        },
    },
];

/// Keys that say the same thing in different ways: of each row one can be set.
pub(crate) const ALTERNATIVES: [[&str; 3]; 3] = [
    ["token_file", "token_env", "token_command"],
    ["client_id_file", "client_id_env", "client_id_command"],
    ["client_secret_file", "client_secret_env", "client_secret_command"],
];

/// What is wrong with a platform's settings as a whole: the key that it is about, and what about it.
pub(super) fn problems(platform: &PlatformSettings) -> Vec<(&'static str, String)> {
    let mut problems = Vec::new();
    if platform.dialect.is_none() {
        problems.push(("dialect", format!("is missing: it is one of {}", DialectName::WORDS.join(", "))));
    }
    match platform.url.as_deref() {
        None => problems.push(("url", "is missing: write it like https://host".to_owned())),
        Some(url) if !is_address(url) => {
            problems.push(("url", "must be an address like https://host, without a credential in it".to_owned()));
        }
        Some(_) => {}
    }
    problems.extend(of_login(platform));
    if platform.client_cert_file.is_some() != platform.client_key_file.is_some() {
        let (there, missing) = match platform.client_cert_file {
            Some(_) => ("client_cert_file", "client_key_file"),
            None => ("client_key_file", "client_cert_file"),
        };
        problems.push((there, format!("needs {missing} beside it: set both, or neither")));
    }
    problems
}

/// What the way to log in needs and has not. Where there is to be no login, whatever is there for one was meant.
fn of_login(platform: &PlatformSettings) -> Vec<(&'static str, String)> {
    let needs: &[&str] = match platform.auth {
        PlatformAuth::None => &[],
        PlatformAuth::Token => &["token"],
        PlatformAuth::Basic | PlatformAuth::Login => &["user", "password"],
        PlatformAuth::OAuth => &["client_id", "client_secret"],
    };
    let secret = |secret: &Option<SecretSetting>, keys: [&'static str; 3]| {
        let [file, variable, command] = keys;
        let set = secret.as_ref().map(|secret| match secret {
            SecretSetting::File(_) => file,
            SecretSetting::Variable(_) => variable,
            SecretSetting::Command(_) => command,
        });
        (set, format!("one of {}", keys.join(", ")))
    };
    let [token, client_id, client_secret] = ALTERNATIVES;
    let found = [
        ("user", (platform.user.as_ref().map(|_| "user"), "user".to_owned())),
        ("password", secret(&platform.password, ["password_file", "password_env", "password_command"])),
        ("token", secret(&platform.token, token)),
        ("client_id", secret(&platform.client_id, client_id)),
        ("client_secret", secret(&platform.client_secret, client_secret)),
    ];
    let auth = platform.auth.as_str();
    let judged = found.into_iter().filter_map(|(name, (set, keys))| match set {
        None if needs.contains(&name) => Some(("auth", format!("= {auth:?} needs {keys}"))),
        Some(key) if needs.is_empty() => {
            Some((key, "is of no use without auth: set auth to what it is for".to_owned()))
        }
        _ => None,
    });
    let header = platform.token_header.as_ref().filter(|_| platform.auth != PlatformAuth::Token);
    let header = header.map(|_| ("token_header", "is of use with auth = \"token\" only: leave it out".to_owned()));
    judged.chain(header).collect()
}

/// Whether it looks like the address of a server. The adapter judges the rest.
pub(super) fn is_address(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        !host.is_empty() && !host.contains(['@', '?', '#']) && !url.contains(char::is_whitespace)
    })
}
