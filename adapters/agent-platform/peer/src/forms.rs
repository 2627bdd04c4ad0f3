//! The forms that a platform may use for one and the same thing.

use serde_json::{Value, json};

use crate::time::iso;

/// How times are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// `2025-06-01T12:00:03.123Z`.
    #[default]
    IsoMillis,
    /// `2025-06-01T12:00:03Z`.
    Iso,
    /// Milliseconds since 1970 as an integer.
    Millis,
    /// The same with a decimal point: `1748779203123.0`.
    FloatMillis,
    /// Seconds since 1970 with a decimal point.
    FloatSeconds,
    /// A word that is no time.
    Unreadable,
}

impl Times {
    /// A time in this form.
    pub fn write(self, millis: u64) -> Value {
        #[allow(clippy::cast_precision_loss, reason = "milliseconds of our age fit exactly")]
        let float = millis as f64;
        match self {
            Self::IsoMillis => json!(iso(millis, true)),
            Self::Iso => json!(iso(millis, false)),
            Self::Millis => json!(millis),
            Self::FloatMillis => json!(float),
            Self::FloatSeconds => json!(float / 1000.0),
            Self::Unreadable => json!("the day before yesterday"),
        }
    }
}

/// What stands around a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Envelope {
    /// Nothing: the list itself.
    #[default]
    Bare,
    /// `{"data": …}`.
    Data,
    /// As [`Bare`](Self::Bare), but an empty list is `{}`.
    EmptyObject,
}

impl Envelope {
    /// The answer with this around it.
    pub(crate) fn around(self, value: Value) -> Value {
        match self {
            Self::Data => json!({ "data": value }),
            Self::EmptyObject if value.as_array().is_some_and(Vec::is_empty) => json!({}),
            Self::Bare | Self::EmptyObject => value,
        }
    }
}

/// What a session says of its agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Snapshot {
    /// The agent as it was: its id, name and namespace.
    #[default]
    Whole,
    /// `null`.
    Null,
    /// Nothing at all.
    Absent,
}

/// The forms that are used now. Times and snapshots are written when a record is made, the rest when it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Forms {
    /// How times are written.
    pub times: Times,
    /// What sessions say of their agent.
    pub snapshot: Snapshot,
    /// What stands around a list of messages.
    pub messages: Envelope,
    /// What stands around the answer of a trigger.
    pub trigger: Envelope,
    /// Whether lists tell how many there are in all.
    pub total: bool,
    /// The most rows of one page, whatever is asked for.
    pub largest_page: usize,
    /// The messages of one page when no number is asked for.
    pub default_page: usize,
    /// Whether a list of messages is always the whole list, whichever page is asked for.
    pub ignores_paging: bool,
    /// Whether messages come in no order when none is asked for (the newest first).
    pub unordered: bool,
    /// Whether asking for the manual tasks of a session that has none is a 404.
    pub no_tasks_is_404: bool,
    /// For how many milliseconds a cancelled session is CANCELING.
    pub cancel_takes_ms: u64,
}

impl Default for Forms {
    fn default() -> Self {
        Self {
            times: Times::default(),
            snapshot: Snapshot::default(),
            messages: Envelope::default(),
            trigger: Envelope::Data,
            total: true,
            largest_page: 500,
            default_page: 25,
            ignores_paging: false,
            unordered: true,
            no_tasks_is_404: false,
            cancel_takes_ms: 0,
        }
    }
}
