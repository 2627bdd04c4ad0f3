//! Logs: to stderr, never to stdout, which belongs to whoever speaks a protocol there.

use std::panic::PanicHookInfo;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

use crate::config::{LogFormat, LogLevel};

/// Starts logging, and makes panics part of the log. The first call in a process counts.
pub fn start(level: LogLevel, format: LogFormat) {
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let layer = match format {
        LogFormat::Text => layer.boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter(level)));
    // A second call, from a test or a host program that logs already, changes nothing.
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        std::panic::set_hook(Box::new(report_panic));
    }
}

/// What is logged at a level. The MCP library prints whole messages below `info`, and with them what a caller types
/// at a password prompt: it goes to `info` at most (a secret never reaches a log). What it says from `warn` to `info` is
/// about mistakes of the other side, with the message in full; that is for whoever debugs.
fn filter(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let library = if level >= LevelFilter::DEBUG { LevelFilter::INFO } else { level.min(LevelFilter::ERROR) };
    Targets::new().with_default(level).with_target("rmcp", library)
}

/// A panic ends its task, not the server; what it was stands in the log.
fn report_panic(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, "a task panicked, which is a fault of sessiond: {message}");
}
