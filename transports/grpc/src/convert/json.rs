//! Values that are JSON text on the wire: read once where they come in, so that nothing behind this edge meets text that
//! does not parse.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use sessiond_core::{Error, Json, Result};

/// The text of any JSON value, where there is one.
///
/// # Errors
/// `invalid_argument`, naming the field, when it does not parse.
pub(super) fn value(text: Option<String>, field: &str) -> Result<Option<Json>> {
    let Some(text) = text else { return Ok(None) };
    match serde_json::from_str::<Read>(&text) {
        Ok(Read) => Ok(Some(Json::from_checked(text))),
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            Err(Error::invalid_argument(format!("{field} is no JSON value: see line {line}, column {column}")))
        }
    }
}

/// The text of a JSON object, where there is one.
///
/// # Errors
/// `invalid_argument`, naming the field, when it does not parse or is something else.
pub(super) fn object(text: Option<String>, field: &str) -> Result<Option<Json>> {
    let value = value(text, field)?;
    // White space may come before a value, and only an object begins like this.
    if value.as_ref().is_some_and(|json| !json.as_str().trim_start().starts_with('{')) {
        return Err(Error::invalid_argument(format!("{field} must be a JSON object, like {{\"name\": \"value\"}}")));
    }
    Ok(value)
}

/// Any value, read as whoever keeps it would read it (depth and numbers have their bounds there too), but not kept: text
/// of a request's size would be many times as large.
struct Read;

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(Read)
    }
}

impl<'de> Visitor<'de> for Read {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Self, A::Error> {
        while entries.next_entry::<IgnoredAny, Self>()?.is_some() {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<T: fmt::Debug>(refused: Result<T>) -> String {
        refused.unwrap_err().message().to_owned()
    }

    #[test]
    fn every_value_is_taken_as_it_is_written() {
        for text in ["null", " true\n", "-1", "1e300", "18446744073709551615", r#""é\ud83d\ude00""#, "[[], {\"a\": 0}]"]
        {
            assert_eq!(value(Some(text.to_owned()), "input_json"), Ok(Some(Json::from_checked(text))));
        }
        assert_eq!(value(None, "input_json"), Ok(None));
        let text = " {\"a\": [1]}";
        assert_eq!(object(Some(text.to_owned()), "inputs_json"), Ok(Some(Json::from_checked(text))));
        assert_eq!(object(None, "inputs_json"), Ok(None));
    }

    #[test]
    fn what_is_none_is_refused_by_its_name_and_place() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        for text in ["", "{", "{} {}", "{\"a\" 1}", "'a'", "NaN", "1e999", "\"\\ud800\"", "{1: 2}", "\"\n\"", &deep] {
            let why = said(value(Some(text.to_owned()), "inputs_json"));
            assert!(why.starts_with("inputs_json is no JSON value: see line "), "{text:?}: {why}");
        }
        assert_eq!(said(value(Some("{\n\"a\" 1}".to_owned()), "x")), "x is no JSON value: see line 2, column 5");
        for text in ["null", "[]", "\"{}\"", "0"] {
            let why = said(object(Some(text.to_owned()), "inputs_json"));
            assert_eq!(why, "inputs_json must be a JSON object, like {\"name\": \"value\"}");
        }
    }

    proptest::proptest! {
        #[test]
        fn it_takes_exactly_what_parses(text in "[\\[\\]{}:,\"0-9a-u\\\\ .-]{0,12}") {
            let parses = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            proptest::prop_assert_eq!(value(Some(text), "x").is_ok(), parses);
        }
    }
}
