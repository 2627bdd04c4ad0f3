//! How a span begins, what it says, and how it ends.

use std::future::Future;

use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use sessiond_core::{Error, ErrorKind};
use tracing::field::Empty;
use tracing::{Instrument, Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

pub(super) use crate::logs::TRACES as TARGET;

/// The header of W3C Trace Context.
const TRACEPARENT: &str = "traceparent";

/// What a call is, that went as it should.
pub(super) const OK: &str = "ok";

/// The span of a call that came in.
pub(super) fn call(transport: &'static str, name: &str, traceparent: Option<&str>) -> Span {
    let span = info_span!(
        target: TARGET,
        parent: None,
        "call",
        otel.name = name,
        otel.kind = "server",
        otel.status_code = Empty,
        sessiond.transport = transport,
        sessiond.outcome = Empty,
    );
    if let Some(sent) = traceparent {
        let caller = TraceContextPropagator::new().extract_with_context(&Context::new(), &Sent(sent));
        // A span that nobody records has no parent either.
        let _ = span.set_parent(caller);
    }
    span
}

/// Says how it went. What the caller has done wrong is no fault of whoever answers it.
pub(super) fn end(span: &Span, outcome: &str) {
    span.record("sessiond.outcome", outcome);
    let faults = [ErrorKind::Internal, ErrorKind::Unavailable, ErrorKind::TimedOut];
    if faults.iter().any(|fault| fault.as_str() == outcome) {
        span.record("otel.status_code", "ERROR");
    }
}

/// Whether this is part of a call that is traced.
pub(super) fn is_inside_a_call() -> bool {
    Span::current().metadata().is_some_and(|metadata| metadata.target() == TARGET)
}

/// Runs some work in a span that `begin` makes, when it is part of a call that is traced, and says how it went. `done` adds
/// what is known of work that did what it should.
pub(super) async fn within<T>(
    begin: impl FnOnce() -> Span,
    work: impl Future<Output = Result<T, Error>>,
    done: impl FnOnce(&Span),
) -> Result<T, Error> {
    if !is_inside_a_call() {
        return work.await;
    }
    let span = begin();
    let result = work.instrument(span.clone()).await;
    let outcome = match &result {
        Ok(_) => {
            done(&span);
            OK
        }
        Err(error) => error.kind().as_str(),
    };
    end(&span, outcome);
    result
}

/// The current span, as a request to another server names it.
pub(super) fn traceparent() -> Option<String> {
    if !is_inside_a_call() {
        return None;
    }
    let mut sending = Sending(None);
    TraceContextPropagator::new().inject_context(&Span::current().context(), &mut sending);
    sending.0
}

/// The one header of a caller that counts.
struct Sent<'a>(&'a str);

impl Extractor for Sent<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        (key == TRACEPARENT).then_some(self.0)
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT]
    }
}

/// The one header that we send.
struct Sending(Option<String>);

impl Injector for Sending {
    fn set(&mut self, key: &str, value: String) {
        if key == TRACEPARENT {
            self.0 = Some(value);
        }
    }
}
