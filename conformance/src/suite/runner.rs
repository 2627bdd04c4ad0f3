//! Runs every row of the table: a requirement with a backend and a transport.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;

use super::house::{BackendKind, House, Servers, TransportKind};
use super::requirement::{Axes, IN_FORCE, Requirement};
use super::scenario::{Need, Scenario};
use super::scenarios;

/// How many rows run at once. Most of them wait most of the time.
const AT_ONCE: usize = 12;

/// How long one scenario may take.
const LONGEST: Duration = Duration::from_secs(120);

/// How a row came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every scenario of the requirement holds here.
    Pass,
    /// One does not; why.
    Fail(String),
    /// It cannot apply; what is missing.
    NotApplicable(&'static str),
}

/// One row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The requirement.
    pub requirement: &'static Requirement,
    /// Where the work ran; `None` where that does not matter.
    pub backend: Option<BackendKind>,
    /// How it was reached; `None` where that does not matter.
    pub transport: Option<TransportKind>,
    /// How it came out.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
}

/// Which rows to run.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only this backend.
    pub backend: Option<BackendKind>,
    /// Only this transport.
    pub transport: Option<TransportKind>,
    /// Only requirements whose id or sentence contains this.
    pub filter: Option<String>,
}

/// A row that is to be run.
#[derive(Clone, Copy, Debug)]
struct Planned {
    requirement: &'static Requirement,
    backend: Option<BackendKind>,
    transport: Option<TransportKind>,
}

impl Selection {
    /// The rows, in the order of the requirements. A row that no backend or no transport decides is there whatever
    /// the selection of those is.
    fn plan(&self) -> Vec<Planned> {
        let wanted = |requirement: &&Requirement| {
            self.filter.as_ref().is_none_or(|text| requirement.id.contains(text) || requirement.sentence.contains(text))
        };
        IN_FORCE.iter().filter(wanted).flat_map(|requirement| self.rows(requirement)).collect()
    }

    fn rows(&self, requirement: &'static Requirement) -> Vec<Planned> {
        let backends = |decides| axis(decides, BackendKind::ALL, self.backend);
        let platform = axis(true, &[BackendKind::AgentPlatform], self.backend);
        let transports = |decides| axis(decides, TransportKind::ALL, self.transport);
        let (by_backend, by_transport) = match requirement.axes {
            Axes::Both => (true, true),
            Axes::Backend => (true, false),
            Axes::Transport => (false, true),
            Axes::Neither => (false, false),
            Axes::Platform => (false, true),
        };
        let mut rows = Vec::new();
        let over = if requirement.axes == Axes::Platform { platform } else { backends(by_backend) };
        for backend in over {
            for transport in transports(by_transport) {
                rows.push(Planned { requirement, backend, transport });
            }
        }
        rows
    }
}

/// The values of an axis: all, the selected one, or none in particular where it decides nothing.
fn axis<T: Copy + PartialEq>(decides: bool, all: &[T], selected: Option<T>) -> Vec<Option<T>> {
    if decides {
        all.iter().copied().filter(|value| selected.is_none_or(|selected| selected == *value)).map(Some).collect()
    } else {
        vec![None]
    }
}

/// The requirements in force that no scenario proves.
pub fn unproven() -> Vec<&'static str> {
    let proven = |id: &str| scenarios::all().any(|scenario| scenario.id == id);
    IN_FORCE.iter().map(|requirement| requirement.id).filter(|id| !proven(id)).collect()
}

/// Runs the selected rows against these binaries; `progress` hears of each as it comes out.
pub async fn run(servers: Servers, selection: &Selection, progress: impl Fn(usize, usize, &Row)) -> Vec<Row> {
    let planned = selection.plan();
    let total = planned.len();
    // The last ones first: those that wait longest are among them, and do not delay the end of all.
    let rows = stream::iter(planned.into_iter().enumerate().rev().map(|(place, planned)| {
        let servers = servers.clone();
        async move { (place, row(planned, servers).await) }
    }));
    let mut rows = rows.buffer_unordered(AT_ONCE);
    let mut done = Vec::with_capacity(total);
    while let Some((place, row)) = rows.next().await {
        done.push((place, row));
        if let Some((_, row)) = done.last() {
            progress(done.len(), total, row);
        }
    }
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, row)| row).collect()
}

async fn row(planned: Planned, servers: Servers) -> Row {
    let Planned { requirement, backend, transport } = planned;
    let began = Instant::now();
    let (backend_of, transport_of) =
        (backend.unwrap_or(BackendKind::Fake), transport.unwrap_or(TransportKind::InProcess));
    let house = House::new(backend_of, transport_of, servers);
    let outcome = prove(requirement.id, &house).await;
    Row { requirement, backend, transport, outcome, took: began.elapsed() }
}

/// Runs every scenario of a requirement in a house.
pub async fn prove(id: &str, house: &House) -> Outcome {
    let mut missing = None;
    let mut held = false;
    for scenario in scenarios::all().filter(|scenario| scenario.id == id) {
        match scenario.needs.iter().copied().find(|need| !house.has(*need)) {
            Some(need) => missing = Some(Need::as_str(need)),
            None => match attempt(scenario, house.clone()).await {
                Ok(()) => held = true,
                Err(why) => return Outcome::Fail(format!("{}: {why}", scenario.title)),
            },
        }
    }
    match (held, missing) {
        (true, _) => Outcome::Pass,
        (false, Some(missing)) => Outcome::NotApplicable(missing),
        (false, None) => Outcome::Fail("no scenario proves it".to_owned()),
    }
}

/// Runs one scenario; why it failed when it did.
async fn attempt(scenario: &Scenario, house: House) -> Result<(), String> {
    let (run, stages) = (scenario.run, house.clone());
    let task = tokio::task::spawn(async move { run(house).await });
    let outcome = match tokio::time::timeout(LONGEST, task).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(reason(error.into_panic())),
        Err(_) => Err(format!("it takes longer than {} s", LONGEST.as_secs())),
    };
    stages.close().await;
    outcome
}

/// What a panic said.
fn reason(panic: Box<dyn std::any::Any + Send>) -> String {
    let said = panic.downcast_ref::<String>().cloned();
    said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned())).unwrap_or_else(|| "it panicked".into())
}

/// Keeps panics of scenarios off stderr; the table shows them.
pub fn silence_panics() {
    static SILENT: Mutex<bool> = Mutex::new(false);
    let mut silent = SILENT.lock().unwrap_or_else(PoisonError::into_inner);
    if !*silent {
        *silent = true;
        std::panic::set_hook(Box::new(|_| {}));
    }
}
