//! One keyword of a schema, before and after: does it take more values now, or fewer?

use std::cmp::Ordering;

use serde_json::Value;

use super::Side;
use crate::schema::class::Class;

/// How the values that fit have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// The same values fit: something was only said in another way.
    Same,
    /// Fewer fit.
    Narrower,
    /// More fit.
    Wider,
    /// Others fit, or nobody here can tell.
    Other,
}

impl Move {
    /// What it means on a side.
    pub(super) const fn judged(self, side: Side) -> (Class, &'static str) {
        match (side, self) {
            (_, Self::Same) => (Class::Wording, "the same in other words"),
            (Side::Input, Self::Wider) => (Class::Additive, "more is taken"),
            (Side::Input, Self::Narrower) => (Class::Breaking, "what was taken may be refused"),
            (Side::Input, Self::Other) => (Class::Breaking, "what was taken may be refused or mean something else"),
            (Side::Output, Self::Narrower) => (Class::Tightening, "less is left open"),
            (Side::Output, Self::Wider) => (Class::Breaking, "an answer may hold what it could not"),
            (Side::Output, Self::Other) => (Class::Breaking, "an answer may hold something else"),
        }
    }

    pub(super) const fn reversed(self) -> Self {
        match self {
            Self::Narrower => Self::Wider,
            Self::Wider => Self::Narrower,
            other => other,
        }
    }

    /// The move of an upper bound, or of anything that takes more the greater it is.
    fn of(order: Option<Ordering>) -> Self {
        match order {
            Some(Ordering::Less) => Self::Wider,
            Some(Ordering::Equal) => Self::Same,
            Some(Ordering::Greater) => Self::Narrower,
            None => Self::Other,
        }
    }

    /// The move of a lower bound.
    fn of_least(order: Option<Ordering>) -> Self {
        Self::of(order).reversed()
    }
}

/// Compares a keyword whose two values differ.
///
/// A keyword that is not known here may mean anything, so a change of it is never called harmless.
pub(super) fn compare(keyword: &str, old: Option<&Value>, new: Option<&Value>) -> Move {
    match keyword {
        "type" => types(old, new),
        "enum" | "anyOf" => lists(old, new),
        "allOf" => required_lists(old, new),
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => bounds(old, new, Move::of),
        "minimum" | "exclusiveMinimum" => bounds(old, new, Move::of_least),
        "minLength" | "minItems" | "minProperties" => {
            let none = Value::from(0);
            bounds(old.or(Some(&none)), new.or(Some(&none)), Move::of_least)
        }
        "items" | "additionalProperties" | "propertyNames" => schemas(old, new),
        "oneOf" => match lists(old, new) {
            Move::Same => Move::Same,
            _ => Move::Other,
        },
        "uniqueItems" => flags(old, new).reversed(),
        "pattern" | "format" | "multipleOf" | "const" => presence(old, new),
        _ => Move::Other,
    }
}

/// A keyword that asks for something when it is there.
fn presence(old: Option<&Value>, new: Option<&Value>) -> Move {
    match (old, new) {
        (None, Some(_)) => Move::Narrower,
        (Some(_), None) => Move::Wider,
        (None, None) => Move::Same,
        (Some(_), Some(_)) => Move::Other,
    }
}

/// A list of what fits; without one, everything does.
fn lists(old: Option<&Value>, new: Option<&Value>) -> Move {
    match (old.and_then(Value::as_array), new.and_then(Value::as_array)) {
        (Some(old), Some(new)) => sets(old, new),
        _ => presence(old, new),
    }
}

/// A list of what must fit; without one, nothing must.
fn required_lists(old: Option<&Value>, new: Option<&Value>) -> Move {
    match (old.and_then(Value::as_array), new.and_then(Value::as_array)) {
        (Some(old), Some(new)) => sets(old, new).reversed(),
        _ => presence(old, new),
    }
}

/// Two lists of what fits, in any order.
pub(super) fn sets(old: &[Value], new: &[Value]) -> Move {
    let lost = old.iter().any(|one| !new.contains(one));
    let gained = new.iter().any(|one| !old.contains(one));
    match (lost, gained) {
        (false, false) => Move::Same,
        (true, false) => Move::Narrower,
        (false, true) => Move::Wider,
        (true, true) => Move::Other,
    }
}

/// Names of types, as one or a list. An integer is a number too.
fn types(old: Option<&Value>, new: Option<&Value>) -> Move {
    let all = |types: &Value| {
        let mut all = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
        if all.iter().any(|one| one == "number") {
            all.push("integer".into());
        }
        all
    };
    match (old, new) {
        (Some(old), Some(new)) => sets(&all(old), &all(new)),
        _ => presence(old, new),
    }
}

/// A bound; without one, nothing is asked for.
fn bounds(old: Option<&Value>, new: Option<&Value>, moved: fn(Option<Ordering>) -> Move) -> Move {
    match (old, new) {
        (Some(old), Some(new)) => moved(numbers(old, new)),
        _ => presence(old, new),
    }
}

/// Integers are compared as such: as floats, great ones would be equal to their neighbours.
fn numbers(old: &Value, new: &Value) -> Option<Ordering> {
    let whole = |number: &Value| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(old), whole(new)) {
        (Some(old), Some(new)) => Some(old.cmp(&new)),
        _ => old.as_f64()?.partial_cmp(&new.as_f64()?),
    }
}

/// A keyword that asks for something when it is true.
fn flags(old: Option<&Value>, new: Option<&Value>) -> Move {
    let flag = |value: Option<&Value>| value.map_or(Some(false), Value::as_bool);
    match (flag(old), flag(new)) {
        (Some(old), Some(new)) => Move::of(Some(old.cmp(&new))),
        _ => Move::Other,
    }
}

/// Two schemas as a whole, of which at least one takes everything or nothing.
pub(super) fn schemas(old: Option<&Value>, new: Option<&Value>) -> Move {
    match (reach(old), reach(new)) {
        (1, 1) => Move::Other,
        (old, new) => Move::of(Some(old.cmp(&new))),
    }
}

/// 0 for a schema that takes nothing, 2 for one that takes everything, 1 for one between. What is not said is open.
fn reach(schema: Option<&Value>) -> u8 {
    match schema {
        None | Some(Value::Bool(true)) => 2,
        Some(Value::Object(all)) if all.is_empty() => 2,
        Some(Value::Bool(false)) => 0,
        Some(_) => 1,
    }
}

/// Whether a schema takes everything.
pub(super) fn is_open(schema: Option<&Value>) -> bool {
    reach(schema) == 2
}
