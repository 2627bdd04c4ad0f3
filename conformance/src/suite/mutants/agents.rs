//! Faults of what is told of agent platforms.

use std::time::Duration;

use serde_json::{Value, json};
use sessiond_core::{AgentSessionDetail, Error, ErrorKind, ReasoningEvent};

use super::messages::set;
use crate::suite::house::BackendKind;
use crate::suite::mutant::{Fault, Mutant};
use crate::suite::verbs::Hooks;

const fn on_platform(id: &'static str, title: &'static str, fault: Fault) -> Mutant {
    Mutant { id, title, backend: BackendKind::AgentPlatform, fault }
}

/// A change of every description.
macro_rules! described {
    ($change:expr) => {
        Fault::Hooks(Hooks {
            describe_out: |told| {
                if let Ok(told) = told {
                    let change: fn(&mut AgentSessionDetail) = $change;
                    change(told);
                }
            },
            ..Hooks::NONE
        })
    };
}

/// A change of every description that is refused.
macro_rules! refused {
    ($kind:ident, $change:expr) => {
        Fault::Hooks(Hooks {
            describe_out: |told| {
                if let Err(error) = told
                    && error.kind() == ErrorKind::$kind
                {
                    let change: fn(&mut Error) = $change;
                    change(error);
                }
            },
            ..Hooks::NONE
        })
    };
}

pub(super) const MUTANTS: &[Mutant] = &[
    on_platform(
        "DS01",
        "describe_session is said to change something",
        Fault::Message(|message: &mut Value| {
            set(message, "describe_session", "/annotations/readOnlyHint", json!(false));
        }),
    ),
    on_platform(
        "DS10",
        "one more event is kept",
        described!(|told| {
            told.reasoning_events.push(ReasoningEvent { text: Some("I shall look.".to_owned()), ..Default::default() });
        }),
    ),
    on_platform(
        "DS11",
        "events stand in the order in which they came",
        described!(|told| {
            told.reasoning_events.sort_by(|one, other| one.event_id.cmp(&other.event_id));
        }),
    ),
    on_platform(
        "DS12",
        "a running session has an output",
        described!(|told| {
            told.output = told.reasoning_events.last().and_then(|event| event.text.clone());
        }),
    ),
    on_platform(
        "DS20",
        "a duration is computed",
        described!(|told| {
            if told.end_time.is_some() {
                told.duration_ms.get_or_insert(0);
            }
        }),
    ),
    on_platform(
        "DS30",
        "a lookup that fails finds nothing",
        described!(|told| {
            told.pending_manual_tasks.get_or_insert_default();
        }),
    ),
    on_platform(
        "DS31",
        "every task can be completed",
        described!(|told| {
            told.pending_manual_tasks.iter_mut().flatten().for_each(|task| task.completion_supported = true);
        }),
    ),
    on_platform("DS40", "only the first page counts", described!(|told| told.reasoning_events.truncate(125))),
    on_platform(
        "DS41",
        "an id that is a path is looked for",
        refused!(InvalidArgument, |error| {
            *error = Error::not_found("there is no such session: get_sessions lists them");
        }),
    ),
    on_platform(
        "DS42",
        "an unknown session is told by the platform's address",
        refused!(NotFound, |error| {
            *error = Error::not_found(format!("{}: GET http://127.0.0.1/sessions", error.message()));
        }),
    ),
    on_platform(
        "DS43",
        "there is no time for a platform's patience",
        Fault::Settings(|settings| {
            settings.platform_timeout = settings.platform_timeout.min(Duration::from_millis(500));
        }),
    ),
    on_platform("DS44", "statuses are words of our own", described!(|told| told.status.make_ascii_lowercase())),
    on_platform("DS45", "what is left out is not counted", described!(|told| told.dropped_events = 0)),
    on_platform(
        "DF01",
        "a platform shows no sessions",
        Fault::Hooks(Hooks {
            records_out: |page| {
                if let Ok(page) = page {
                    page.sessions.clear();
                }
            },
            ..Hooks::NONE
        }),
    ),
    on_platform(
        "DF02",
        "a run has no id of its platform",
        Fault::Hooks(Hooks {
            list_out: |page| {
                if let Ok(page) = page {
                    page.sessions.iter_mut().for_each(|session| session.native_id = None);
                }
            },
            ..Hooks::NONE
        }),
    ),
];
