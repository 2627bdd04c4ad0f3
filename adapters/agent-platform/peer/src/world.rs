//! All that the platform knows, behind one lock.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value, json};

use crate::access::Door;
use crate::agent::Agent;
use crate::fault::{Fault, Planned};
use crate::forms::Forms;
use crate::record::{Kind, Run};
use crate::routes::Route;
use crate::script::{Play, Step, steps};
use crate::seen::Log;
use crate::task::Task;
use crate::time::millis;

/// A manual task that is on the platform.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) record: Value,
    pub(crate) incoming: Value,
}

/// All of it.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) forms: Forms,
    pub(crate) door: Door,
    pub(crate) log: Log,
    pub(crate) agents: Vec<Agent>,
    pub(crate) items: Vec<Item>,
    faults: HashMap<Route, VecDeque<Planned>>,
    runs: Vec<Run>,
    places: HashMap<String, usize>,
    numbers: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            forms: Forms::default(),
            door: Door::default(),
            log: Log::default(),
            agents: Agent::at_first(),
            items: Vec::new(),
            faults: HashMap::new(),
            runs: Vec::new(),
            places: HashMap::new(),
            numbers: 0,
        }
    }

    /// A number that has not been given before.
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub(crate) fn plan(&mut self, route: Route, planned: Planned) {
        self.faults.entry(route).or_default().push_back(planned);
    }

    pub(crate) fn heal(&mut self) {
        self.faults.clear();
    }

    /// The fault of a request on this route; each one that is to happen so often is used up in turn.
    pub(crate) fn fault(&mut self, route: Route) -> Option<Fault> {
        [route, Route::Any].into_iter().find_map(|route| {
            let planned = self.faults.get_mut(&route)?;
            let first = planned.front_mut()?;
            let fault = first.fault.clone();
            if let Some(times) = &mut first.times {
                *times -= 1;
                if *times == 0 {
                    planned.pop_front();
                }
            }
            Some(fault)
        })
    }

    /// Puts a session behind the others; one of the same id is replaced.
    pub(crate) fn put(&mut self, run: Run) {
        match self.places.get(&run.id).and_then(|place| self.runs.get_mut(*place)) {
            Some(there) => *there = run,
            None => {
                self.places.insert(run.id.clone(), self.runs.len());
                self.runs.push(run);
            }
        }
    }

    /// A new session of an agent; with steps among its inputs it plays them.
    pub(crate) fn begin(&mut self, agent: &Agent, status: &str, inputs: &Value) -> String {
        let id = format!("run-{:05}", self.number());
        let mut run = Run::new(&id, agent, status, &self.forms);
        run.set("inputs", inputs.clone());
        run.play = steps(inputs).map(Play::new);
        self.put(run);
        id
    }

    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    pub(crate) fn run(&mut self, id: &str) -> Option<&mut Run> {
        self.runs.get_mut(*self.places.get(id)?)
    }

    /// The session is gone.
    pub(crate) fn vanish(&mut self, id: &str) {
        if let Some(place) = self.places.remove(id) {
            self.runs.remove(place);
            self.places.values_mut().filter(|other| **other > place).for_each(|other| *other -= 1);
        }
    }

    /// A message of a session; the id of its event.
    pub(crate) fn tell(&mut self, id: &str, kind: &Kind<'_>) -> Option<String> {
        let number = self.number();
        let forms = self.forms.clone();
        self.run(id).map(|run| run.add(number, kind, &forms))
    }

    pub(crate) fn end(&mut self, id: &str, status: &str, error: Option<&str>) {
        let forms = self.forms.clone();
        if let Some(run) = self.run(id) {
            run.end(status, error, &forms);
        }
    }

    /// A manual task of a session; its id.
    pub(crate) fn ask(&mut self, session: &str, task: &Task) -> String {
        let id = format!("item-{:05}", self.number());
        let created = millis(SystemTime::now()).saturating_sub(task.age_ms);
        let record = task.record(&id, session, &self.forms.times.write(created));
        self.items.push(Item { id: id.clone(), session: session.to_owned(), record, incoming: task.incoming() });
        id
    }

    pub(crate) fn item(&mut self, id: &str) -> Option<&mut Item> {
        self.items.iter_mut().find(|item| item.id == id)
    }

    /// Completes a manual task; the record of it. A script that waited for it goes on.
    pub(crate) fn complete(&mut self, id: &str, finish_state: &str, variables: &Value) -> Option<Value> {
        let item = self.item(id)?;
        let fields = item.record.as_object_mut()?;
        fields.extend(Map::from_iter([
            ("status".to_owned(), json!("completed")),
            ("finishState".to_owned(), json!(finish_state)),
            ("variables".to_owned(), variables.clone()),
        ]));
        let (record, session) = (item.record.clone(), item.session.clone());
        if let Some(play) = self.run(&session).and_then(|run| run.play.as_mut())
            && play.waits_for.as_deref() == Some(id)
        {
            play.go_on();
        }
        Some(record)
    }

    /// Cancels a session, at once or by and by; whether it was not over.
    pub(crate) fn cancel(&mut self, id: &str) -> bool {
        let takes = Duration::from_millis(self.forms.cancel_takes_ms);
        let Some(run) = self.run(id).filter(|run| !run.is_over()) else { return false };
        run.set("status", json!("CANCELING"));
        run.play = None;
        run.canceling.get_or_insert(Instant::now() + takes);
        self.advance(Instant::now());
        true
    }

    /// Pauses or resumes a session; whether it could be.
    pub(crate) fn rest(&mut self, id: &str, rests: bool) -> bool {
        let (from, to, word) = if rests { ("RUNNING", "PAUSED", "paused") } else { ("PAUSED", "RUNNING", "resumed") };
        let Some(run) = self.run(id).filter(|run| run.status() == from) else { return false };
        run.set("status", json!(to));
        if let Some(play) = &mut run.play {
            if rests { play.rest() } else { play.resume() }
        }
        self.tell(id, &Kind::Status(word));
        true
    }

    /// Does everything whose time has come.
    pub(crate) fn advance(&mut self, now: Instant) {
        let ids: Vec<String> = self
            .runs
            .iter()
            .filter(|run| run.play.is_some() || run.canceling.is_some())
            .map(|run| run.id.clone())
            .collect();
        for id in ids {
            if self.run(&id).and_then(|run| run.canceling).is_some_and(|due| due <= now) {
                self.end(&id, "CANCELED", None);
            }
            while let Some(step) = self.run(&id).and_then(|run| run.play.as_mut()?.next(now)) {
                self.act(&id, step);
            }
        }
    }

    fn act(&mut self, id: &str, step: Step) {
        match step {
            Step::Say { text, .. } => {
                self.tell(id, &Kind::Answered(&text, "end_turn"));
            }
            Step::Think(text) => {
                self.tell(id, &Kind::Answered(&text, "tool_use"));
            }
            Step::Tool(name) => {
                self.tell(id, &Kind::Tool(&name));
            }
            Step::Ask(task) => {
                let item = self.ask(id, &task);
                if let Some(play) = self.run(id).and_then(|run| run.play.as_mut()) {
                    play.waits_for = Some(item);
                }
            }
            Step::End(status, error) => self.end(id, status, error.as_deref()),
            Step::Vanish => self.vanish(id),
            // A pause is between two steps, and nothing to do.
            Step::Pause(_) => {}
        }
    }
}
