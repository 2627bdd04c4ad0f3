//! Sessions: how one stands, the list of them, and steering one.

use std::collections::HashSet;

use serde::Serialize;
use sessiond_core::{
    AgentAction, AgentRun, AgentSession, AgentSessionPage, AgentSessionQuery, Error, Json, PlatformId, Result, shown,
};

use super::pages::{self, Next, Progress};
use super::{SESSIONS, no_session};
use crate::dialect::{Phase, RunState};
use crate::http::{Ask, Http, Path, Reply, malformed};
use crate::json::{Lenient, Page, record};
use crate::request::Request;
use crate::time;

record! {
    /// A session.
    Session {
        session_id: "sessionId",
        status: "status",
        agent: "agentSnapshot",
        started_at: "startedAt",
        end_time: "endTime",
        duration_ms: "durationMs",
        total_input_tokens: "totalInputTokens",
        total_output_tokens: "totalOutputTokens",
        error_message: "errorMessage",
        data: "data",
    }
}

record! {
    /// The agent of a session, as it was when the session began.
    Snapshot { name: "name" }
}

/// The sessions of one page.
const LIMIT: usize = 100;
/// The most pages that one call looks through for sessions that match: it then says where to go on.
const MOST_PAGES: usize = 100;

impl Session<'_> {
    fn to_session(self) -> AgentSession {
        AgentSession {
            session_id: self.session_id.id().unwrap_or_default(),
            status: self.status.text().unwrap_or_default(),
            agent_name: self.agent.record::<Snapshot<'_>>().name.text(),
            started_at: self.started_at.time(),
            end_time: self.end_time.time(),
            duration_ms: self.duration_ms.integer(),
            total_input_tokens: self.total_input_tokens.count(),
            total_output_tokens: self.total_output_tokens.count(),
        }
    }

    /// Whether a list for this query has it. Who has no time is in no window of time.
    fn matches(&self, query: &AgentSessionQuery) -> bool {
        let is = |wanted: &Option<String>, said: Option<String>| wanted.is_none() || *wanted == said;
        let started = || self.started_at.moment().map(|moment| moment.micros);
        is(&query.agent_name, self.agent.record::<Snapshot<'_>>().name.text())
            && is(&query.status, self.status.text())
            && query.started_after.is_none_or(|after| started().is_some_and(|at| at >= time::micros(after)))
            && query.started_before.is_none_or(|before| started().is_some_and(|at| at <= time::micros(before)))
    }
}

/// A platform's word for how a session stands (DS44).
pub(super) fn phase(status: &str) -> Phase {
    match status {
        "PENDING" => Phase::Pending,
        "RUNNING" => Phase::Running,
        "PAUSING" => Phase::Pausing,
        "PAUSED" => Phase::Paused,
        "COMPLETE" => Phase::Complete,
        "FAILED" => Phase::Failed,
        "CANCELING" => Phase::Canceling,
        "CANCELED" => Phase::Canceled,
        _ => Phase::Unknown,
    }
}

fn path(id: &PlatformId) -> Result<Path> {
    let [folder, sessions] = SESSIONS;
    Path::of(&[folder, sessions, id.as_str()])
}

/// How a session stands.
pub(super) async fn state(http: &Http, cx: &Request, id: &PlatformId) -> Result<RunState> {
    let reply = http.ask(cx, &Ask::get(path(id)?)).await.map_err(|error| no_session(error, id))?;
    read(&reply, id)
}

/// The session that an answer is, bare or below `data`.
fn read(reply: &Reply, id: &PlatformId) -> Result<RunState> {
    let Lenient(Some(found)) = reply.json::<Lenient<Session<'_>>>()? else { return Err(malformed()) };
    let is_around = !found.status.is_some() && found.data.is_object();
    let said: Session<'_> = if is_around { found.data.record() } else { found };
    let mut session = said.to_session();
    if session.session_id.is_empty() {
        session.session_id = id.as_str().to_owned();
    }
    Ok(RunState { phase: phase(&session.status), session, error: said.error_message.word(), waiting: None })
}

/// One page of sessions, the newest first. The platform cannot be relied upon to filter, so all that it has is looked
/// through, from where the page before ended.
pub(super) async fn list(http: &Http, cx: &Request, query: &AgentSessionQuery) -> Result<AgentSessionPage> {
    let start = query.page_token.as_deref().map_or(Ok(0), offset)?;
    let mut found = Found { query, sessions: Vec::new(), ids: HashSet::new() };
    let mut progress = Progress::from(start);
    let mut begins = None;
    for _ in 0..MOST_PAGES {
        let from = progress.received;
        let reply = http.ask(cx, &page(from)?).await?;
        let page: Page<Session<'_>> = pages::decode(&reply)?;
        let first = page.records.first().and_then(|session| session.session_id.id());
        if first.is_some() && first == begins {
            // The platform sends the same page, whichever it is asked for.
            return Ok(found.page(None));
        }
        begins = first;
        let next = progress.page(page.received, page.total);
        if let Some(place) = found.take(&page.records) {
            // Elements that are no records have no place among these: some in front of this one may come again.
            return Ok(found.page(Some(from + place)));
        }
        if next == Next::End {
            return Ok(found.page(None));
        }
        if found.is_full() {
            break;
        }
    }
    Ok(found.page(Some(progress.received)))
}

/// The sessions that a query has found.
struct Found<'q> {
    query: &'q AgentSessionQuery,
    sessions: Vec<AgentSession>,
    /// Their ids: sessions move to later pages when new ones begin.
    ids: HashSet<String>,
}

impl Found<'_> {
    fn is_full(&self) -> bool {
        self.sessions.len() >= self.query.limit
    }

    /// Takes those that match. The place of the first one for which there is no room.
    fn take(&mut self, records: &[Session<'_>]) -> Option<usize> {
        for (place, record) in records.iter().enumerate() {
            if !record.matches(self.query) {
                continue;
            }
            if self.is_full() {
                return Some(place);
            }
            let session = record.to_session();
            if session.session_id.is_empty() || self.ids.insert(session.session_id.clone()) {
                self.sessions.push(session);
            }
        }
        None
    }

    fn page(self, next: Option<usize>) -> AgentSessionPage {
        AgentSessionPage { sessions: self.sessions, next_page_token: next.map(token) }
    }
}

fn page(offset: usize) -> Result<Ask> {
    let ask = Ask::get(Path::of(&SESSIONS)?).query("offset", offset).query("limit", LIMIT);
    Ok(ask.query("sortBy", "createdAt").query("sortOrder", "desc"))
}

fn token(offset: usize) -> String {
    format!("from-{offset}")
}

fn offset(token: &str) -> Result<usize> {
    token.strip_prefix("from-").and_then(|offset| offset.parse().ok()).ok_or_else(|| {
        let token = shown(token);
        Error::invalid_argument(format!(
            "page_token \"{token}\" is none of this platform's: give next_page_token as it came"
        ))
    })
}

#[derive(Serialize)]
struct Action {
    action: &'static str,
}

/// Steers a session.
pub(super) async fn control(
    http: &Http,
    cx: &Request,
    id: &PlatformId,
    action: AgentAction,
    input: Option<&Json>,
) -> Result<AgentRun> {
    if input.is_some() {
        return Err(Error::unsupported(
            "a session of this platform goes on without input: leave input out, and answer what waits for a person \
             with complete_manual_task",
        ));
    }
    let action = match action {
        AgentAction::Cancel => "CANCEL",
        AgentAction::Pause => "PAUSE",
        AgentAction::Resume => "RESUME",
    };
    let ask = Ask::post(path(id)?).json(&Action { action })?;
    let reply = http.ask(cx, &ask).await.map_err(|error| no_session(error, id))?;
    let session = read(&reply, id)?.session;
    Ok(AgentRun { session_id: session.session_id, status: session.status })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_phase() {
        let words = ["PENDING", "RUNNING", "PAUSING", "PAUSED", "COMPLETE", "FAILED", "CANCELING", "CANCELED"];
        let phases: Vec<_> = words.iter().map(|word| phase(word)).collect();
        assert!(!phases.contains(&Phase::Unknown));
        let over: Vec<_> = words.iter().filter(|word| phase(word).is_over()).collect();
        assert_eq!(over, [&"COMPLETE", &"FAILED", &"CANCELED"]);
        for odd in ["", "running", "complete", "TERMINATED"] {
            assert_eq!(phase(odd), Phase::Unknown);
        }
    }

    #[test]
    fn a_page_token_is_one_of_ours() {
        assert_eq!(offset(&token(700)), Ok(700));
        for odd in ["", "700", "from-", "from--1", "from-x", "from-99999999999999999999999"] {
            assert!(offset(odd).is_err(), "{odd:?}");
        }
    }
}
