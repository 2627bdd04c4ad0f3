//! The flags that every binary shares.

use std::path::PathBuf;

use crate::config::LogLevel;

/// Flags for clap's `#[command(flatten)]`; they stand before or after a subcommand.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// Configuration file [default: $SESSIOND_CONFIG, else sessiond/config.toml in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Log level on stderr: off, error, warn, info, debug or trace [default: $SESSIOND_LOG, else the configuration's]
    #[arg(long, global = true, value_name = "LEVEL", hide_possible_values = true)]
    pub log: Option<LogLevel>,
}
