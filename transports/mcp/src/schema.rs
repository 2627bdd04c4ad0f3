//! Field tables: one declaration, from which both a tool's JSON schema and its argument checker derive.
//!
//! The schemas are flat (no `$ref`, no `anyOf`, no integer formats), because hosts and models handle those badly; but
//! for what is published otherwise.

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

    fn schema(self, side: Side) -> Map<String, Value> {
        match self {
            Self::Text { max } => object([("type", Some(json!("string"))), ("maxLength", max.map(Value::from))]),
            Self::Choice(names) => object([("type", Some(json!("string"))), ("enum", Some(json!(names)))]),
            Self::FirstOf(names) => object([
                ("type", Some(json!("string"))),
                ("enum", Some(json!(names))),
                ("default", names.first().map(|first| json!(first))),
            ]),
            Self::Natural { min, max, default } => object([
                ("type", Some(json!("integer"))),
                // A range helps whoever asks; whoever reads an answer takes what is there.
                ("minimum", (side != Side::Output).then(|| json!(min))),
                ("maximum", max.map(Value::from)),
                ("default", default.map(Value::from)),
            ]),
            Self::Integer => object([("type", Some(json!("integer")))]),
            Self::Seconds { min_ms, max, default } => object([
                ("type", Some(json!("number"))),
                ("minimum", Some(seconds(min_ms))),
                ("maximum", Some(json!(max))),
                ("default", default.map(Value::from)),
            ]),
            Self::Number => object([("type", Some(json!("number")))]),
            Self::Signal { default } => {
                object([("type", Some(json!(["integer", "string"]))), ("default", Some(json!(default)))])
            }
            Self::Boolean { default } => {
                object([("type", Some(json!("boolean"))), ("default", default.map(Value::from))])
            }
            Self::TextMap => {
                object([("type", Some(json!("object"))), ("additionalProperties", Some(json!({"type": "string"})))])
            }
            Self::List { of, max } => object([
                ("type", Some(json!("array"))),
                ("items", Some(Value::Object(of.schema(side)))),
                ("minItems", Some(json!(1))),
                ("maxItems", Some(json!(max))),
            ]),
            Self::Many(of) => object([("type", Some(json!("array"))), ("items", Some(Value::Object(of.schema(side))))]),
            Self::Object(object) => object.schema(side),
            Self::AnyObject => {
                object([("type", Some(json!("object"))), ("additionalProperties", Some(Value::Bool(true)))])
            }
            Self::Any => object([("type", Some(json!(["object", "array", "string", "number", "boolean"])))]),
            Self::OrNull(kind) => {
                let mut schema = kind.schema(side);
                schema.entry("type").and_modify(|name| *name = json!(["null", *name]));
                schema
            }
            Self::NullByDefault(kind) => {
                object([("anyOf", Some(json!([kind.schema(side), {"type": "null"}]))), ("default", Some(Value::Null))])
            }
        }
    }
}

/// Milliseconds as a number of seconds, a whole one where it is.
pub(crate) fn seconds(millis: u64) -> Value {
    if millis.is_multiple_of(1000) { json!(millis / 1000) } else { json!(millis as f64 / 1000.0) }
}

/// An object of the properties that have a value.
fn object<const N: usize>(properties: [(&str, Option<Value>); N]) -> Map<String, Value> {
    properties.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
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

    fn schema(&self, side: Side) -> Value {
        let mut schema = self.kind.schema(side);
        schema.insert("description".to_owned(), json!(self.about));
        Value::Object(schema)
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
    pub(crate) fn schema(&self, side: Side) -> Map<String, Value> {
        let properties = self.fields.iter().map(|field| (field.name.to_owned(), field.schema(side))).collect();
        let required: Vec<&str> =
            self.fields.iter().filter(|field| field.is_required(side)).map(|field| field.name).collect();
        object([
            ("type", Some(json!("object"))),
            ("properties", Some(Value::Object(properties))),
            ("required", (!required.is_empty()).then(|| json!(required))),
            ("additionalProperties", self.closed.then_some(Value::Bool(false))),
        ])
    }
}
