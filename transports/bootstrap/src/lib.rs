//! What every sessiond binary starts with: configuration, targets, logs, signals. Only this crate knows both the
//! adapters and the core's registry; transports get an [`Assembly`].
//!
//! The way from a command line to a registry:
//!
//! 1. [`Args`]: the flags that every binary shares (`args`)
//! 2. [`Environment`]: the process's variables, read once (`environment`)
//! 3. the file becomes entries, each with its line (`file`); so do the `SESSIOND_` variables (`overlay`)
//! 4. entries are checked against the one declaration of all keys (`settings`, made of `setting`s) and give the
//!    [`Configuration`] or every [`Problem`] at once (`resolve`, `config`, `problem`)
//! 5. [`logs`]: tracing to stderr, and panics with it; [`telemetry`]: traces of calls to a collector
//! 6. [`Bootstrap::assemble`]: targets from the configuration (`hosts` for those over SSH, `platforms` for agent platforms, `secrets` for what
//!    lets us in), the registry over them
//!    (`assembly`)
//! 7. [`end_on_signals`]: what ends the server (`signals`)
//!
//! What a server on a network has besides: [`identity`] says who is let in, [`network`] accepts connections, with TLS
//! and limits; [`Bootstrap::network`](Bootstrap::network) makes both, and SIGHUP lets them read their files again.
//!
//! And what every binary does for whoever runs it: [`stdout`] prints, [`report`] says what holds, [`exit`]
//! tells how it went.

mod args;
mod assembly;
mod config;
mod environment;
pub mod exit;
mod file;
mod hosts;
pub mod identity;
mod key_path;
pub mod logs;
mod nearest;
pub mod network;
mod overlay;
mod platforms;
mod private;
mod problem;
pub mod report;
mod resolve;
mod secrets;
mod setting;
mod settings;
mod signals;
pub mod stdout;
pub mod telemetry;

pub use args::Args;
pub use assembly::{Assembly, Bootstrap, prepare_process};
pub use config::{
    BackendSettings, Configuration, ConnectSettings, HostKeys, HttpSettings, JwtSettings, LogFormat, LogLevel,
    NetworkSettings, PlatformAuth, PlatformSettings, PtySettings, SecretSetting, Shown, SshHostSettings, SshSettings,
    TargetSettings, TelemetrySettings, TextStyle,
};
pub use environment::{CONNECT, CONNECT_KEY, Environment};
pub use problem::{Origin, Problem, Problems};
pub use settings::known_keys;
pub use signals::{end_on_signals, end_or_reload_on_signals};
