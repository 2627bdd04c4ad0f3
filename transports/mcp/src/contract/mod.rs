//! The tool table: each tool declared once, and the lists, the dispatch and the documentation derived from it.

mod agent;
mod session;
mod ssh;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use futures_util::FutureExt as _;
use serde_json::{Map, Value};
use sessiond_core::{Call, Error, Owner, Result, Service, Verb, shown};

use crate::answer::{Answer, TextStyle};
use crate::args::Args;
use crate::nearest::nearest;
use crate::schema::{Need, Object};

/// A group of tools that belong to one kind of target, and are listed when such a target is configured (AL02).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// Sessions and commands, on every target that has them.
    Session,
    /// Hosts, the connections to them, and commands there that outlast a call (CF09).
    Ssh,
    /// Agent platforms: their agents, and the records of their sessions (DF01).
    Agent,
}

impl Family {
    /// Every family.
    pub const ALL: [Self; 3] = [Self::Session, Self::Ssh, Self::Agent];

    /// The families to serve: that of sessions, and of the others those that have a target.
    pub fn present(others: impl IntoIterator<Item = (Self, bool)>) -> Vec<Self> {
        let there = others.into_iter().filter(|(_, there)| *there).map(|(family, _)| family);
        [Self::Session].into_iter().chain(there).collect()
    }
}

/// A tool, declared.
#[derive(Debug)]
pub(crate) struct Tool {
    /// Its name on the wire.
    pub(crate) name: &'static str,
    /// Its name for people.
    pub(crate) title: &'static str,
    /// One line for a table.
    pub(crate) summary: &'static str,
    /// What a model reads: purpose, behaviour, limits, errors, side effects, which sibling instead.
    pub(crate) about: &'static str,
    /// What a client may conclude before it asks the user.
    pub(crate) hints: Hints,
    /// When it is listed.
    pub(crate) family: Family,
    /// What it does to the service: whoever may not use that verb may not use the tool.
    pub(crate) verb: Verb,
    /// Its arguments.
    pub(crate) input: Object,
    /// Its result.
    pub(crate) output: Object,
    /// What it does.
    pub(crate) run: for<'a> fn(Request<'a>) -> Reply<'a>,
}

/// The four annotations of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hints {
    /// It changes nothing.
    pub(crate) read_only: bool,
    /// It may destroy something.
    pub(crate) destructive: bool,
    /// Asking twice is as good as asking once.
    pub(crate) idempotent: bool,
    /// It reaches what the server does not know.
    pub(crate) open_world: bool,
}

impl Hints {
    /// For tools that only look.
    const LOOK: Self = Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// For tools through which a program can do anything.
    const ACT: Self = Self { read_only: false, destructive: true, idempotent: false, open_world: true };
    /// For tools that end something, once.
    const END: Self = Self { read_only: false, destructive: true, idempotent: true, open_world: false };
}

/// A call of a tool, its arguments checked.
pub(crate) struct Request<'a> {
    pub(crate) service: &'a dyn Service,
    pub(crate) cx: &'a Call,
    pub(crate) args: Args,
    pub(crate) style: TextStyle,
}

/// An answer on its way.
pub(crate) type Reply<'a> = Pin<Box<dyn Future<Output = Result<Answer>> + Send + 'a>>;

/// Every tool, in the order of the documentation.
const TOOLS: [&[&Tool]; 3] = [&session::TOOLS, &ssh::TOOLS, &agent::TOOLS];

impl Tool {
    /// Every tool of these families.
    pub(crate) fn all(families: &[Family]) -> impl Iterator<Item = &'static Self> {
        TOOLS.into_iter().flatten().copied().filter(|tool| families.contains(&tool.family))
    }

    /// The tool of this name, of whatever family.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        Self::all(&Family::ALL).find(|tool| tool.name == name)
    }

    /// The tool of this name among these families.
    ///
    /// # Errors
    /// `invalid_argument`, naming the nearest tool, or some when none is near.
    pub(crate) fn find(name: &str, families: &[Family]) -> Result<&'static Self> {
        Self::all(families).find(|tool| tool.name == name).ok_or_else(|| {
            let near = nearest(name, Self::all(families).map(|tool| tool.name));
            let hint = near.map_or_else(
                || {
                    let known: Vec<_> = Self::all(families).map(|tool| tool.name).take(MAX_NAMED).collect();
                    format!("known are {}", known.join(", "))
                },
                |near| format!("the nearest is {near}"),
            );
            Error::invalid_argument(format!("unknown tool {}: {hint}; tools/list shows all", shown(name)))
        })
    }

    /// Lets a call go on only when its owner may use this tool. The service asks the same of the verb; here the answer
    /// names what the caller knows.
    ///
    /// # Errors
    /// `permission_denied`, saying what to do instead.
    fn permit(&self, owner: &Owner) -> Result<()> {
        if owner.may(self.verb) {
            return Ok(());
        }
        Err(Error::permission_denied(format!(
            "your role does not permit {}: do without it, or ask whoever runs this server for another role; tools/list \
             shows what it permits",
            self.name
        )))
    }

    /// Calls it. Whatever goes wrong is an answer too.
    pub(crate) async fn call(
        &self,
        service: &dyn Service,
        cx: &Call,
        arguments: Map<String, Value>,
        style: TextStyle,
    ) -> Answer {
        let answer = async {
            self.permit(&cx.owner)?;
            let args = Args::check(arguments, &self.input)?;
            (self.run)(Request { service, cx, args, style }).await
        };
        // Nothing is left half done that a later call could see: a call owns what it works on, and whoever is called
        // keeps its own state whole.
        let answer = AssertUnwindSafe(answer).catch_unwind().await;
        answer.unwrap_or_else(|_| Err(Error::internal(PANICKED))).unwrap_or_else(Answer::from)
    }
}

/// What a caller reads whose call has met a fault.
const PANICKED: &str = "the call has broken off by a fault of sessiond, whose log says where: please report it; what the \
                        call was to do may be done or not, and other calls are not affected";

/// The most tools that a message names.
const MAX_NAMED: usize = 32;

/// A tool as a table shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRow {
    /// Its name on the wire.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does, in one line without a full stop.
    pub summary: &'static str,
    /// The verb that a role must permit for it.
    pub verb: Verb,
    /// Its inputs, in the order of the documentation.
    pub inputs: Vec<InputRow>,
}

/// An input as a table shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputRow {
    /// Its name.
    pub name: &'static str,
    /// Whether it must be given under management access.
    pub required: bool,
    /// What it means.
    pub about: &'static str,
    /// What it can be, when that is one of a few words.
    pub choices: &'static [&'static str],
}

/// The tools of these families, for people.
pub fn tool_table(families: &[Family]) -> Vec<ToolRow> {
    let input = |field: &crate::schema::Field| InputRow {
        name: field.name,
        required: field.need != Need::Optional,
        about: field.about,
        choices: field.kind.choices(),
    };
    let row = |tool: &Tool| ToolRow {
        name: tool.name,
        title: tool.title,
        summary: tool.summary,
        verb: tool.verb,
        inputs: tool.input.fields.iter().map(input).collect(),
    };
    Tool::all(families).map(row).collect()
}
