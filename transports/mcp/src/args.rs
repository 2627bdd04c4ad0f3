//! Checks a call's arguments against its tool's field table, and hands them out as plain values.
//!
//! Everything that can be wrong with an argument alone is found here, before anything acts; each refusal names the
//! argument, what it is, and what it must be. A string's content is not repeated: it might be a secret.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Number, Value};
use sessiond_core::{Error, Json, Result, shown};

use crate::nearest::nearest;
use crate::schema::{Field, Kind, Need, Object, seconds};
use crate::time::parse_rfc3339;

/// Arguments that have passed the check.
#[derive(Debug, Default)]
pub(crate) struct Args(Map<String, Value>);

impl Args {
    /// Checks arguments. An explicit null is the same as left out.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown property, with the nearest known one; a missing one; one of the wrong type or
    /// out of range.
    pub(crate) fn check(mut given: Map<String, Value>, object: &Object) -> Result<Self> {
        check_object("", &mut given, object)?;
        Ok(Self(given))
    }

    /// Takes a string.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.0.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// A number.
    pub(crate) fn natural(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    /// A time in seconds.
    pub(crate) fn seconds(&self, name: &str) -> Option<Duration> {
        let seconds = self.0.get(name).and_then(Value::as_f64)?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// Whether a switch is on.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.flag_or(name, false)
    }

    /// Whether a switch is on, or what holds when it was left out.
    pub(crate) fn flag_or(&self, name: &str, default: bool) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(default)
    }

    /// Takes a nested object.
    pub(crate) fn object(&mut self, name: &str) -> Option<Self> {
        match self.0.remove(name) {
            Some(Value::Object(object)) => Some(Self(object)),
            _ => None,
        }
    }

    /// Takes a list of strings.
    pub(crate) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        match self.0.remove(name) {
            Some(Value::Array(list)) => Some(list.into_iter().filter_map(into_text).collect()),
            _ => None,
        }
    }

    /// Takes names and strings.
    pub(crate) fn text_map(&mut self, name: &str) -> Vec<(String, String)> {
        let pairs = self.object(name).unwrap_or_default().0;
        pairs.into_iter().filter_map(|(key, value)| Some((key, into_text(value)?))).collect()
    }

    /// Takes a JSON value, as compact text.
    pub(crate) fn json(&mut self, name: &str) -> Option<Json> {
        self.0.remove(name).map(|value| Json::from_checked(value.to_string()))
    }

    /// Takes a time.
    ///
    /// # Errors
    /// `invalid_argument` for what is no time of RFC 3339.
    pub(crate) fn time(&mut self, name: &str) -> Result<Option<SystemTime>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        parse_rfc3339(&text).map(Some).ok_or_else(|| {
            Error::invalid_argument(format!(
                "{name} is no time of RFC 3339: write it with its offset, such as 2026-11-30T15:00:00Z or \
                 2026-11-30T16:00:00+01:00"
            ))
        })
    }

    /// Whether it was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

fn into_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn check_object(prefix: &str, given: &mut Map<String, Value>, object: &Object) -> Result<()> {
    if let Some(name) = given.keys().find(|name| object.field(name).is_none()) {
        return Err(unknown(prefix, name, object));
    }
    given.retain(|_, value| !value.is_null());
    for field in object.fields {
        match given.get_mut(field.name) {
            Some(value) => check_value(&format_args!("{prefix}{}", field.name), value, field.kind)?,
            None if field.need == Need::Required => return Err(missing(prefix, field)),
            None => {}
        }
    }
    Ok(())
}

fn check_value(path: &dyn std::fmt::Display, value: &mut Value, kind: Kind) -> Result<()> {
    let refuse = |value: &Value| Err(refused(path, value, kind));
    match (kind, &mut *value) {
        (Kind::Text { max }, Value::String(text)) => match max {
            Some(max) if text.len() > max => {
                Err(Error::invalid_argument(format!("{path} has {} bytes: it must have at most {max}", text.len())))
            }
            _ => Ok(()),
        },
        (Kind::Choice(names) | Kind::FirstOf(names), Value::String(text)) => match names.contains(&text.as_str()) {
            true => Ok(()),
            false => Err(no_choice(path, text, names)),
        },
        (Kind::Natural { min, max, .. }, Value::Number(number)) => match natural(number) {
            Some(natural) if natural >= min && max.is_none_or(|max| natural <= max) => {
                *value = Value::from(natural);
                Ok(())
            }
            _ => refuse(value),
        },
        (Kind::Integer, Value::Number(number)) => match integer(number) {
            Some(integer) => {
                *value = Value::Number(integer);
                Ok(())
            }
            None => refuse(value),
        },
        (Kind::Seconds { min_ms, max, .. }, Value::Number(number)) => match number.as_f64() {
            Some(seconds) if (min_ms as f64 / 1000.0..=max as f64).contains(&seconds) => Ok(()),
            _ => refuse(value),
        },
        (Kind::Signal { .. }, Value::Number(number)) => match natural(number) {
            Some(natural) => {
                *value = Value::from(natural);
                Ok(())
            }
            None => refuse(value),
        },
        (Kind::Signal { .. }, Value::String(_)) | (Kind::Boolean { .. }, Value::Bool(_)) => Ok(()),
        (Kind::TextMap, Value::Object(map)) => match map.iter().find(|(_, value)| !value.is_string()) {
            Some((name, value)) => {
                Err(refused(&format_args!("{path}.{}", shown(name)), value, Kind::Text { max: None }))
            }
            None => Ok(()),
        },
        (Kind::List { of, max }, Value::Array(list)) => {
            if list.is_empty() || list.len() > max {
                let length = list.len();
                return Err(Error::invalid_argument(format!("{path} has {length} items: it must have 1 to {max}")));
            }
            let mut items = list.iter_mut().enumerate();
            items.try_for_each(|(place, item)| check_value(&format_args!("{path}[{place}]"), item, *of))
        }
        (Kind::Object(object), Value::Object(map)) => check_object(&format!("{path}."), map, object),
        (Kind::AnyObject, Value::Object(_)) | (Kind::Any, _) => Ok(()),
        (Kind::NullByDefault(kind), _) => check_value(path, value, *kind),
        _ => refuse(value),
    }
}

/// The number as an integer that is not negative. `5.0` is the same integer as `5`, as in JSON schema.
fn natural(number: &Number) -> Option<u64> {
    /// 2^64, the first number that does not fit.
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    number.as_u64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..LIMIT).contains(float))?;
        Some(float as u64)
    })
}

/// The number as an integer. One that no 64 bits hold is the nearest that they do.
fn integer(number: &Number) -> Option<Number> {
    if number.is_i64() || number.is_u64() {
        return Some(number.clone());
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
    Some(if float < 0.0 { Number::from(float as i64) } else { Number::from(float as u64) })
}

fn unknown(prefix: &str, name: &str, object: &Object) -> Error {
    let known: Vec<_> = object.fields.iter().map(|field| field.name).collect();
    let near = nearest(name, known.iter().copied());
    let near = near.map(|near| format!("the nearest known one is {prefix}{near}; ")).unwrap_or_default();
    let known = match known.as_slice() {
        [] => "none is known, so leave it out".to_owned(),
        known => format!("known are {}", known.join(", ")),
    };
    Error::invalid_argument(format!("unknown property {prefix}{}: {near}{known}", shown(name)))
}

fn missing(prefix: &str, field: &Field) -> Error {
    let must = match field.kind {
        Kind::Choice(names) | Kind::FirstOf(names) => format!("it must be one of {}", names.join(", ")),
        _ => first_sentence(field.about),
    };
    Error::invalid_argument(format!("{prefix}{} is missing: {must}", field.name))
}

/// The first sentence of a description, as the middle of another sentence.
fn first_sentence(about: &str) -> String {
    let first = about.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let mut chars = first.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}

fn no_choice(path: &dyn std::fmt::Display, text: &str, names: &[&'static str]) -> Error {
    let near = nearest(text, names.iter().copied());
    let near = near.map(|near| format!("; the nearest is {near}")).unwrap_or_default();
    let names = names.join(", ");
    Error::invalid_argument(format!("{path} is \"{}\": it must be one of {names}{near}", shown(text)))
}

fn refused(path: &dyn std::fmt::Display, value: &Value, kind: Kind) -> Error {
    let is = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    let must = match kind {
        Kind::Text { .. } | Kind::Choice(_) | Kind::FirstOf(_) => "a string".to_owned(),
        Kind::Natural { min, max: Some(max), .. } => format!("an integer of {min} to {max}"),
        Kind::Natural { min, max: None, .. } => format!("an integer of {min} or more, below 2^64"),
        Kind::Integer => "an integer".to_owned(),
        Kind::Seconds { min_ms, max, .. } => format!("a number of seconds from {} to {max}", seconds(min_ms)),
        Kind::Number => "a number".to_owned(),
        Kind::Signal { .. } => "a signal's number or name".to_owned(),
        Kind::Boolean { .. } => "true or false".to_owned(),
        Kind::TextMap => "an object of strings".to_owned(),
        Kind::List { .. } | Kind::Many(_) => "a list".to_owned(),
        Kind::Object(_) | Kind::AnyObject => "an object".to_owned(),
        Kind::Any => "a JSON value".to_owned(),
        Kind::OrNull(kind) | Kind::NullByDefault(kind) => return refused(path, value, *kind),
    };
    Error::invalid_argument(format!("{path} is {is}: it must be {must}"))
}
