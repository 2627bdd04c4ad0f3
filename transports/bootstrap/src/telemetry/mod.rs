//! Traces: one for each call, through transport, service and backend, for a collector that takes OTLP over gRPC.
//!
//! A transport opens the span of a call with what its caller sent as `traceparent` (W3C Trace Context, level 1), so that it
//! is part of the caller's trace; whoever calls another server hands [`traceparent`] on. Inside such a span, and nowhere
//! else, each verb of the service and each request to a backend is a span too. What is sampled is the caller's to say;
//! where there is none, all is, unless the variables of OpenTelemetry (`OTEL_TRACES_SAMPLER`) say otherwise.
//!
//! A span says what was called, for whom, on which target and with which outcome, in words of ours. Nothing that a caller
//! has written is part of it, and nothing that a program has printed: no input, no output, no command, no secret.
//!
//! All of this needs the feature `otlp` and an address in the configuration. Without both there are no spans and no
//! decorators, and everything here does nothing ([`is_on`]).
//!
//! - `spans`: how a span begins, what it says, how it ends
//! - `service`, `backend`: the decorators
//! - `export`: from spans that have ended to the collector

#[cfg(feature = "otlp")]
mod backend;
#[cfg(feature = "otlp")]
mod export;
#[cfg(not(feature = "otlp"))]
mod off;
#[cfg(feature = "otlp")]
mod service;
#[cfg(feature = "otlp")]
mod spans;

#[cfg(feature = "otlp")]
use self::export as on;
#[cfg(not(feature = "otlp"))]
use self::off as on;
#[cfg(not(feature = "otlp"))]
use self::off as service;
#[cfg(not(feature = "otlp"))]
use self::off as spans;

use std::sync::Arc;

use sessiond_core::{Service, Targets};
use tracing::Span;

pub(crate) use self::on::{Prepared, export, refusal};

/// Whether traces are made in this process.
pub fn is_on() -> bool {
    on::is_on()
}

/// The span of a call that has come in over a transport; none while traces are off.
///
/// `name` is what was called, of a closed set, for it becomes the name of the span; `traceparent` is what the caller sent,
/// which counts for nothing when it is malformed.
pub fn call(transport: &'static str, name: impl FnOnce() -> String, traceparent: Option<&str>) -> Span {
    if is_on() { spans::call(transport, &name(), traceparent) } else { Span::none() }
}

/// Says in the span of a call how that went: `ok`, `failed` for something that ran and failed, or the kind of an error.
pub fn answered(call: &Span, outcome: &str) {
    if is_on() {
        spans::end(call, outcome);
    }
}

/// The same for the call that is under way here: in its own span, and not in one of what it does.
pub fn answered_here(outcome: &str) {
    if is_on() {
        spans::end(&Span::current(), outcome);
    }
}

/// The `traceparent` that a request to another server carries, so that what it does there is part of this call's trace.
/// `None` outside a call, and while traces are off.
pub fn traceparent() -> Option<String> {
    is_on().then(spans::traceparent).flatten()
}

/// A service whose verbs are spans of the calls that they are part of; the same one while traces are off.
pub fn traced(service: Arc<dyn Service>) -> Arc<dyn Service> {
    if is_on() { service::traced(service, "internal") } else { service }
}

/// The same for a service that is another server: its verbs are requests to that.
pub fn traced_remote(service: Arc<dyn Service>) -> Arc<dyn Service> {
    if is_on() { service::traced(service, "client") } else { service }
}

/// Targets whose backends' requests are spans likewise.
pub(crate) fn traced_targets(targets: Arc<dyn Targets>) -> Arc<dyn Targets> {
    #[cfg(feature = "otlp")]
    if is_on() {
        return Arc::new(backend::TracedTargets::new(targets));
    }
    targets
}
