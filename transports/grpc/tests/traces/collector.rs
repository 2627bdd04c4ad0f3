//! A collector in this process, and what it was sent as text.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use sessiond_core::{TaskKind, Tasks};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

const COLLECTOR: TaskKind = TaskKind("test.collector");

/// The trace that callers are part of, and their span.
pub(crate) const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

/// Takes what it is sent.
pub(crate) struct Collector {
    pub(crate) endpoint: String,
    received: Received,
    tasks: Tasks,
}

#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

#[tonic::async_trait]
impl TraceService for Received {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.lock().unwrap().push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (received, tasks) = (Received::default(), Tasks::new());
        let service = TraceServiceServer::new(received.clone());
        let ending = tasks.cancelled();
        tasks.spawn(COLLECTOR, async move {
            let serving = Server::builder().add_service(service);
            serving.serve_with_incoming_shutdown(TcpIncoming::from(listener), ending).await.unwrap();
        });
        Self { endpoint, received, tasks }
    }

    /// The spans, each below its parent, which is two spaces further left.
    pub(crate) fn spans(&self) -> Vec<String> {
        let received = self.received.0.lock().unwrap();
        let mut spans: Vec<_> = received.iter().flat_map(|request| &request.resource_spans).flat_map(all).collect();
        spans.sort_by_key(|span| span.began);
        let mut lines = Vec::new();
        let roots = spans.iter().filter(|span| !spans.iter().any(|other| other.id == span.parent));
        roots.for_each(|root| root.write(&spans, 0, &mut lines));
        lines
    }

    /// What it was sent, in full.
    pub(crate) fn everything(&self) -> String {
        format!("{:?}", self.received.0.lock().unwrap())
    }

    pub(crate) async fn end(self) {
        assert!(self.tasks.shutdown(Duration::from_secs(20)).await, "the collector does not end");
    }
}

struct Seen {
    trace: String,
    id: String,
    parent: String,
    began: u64,
    /// Service, name, kind, whether it failed, attributes.
    text: String,
}

impl Seen {
    fn write(&self, all: &[Seen], depth: usize, lines: &mut Vec<String>) {
        let of = match (depth, CALLER.split('-').collect::<Vec<_>>()[..].to_vec().as_slice()) {
            (0, [_, trace, span, _]) if (&*self.trace, &*self.parent) == (*trace, *span) => "of the caller: ",
            (0, _) if self.parent.is_empty() => "of nobody: ",
            (0, _) => "of somebody who was not seen: ",
            _ => "",
        };
        lines.push(format!("{}{of}{}", "  ".repeat(depth), self.text));
        for child in all.iter().filter(|span| span.parent == self.id) {
            assert_eq!(child.trace, self.trace);
            child.write(all, depth + 1, lines);
        }
    }
}

fn all(of: &opentelemetry_proto::tonic::trace::v1::ResourceSpans) -> Vec<Seen> {
    let resource = attributes(&of.resource.as_ref().unwrap().attributes);
    let spans = of.scope_spans.iter().flat_map(|scope| &scope.spans);
    let seen = spans.map(|span| {
        let kind = SpanKind::try_from(span.kind).unwrap().as_str_name().trim_start_matches("SPAN_KIND_").to_lowercase();
        let failed = span.status.as_ref().is_some_and(|status| status.code() == StatusCode::Error);
        assert!(span.events.is_empty() && span.links.is_empty(), "{span:?}");
        let said: Vec<_> =
            attributes(&span.attributes).into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        let text = format!(
            "{} {:?} {kind}{} {}",
            resource["service.name"],
            span.name,
            if failed { " error" } else { "" },
            said.join(" ")
        );
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Seen {
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            began: span.start_time_unix_nano,
            text,
        }
    });
    seen.collect()
}

fn attributes(all: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Option<AnyValue>| match value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        other => format!("{other:?}"),
    };
    all.iter().map(|pair| (pair.key.clone(), text(&pair.value))).collect()
}
