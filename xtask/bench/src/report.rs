//! What was measured, for a person and for a program.

use std::fmt;
use std::fs;

use serde_json::{Value, json};

use crate::rows::{Goal, Measured, Row};

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
    format!("{:<12} {:>16} {:>16} {:>8} {:>8}  goal", "row", "sessiond", "raw", "ratio", "goal is")
}

/// One line of the table, and below it what else is to be said.
pub(crate) fn line(row: &Row, measured: &Measured) -> String {
    let with_unit = |figure: f64| format!("{figure:.2} {}", row.unit);
    let raw = measured.raw.map_or_else(|| "-".to_owned(), with_unit);
    let ratio = measured.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
    let met = if row.goal.is_met(measured.judged()) && measured.sound { "met" } else { "MISSED" };
    let ours = with_unit(measured.ours);
    let mut text = format!("{:<12} {ours:>16} {raw:>16} {ratio:>8} {:>8}  {met}", row.name, row.goal.to_string());
    for note in &measured.notes {
        text.push_str(&format!("\n{:<12}   {note}", ""));
    }
    text
}

/// Everything as JSON, with a line break at its end.
pub(crate) fn json(machine: &Machine, lines: &[(&Row, Measured)]) -> String {
    let rows: Vec<Value> = lines
        .iter()
        .map(|(row, measured)| {
            json!({
                "row": row.name,
                "what": row.what,
                "unit": row.unit,
                "sessiond": measured.ours,
                "raw": measured.raw,
                "ratio": measured.ratio,
                "goal": row.goal.to_string(),
                "met": row.goal.is_met(measured.judged()) && measured.sound,
                "notes": measured.notes,
            })
        })
        .collect();
    format!("{:#}\n", json!({"machine": machine.json(), "rows": rows}))
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, ">= {bound}"),
            Self::AtMost(bound) => write!(f, "<= {bound}"),
        }
    }
}
