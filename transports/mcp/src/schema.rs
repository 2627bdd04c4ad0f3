//! Field tables: one declaration, from which both a tool's JSON schema and its argument checker derive.
//!
//! The schemas are flat (no `$ref`, no `anyOf`, no integer formats), because hosts and models handle those badly; but
//! for what is published otherwise.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

/// An object: the arguments of a tool, its result, or a part of either.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    /// Its properties, in the order of the documentation.
    pub(crate) fields: &'static [Field],
    /// Whether there can be no others. Inputs are closed; results may grow, unless published as closed.
    pub(crate) closed: bool,
}

/// One property.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    /// Its name on the wire.
    pub(crate) name: &'static str,
    /// What it holds.
    pub(crate) kind: Kind,
    /// Who must give it.
    pub(crate) need: Need,
    /// What it means; the first sentence alone must make sense.
    pub(crate) about: &'static str,
}

/// Who must give a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Everybody.
    Required,
    /// Whoever reaches more than one target (SR02). The identity judges, not the checker.
    UnlessScoped,
    /// Nobody.
    Optional,
}

/// Whom a schema is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Callers who reach every target.
    ManagementInput,
    /// Callers who reach one target (SR02).
    ScopedInput,
    /// Whoever reads the result.
    Output,
}

/// What a property holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A string; at most so many bytes.
    Text { max: Option<usize> },
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// One of these strings; left out, the first.
    FirstOf(&'static [&'static str]),
    /// An integer that is not negative, in a range.
    Natural { min: u64, max: Option<u64>, default: Option<u64> },
    /// Any integer.
    Integer,
    /// A number of seconds, fractions allowed, from so many milliseconds to so many seconds.
    Seconds { min_ms: u64, max: u64, default: Option<u64> },
    /// Any number: results only.
    Number,
    /// A signal, by its number or its name; left out, this number.
    Signal { default: u64 },
    /// Yes or no.
    Boolean { default: Option<bool> },
    /// Names and strings.
    TextMap,
    /// A list of at least one and at most so many.
    List { of: &'static Kind, max: usize },
    /// A list of any length: results only.
    Many(&'static Kind),
    /// A nested object.
    Object(&'static Object),
    /// An object of whatever properties: it is somebody else's to judge.
    AnyObject,
    /// Any JSON value but null, which is the same as leaving it out.
    Any,
    /// The kind, or null: results only.
    OrNull(&'static Kind),
    /// The kind, or null, which is what leaving it out means: what is published so.
    NullByDefault(&'static Kind),
}

impl Kind {
    pub(crate) const TEXT: Self = Self::Text { max: None };
    pub(crate) const BOOLEAN: Self = Self::Boolean { default: None };
    pub(crate) const NATURAL: Self = Self::Natural { min: 0, max: None, default: None };

    /// A kind of input that is a number between two others.
    pub(crate) const fn within(min: u64, max: u64) -> Self {
        Self::Natural { min, max: Some(max), default: None }
    }

    /// The same number, with what a caller gets who leaves it out.
    pub(crate) const fn default(self, value: u64) -> Self {
        match self {
            Self::Natural { min, max, .. } => Self::Natural { min, max, default: Some(value) },
            other => other,
        }
    }

    /// The words that it can be, when they are few.
    pub(crate) const fn choices(self) -> &'static [&'static str] {
        match self {
            Self::Choice(words) | Self::FirstOf(words) => words,
            _ => &[],
        }
    }

    /// Writes the keywords of its schema. `type` has a name more where it may be null.
    fn keywords<M: SerializeMap>(self, map: &mut M, side: Side, or_null: bool) -> Result<(), M::Error> {
        let names = self.type_names();
        match names {
            [] => {}
            [name] if !or_null => map.serialize_entry("type", name)?,
            names => map.serialize_entry("type", &AllNames { or_null, names })?,
        }
        match self {
            Self::Text { max } => optional(map, "maxLength", max),
            Self::Choice(words) => map.serialize_entry("enum", words),
            Self::FirstOf(words) => {
                map.serialize_entry("enum", words)?;
                optional(map, "default", words.first())
            }
            Self::Natural { min, max, default } => {
                // A range helps whoever asks; whoever reads an answer takes what is there.
                optional(map, "minimum", (side != Side::Output).then_some(min))?;
                optional(map, "maximum", max)?;
                optional(map, "default", default)
            }
            Self::Seconds { min_ms, max, default } => {
                map.serialize_entry("minimum", &seconds(min_ms))?;
                map.serialize_entry("maximum", &max)?;
                optional(map, "default", default)
            }
            Self::Signal { default } => map.serialize_entry("default", &default),
            Self::Boolean { default } => optional(map, "default", default),
            Self::TextMap => map.serialize_entry("additionalProperties", &Schema(Self::TEXT, side)),
            Self::List { of, max } => {
                map.serialize_entry("items", &Schema(*of, side))?;
                map.serialize_entry("minItems", &1)?;
                map.serialize_entry("maxItems", &max)
            }
            Self::Many(of) => map.serialize_entry("items", &Schema(*of, side)),
            Self::Object(object) => object.keywords(map, side),
            Self::AnyObject => map.serialize_entry("additionalProperties", &true),
            Self::OrNull(kind) => kind.keywords(map, side, true),
            Self::NullByDefault(kind) => {
                map.serialize_entry("anyOf", &(Schema(*kind, side), Null))?;
                map.serialize_entry("default", &())
            }
            Self::Integer | Self::Number | Self::Any => Ok(()),
        }
    }

    /// What JSON Schema calls it; nothing where the kind inside says it.
    const fn type_names(self) -> &'static [&'static str] {
        match self {
            Self::Text { .. } | Self::Choice(_) | Self::FirstOf(_) => &["string"],
            Self::Natural { .. } | Self::Integer => &["integer"],
            Self::Seconds { .. } | Self::Number => &["number"],
            Self::Signal { .. } => &["integer", "string"],
            Self::Boolean { .. } => &["boolean"],
            Self::TextMap | Self::Object(_) | Self::AnyObject => &["object"],
            Self::List { .. } | Self::Many(_) => &["array"],
            Self::Any => &["object", "array", "string", "number", "boolean"],
            Self::OrNull(_) | Self::NullByDefault(_) => &[],
        }
    }
}

/// What serializes as a JSON schema, for one side.
///
/// It is written from the table as it is: as JSON values, the schemas of all tools would be half of the heap that a
/// server has at its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schema(Kind, Side);

impl Schema {
    /// The same as JSON values.
    pub(crate) fn values(self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(schema)) => schema,
            // A schema is an object whose names are text.
            _ => Map::new(),
        }
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.keywords(&mut map, self.1, false)?;
        map.end()
    }
}

/// The schemas of properties, by name.
struct Properties(&'static [Field], Side);

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|field| (field.name, Property(field, self.1))))
    }
}

/// The schema of a property.
struct Property(&'static Field, Side);

impl Serialize for Property {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.kind.keywords(&mut map, self.1, false)?;
        map.serialize_entry("description", self.0.about)?;
        map.end()
    }
}

/// The names of the properties that must be there.
struct Required(&'static [Field], Side);

impl Serialize for Required {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().filter(|field| field.is_required(self.1)).map(|field| field.name))
    }
}

/// The names of a type, and null where it may be that.
struct AllNames {
    or_null: bool,
    names: &'static [&'static str],
}

impl Serialize for AllNames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.or_null.then_some(&"null").into_iter().chain(self.names))
    }
}

/// The schema of nothing but null.
struct Null;

impl Serialize for Null {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([("type", "null")])
    }
}

/// Writes an entry that has a value.
fn optional<M: SerializeMap>(map: &mut M, name: &str, value: Option<impl Serialize>) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, &value))
}

/// Milliseconds as a number of seconds, a whole one where it is.
pub(crate) fn seconds(millis: u64) -> Value {
    if millis.is_multiple_of(1000) { json!(millis / 1000) } else { json!(millis as f64 / 1000.0) }
}

impl Field {
    /// A property that must be there.
    pub(crate) const fn required(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, need: Need::Required, about }
    }

    /// A property that may be left out.
    pub(crate) const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, need: Need::Optional, about }
    }

    fn is_required(&self, side: Side) -> bool {
        match self.need {
            Need::Required => true,
            Need::UnlessScoped => side != Side::ScopedInput,
            Need::Optional => false,
        }
    }
}

impl Object {
    /// Arguments: nothing else is taken.
    pub(crate) const fn closed(fields: &'static [Field]) -> Self {
        Self { fields, closed: true }
    }

    /// A result that may gain properties.
    pub(crate) const fn open(fields: &'static [Field]) -> Self {
        Self { fields, closed: false }
    }

    /// The property of this name.
    pub(crate) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Its JSON schema.
    pub(crate) const fn schema(&'static self, side: Side) -> Schema {
        Schema(Kind::Object(self), side)
    }

    fn keywords<M: SerializeMap>(&self, map: &mut M, side: Side) -> Result<(), M::Error> {
        map.serialize_entry("properties", &Properties(self.fields, side))?;
        if self.fields.iter().any(|field| field.is_required(side)) {
            map.serialize_entry("required", &Required(self.fields, side))?;
        }
        optional(map, "additionalProperties", self.closed.then_some(false))
    }
}
