//! Logs: to stderr, never to stdout, which belongs to whoever speaks a protocol there. Traces of calls, where there are
//! to be some, come from the same events.

use std::panic::PanicHookInfo;

use tracing::level_filters::LevelFilter;
use tracing::subscriber::set_global_default;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

use crate::config::{LogFormat, LogLevel};
use crate::telemetry::Prepared;

/// The target of every span of a trace, by which the logs leave them out and the export takes nothing else.
pub(crate) const TRACES: &str = "sessiond::trace";

/// What makes traces.
pub(crate) type Traces = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts logging, and makes panics part of the log. The first call in a process counts.
pub fn start(level: LogLevel, format: LogFormat) {
    start_with(level, format, None);
}

/// The same, with traces where there are to be some.
pub(crate) fn start_with(level: LogLevel, format: LogFormat, mut traces: Option<Prepared>) {
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let layer = match format {
        LogFormat::Text => layer.boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    let logs = layer.with_filter(filter(level)).boxed();
    // A second call, from a test or a host program that logs already, changes nothing.
    let layers: Vec<_> = traces.as_mut().and_then(Prepared::layer).into_iter().chain([logs]).collect();
    if set_global_default(tracing_subscriber::registry().with(layers)).is_ok() {
        std::panic::set_hook(Box::new(report_panic));
        if let Some(traces) = traces {
            traces.start();
        }
    }
}

/// What is logged at a level. The MCP library prints whole messages below `info`, and with them what a caller types
/// at a password prompt: it goes to `info` at most (a secret never reaches a log). What it says from `warn` to `info` is
/// about mistakes of the other side, with the message in full; that is for whoever debugs. So are the errors of its
/// service loop: each says that an answer could not be handed over because whoever asked has left, which is no fault, or
/// that a task has panicked, which is a line of the log already.
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
    let service_loop = if level >= LevelFilter::DEBUG { LevelFilter::INFO } else { LevelFilter::OFF };
    Targets::new()
        .with_default(level)
        .with_target("rmcp", library)
        .with_target("rmcp::service", service_loop)
        .with_target(TRACES, LevelFilter::OFF)
}

/// A panic ends its task, not the server; what it was stands in the log.
fn report_panic(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, "a task panicked, which is a fault of sessiond: {message}");
}
