//! What was said on a thread, from its checkpoints.
//!
//! A checkpoint is the state before a step, with the tasks of that step; once the step is done, each task has its node's
//! update, and another checkpoint has this one as its parent. That, not the newest state, is the record of turns: a
//! graph may shorten its messages as it likes, and the moment of each step stands here alone.
//!
//! The platform lists the newest checkpoint first and sends the whole state with each, so a follower reads back to where
//! it was and no further.

use std::collections::{HashMap, HashSet};

use sessiond_core::Error;
use sessiond_core::{PlatformId, ReasoningEvent, Result, TokenSummary, TokenTurn, TokenUsage};

use super::messages::{self, Said};
use super::{Langgraph, thread};
use crate::dialect::{Mark, Request};
use crate::http::Ask;
use crate::json::{Field, Page, record};

/// How many checkpoints are asked for at once: each comes with the whole state.
const PAGE: usize = 25;
/// The task that takes a run's input.
const INPUT: &str = "__start__";

record! {
    /// The state before a step, and the tasks of the step.
    Checkpoint {
        id: "checkpoint_id",
        checkpoint: "checkpoint",
        parent: "parent_checkpoint_id",
        parent_checkpoint: "parent_checkpoint",
        created_at: "created_at",
        metadata: "metadata",
        tasks: "tasks",
    }
}

record! {
    /// Where a checkpoint stands, in servers that do not say it at the top.
    Place { id: "checkpoint_id" }
}

record! {
    /// Which step led to a checkpoint.
    Metadata { step: "step" }
}

record! {
    /// One node's work in a step.
    Task { id: "id", name: "name", result: "result" }
}

impl Checkpoint<'_> {
    fn id(&self) -> Option<String> {
        self.id.word().or_else(|| self.checkpoint.record::<Place<'_>>().id.word())
    }

    fn parent(&self) -> Option<String> {
        self.parent.word().or_else(|| self.parent_checkpoint.record::<Place<'_>>().id.word())
    }
}

/// What a finished step led to.
#[derive(Clone)]
struct Done {
    /// The number of the step.
    step: Option<i64>,
    /// When it was done: ISO 8601.
    at: Option<String>,
}

/// A task of a finished step, newest first.
struct Finished<'a> {
    task: Task<'a>,
    done: &'a Done,
}

impl Langgraph {
    /// Goes through the finished steps from the newest back to `mark`, or to the first, and moves the mark to the newest.
    async fn steps(
        &self,
        cx: &Request,
        id: &PlatformId,
        mark: &mut Mark,
        mut visit: impl FnMut(Finished<'_>) + Send,
    ) -> Result<()> {
        let mut children: HashMap<String, Done> = HashMap::new();
        let mut seen: HashSet<String> = HashSet::new();
        let mut newest: Option<String> = None;
        let mut before: Option<String> = None;
        'pages: loop {
            let mut ask = Ask::get(thread(id, &["history"])?).query("limit", PAGE);
            if let Some(before) = &before {
                ask = ask.query("before", before);
            }
            let reply = self.of_thread(cx, id, &ask).await?;
            let page: Page<Checkpoint<'_>> = reply.json()?;
            for checkpoint in &page.records {
                let Some(here) = checkpoint.id() else { continue };
                // A server that does not heed `before` sends the first page for ever.
                if mark.0.as_deref() == Some(here.as_str()) || !seen.insert(here.clone()) {
                    break 'pages;
                }
                if let Some(done) = children.remove(&here) {
                    newest.get_or_insert_with(|| here.clone());
                    for task in checkpoint.tasks.list::<Task<'_>>().into_iter().rev() {
                        visit(Finished { task, done: &done });
                    }
                }
                if let Some(parent) = checkpoint.parent() {
                    let step = checkpoint.metadata.record::<Metadata<'_>>().step.integer();
                    children.entry(parent).or_insert(Done { step, at: checkpoint.created_at.time() });
                }
                before = Some(here);
            }
            if page.received < PAGE {
                break;
            }
        }
        if let Some(newest) = newest {
            mark.0 = Some(newest.into());
        }
        Ok(())
    }

    /// The completed turns behind the mark, in order, each once.
    pub(super) async fn turns_behind(
        &self,
        cx: &Request,
        id: &PlatformId,
        mark: &mut Mark,
    ) -> Result<Vec<ReasoningEvent>> {
        let mut turns = Vec::new();
        self.steps(cx, id, mark, |finished| turns.extend(turn(&finished))).await?;
        turns.reverse();
        let mut ids = HashSet::new();
        // A node that hands on what an earlier one said says nothing new.
        turns.retain(|turn| turn.event_id.as_ref().is_none_or(|id| ids.insert(id.clone())));
        Ok(turns)
    }

    /// What the messages of a thread say that they cost.
    pub(super) async fn usage(&self, cx: &Request, id: &PlatformId) -> Result<TokenUsage> {
        let mut turns = Vec::new();
        let mut ids = HashSet::new();
        self.steps(cx, id, &mut Mark::default(), |finished| turns.extend(costs(&finished, &mut ids))).await?;
        if turns.is_empty() {
            return Err(Error::unsupported(
                "what this session cost is not known: none of its messages says it; describe_session shows what it said",
            ));
        }
        turns.reverse();
        Ok(TokenUsage { summary: summary(id, &turns), turns })
    }
}

/// The completed turn that a task is, when it is one.
fn turn(finished: &Finished<'_>) -> Option<ReasoningEvent> {
    let update = update(finished)?;
    let task = finished.task.id.word();
    let (event_id, text) = match messages::said(update)? {
        Said::Message(id, text) => (id.or(task), text),
        Said::State(json) => (task, json),
    };
    let Done { step, at } = finished.done.clone();
    Some(ReasoningEvent { event_id, sequence_number: step, timestamp: at, text: Some(text) })
}

fn update<'a>(finished: &Finished<'a>) -> Option<Field<'a>> {
    (finished.task.name.str().as_deref() != Some(INPUT)).then_some(finished.task.result)
}

/// What the messages of a task cost, the last one first.
fn costs(finished: &Finished<'_>, ids: &mut HashSet<String>) -> Vec<TokenTurn> {
    let Some(update) = update(finished) else { return Vec::new() };
    let mut turns: Vec<_> = messages::of_agent(update)
        .iter()
        .filter(|message| message.id.word().is_none_or(|id| ids.insert(id)))
        .filter_map(|message| message.counts())
        .map(|counts| TokenTurn {
            sequence_number: finished.done.step,
            timestamp: finished.done.at.clone(),
            succeeded: true,
            duration_ms: None,
            token_usage: Some(counts),
            error: None,
        })
        .collect();
    turns.reverse();
    turns
}

fn summary(id: &PlatformId, turns: &[TokenTurn]) -> TokenSummary {
    let mut summary = TokenSummary { session_id: id.to_string(), ..TokenSummary::default() };
    for counts in turns.iter().filter_map(|turn| turn.token_usage) {
        summary.turn_count += 1;
        for (sum, count) in [
            (&mut summary.total_input_tokens, counts.input_tokens),
            (&mut summary.total_output_tokens, counts.output_tokens),
            (&mut summary.total_tokens, counts.total_tokens),
        ] {
            *sum = sum.saturating_add(count.unwrap_or_default());
        }
    }
    summary
}
