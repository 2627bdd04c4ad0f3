//! A list of records, whatever stands around it.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Field, Lenient, Record, record};

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
