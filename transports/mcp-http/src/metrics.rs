//! What Prometheus scrapes: calls, how long they take, sessions of the protocol, bytes.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::request::Parts;
use http::{Response, StatusCode};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use sessiond_bootstrap::telemetry;
use sessiond_core::{Census, Status, Traffic};
use sessiond_mcp::{Observer, Proof};
use tracing::Span;

use crate::answers;
use crate::session::Sessions;

/// The upper bounds of the buckets, in seconds: from an answer out of memory to the longest wait, and commands beyond.
const BUCKETS: [f64; 12] = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0, 20.0, 60.0, 600.0];

/// The numbers.
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<Called, Counter>,
    seconds: Family<Tool, Histogram>,
    requests: Family<Answered, Counter>,
    received: Counter,
    sent: Counter,
}

/// Which call, and how it went: words of closed sets, so that no caller can make series.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Called {
    tool: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Tool {
    tool: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    status: u16,
}

impl Metrics {
    pub(crate) fn new(sessions: Arc<Sessions>, processes: Arc<sessiond_core::Registry>) -> Arc<Self> {
        let mut registry = Registry::with_prefix("sessiond");
        let calls = Family::default();
        registry.register("tool_calls", "Calls of tools, by how they went", calls.clone());
        let seconds = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        registry.register_with_unit(
            "tool_call_duration",
            "How long calls of tools took",
            Unit::Seconds,
            seconds.clone(),
        );
        let requests = Family::default();
        registry.register(
            "mcp_http_requests",
            "Requests to the MCP endpoint, by the status of the answer",
            requests.clone(),
        );
        let (received, sent) = (Counter::default(), Counter::default());
        registry.register_with_unit("mcp_http_received", "Bodies of requests", Unit::Bytes, received.clone());
        registry.register_with_unit("mcp_http_sent", "Bodies of answers", Unit::Bytes, sent.clone());
        registry.register_collector(Box::new(Live { sessions, processes }));
        Arc::new(Self { registry, calls, seconds, requests, received, sent })
    }

    /// A request to the MCP endpoint has its answer.
    pub(crate) fn answered(&self, status: StatusCode) {
        self.requests.get_or_create(&Answered { status: status.as_u16() }).inc();
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.received.inc_by(bytes as u64);
    }

    /// Counts what is sent, wherever that is.
    pub(crate) fn sent(&self) -> Counter {
        self.sent.clone()
    }

    /// All of them, as OpenMetrics text.
    pub(crate) fn render(&self) -> Response<Body> {
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => {
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                answers::content(StatusCode::OK, kind, text)
            }
            Err(_) => answers::error(StatusCode::INTERNAL_SERVER_ERROR, "the numbers cannot be written"),
        }
    }
}

impl Observer for Metrics {
    /// What a client says in `_meta` is nearer to it than the header, which may be of whatever carries the request.
    fn span(&self, tool: &'static str, request: &Proof<'_>, traceparent: Option<&str>) -> Span {
        let header = || request.get::<Parts>()?.headers.get("traceparent")?.to_str().ok();
        telemetry::call("mcp-http", || format!("tools/call {tool}"), traceparent.or_else(header))
    }

    fn answered(&self, tool: &'static str, outcome: &'static str, took: Duration) {
        self.calls.get_or_create(&Called { tool, outcome }).inc();
        self.seconds.get_or_create(&Tool { tool }).observe(took.as_secs_f64());
        telemetry::answered_here(outcome);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Process {
    backend: &'static str,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Backend {
    backend: &'static str,
}

/// Takes one number of several.
type Count = fn(&Traffic) -> u64;

/// What is said of the bytes of processes, and where it stands.
const BYTES: [(&str, &str, Count); 3] = [
    (
        "process_input",
        "Input that targets have taken: written to sessions, keys, and the stdin that commands were started with",
        |traffic| traffic.input,
    ),
    ("process_output", "Output that has come from processes while they counted as running, read or not", |traffic| {
        traffic.output
    }),
    (
        "process_dropped",
        "Output of that which was dropped because more is not kept: the oldest, or of one-shot commands the newest; \
         neither what expires with a finished record nor what never came",
        |traffic| traffic.dropped,
    ),
];

/// What is counted when somebody asks.
struct Live {
    sessions: Arc<Sessions>,
    processes: Arc<sessiond_core::Registry>,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Live")
    }
}

impl Collector for Live {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let sessions = ConstGauge::new(i64::try_from(self.sessions.len()).unwrap_or(i64::MAX));
        let about = "MCP sessions of revisions up to 2025-11-25";
        sessions.encode(encoder.encode_descriptor("mcp_sessions", about, None, sessions.metric_type())?)?;
        let about = "Sessions and commands that run, or are being stopped";
        let mut processes = encoder.encode_descriptor("processes", about, None, MetricType::Gauge)?;
        for Census { backend, status, count } in self.processes.census() {
            let state = if status == Status::Stopping { "stopping" } else { "running" };
            let count = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            count.encode(processes.encode_family(&Process { backend, state })?)?;
        }
        let traffic = self.processes.traffic();
        for (name, about, of) in &BYTES {
            let mut bytes = encoder.encode_descriptor(name, about, Some(&Unit::Bytes), MetricType::Counter)?;
            for traffic in &traffic {
                let count = ConstCounter::new(of(traffic));
                count.encode(bytes.encode_family(&Backend { backend: traffic.backend })?)?;
            }
        }
        Ok(())
    }
}
