//! Runs that play by themselves: what an agent is told to do by its inputs.
//!
//! Nothing ticks. Whenever somebody looks at the platform, every step whose time has come is done.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::task::Task;

/// One step of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A completed turn, so many times with so many milliseconds between them. `{n}` in it is the number of the time,
    /// from 1.
    Say {
        /// What the agent says.
        text: String,
        /// How often.
        times: u64,
        /// How long after one the next one comes.
        every_ms: u64,
    },
    /// A turn that goes on with a tool: it is no completed one.
    Think(String),
    /// A tool that is called, by its name.
    Tool(String),
    /// Nothing for so many milliseconds.
    Pause(u64),
    /// A manual task. The run goes on when it has been completed.
    Ask(Task),
    /// The end: a status, and the error of one that has failed.
    End(&'static str, Option<String>),
    /// The session is gone, as if it had been deleted.
    Vanish,
}

/// What an agent is to do, as inputs for any agent of the platform. After the last step it runs on in silence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script(Vec<Value>);

impl Script {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn then(mut self, step: Value) -> Self {
        self.0.push(step);
        self
    }

    /// A completed turn.
    pub fn say(self, text: &str) -> Self {
        self.then(json!({ "say": text }))
    }

    /// A completed turn so many times, so many milliseconds apart; `{n}` in it is the number of the time, from 1.
    pub fn say_times(self, text: &str, times: u64, every_ms: u64) -> Self {
        self.then(json!({ "say": text, "times": times, "every_ms": every_ms }))
    }

    /// A turn that goes on with a tool.
    pub fn think(self, text: &str) -> Self {
        self.then(json!({ "think": text }))
    }

    /// A call of a tool.
    pub fn tool(self, name: &str) -> Self {
        self.then(json!({ "tool": name }))
    }

    /// Nothing for so many milliseconds.
    pub fn pause(self, millis: u64) -> Self {
        self.then(json!({ "pause_ms": millis }))
    }

    /// A manual task of this title that must be completed before the run goes on.
    pub fn ask(self, title: &str) -> Self {
        self.then(json!({ "ask": title }))
    }

    /// The end as COMPLETE.
    pub fn complete(self) -> Self {
        self.then(json!({ "end": "COMPLETE" }))
    }

    /// The end as FAILED, for this reason.
    pub fn fail(self, error: &str) -> Self {
        self.then(json!({ "end": "FAILED", "error": error }))
    }

    /// The end as CANCELED, by somebody else.
    pub fn cancel(self) -> Self {
        self.then(json!({ "end": "CANCELED" }))
    }

    /// The session is gone, as if it had been deleted.
    pub fn vanish(self) -> Self {
        self.then(json!({ "vanish": true }))
    }

    /// The inputs of an agent that does this.
    pub fn inputs(&self) -> Value {
        json!({ "steps": self.0 })
    }

    /// The command of `session_start` that makes the agent `script` do this.
    pub fn command(&self) -> String {
        format!("script {}", self.inputs())
    }
}

/// The steps of an agent's inputs; `None` when they have none. What is no step is left out.
pub(crate) fn steps(inputs: &Value) -> Option<VecDeque<Step>> {
    Some(inputs.get("steps")?.as_array()?.iter().filter_map(step).collect())
}

fn step(value: &Value) -> Option<Step> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |name: &str, otherwise| value.get(name).and_then(Value::as_u64).unwrap_or(otherwise);
    if let Some(said) = text("say") {
        return Some(Step::Say { text: said, times: number("times", 1), every_ms: number("every_ms", 0) });
    }
    if let Some(thought) = text("think") {
        return Some(Step::Think(thought));
    }
    if let Some(tool) = text("tool") {
        return Some(Step::Tool(tool));
    }
    if let Some(status) = text("end") {
        let known = ["COMPLETE", "FAILED", "CANCELED"].into_iter().find(|known| *known == status)?;
        return Some(Step::End(known, text("error")));
    }
    if let Some(task) = value.get("ask") {
        return Some(Step::Ask(Task::read(task)));
    }
    if value.get("vanish").is_some() {
        return Some(Step::Vanish);
    }
    value.get("pause_ms").and_then(Value::as_u64).map(Step::Pause)
}

/// A script that is being played.
#[derive(Debug)]
pub(crate) struct Play {
    steps: VecDeque<Step>,
    /// How often the first step has been done already.
    done: u64,
    /// When the next step is to come.
    due: Instant,
    /// It goes on when this work item has been completed.
    pub(crate) waits_for: Option<String>,
    /// Since when it rests, while the run is paused.
    rests: Option<Instant>,
}

impl Play {
    pub(crate) fn new(steps: VecDeque<Step>) -> Self {
        Self { steps, done: 0, due: Instant::now(), waits_for: None, rests: None }
    }

    /// The next thing to do, when its time has come.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Step> {
        while self.waits_for.is_none() && self.rests.is_none() && self.due <= now {
            match self.steps.front()? {
                Step::Say { times, .. } if self.done >= *times => {
                    self.done = 0;
                    self.steps.pop_front();
                }
                Step::Say { text, times, every_ms } => {
                    self.done += 1;
                    if self.done < *times {
                        self.due += Duration::from_millis(*every_ms);
                    }
                    let text = text.replace("{n}", &self.done.to_string());
                    return Some(Step::Say { text, times: 1, every_ms: 0 });
                }
                Step::Pause(millis) => {
                    self.due += Duration::from_millis(*millis);
                    self.steps.pop_front();
                }
                _ => return self.steps.pop_front(),
            }
        }
        None
    }

    /// What it waited for has come about.
    pub(crate) fn go_on(&mut self) {
        (self.waits_for, self.due) = (None, Instant::now());
    }

    pub(crate) fn rest(&mut self) {
        self.rests.get_or_insert_with(Instant::now);
    }

    pub(crate) fn resume(&mut self) {
        if let Some(since) = self.rests.take() {
            self.due += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(play: &mut Play, now: Instant) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(step) = play.next(now) {
            all.push(match step {
                Step::Say { text, .. } => text,
                other => format!("{other:?}"),
            });
        }
        all
    }

    #[test]
    fn a_step_is_done_when_its_time_has_come() {
        let script = Script::new().say("a").pause(100).say_times("line {n}", 3, 50).complete();
        let mut play = Play::new(steps(&script.inputs()).unwrap());
        let at = |millis| play_start(&play) + Duration::from_millis(millis);
        let (first, second, last) = (at(0), at(150), at(200));
        assert_eq!(said(&mut play, first), ["a"]);
        assert_eq!(said(&mut play, second), ["line 1", "line 2"]);
        assert_eq!(said(&mut play, last), ["line 3", "End(\"COMPLETE\", None)"]);
    }

    #[test]
    fn a_play_that_rests_or_waits_does_nothing() {
        let mut play = Play::new(steps(&Script::new().say("a").say("b").inputs()).unwrap());
        let later = play_start(&play) + Duration::from_secs(60);
        play.rest();
        assert_eq!(play.next(later), None);
        play.resume();
        play.waits_for = Some("item".to_owned());
        assert_eq!(play.next(later), None);
        play.go_on();
        assert_eq!(said(&mut play, later), ["a", "b"]);
    }

    #[test]
    fn inputs_without_steps_are_no_script() {
        assert_eq!(steps(&json!({})), None);
        assert_eq!(steps(&json!({ "steps": "none" })), None);
        assert_eq!(steps(&json!({ "steps": [{ "dance": 1 }, { "end": "SOMEHOW" }] })), Some(VecDeque::new()));
    }

    fn play_start(play: &Play) -> Instant {
        play.due
    }
}
