//! From spans that have ended to the collector: a queue that never waits, and one task that empties it.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, Span, SpanData, SpanExporter as _, SpanProcessor};
use sessiond_core::{Error, Result, TaskKind, Tasks};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;

use super::spans::TARGET;
use crate::config::TelemetrySettings;
use crate::logs::Traces;

/// Sends spans to the collector.
const EXPORT: TaskKind = TaskKind("telemetry.export");

/// Spans that wait to be sent; one more is lost, and counted. The default of OpenTelemetry (`OTEL_BSP_MAX_QUEUE_SIZE`).
const QUEUE: usize = 2_048;

/// The most spans of one request (`OTEL_BSP_MAX_EXPORT_BATCH_SIZE`).
const BATCH: usize = 512;

/// How long a span waits for others that go with it.
const GATHER: Duration = Duration::from_secs(1);

/// How long one request may take, however long the library would wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the last spans may take once the server ends: less than its binaries give their tasks.
const LAST: Duration = Duration::from_millis(900);

/// What makes traces in this process; set once.
static STARTED: OnceLock<Started> = OnceLock::new();

struct Started {
    /// The queue's far end, until somebody empties it.
    queue: Mutex<Option<Queue>>,
}

pub(super) fn is_on() -> bool {
    STARTED.get().is_some()
}

/// Traces that are about to be made: the layer that makes them and the queue behind it.
pub(crate) struct Prepared {
    layer: Option<Traces>,
    queue: Queue,
}

impl Prepared {
    /// What the settings ask for; `None` where they ask for nothing.
    pub(crate) fn new(settings: &TelemetrySettings) -> Option<Self> {
        settings.otlp_endpoint.as_ref()?;
        let (sender, spans) = mpsc::channel(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        let provider = SdkTracerProvider::builder()
            .with_span_processor(Enqueue { sender, lost: lost.clone() })
            .with_resource(resource(settings))
            .build();
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("sessiond"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_context_activation(false);
        let only_ours = Targets::new().with_target(TARGET, LevelFilter::INFO);
        let queue = Queue { spans, lost, resource: resource(settings) };
        Some(Self { layer: Some(layer.with_filter(only_ours).boxed()), queue })
    }

    /// The layer, once.
    pub(crate) fn layer(&mut self) -> Option<Traces> {
        self.layer.take()
    }

    /// Says that the layer is in force.
    pub(crate) fn start(self) {
        // Whoever was first has the layer.
        let _ = STARTED.set(Started { queue: Mutex::new(Some(self.queue)) });
    }
}

/// Who makes the spans: the name that is configured, else what the variables of OpenTelemetry say, else the program's.
fn resource(settings: &TelemetrySettings) -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let named = std::env::var("OTEL_RESOURCE_ATTRIBUTES").is_ok_and(|listed| listed.contains("service.name="));
    let builder = Resource::builder().with_attribute(version);
    match &settings.service_name {
        Some(name) => builder.with_service_name(name.clone()),
        None if named => builder,
        None => builder.with_service_name(program()),
    }
    .build()
}

/// What this program is called.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_name().map_or_else(|| "sessiond".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Begins to send what there is to the collector, until the owner of the tasks ends them; the last spans are sent then.
/// Needs a tokio runtime. Without traces, or when somebody sends them already, nothing happens.
///
/// # Errors
/// `failed_precondition` when nothing can be sent there at all.
pub(crate) fn export(settings: &TelemetrySettings, tasks: &Tasks) -> Result<()> {
    let (Some(started), Some(endpoint)) = (STARTED.get(), &settings.otlp_endpoint) else { return Ok(()) };
    let taken = started.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(queue) = taken else { return Ok(()) };
    let mut exporter = exporter(endpoint)?;
    exporter.set_resource(&queue.resource);
    let sending = Sending { exporter, endpoint: endpoint.clone(), lost: queue.lost, fails: false };
    tasks.spawn(EXPORT, sending.run(queue.spans, tasks.token().clone()));
    Ok(())
}

/// Why what the settings ask for cannot be had: they have been checked, so nothing speaks against it here.
pub(crate) fn refusal(_: &TelemetrySettings) -> Option<Error> {
    None
}

fn exporter(endpoint: &str) -> Result<SpanExporter> {
    let mut builder = SpanExporter::builder().with_tonic().with_endpoint(endpoint);
    if endpoint.starts_with("https://") {
        builder = builder.with_tls_config(ClientTlsConfig::new().with_enabled_roots());
    }
    builder.build().map_err(|error| Error::failed_precondition(format!("traces cannot be sent to {endpoint}: {error}")))
}

/// The near end of the queue, as the library sees it. It is called where a span ends, so it never waits.
#[derive(Debug)]
struct Enqueue {
    sender: mpsc::Sender<SpanData>,
    lost: Arc<AtomicU64>,
}

impl SpanProcessor for Enqueue {
    fn on_start(&self, _: &mut Span, _: &opentelemetry::Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.sender.try_send(span).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// The far end of the queue.
struct Queue {
    spans: mpsc::Receiver<SpanData>,
    lost: Arc<AtomicU64>,
    resource: Resource,
}

/// The way to the collector.
struct Sending {
    exporter: SpanExporter,
    endpoint: String,
    lost: Arc<AtomicU64>,
    /// Whether the latest request failed: said once, until one succeeds again.
    fails: bool,
}

impl Sending {
    async fn run(mut self, spans: mpsc::Receiver<SpanData>, ending: CancellationToken) {
        let late = async {
            ending.cancelled().await;
            sleep(LAST).await;
        };
        let in_time = tokio::select! {
            () = self.carry(spans, &ending) => true,
            () = late => false,
        };
        if !in_time && !self.fails {
            tracing::warn!(endpoint = self.endpoint, "the last spans have not reached their collector in time");
        }
    }

    /// Sends what there is as it comes, and what is left once the token has fired.
    async fn carry(&mut self, mut spans: mpsc::Receiver<SpanData>, ending: &CancellationToken) {
        let mut batch = Vec::new();
        while until(ending, gather(&mut spans, &mut batch)).await.is_some() {
            if batch.is_empty() {
                // Nothing makes spans any more.
                return;
            }
            self.send(std::mem::take(&mut batch)).await;
        }
        if self.fails {
            // Whoever is away is not waited for.
            return;
        }
        while let Ok(span) = spans.try_recv() {
            batch.push(span);
            if batch.len() == BATCH {
                self.send(std::mem::take(&mut batch)).await;
            }
        }
        if !batch.is_empty() {
            self.send(batch).await;
        }
    }

    /// Sends some spans. They are lost when that fails: a call is not worth the memory of a collector that is away.
    async fn send(&mut self, batch: Vec<SpanData>) {
        let endpoint = &self.endpoint;
        let failure = match timeout(PATIENCE, self.exporter.export(batch)).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("it does not answer in time".to_owned()),
        };
        match (&failure, self.fails) {
            (Some(error), false) => {
                tracing::warn!(endpoint, "traces do not reach their collector, and are dropped until they do: {error}");
            }
            (None, true) => tracing::info!(endpoint, "traces reach their collector again"),
            _ => {}
        }
        self.fails = failure.is_some();
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            tracing::info!(spans = lost, "more spans ended than could be sent");
        }
    }
}

/// What comes of some work, unless the token fires before.
async fn until<T>(ending: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = ending.cancelled() => None,
        done = work => Some(done),
    }
}

/// Waits for a span, and a little for others.
async fn gather(spans: &mut mpsc::Receiver<SpanData>, batch: &mut Vec<SpanData>) {
    spans.recv_many(batch, BATCH).await;
    let others = async {
        while batch.len() < BATCH {
            let room = BATCH - batch.len();
            if spans.recv_many(batch, room).await == 0 {
                return;
            }
        }
    };
    // What has come by then goes.
    let _ = timeout(GATHER, others).await;
}
