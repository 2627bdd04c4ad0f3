//! What was measured, for a person and for a program.

use std::fmt;
use std::fs;

use serde_json::{Value, json};

use crate::rows::{Bound, Check, Goal, Measured, Row};

/// The machine that was measured on: without it no figure says anything.
pub(crate) struct Machine {
    cpu: String,
    cpus: usize,
    memory_gib: u64,
    kernel: String,
}

impl Machine {
    /// Asks the system; what it does not tell is left open.
    pub(crate) fn look() -> Self {
        let field = |file: &str, name: &str| {
            let text = fs::read_to_string(file).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(name)).map(str::to_owned);
            line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()))
                .unwrap_or_else(|| "unknown".to_owned())
        };
        let kib = field("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse::<u64>().unwrap_or(0);
        Self {
            cpu: field("/proc/cpuinfo", "model name"),
            cpus: std::thread::available_parallelism().map_or(0, usize::from),
            memory_gib: kib.div_ceil(1 << 20),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        }
    }

    fn json(&self) -> Value {
        json!({"cpu": self.cpu, "cpus": self.cpus, "memory_gib": self.memory_gib, "kernel": self.kernel})
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, cpus, memory_gib, kernel } = self;
        write!(f, "{cpus} CPUs ({cpu}), {memory_gib} GiB, Linux {kernel}")
    }
}

/// The head of the table.
pub(crate) fn heading() -> String {
    format!("{:<12} {:>16} {:>16} {:>8} {:>18}", "row", "sessiond", "raw", "ratio", "goal")
}

/// One line of the table, and below it what else is to be said.
pub(crate) fn line(row: &Row, measured: &Measured) -> String {
    let with_unit = |figure: f64| format!("{figure:.2} {}", row.unit);
    let raw = measured.against.map_or_else(|| "-".to_owned(), |against| with_unit(against.raw));
    let ratio = measured.against.map_or_else(|| "-".to_owned(), |against| format!("{:.3}", against.ratio));
    let (ours, goal) = (with_unit(measured.ours), goal(row));
    let met = verdict(measured.meets(row.goal));
    let mut text = format!("{:<12} {ours:>16} {raw:>16} {ratio:>8} {goal:>18}  {met}", row.name);
    for Check { what, figure, bound } in &measured.also {
        text.push_str(&format!("\n{:<12}   {what}: {figure:.2} ({bound}) {}", "", verdict(bound.holds(*figure))));
    }
    for note in &measured.notes {
        text.push_str(&format!("\n{:<12}   {note}", ""));
    }
    text
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

/// A goal without words is one of the ratio.
fn goal(row: &Row) -> String {
    match row.goal {
        Goal::Ratio(bound) => bound.to_string(),
        Goal::More(bound) => format!("more {bound} {}", row.unit),
        Goal::Ours(bound) => format!("{bound} {}", row.unit),
    }
}

/// Everything as JSON, with a line break at its end.
pub(crate) fn json(machine: &Machine, lines: &[(&Row, Measured)]) -> String {
    let rows: Vec<Value> = lines.iter().map(|(row, measured)| row_json(row, measured)).collect();
    format!("{:#}\n", json!({"machine": machine.json(), "rows": rows}))
}

fn row_json(row: &Row, measured: &Measured) -> Value {
    let also = measured.also.iter().map(|check| {
        let Check { what, figure, bound } = check;
        json!({"what": what, "figure": figure, "goal": bound.to_string(), "met": check.is_met()})
    });
    json!({
        "row": row.name,
        "what": row.what,
        "unit": row.unit,
        "sessiond": measured.ours,
        "raw": measured.against.map(|against| against.raw),
        "ratio": measured.against.map(|against| against.ratio),
        "more": measured.against.map(|against| against.more),
        "goal": goal(row),
        "also": also.collect::<Vec<_>>(),
        "met": measured.meets(row.goal),
        "notes": measured.notes,
    })
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, ">= {bound}"),
            Self::AtMost(bound) => write!(f, "<= {bound}"),
        }
    }
}
