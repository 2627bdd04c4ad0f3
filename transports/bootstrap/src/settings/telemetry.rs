//! The keys of traces, and the variables of OpenTelemetry that say the same.

use super::platform::is_address;
use crate::config::Configuration;
use crate::environment::Environment;
use crate::key_path::KeyPath;
use crate::problem::{Origin, Problem};
use crate::setting::{Kind, Setting};

/// The key of the collector's address.
const ENDPOINT: &str = "telemetry.otlp_endpoint";
/// The key of the name.
const NAME: &str = "telemetry.service_name";

/// The keys, in the order of the documentation.
pub(super) const KEYS: &[Setting<Configuration>] = &[
    Setting {
        name: ENDPOINT,
        about: "Where traces of calls go: a collector that takes OTLP over gRPC; not set: nowhere.",
        kind: Kind::Text {
            get: |c| c.telemetry.otlp_endpoint.as_deref(),
            set: |c, text| c.telemetry.otlp_endpoint = Some(text),
        },
    },
    Setting {
        name: NAME,
        about: "What this server is called in traces; not set: its program's name.",
        kind: Kind::Text {
            get: |c| c.telemetry.service_name.as_deref(),
            set: |c, text| c.telemetry.service_name = Some(text),
        },
    },
];

/// Takes what the variables of OpenTelemetry say where the configuration says nothing. They are for every program of an
/// environment, so a binary that exports no traces passes them over. Only an endpoint that is meant for OTLP over gRPC
/// counts, the one protocol that is spoken here.
pub(crate) fn take_common_variables(configuration: &mut Configuration, environment: &Environment) {
    if !cfg!(feature = "otlp") {
        return;
    }
    let variable = |name: &str| environment.get(name).and_then(|value| value.to_str()).map(str::to_owned);
    let first = |names: &[&'static str]| names.iter().find_map(|name| variable(name).map(|value| (*name, value)));
    let is = |names: &[&'static str], word| first(names).is_some_and(|(_, value)| value.eq_ignore_ascii_case(word));
    let unwanted = is(&["OTEL_SDK_DISABLED"], "true") || is(&["OTEL_TRACES_EXPORTER"], "none");
    let protocol = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
    let spoken = first(&protocol).is_none() || is(&protocol, "grpc");
    let endpoint = first(&["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"]);
    if let Some((name, value)) = endpoint.filter(|_| spoken && !unwanted)
        && configuration.telemetry.otlp_endpoint.is_none()
    {
        configuration.telemetry.otlp_endpoint = Some(value);
        configuration.origins.insert(KeyPath::of(ENDPOINT), Origin::Variable(name.to_owned()));
    }
    if let Some((name, value)) = first(&["OTEL_SERVICE_NAME"])
        && configuration.telemetry.service_name.is_none()
    {
        configuration.telemetry.service_name = Some(value);
        configuration.origins.insert(KeyPath::of(NAME), Origin::Variable(name.to_owned()));
    }
}

/// What is wrong with the address. It is not quoted: somebody may have put a credential there.
pub(crate) fn problem(configuration: &Configuration) -> Option<Problem> {
    let path = KeyPath::of(ENDPOINT);
    configuration.telemetry.otlp_endpoint.as_deref().filter(|endpoint| !is_address(endpoint))?;
    let origin = configuration.origins.get(&path)?;
    Some(Problem::at(origin, &path, "must be an address like http://127.0.0.1:4317, without a credential in it"))
}
