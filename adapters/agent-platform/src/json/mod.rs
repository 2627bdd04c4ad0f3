//! Decoding what a platform sends, of which nothing can be relied upon.
//!
//! A field that has another form than it should is as good as missing, a record that is none is left out, and only what
//! is no JSON at all fails. Fields stay text until somebody asks for them: what is not kept is skipped, not decoded.
//!
//! - `object`: a record out of an object, or out of anything else none
//! - `page`: a list of records, whatever stands around it
//! - `text`: texts, and those that were cut

mod object;
mod page;
mod text;

use std::borrow::Cow;

use serde_json::value::RawValue;
use sessiond_core::Json;

use self::object::Keys;
use self::text::{Text, lossy};
use crate::time::{self, Moment};

pub(crate) use self::object::Lenient;
pub(crate) use self::page::Page;

/// A field of a record: its JSON, or nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Field<'a>(Option<&'a RawValue>);

/// A record with some fields that are wanted.
pub(crate) trait Record<'a>: Default {
    /// Where the value of a field goes; `None` for one that is not wanted.
    fn slot(&mut self, key: &[u8]) -> Option<&mut Field<'a>>;
}

/// Declares a record: the fields that are wanted, and their names on the wire.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $key:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub(super) struct $name<'a> { $(pub(super) $field: $crate::json::Field<'a>),* }

        impl<'a> $crate::json::Record<'a> for $name<'a> {
            fn slot(&mut self, key: &[u8]) -> Option<&mut $crate::json::Field<'a>> {
                $(if key == $key.as_bytes() { return Some(&mut self.$field); })*
                None
            }
        }
    };
}
pub(crate) use record;

impl<'a> Field<'a> {
    /// Whether there is a value other than null.
    pub(crate) fn is_some(self) -> bool {
        self.json().is_some()
    }

    /// The JSON of a value other than null.
    pub(crate) fn json(self) -> Option<&'a str> {
        self.0.map(RawValue::get).filter(|json| *json != "null")
    }

    /// A text.
    pub(crate) fn text(self) -> Option<String> {
        self.str().map(Cow::into_owned)
    }

    /// A text with something in it.
    pub(crate) fn word(self) -> Option<String> {
        self.text().filter(|text| !text.is_empty())
    }

    /// A text, borrowed where it stands there as it is. Half a surrogate pair, as it is left where a text was cut, is
    /// U+FFFD.
    pub(crate) fn str(self) -> Option<Cow<'a, str>> {
        let json = self.json().filter(|json| json.starts_with('"'))?;
        match serde_json::from_str::<Text<'a>>(json) {
            Ok(Text(text)) => Some(text),
            Err(_) => lossy(json).map(Cow::Owned),
        }
    }

    /// An id: a text with something in it, or a number as it is written.
    pub(crate) fn id(self) -> Option<String> {
        let json = self.json()?;
        let is_number = json.starts_with(|first: char| first.is_ascii_digit() || first == '-');
        if is_number { Some(json.to_owned()) } else { self.word() }
    }

    /// A whole number, in whichever form it is written.
    pub(crate) fn integer(self) -> Option<i64> {
        let json = self.json()?;
        serde_json::from_str::<i64>(json).ok().or_else(|| {
            let float = serde_json::from_str::<f64>(json).ok()?;
            #[allow(clippy::cast_possible_truncation, reason = "it is whole and in range")]
            (float.fract() == 0.0 && float.abs() < 9.0e15).then_some(float as i64)
        })
    }

    /// A whole number that is not negative.
    pub(crate) fn count(self) -> Option<u64> {
        self.integer().and_then(|number| u64::try_from(number).ok())
    }

    /// A time.
    pub(crate) fn moment(self) -> Option<Moment> {
        time::read(self.json()?)
    }

    /// A time as text.
    pub(crate) fn time(self) -> Option<String> {
        self.moment().map(|moment| moment.text)
    }

    /// Whether it is `true`, or `false`.
    pub(crate) fn flag(self) -> Option<bool> {
        serde_json::from_str(self.json()?).ok()
    }

    /// Whether it is an object.
    pub(crate) fn is_object(self) -> bool {
        self.json().is_some_and(|json| json.starts_with('{'))
    }

    /// Whether it is an object with something in it.
    pub(crate) fn is_filled(self) -> bool {
        self.is_object() && serde_json::from_str::<Keys>(self.json().unwrap_or("{}")).is_ok_and(|keys| keys.0 > 0)
    }

    /// The record that it is; an empty one when it is none.
    pub(crate) fn record<R: Record<'a>>(self) -> R {
        self.json().and_then(|json| serde_json::from_str::<Lenient<R>>(json).ok()?.0).unwrap_or_default()
    }

    /// The records in the list that it is.
    pub(crate) fn list<R: Record<'a>>(self) -> Vec<R> {
        let json = self.json().filter(|json| json.starts_with('['));
        json.and_then(|json| serde_json::from_str::<Page<R>>(json).ok()).unwrap_or_default().records
    }

    /// Its JSON, when it is an object.
    pub(crate) fn object(self) -> Option<Json> {
        self.is_object().then(|| Json::from_checked(self.json().unwrap_or_default()))
    }

    /// A text, and of anything else its JSON.
    pub(crate) fn shown(self) -> Option<String> {
        self.text().or_else(|| self.json().map(str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    record! {
        /// A record of these tests.
        Thing { name: "name", number: "number", when: "when", inner: "inner" }
    }

    fn thing(json: &str) -> Option<Thing<'_>> {
        serde_json::from_str::<Lenient<Thing<'_>>>(json).unwrap().0
    }

    #[test]
    fn a_field_of_another_form_is_missing() {
        let odd = thing(r#"{"name": 7, "number": "7", "when": {}, "inner": [], "other": {"name": "x"}}"#).unwrap();
        assert_eq!((odd.name.text(), odd.name.id()), (None, Some("7".into())));
        assert_eq!((odd.number.integer(), odd.when.time(), odd.inner.is_object()), (None, None, false));
        assert_eq!(odd.inner.record::<Thing<'_>>().name.text(), None);
        let good =
            thing(r#"{"name": "a\nb", "number": 7.0, "when": 0, "inner": {"name": "x"}, "name": "last"}"#).unwrap();
        assert_eq!((good.name.text(), good.number.count()), (Some("last".into()), Some(7)));
        assert_eq!(good.inner.record::<Thing<'_>>().name.text(), Some("x".into()));
        for none in ["null", "true", "7", "-7", "7.5", "\"x\"", "[1, {}]"] {
            assert!(thing(none).is_none(), "{none}");
        }
    }

    #[test]
    fn numbers_that_nobody_can_hold_spoil_nothing() {
        let odd = thing(r#"{"number": 1e999, "when": 123456789012345678901234567890, "name": "x"}"#).unwrap();
        assert_eq!((odd.number.integer(), odd.when.time(), odd.name.text()), (None, None, Some("x".into())));
    }

    #[test]
    fn half_a_surrogate_pair_spoils_one_character() {
        let cut = thing(r#"{"name": "caf\u00e9 \ud83d", "number": 1}"#).unwrap();
        let text = cut.name.text().unwrap();
        assert!(text.starts_with("café \u{fffd}"), "{text:?}");
        assert_eq!(cut.number.integer(), Some(1));
    }

    #[test]
    fn a_list_is_found_in_every_envelope() {
        let page = |json: &'static str| {
            let page: Page<Thing<'_>> = serde_json::from_str(json).unwrap();
            let names: Vec<_> = page.records.iter().filter_map(|thing| thing.name.text()).collect();
            (names.join(","), page.received, page.total, page.found)
        };
        assert_eq!(page(r#"[{"name":"a"},null,{"name":"b"}]"#), ("a,b".into(), 3, None, true));
        assert_eq!(page(r#"{"data":[{"name":"a"}],"total":7}"#), ("a".into(), 1, Some(7), true));
        assert_eq!(page(r#"{"total":"x","data":[{"name":"a"}]}"#), ("a".into(), 1, None, true));
        assert_eq!(page(r#"{"metadata":{"total":7},"data":[{"name":"a"}]}"#), ("a".into(), 1, Some(7), true));
        assert_eq!(page(r#"{"data":{"items":[{"name":"a"}]}}"#), ("a".into(), 1, None, true));
        assert_eq!(page(r#"{"data":null}"#), (String::new(), 0, None, true));
        assert_eq!(page("{}"), (String::new(), 0, None, false));
        assert_eq!(page(r#"{"error":"x"}"#), (String::new(), 0, None, false));
        for wrong in ["7", "\"x\"", "{", r#"{"data":7}"#, "[", ""] {
            assert!(serde_json::from_str::<Page<Thing<'_>>>(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_json_spoils_its_neighbours(odd in odd_json()) {
            let list = format!(r#"[{odd}, {{"name": {odd}, "number": {odd}, "when": {odd}}}, {{"name": "good"}}]"#);
            let page: Page<Thing<'_>> = serde_json::from_str(&list).unwrap();
            prop_assert_eq!(page.records.last().and_then(|thing| thing.name.text()), Some("good".to_owned()));
            prop_assert_eq!(page.received, 3);
        }
    }

    fn odd_json() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("null".to_owned()),
            any::<i64>().prop_map(|number| number.to_string()),
            any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(|number| format!("{number:?}")),
            ".*".prop_map(|text| serde_json::to_string(&text).unwrap()),
            Just(r#"{"name": {"name": []}}"#.to_owned()),
            Just("[[[]], {}]".to_owned()),
        ]
    }
}
