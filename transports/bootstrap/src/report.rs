//! What a `check` prints: what holds, who has set it, and how each target does.

use std::fmt::Write;

use sessiond_core::{Availability, Machine, Target, TargetStatus};

use crate::assembly::Bootstrap;
use crate::problem::Problems;
use crate::telemetry;

/// A report for a person, and how many things in it are wrong.
#[derive(Debug, Default)]
pub struct Report {
    text: String,
    wrong: usize,
}

impl Report {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// A line.
    pub fn say(&mut self, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    /// A line about something that is wrong.
    pub fn wrong(&mut self, line: &str) {
        self.say(line);
        self.wrong += 1;
    }

    /// What is wrong with the configuration.
    pub fn problems(&mut self, Problems(problems): &Problems) {
        self.say("the configuration is wrong:");
        for problem in problems {
            self.wrong(&format!("  {problem}"));
        }
    }

    /// Each key with its value, and who set it where that is not the default.
    pub fn configuration(&mut self, bootstrap: &Bootstrap) {
        let file = bootstrap.file.as_ref().map(|path| path.display().to_string());
        self.say(&match file {
            Some(path) if bootstrap.has_file() => format!("configuration: {path}"),
            Some(path) => format!("configuration: defaults (there is no {path})"),
            None => "configuration: defaults (no home directory to look in)".to_owned(),
        });
        for shown in bootstrap.configuration.shown() {
            let value = shown.value.unwrap_or_else(|| "(not set)".to_owned());
            let origin = shown.origin.map(|origin| format!("  from {origin}")).unwrap_or_default();
            self.say(&format!("  {:<34} {value}{origin}", shown.key));
        }
        if let Some(refusal) = telemetry::refusal(&bootstrap.configuration.telemetry) {
            self.wrong(refusal.message());
        }
        self.say("");
    }

    /// How a target does. One that cannot run anything is wrong.
    pub fn target(&mut self, target: &Target) {
        self.say(&line(target));
        self.wrong += usize::from(target.status.availability == Availability::Offline);
    }

    /// The whole, with its verdict; and whether everything is in order.
    pub fn finish(self) -> (String, bool) {
        let verdict = match self.wrong {
            0 => "everything is in order".to_owned(),
            1 => "1 thing is wrong".to_owned(),
            many => format!("{many} things are wrong"),
        };
        (format!("{}\n{verdict}\n", self.text), self.wrong == 0)
    }
}

fn line(Target { info, status }: &Target) -> String {
    let TargetStatus { availability, detail, machine } = status;
    let state = match availability {
        Availability::Online => "online",
        Availability::Offline => "offline",
        Availability::Unknown => "not asked",
    };
    let facts = machine.iter().flat_map(facts).chain(detail.clone()).collect::<Vec<_>>().join(", ");
    let separator = if facts.is_empty() { "" } else { ": " };
    format!("target {} ({}) is {state}{separator}{facts}", info.name, info.backend)
}

fn facts(machine: &Machine) -> impl Iterator<Item = String> {
    let Machine { os, arch, hostname, shell } = machine.clone();
    let named = |name: &'static str| move |value: String| format!("{name} {value}");
    [os, arch, hostname.map(named("host")), shell.map(named("shell"))].into_iter().flatten()
}
