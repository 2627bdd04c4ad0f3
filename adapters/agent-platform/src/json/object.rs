//! A record out of an object: its wanted fields, and nothing of the rest.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Field, Record};

/// How many keys an object has.
pub(super) struct Keys(pub(super) usize);

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
