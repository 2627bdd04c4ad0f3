//! Messages to requests and answers of the core, and back. Both ways stand side by side, so that a field that one way
//! forgets is seen.
//!
//! What comes in is checked for what a message can lack and the core's types cannot; ranges are the core's to check.
//!
//! - `output`, `target`, `session`, `command` and `handle`, `host`, `agent` and `task`: by file of `proto/`
//! - `json`: values that are JSON text
//! - `item`: pieces of followed output
//! - `error`: errors as status codes with details

mod agent;
mod command;
pub(crate) mod error;
mod handle;
mod host;
mod item;
mod json;
mod output;
mod session;
mod target;
mod task;
#[cfg(test)]
mod tests;

pub(crate) use item::Follows;
pub(crate) use session::{Named, named, reference};

use std::time::{Duration, SystemTime};

use sessiond_core::{Error, Result, TargetName, shown};

/// A core type as its message.
pub(crate) trait Encode {
    /// The message.
    type Message;

    /// The message that says the same.
    fn encode(self) -> Self::Message;
}

/// A message as the core type that it stands for.
pub(crate) trait Decode {
    /// The core's type.
    type Value;

    /// What the message says.
    ///
    /// # Errors
    /// `invalid_argument`, naming the field that is missing or wrong.
    fn decode(self) -> Result<Self::Value>;
}

impl<T: Encode> Encode for Option<T> {
    type Message = Option<T::Message>;

    fn encode(self) -> Self::Message {
        self.map(Encode::encode)
    }
}

impl<T: Decode> Decode for Option<T> {
    type Value = Option<T::Value>;

    fn decode(self) -> Result<Self::Value> {
        self.map(Decode::decode).transpose()
    }
}

impl<T: Encode> Encode for Vec<T> {
    type Message = Vec<T::Message>;

    fn encode(self) -> Self::Message {
        self.into_iter().map(Encode::encode).collect()
    }
}

impl<T: Decode> Decode for Vec<T> {
    type Value = Vec<T::Value>;

    fn decode(self) -> Result<Self::Value> {
        self.into_iter().map(Decode::decode).collect()
    }
}

impl Encode for Duration {
    type Message = prost_types::Duration;

    fn encode(self) -> Self::Message {
        // The longest that the message can say is longer than anything that is accepted.
        prost_types::Duration::try_from(self).unwrap_or(prost_types::Duration { seconds: i64::MAX, nanos: 0 })
    }
}

impl Decode for prost_types::Duration {
    type Value = Duration;

    fn decode(self) -> Result<Duration> {
        Duration::try_from(self).map_err(|_| Error::invalid_argument("a duration is negative: it must be 0 or more"))
    }
}

impl Encode for SystemTime {
    type Message = prost_types::Timestamp;

    fn encode(self) -> Self::Message {
        self.into()
    }
}

impl Decode for prost_types::Timestamp {
    type Value = SystemTime;

    fn decode(self) -> Result<SystemTime> {
        SystemTime::try_from(self).map_err(|_| Error::invalid_argument("a timestamp is out of range"))
    }
}

/// Implements both ways for types whose message has the same fields, name by name; one that either side lacks does not
/// compile.
macro_rules! alike {
    ($($name:ident { $($field:ident),* $(,)? })*) => {
        $(
            impl Encode for $name {
                type Message = proto::$name;

                fn encode(self) -> proto::$name {
                    let Self { $($field),* } = self;
                    proto::$name { $($field),* }
                }
            }

            impl Decode for proto::$name {
                type Value = $name;

                fn decode(self) -> Result<$name> {
                    let Self { $($field),* } = self;
                    Ok($name { $($field),* })
                }
            }
        )*
    };
}
use alike;

/// What must be there.
pub(crate) fn required<T>(value: Option<T>, field: &str) -> Result<T> {
    value.ok_or_else(|| Error::invalid_argument(format!("{field} is missing")))
}

/// The name of a target, where one is given.
fn target(name: Option<String>) -> Result<Option<TargetName>> {
    name.map(TargetName::new).transpose()
}

/// A value of an enumeration that must be one of ours.
pub(crate) fn known<E: TryFrom<i32>>(value: i32, field: &str) -> Result<E> {
    E::try_from(value)
        .map_err(|_| Error::invalid_argument(format!("{field} is {value}, which this server does not know")))
}

/// The refusal of an enumeration's value that says nothing.
fn unsaid(field: &str) -> Error {
    Error::invalid_argument(format!("{field} is missing"))
}

/// A count as the core has it.
fn count(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// The words for kinds of adapters live as long as the program: those that we know, and one for what we do not.
fn backend(name: &str) -> &'static str {
    const KNOWN: [&str; 4] = ["pty", "ssh", "agent-platform", "fake"];
    KNOWN.into_iter().find(|known| *known == name).unwrap_or("other")
}

/// An id as it is written; one that is none is not found like any other that is not there.
fn session_id(text: &str) -> Result<sessiond_core::SessionId> {
    text.parse().map_err(|_| sessiond_core::not_found())
}

/// The refusal of a text that is none of a closed set.
fn unknown(field: &str, text: &str) -> Error {
    Error::invalid_argument(format!("{field} is \"{}\", which is not known", shown(text)))
}
