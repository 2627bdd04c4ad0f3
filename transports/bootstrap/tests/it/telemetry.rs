//! What is configured of traces, and what is said of it where there can be none.

use sessiond_bootstrap::telemetry;

use crate::support::{Written, changes, from_text, from_variables};

#[test]
fn an_address_and_a_name_can_be_set() {
    let text = "[telemetry]\notlp_endpoint = 'https://traces.example:4317'\nservice_name = 'sessions'\n";
    assert_eq!(
        changes(&from_text(text).unwrap()),
        ["telemetry.otlp_endpoint = \"https://traces.example:4317\"", "telemetry.service_name = \"sessions\""]
    );
}

#[test]
fn what_is_no_address_is_refused_and_not_repeated() {
    for wrong in ["traces.example:4317", "grpc://traces.example", "http://", "http://me:hunter2@traces.example"] {
        assert_eq!(
            Written::new(&format!("[telemetry]\notlp_endpoint = '{wrong}'\n")).load(&[]).unwrap_err(),
            "config.toml:2: telemetry.otlp_endpoint must be an address like http://127.0.0.1:4317, without a \
             credential in it"
        );
    }
}

/// They are for every program of an environment, most of which make traces in some way of their own.
#[cfg(not(feature = "otlp"))]
#[test]
fn without_the_feature_the_common_variables_are_passed_over_and_the_key_is_refused() {
    use sessiond_bootstrap::{Args, Bootstrap, Environment};
    use sessiond_core::Tasks;

    let common = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317"), ("OTEL_SERVICE_NAME", "sessions")];
    assert_eq!(changes(&from_variables(&common).unwrap()), [""; 0]);

    let variables = [("SESSIOND_TELEMETRY__OTLP_ENDPOINT", "http://127.0.0.1:4317")];
    let bootstrap = Bootstrap::load(&Args::default(), Environment::of(variables)).unwrap();
    assert_eq!(
        bootstrap.export_traces(&Tasks::new()).unwrap_err().message(),
        "telemetry.otlp_endpoint is set, and this program was built without traces: build it with the feature otlp, or \
         take the key away"
    );
}

#[cfg(feature = "otlp")]
#[test]
fn with_the_feature_the_common_variables_count_where_the_configuration_says_nothing() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317");
    let shown = |variables: &[(&str, &str)]| {
        let shown = from_variables(variables).unwrap().shown().into_iter();
        let set = shown.filter_map(|shown| Some(format!("{} from {}", shown.value?, shown.origin?)));
        set.collect::<Vec<_>>()
    };
    let common = "\"http://127.0.0.1:4317\" from OTEL_EXPORTER_OTLP_ENDPOINT";
    assert_eq!(shown(&[endpoint, ("OTEL_SERVICE_NAME", "s")]), [common, "\"s\" from OTEL_SERVICE_NAME"]);
    assert_eq!(
        shown(&[endpoint, ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t")]),
        ["\"http://t\" from OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
    );
    assert_eq!(
        shown(&[endpoint, ("SESSIOND_TELEMETRY__OTLP_ENDPOINT", "http://own")]),
        ["\"http://own\" from SESSIOND_TELEMETRY__OTLP_ENDPOINT"]
    );
    assert_eq!(shown(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]), [common]);
    for against in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        ("OTEL_TRACES_EXPORTER", "none"),
        ("OTEL_SDK_DISABLED", "true"),
    ] {
        assert_eq!(shown(&[endpoint, against]), [""; 0]);
    }
    assert_eq!(
        from_variables(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4317")]).unwrap_err(),
        "OTEL_EXPORTER_OTLP_ENDPOINT must be an address like http://127.0.0.1:4317, without a credential in it"
    );
}

/// No log has been started here, so nothing makes any.
#[test]
fn without_traces_there_is_no_span_and_no_trace_to_hand_on() {
    let asked = std::cell::Cell::new(false);
    let name = || {
        asked.set(true);
        "tools/call session_read".to_owned()
    };
    let span = telemetry::call("test", name, Some("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"));
    assert!(span.is_none() && !telemetry::is_on() && !asked.get());
    assert_eq!(span.in_scope(telemetry::traceparent), None);
}
