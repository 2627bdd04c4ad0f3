//! What stands for traces in a binary that is built without them: nothing, and an error for who has configured some.

use std::sync::Arc;

use sessiond_core::{Error, Result, Service, Tasks};
use tracing::Span;

use crate::config::TelemetrySettings;
use crate::logs::Traces;

/// A collector that there cannot be.
pub(crate) enum Prepared {}

impl Prepared {
    pub(crate) fn new(_: &TelemetrySettings) -> Option<Self> {
        None
    }

    pub(crate) fn layer(&mut self) -> Option<Traces> {
        match *self {}
    }

    pub(crate) fn start(self) {
        match self {}
    }
}

/// Nothing is exported.
///
/// # Errors
/// `failed_precondition` when something was to be.
pub(crate) fn export(settings: &TelemetrySettings, _: &Tasks) -> Result<()> {
    refusal(settings).map_or(Ok(()), Err)
}

/// Why what the settings ask for cannot be had.
pub(crate) fn refusal(settings: &TelemetrySettings) -> Option<Error> {
    settings.otlp_endpoint.as_ref().map(|_| {
        Error::failed_precondition(
            "telemetry.otlp_endpoint is set, and this program was built without traces: build it with the feature otlp, \
             or take the key away",
        )
    })
}

pub(super) fn is_on() -> bool {
    false
}

pub(super) fn call(_: &'static str, _: &str, _: Option<&str>) -> Span {
    Span::none()
}

pub(super) fn end(_: &Span, _: &str) {}

pub(super) fn traceparent() -> Option<String> {
    None
}

pub(super) fn traced(service: Arc<dyn Service>, _: &'static str) -> Arc<dyn Service> {
    service
}
