//! The table of rows, for people and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::baseline::Gap;
use super::runner::{Outcome, Row};

/// What stands in the table where an axis decides nothing.
const ANY: &str = "any";

impl Row {
    /// The backend's name, or `any`.
    pub fn backend_name(&self) -> &'static str {
        self.backend.map_or(ANY, |backend| backend.as_str())
    }

    /// The transport's name, or `any`.
    pub fn transport_name(&self) -> &'static str {
        self.transport.map_or(ANY, |transport| transport.as_str())
    }
}

impl Outcome {
    /// One word for the table.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail(_) => "FAIL",
            Self::NotApplicable(_) => "not applicable",
        }
    }

    /// What there is to say about it.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::Pass => None,
            Self::Fail(why) => Some(why),
            Self::NotApplicable(missing) => Some(missing),
        }
    }
}

/// The table as text: one row a line, each with id and outcome.
pub fn table(rows: &[Row], gaps: &[Gap]) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{:<6} {:<15} {:<15} {:<15} requirement", "id", "backend", "transport", "outcome");
    for row in rows {
        let line = line(row.requirement.id, row.backend_name(), row.transport_name(), row.outcome.word());
        let _ = writeln!(text, "{line} {}", row.requirement.sentence);
        match &row.outcome {
            Outcome::Pass => {}
            Outcome::Fail(why) => why.lines().for_each(|line| {
                let _ = writeln!(text, "       {line}");
            }),
            Outcome::NotApplicable(missing) => {
                let _ = writeln!(text, "       it needs {missing}");
            }
        }
    }
    for gap in gaps {
        let _ = writeln!(text, "{} {}", line(&gap.id, &gap.backend, &gap.transport, "known gap"), gap.why);
    }
    text
}

fn line(id: &str, backend: &str, transport: &str, outcome: &str) -> String {
    format!("{id:<6} {backend:<15} {transport:<15} {outcome:<15}")
}

/// How many rows passed and failed, as a test runner says it.
pub fn closing(rows: &[Row]) -> String {
    let failed = rows.iter().filter(|row| matches!(row.outcome, Outcome::Fail(_))).count();
    let passed = rows.iter().filter(|row| row.outcome == Outcome::Pass).count();
    format!("conformance: {passed} passed, {failed} failed")
}

/// The table as JSON.
pub fn json(rows: &[Row], gaps: &[Gap]) -> Value {
    let row = |row: &Row| {
        json!({
            "id": row.requirement.id,
            "requirement": row.requirement.sentence,
            "backend": row.backend_name(),
            "transport": row.transport_name(),
            "outcome": row.outcome.word().to_lowercase().replace(' ', "_"),
            "detail": row.outcome.detail(),
            "milliseconds": row.took.as_millis() as u64,
        })
    };
    let gap = |gap: &Gap| {
        json!({
            "id": gap.id,
            "backend": gap.backend,
            "transport": gap.transport,
            "outcome": "known_gap",
            "detail": gap.why,
        })
    };
    json!({ "rows": rows.iter().map(row).collect::<Vec<_>>(), "known_gaps": gaps.iter().map(gap).collect::<Vec<_>>() })
}
