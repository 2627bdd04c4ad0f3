//! What is configured of traces: `[telemetry]`.

/// Where the traces of calls go. Without an address none are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// The collector, which takes OTLP over gRPC: `http://HOST:PORT` or `https://HOST:PORT`.
    pub otlp_endpoint: Option<String>,
    /// What this server is called there; else its program's name.
    pub service_name: Option<String>,
}
