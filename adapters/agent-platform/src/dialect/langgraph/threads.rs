//! Threads: the sessions of this platform, how they stand, and what on them waits for a person.
//!
//! A thread's status is one of four words, which are handed on as they are. `busy` and `error` speak for themselves. The
//! others do not: `interrupted` is what waits for a person's answer as well as what was cancelled, and a thread whose
//! run was cancelled before it began is `idle`. There the status of the latest run decides.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Serialize;
use sessiond_core::{
    AgentSession, AgentSessionPage, AgentSessionQuery, Error, ManualTask, ManualTaskSummary, PlatformId, Result, shown,
};

use super::{Langgraph, no_session, thread};
use crate::dialect::{Phase, Request, RunState};
use crate::http::{Ask, Path, malformed};
use crate::json::{Field, Lenient, Page, record};
use crate::time;

/// How many threads are asked for at once; the platform gives at most 1,000.
const PAGE: usize = 100;
/// The most pages that one call looks through for threads that match: it then says where to go on.
const MOST_PAGES: usize = 100;
/// The words for how a thread stands; a search for another one would be refused.
const STATUSES: [&str; 4] = ["idle", "busy", "interrupted", "error"];
/// What is shown of what a graph asks a person, where it is no text.
const TITLE: usize = 256;
/// Between the thread and the interrupt in the id of what waits for a person.
const OF: char = ':';

record! {
    /// A thread.
    Thread {
        id: "thread_id",
        status: "status",
        created_at: "created_at",
        updated_at: "updated_at",
        state_updated_at: "state_updated_at",
        metadata: "metadata",
        error: "error",
        interrupts: "interrupts",
    }
}

record! {
    /// What the platform notes on a thread when it first runs something on it.
    Metadata { assistant: "assistant_id", graph: "graph_id" }
}

record! {
    /// Why a thread's latest run failed.
    Fault { error: "error", message: "message" }
}

record! {
    /// A run on a thread.
    Run { id: "run_id", status: "status" }
}

record! {
    /// What a graph waits for.
    Interrupt { id: "id", value: "value" }
}

record! {
    /// What graphs commonly say in an interrupt.
    Question { title: "title", question: "question", message: "message", description: "description" }
}

/// What a control needs to know of a thread.
pub(super) struct Standing {
    pub(super) status: String,
    pub(super) assistant: Option<String>,
    /// Whether the graph has asked something that nobody has answered.
    pub(super) asks: bool,
}

impl Thread<'_> {
    fn status(&self) -> String {
        self.status.text().unwrap_or_default()
    }

    /// What the graph has asked: for each task that waits, its interrupts.
    fn questions(&self) -> Vec<Interrupt<'_>> {
        if self.status.str().as_deref() != Some("interrupted") {
            return Vec::new();
        }
        let json = self.interrupts.json().filter(|json| json.starts_with('{')).unwrap_or("{}");
        let tasks: BTreeMap<Cow<'_, str>, &serde_json::value::RawValue> =
            serde_json::from_str(json).unwrap_or_default();
        let questions =
            tasks.into_values().filter_map(|list| serde_json::from_str::<Page<Interrupt<'_>>>(list.get()).ok());
        questions.flat_map(|page| page.records).filter(|question| question.id.word().is_some()).collect()
    }

    fn tasks(&self, id: &PlatformId, now: SystemTime) -> Vec<ManualTaskSummary> {
        let since = self.since().moment();
        let task = |question: &Interrupt<'_>| {
            Some(ManualTaskSummary {
                work_item_id: format!("{id}{OF}{}", question.id.word()?),
                title: title(question.value),
                view_type: None,
                waiting_age_seconds: since.as_ref().map(|since| since.age(now)),
                completion_supported: false,
            })
        };
        self.questions().iter().filter_map(task).collect()
    }

    /// When it came to stand as it does.
    fn since(&self) -> Field<'_> {
        if self.state_updated_at.is_some() { self.state_updated_at } else { self.updated_at }
    }

    fn fault(&self) -> Option<String> {
        let fault: Fault<'_> = self.error.record();
        fault.message.word().or_else(|| fault.error.word()).or_else(|| self.error.word())
    }
}

/// What a graph asks, in a line: a text, or what looks like one in it, else the beginning of its JSON.
fn title(value: Field<'_>) -> Option<String> {
    let question: Question<'_> = value.record();
    let said = [question.title, question.question, question.message, question.description];
    value.word().or_else(|| said.iter().find_map(|said| said.word())).or_else(|| {
        let json = value.json()?;
        json.get(..json.floor_char_boundary(TITLE)).map(str::to_owned)
    })
}

/// What the latest run says of a thread that does not say it by itself.
fn phase(status: &str, run: Option<&str>) -> Phase {
    match (status, run) {
        (_, Some("interrupted" | "rollback")) => Phase::Canceled,
        (_, Some("error" | "timeout")) => Phase::Failed,
        (_, Some("pending")) => Phase::Pending,
        (_, Some("running")) => Phase::Running,
        // A graph with a breakpoint ends its run well and rests.
        ("interrupted", _) => Phase::Waiting,
        (_, Some(_)) => Phase::Complete,
        // Nothing has ever run on it.
        (_, None) => Phase::Pending,
    }
}

#[derive(Serialize)]
struct Search<'a> {
    limit: usize,
    offset: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<BTreeMap<&'static str, String>>,
    sort_by: &'static str,
    sort_order: &'static str,
    select: [&'static str; 6],
}

impl Langgraph {
    /// How a thread stands: one request, and another for a thread that does not run.
    pub(super) async fn standing(&self, cx: &Request, id: &PlatformId) -> Result<RunState> {
        let reply = self.of_thread(cx, id, &Ask::get(thread(id, &[])?)).await?;
        let thread = reply.json::<Lenient<Thread<'_>>>()?.0.ok_or_else(malformed)?;
        let waiting = thread.tasks(id, SystemTime::now());
        let status = thread.status();
        let phase = match status.as_str() {
            "busy" => Phase::Running,
            "error" => Phase::Failed,
            "interrupted" if !waiting.is_empty() => Phase::Waiting,
            "idle" | "interrupted" => phase(&status, self.latest_run(cx, id).await?.as_deref()),
            _ => Phase::Unknown,
        };
        let error = (phase == Phase::Failed).then(|| thread.fault()).flatten();
        Ok(RunState { session: self.session(cx, id, &thread, phase).await, phase, error, waiting: Some(waiting) })
    }

    async fn session(&self, cx: &Request, id: &PlatformId, thread: &Thread<'_>, phase: Phase) -> AgentSession {
        let metadata: Metadata<'_> = thread.metadata.record();
        AgentSession {
            session_id: thread.id.word().unwrap_or_else(|| id.to_string()),
            status: thread.status(),
            agent_name: self.agent_name(cx, metadata.assistant.word(), metadata.graph.word()).await,
            started_at: thread.created_at.time(),
            end_time: phase.is_over().then(|| thread.since().time()).flatten(),
            ..AgentSession::default()
        }
    }

    /// How the latest run on a thread stands, when there is one.
    async fn latest_run(&self, cx: &Request, id: &PlatformId) -> Result<Option<String>> {
        Ok(self.runs(cx, id, 1).await?.into_iter().next().map(|(_, status)| status))
    }

    /// The latest runs on a thread, the newest first: each with its id and status.
    pub(super) async fn runs(&self, cx: &Request, id: &PlatformId, limit: usize) -> Result<Vec<(String, String)>> {
        let ask = Ask::get(thread(id, &["runs"])?).query("limit", limit);
        let reply = self.of_thread(cx, id, &ask).await?;
        let page: Page<Run<'_>> = reply.json()?;
        Ok(page
            .records
            .iter()
            .filter_map(|run| Some((run.id.word()?, run.status.text().unwrap_or_default())))
            .collect())
    }

    /// What whoever steers a thread has to know of it.
    pub(super) async fn steering(&self, cx: &Request, id: &PlatformId) -> Result<Standing> {
        let reply = self.of_thread(cx, id, &Ask::get(thread(id, &[])?)).await?;
        let thread = reply.json::<Lenient<Thread<'_>>>()?.0.ok_or_else(malformed)?;
        let metadata: Metadata<'_> = thread.metadata.record();
        let assistant = metadata.assistant.word().or_else(|| metadata.graph.word());
        Ok(Standing { status: thread.status(), assistant, asks: !thread.questions().is_empty() })
    }

    /// What on a thread waits for a person.
    pub(super) async fn interrupts(&self, cx: &Request, id: &PlatformId) -> Result<Vec<ManualTaskSummary>> {
        let reply = self.of_thread(cx, id, &Ask::get(thread(id, &[])?)).await?;
        let thread = reply.json::<Lenient<Thread<'_>>>()?.0.ok_or_else(malformed)?;
        Ok(thread.tasks(id, SystemTime::now()))
    }

    /// One of these, by the id that their list gives it.
    pub(super) async fn interrupt(&self, cx: &Request, item: &PlatformId) -> Result<ManualTask> {
        let missing = || {
            let item = shown(item.as_str());
            Error::not_found(format!(
                "there is no manual task \"{item}\" on this platform: describe_session lists those of a session"
            ))
        };
        let (session, interrupt) = item.as_str().split_once(OF).ok_or_else(missing)?;
        let id = PlatformId::new("work_item_id", session)?;
        let reply = self
            .of_thread(cx, &id, &Ask::get(thread(&id, &[])?))
            .await
            .map_err(|error| if error == no_session(&id) { missing() } else { error })?;
        let thread = reply.json::<Lenient<Thread<'_>>>()?.0.ok_or_else(malformed)?;
        let questions = thread.questions();
        let question = questions.iter().find(|question| question.id.word().as_deref() == Some(interrupt));
        let question = question.ok_or_else(missing)?;
        Ok(ManualTask {
            work_item_id: item.to_string(),
            status: "pending".to_owned(),
            pending: true,
            title: title(question.value),
            message: question.value.word(),
            body: question.value.shown(),
            waiting_age_seconds: thread.since().moment().map(|since| since.age(SystemTime::now())),
            completion_supported: false,
            ..ManualTask::default()
        })
    }

    /// One page of threads, the newest first. What the platform cannot filter by is left out here.
    pub(super) async fn page(&self, cx: &Request, query: &AgentSessionQuery) -> Result<AgentSessionPage> {
        let status = query.status.as_deref();
        let mut page = AgentSessionPage::default();
        if status.is_some_and(|status| !STATUSES.contains(&status)) {
            return Ok(page);
        }
        let mut offset = offset(query.page_token.as_deref())?;
        let metadata = self.only_of(cx, query.agent_name.as_deref()).await?;
        let mut seen: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let search = Search {
                limit: PAGE,
                offset,
                status,
                metadata: metadata.clone(),
                sort_by: "created_at",
                sort_order: "desc",
                select: ["thread_id", "status", "created_at", "updated_at", "state_updated_at", "metadata"],
            };
            let reply = self.http.ask(cx, &Ask::search(Path::of(&["threads", "search"])?).json(&search)?).await?;
            let threads: Page<Thread<'_>> = reply.json()?;
            let first = threads.records.first().and_then(|thread| thread.id.word());
            if first.is_none() || first == seen {
                return Ok(page);
            }
            seen = first;
            for (nth, thread) in threads.records.iter().enumerate() {
                if self.is_asked(cx, thread, query).await {
                    if page.sessions.len() == query.limit {
                        page.next_page_token = Some((offset + nth).to_string());
                        return Ok(page);
                    }
                    page.sessions.extend(self.listed(cx, thread).await);
                }
            }
            offset += threads.received;
            if threads.received < PAGE {
                return Ok(page);
            }
        }
        page.next_page_token = Some(offset.to_string());
        Ok(page)
    }

    /// What the platform is to filter by, for the sessions of one agent.
    async fn only_of(&self, cx: &Request, name: Option<&str>) -> Result<Option<BTreeMap<&'static str, String>>> {
        let Some(name) = name else { return Ok(None) };
        let agents = self.every_agent(cx).await?;
        let mut named = agents.iter().filter(|agent| agent.name == name).filter_map(|agent| agent.agent_id.clone());
        Ok(match (named.next(), named.next()) {
            (Some(id), None) => Some(BTreeMap::from([("assistant_id", id)])),
            _ => None,
        })
    }

    async fn is_asked(&self, cx: &Request, thread: &Thread<'_>, query: &AgentSessionQuery) -> bool {
        let started = thread.created_at.moment().map(|moment| moment.micros);
        let after =
            query.started_after.is_none_or(|after| started.is_some_and(|started| started >= time::micros(after)));
        let before =
            query.started_before.is_none_or(|before| started.is_some_and(|started| started <= time::micros(before)));
        if !after || !before || query.status.as_ref().is_some_and(|status| *status != thread.status()) {
            return false;
        }
        let Some(wanted) = &query.agent_name else { return true };
        let metadata: Metadata<'_> = thread.metadata.record();
        self.agent_name(cx, metadata.assistant.word(), metadata.graph.word()).await.as_ref() == Some(wanted)
    }

    /// A thread as it is listed. When it ended is only known where its status alone says that it has.
    async fn listed(&self, cx: &Request, thread: &Thread<'_>) -> Option<AgentSession> {
        let id = PlatformId::new("thread_id", thread.id.word()?).ok()?;
        let metadata: Metadata<'_> = thread.metadata.record();
        let phase = match thread.status().as_str() {
            "error" => Phase::Failed,
            "idle" if metadata.graph.is_some() => Phase::Complete,
            _ => Phase::Unknown,
        };
        Some(self.session(cx, &id, thread, phase).await)
    }
}

/// Where the page before ended: the token is the number of threads before this one.
fn offset(token: Option<&str>) -> Result<usize> {
    let Some(token) = token else { return Ok(0) };
    token.parse().ok().filter(|_| token.bytes().all(|byte| byte.is_ascii_digit())).ok_or_else(|| {
        Error::invalid_argument(format!(
            "page_token \"{}\" is none of this platform's: give next_page_token of the page before",
            shown(token)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread_of<T>(json: &str, ask: impl FnOnce(&Thread<'_>) -> T) -> T {
        ask(&serde_json::from_str::<Lenient<Thread<'_>>>(json).unwrap().0.unwrap())
    }

    #[test]
    fn a_thread_that_does_not_run_stands_as_its_latest_run_does() {
        for (status, run, expected) in [
            ("idle", Some("success"), Phase::Complete),
            ("idle", Some("interrupted"), Phase::Canceled),
            ("idle", Some("error"), Phase::Failed),
            ("idle", Some("timeout"), Phase::Failed),
            ("idle", Some("pending"), Phase::Pending),
            ("idle", Some("running"), Phase::Running),
            ("idle", None, Phase::Pending),
            ("interrupted", Some("interrupted"), Phase::Canceled),
            ("interrupted", Some("success"), Phase::Waiting),
            ("interrupted", None, Phase::Waiting),
        ] {
            assert_eq!(phase(status, run), expected, "{status}, {run:?}");
        }
    }

    #[test]
    fn an_interrupt_is_a_manual_task_that_cannot_be_completed() {
        let json = r#"{"status": "interrupted", "state_updated_at": "2026-01-01T00:00:00.5+00:00", "interrupts": {
            "t1": [{"id": "i1", "value": "Approve?"}, {"value": "no id"}],
            "t2": [{"id": "i2", "value": {"question": "Really?", "n": 1}}, {"id": "i3", "value": [1, 2]}], "t3": 7}}"#;
        let id = PlatformId::new("session_id", "t").unwrap();
        let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_767_225_603);
        let task = |item: &str, title: &str| ManualTaskSummary {
            work_item_id: item.to_owned(),
            title: Some(title.to_owned()),
            view_type: None,
            waiting_age_seconds: Some(2),
            completion_supported: false,
        };
        let expected = [task("t:i1", "Approve?"), task("t:i2", "Really?"), task("t:i3", "[1, 2]")];
        assert_eq!(thread_of(json, |thread| thread.tasks(&id, now)), expected);
        let answered = json.replace("interrupted", "busy");
        assert_eq!(thread_of(&answered, |thread| thread.tasks(&id, now)), []);
    }

    #[test]
    fn a_fault_is_told_in_the_graphs_words() {
        let fault = |error: &str| thread_of(&format!("{{\"error\": {error}}}"), |thread| thread.fault());
        assert_eq!(fault(r#"{"error": "ValueError", "message": "dry"}"#), Some("dry".into()));
        assert_eq!(fault(r#"{"error": "ValueError", "message": ""}"#), Some("ValueError".into()));
        assert_eq!(fault("\"plain\""), Some("plain".into()));
        assert_eq!(fault("null"), None);
        assert_eq!(fault("[7]"), None);
    }

    #[test]
    fn only_our_own_page_tokens_are_taken() {
        assert_eq!(offset(None), Ok(0));
        assert_eq!(offset(Some("40")), Ok(40));
        for token in ["", "-1", "+1", "x", "1e3", "99999999999999999999999"] {
            assert!(offset(Some(token)).is_err(), "{token:?}");
        }
    }
}
