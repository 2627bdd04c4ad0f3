//! Decoding what a platform sends, of which nothing can be relied upon.
//!
//! A field that has another form than it should is as good as missing, a record that is none is left out, and only what
//! is no JSON at all fails. Fields stay text until somebody asks for them: what is not kept is skipped, not decoded.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use sessiond_core::Json;

use crate::time::{self, Moment};

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

/// A text that is borrowed where that is possible.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;

        impl<'de> Visitor<'de> for Of {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }

        deserializer.deserialize_str(Of).map(Text)
    }
}

/// A text with half of a surrogate pair in it, which a decoder takes for bytes only.
fn lossy(json: &str) -> Option<String> {
    struct Of;

    impl Visitor<'_> for Of {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("text")
        }

        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<String, E> {
            Ok(sessiond_core::decode(bytes))
        }
    }

    serde_json::Deserializer::from_str(json).deserialize_bytes(Of).ok()
}

/// How many keys an object has.
struct Keys(usize);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;

        impl<'de> Visitor<'de> for Of {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = 0;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    keys += 1;
                }
                Ok(Keys(keys))
            }
        }

        deserializer.deserialize_map(Of)
    }
}

/// A key of an object, held against those of a record.
struct Slot<'r, 'a: 'r, R>(&'r mut R, PhantomData<&'a ()>);

impl<'de: 'a, 'r, 'a: 'r, R: Record<'a>> DeserializeSeed<'de> for Slot<'r, 'a, R> {
    type Value = Option<&'r mut Field<'a>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl<'r, 'a: 'r, R: Record<'a>> Visitor<'_> for Slot<'r, 'a, R> {
    type Value = Option<&'r mut Field<'a>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E>(self, key: &[u8]) -> Result<Self::Value, E> {
        Ok(self.0.slot(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.slot(key.as_bytes()))
    }
}

/// The wanted fields of an object. Of a key that stands there twice the last one counts.
struct Whole<'a, R>(R, PhantomData<&'a ()>);

impl<'de: 'a, 'a, R: Record<'a>> Deserialize<'de> for Whole<'a, R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of<'a, R>(PhantomData<(R, &'a ())>);

        impl<'de: 'a, 'a, R: Record<'a>> Visitor<'de> for Of<'a, R> {
            type Value = R;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<R, A::Error> {
                let mut record = R::default();
                while let Some(slot) = map.next_key_seed(Slot(&mut record, PhantomData))? {
                    match slot {
                        Some(field) => *field = Field(Some(map.next_value()?)),
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(record)
            }
        }

        deserializer.deserialize_map(Of(PhantomData)).map(|record| Self(record, PhantomData))
    }
}

/// A value that may be a record.
pub(crate) struct Lenient<R>(pub(crate) Option<R>);

impl<'de, R: Record<'de>> Deserialize<'de> for Lenient<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any(PhantomData)).map(Self)
    }
}

/// Takes an object, and passes over everything else.
struct Any<R>(PhantomData<R>);

impl<'de, R: Record<'de>> Visitor<'de> for Any<R> {
    type Value = Option<R>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Whole::deserialize(MapAccessDeserializer::new(map)).map(|whole| Some(whole.0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// A list of records, whatever stands around it: nothing, `data`, `items`, or one in the other.
#[derive(Debug)]
pub(crate) struct Page<R> {
    /// The records.
    pub(crate) records: Vec<R>,
    /// How many elements there were, those included that are no records.
    pub(crate) received: usize,
    /// How many there are in all, where the platform says so.
    pub(crate) total: Option<u64>,
    /// Whether there was a list at all: an object may have none.
    pub(crate) found: bool,
    /// Whether the answer had anything in it.
    pub(crate) is_empty: bool,
}

impl<R> Default for Page<R> {
    fn default() -> Self {
        Self { records: Vec::new(), received: 0, total: None, found: false, is_empty: true }
    }
}

/// The keys of what stands around a list.
enum Around {
    List,
    Total,
    Metadata,
    Other,
}

impl<'de> Deserialize<'de> for Around {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;

        impl Visitor<'_> for Of {
            type Value = Around;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_bytes<E>(self, key: &[u8]) -> Result<Around, E> {
                Ok(match key {
                    b"data" | b"items" => Around::List,
                    b"total" => Around::Total,
                    b"metadata" => Around::Metadata,
                    _ => Around::Other,
                })
            }

            fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Around, E> {
                self.visit_bytes(key.as_bytes())
            }
        }

        deserializer.deserialize_bytes(Of)
    }
}

record! {
    /// What an answer says of its list.
    Metadata { total: "total" }
}

impl<'de, R: Record<'de>> Deserialize<'de> for Page<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PageOf(PhantomData))
    }
}

struct PageOf<R>(PhantomData<R>);

impl<'de, R: Record<'de>> Visitor<'de> for PageOf<R> {
    type Value = Page<R>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Page<R>, A::Error> {
        let mut page = Page { found: true, is_empty: false, ..Page::default() };
        while let Some(Lenient(record)) = list.next_element::<Lenient<R>>()? {
            page.received += 1;
            page.records.extend(record);
        }
        Ok(page)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Page<R>, A::Error> {
        let mut page = Page::default();
        let mut total = None;
        while let Some(key) = map.next_key::<Around>()? {
            page.is_empty = false;
            match key {
                Around::List => page = map.next_value()?,
                Around::Total => total = Field(Some(map.next_value()?)).count(),
                Around::Metadata => total = Field(Some(map.next_value()?)).record::<Metadata>().total.count().or(total),
                Around::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        page.total = total.or(page.total);
        Ok(page)
    }

    /// A list that is null is an empty one.
    fn visit_unit<E>(self) -> Result<Page<R>, E> {
        Ok(Page { found: true, is_empty: false, ..Page::default() })
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
