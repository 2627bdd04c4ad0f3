//! Targets and sessions out of the lists that tell of them.

use std::time::SystemTime;

use serde_json::Value;
use sessiond_core::{
    Availability, Cursor, InputState, Machine, NativeId, PlatformInfo, SessionSummary, Status, Target, TargetInfo,
    TargetName, TargetStatus,
};

use super::fields::Fields;
use crate::suite::house::BackendKind;

const STATUSES: [(Status, &str); 4] = [
    (Status::Running, "running"),
    (Status::Stopping, "stopping"),
    (Status::Finished, "finished"),
    (Status::Lost, "lost"),
];

pub(super) fn status_name(status: Status) -> &'static str {
    STATUSES.iter().find(|(known, _)| *known == status).map_or("", |(_, name)| name)
}

/// The kinds of backend that a summary may name.
pub(super) fn backend(name: &str) -> &'static str {
    BackendKind::ALL.iter().map(|kind| kind.as_str()).find(|known| *known == name).unwrap_or("unknown")
}

pub(super) fn target(client: &Value) -> Target {
    let fields = Fields(client);
    let name = TargetName::new(fields.text("name")).unwrap_or_else(|error| panic!("{error}"));
    let availability = match fields.text("status").as_str() {
        "online" => Availability::Online,
        "offline" => Availability::Offline,
        "unknown" => Availability::Unknown,
        other => panic!("no such status: {other}"),
    };
    let machine = client.get("client_info").map(|info| {
        let fields = Fields(info);
        let text = |name| fields.maybe_text(name);
        Machine { os: text("os"), arch: text("arch"), hostname: text("hostname"), shell: text("shell") }
    });
    Target {
        info: TargetInfo {
            name,
            client_id: fields.text("client_id"),
            backend: backend(&fields.text("backend")),
            host: None,
            platform: fields.maybe_text("dialect").map(|dialect| PlatformInfo { dialect }),
        },
        status: TargetStatus { availability, detail: fields.maybe_text("detail"), machine },
    }
}

pub(super) fn summary(session: &Value) -> SessionSummary {
    let fields = Fields(session);
    let status = fields.text("status");
    let known = STATUSES.iter().find(|(_, name)| *name == status);
    SessionSummary {
        session: fields.text("session_id").parse().unwrap_or_else(|_| panic!("no session id in {session}")),
        target: TargetName::new(fields.text("client_token")).unwrap_or_else(|error| panic!("{error}")),
        backend: backend(&fields.text("backend")),
        label: fields.maybe_text("label").map(Into::into),
        command: fields.text("command").into(),
        // Only that there is a time can be compared across transports.
        started_at: SystemTime::UNIX_EPOCH,
        ended_at: fields.maybe_text("ended_at").map(|_| SystemTime::UNIX_EPOCH),
        status: known.unwrap_or_else(|| panic!("no such status: {status}")).0,
        end: fields.end(),
        output_start: Cursor(fields.number("output_start_cursor")),
        output_end: Cursor(fields.number("output_end_cursor")),
        descendants: if fields.is("descendants") { fields.number("descendants") as usize } else { 0 },
        native_id: fields.maybe_text("native_id").map(NativeId),
        input_state: session.get("input_state").map(|state| {
            let fields = Fields(state);
            InputState { waiting: fields.flag("waiting"), evidence: fields.text("evidence") }
        }),
    }
}
