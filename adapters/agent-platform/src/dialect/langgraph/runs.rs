//! Runs: starting one on a thread of its own, answering one that waits, and cancelling.

use serde::Serialize;
use serde_json::value::RawValue;
use sessiond_core::{AgentRun, Error, ErrorKind, Json, PlatformId, Result};
use tokio::time::Instant;

use super::{Langgraph, thread};
use crate::dialect::Request;
use crate::http::{Ask, raw};
use crate::json::{Lenient, record};

/// How many of a thread's latest runs are looked at for one that is under way.
const LATEST: usize = 20;

record! {
    /// What the platform says of a run that it has taken.
    Taken { status: "status" }
}

/// A run to start.
#[derive(Serialize)]
struct Order<'a> {
    assistant_id: &'a str,
    /// What the graph begins with; null goes on from where it rests.
    input: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Command<'a>>,
    /// The smallest stream that tells of each step.
    stream_mode: [&'static str; 1],
    stream_resumable: bool,
    multitask_strategy: &'static str,
    if_not_exists: &'static str,
}

/// What wakes a graph that has asked something.
#[derive(Serialize)]
struct Command<'a> {
    resume: &'a RawValue,
}

/// A change of a thread's state by hand.
#[derive(Serialize)]
struct Change {
    values: (),
    as_node: &'static str,
}

impl<'a> Order<'a> {
    fn new(assistant_id: &'a str, input: Option<&'a RawValue>, command: Option<Command<'a>>) -> Self {
        Self {
            assistant_id,
            input,
            command,
            stream_mode: ["updates"],
            stream_resumable: true,
            multitask_strategy: "reject",
            if_not_exists: "reject",
        }
    }
}

impl Langgraph {
    /// Starts an agent on a thread of its own, which one request makes and runs. Its id is ours, so that a run whose
    /// start got no answer can be cancelled all the same.
    pub(super) async fn start_run(&self, cx: &Request, agent: &str, inputs: Option<&Json>) -> Result<AgentRun> {
        let assistant = self.assistant_of(cx, agent).await?;
        let input = match inputs {
            Some(inputs) => raw(inputs)?,
            // A graph that is given nothing at all does not run.
            None => raw(&Json::from_checked("{}"))?,
        };
        let id = PlatformId::new("session_id", uuid()?)?;
        let order = Order { if_not_exists: "create", ..Order::new(&assistant, Some(&input), None) };
        // A part of the time is left for what a start without an answer needs.
        let left = cx.deadline.saturating_duration_since(Instant::now());
        let own = Request { deadline: cx.deadline - left / 4, ..cx.clone() };
        match self.order(&own, &id, &order).await {
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Unavailable) => {
                if let Err(fault) = self.cancel(cx, &id).await {
                    tracing::debug!(fault = fault.message(), "what may have been started could not be cancelled");
                }
                Err(error)
            }
            started => started,
        }
    }

    async fn order(&self, cx: &Request, id: &PlatformId, order: &Order<'_>) -> Result<AgentRun> {
        let reply = self.http.ask(cx, &Ask::post(thread(id, &["runs"])?).json(order)?).await?;
        let run = reply.json::<Lenient<Taken<'_>>>()?.0.unwrap_or_default();
        Ok(AgentRun { session_id: id.to_string(), status: run.status.text().unwrap_or_default() })
    }

    /// Has a graph that rests go on: with the answer to what it asked, or, where it only stopped, without one.
    pub(super) async fn resume(&self, cx: &Request, id: &PlatformId, input: Option<&Json>) -> Result<AgentRun> {
        let standing = self.steering(cx, id).await?;
        if standing.status != "interrupted" {
            return Err(Error::failed_precondition(
                "the session does not wait for an answer: describe_session shows how it stands",
            ));
        }
        let assistant = standing.assistant.ok_or_else(|| {
            Error::failed_precondition("the platform does not say which agent the session is of: start it anew")
        })?;
        let answer = input.map(raw).transpose()?;
        let command = match (&answer, standing.asks) {
            (Some(resume), _) => Some(Command { resume }),
            (None, false) => None,
            (None, true) => {
                return Err(Error::invalid_argument(
                    "input is missing: the graph has asked something; give the answer to it as input, any JSON value",
                ));
            }
        };
        self.order(cx, id, &Order::new(&assistant, None, command)).await
    }

    /// Cancels what runs on a thread. Where nothing does and the graph waits for an answer, that wait is ended: the
    /// thread's state is set as if the graph had come to its end, so that nobody can answer any more.
    pub(super) async fn cancel(&self, cx: &Request, id: &PlatformId) -> Result<AgentRun> {
        let runs = self.runs(cx, id, LATEST).await?;
        let mut cancelled = false;
        for (run, _) in runs.iter().filter(|(_, status)| matches!(status.as_str(), "pending" | "running")) {
            let path = thread(id, &["runs", run, "cancel"])?;
            let ask = Ask::post(path).query("wait", false).query("action", "interrupt");
            match self.http.ask(cx, &ask).await {
                Ok(_) => cancelled = true,
                // It has ended meanwhile.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::FailedPrecondition) => {}
                Err(error) => return Err(error),
            }
        }
        let mut standing = self.steering(cx, id).await?;
        // What was cancelled is `interrupted` too; its latest run says so.
        let was_cancelled = runs.first().is_some_and(|(_, status)| status == "interrupted");
        let waits = standing.status == "interrupted" && (standing.asks || !was_cancelled);
        if !cancelled && waits {
            let end = Change { values: (), as_node: "__end__" };
            self.of_thread(cx, id, &Ask::post(thread(id, &["state"])?).json(&end)?).await?;
            standing = self.steering(cx, id).await?;
        } else if !cancelled && standing.status != "busy" {
            return Err(Error::failed_precondition("the session is over: describe_session shows how it ended"));
        }
        Ok(AgentRun { session_id: id.to_string(), status: standing.status })
    }
}

/// A random UUID (RFC 9562 section 5.4).
fn uuid() -> Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::internal(format!("no randomness from the operating system: {error}")))?;
    let random = u128::from_be_bytes(bytes);
    let marked = random & !(0xf << 76 | 0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let mut text = format!("{marked:032x}");
    for place in [20, 16, 12, 8] {
        text.insert(place, '-');
    }
    Ok(text)
}

/// Whether a text is a UUID as it is commonly written.
pub(super) fn is_uuid(text: &str) -> bool {
    let groups = text.split('-').map(str::len);
    groups.eq([8, 4, 4, 4, 12]) && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_told_from_other_ids() {
        assert!(is_uuid("1F0d3b9c-0000-4abc-8def-0123456789ab"));
        for other in ["", "nowhere", "1f0d3b9c00004abc8def0123456789ab", "1f0d3b9c-0000-4abc-8def-0123456789ag"] {
            assert!(!is_uuid(other), "{other}");
        }
    }

    #[test]
    fn a_threads_id_is_a_random_uuid() {
        let one = uuid().unwrap();
        assert!(is_uuid(&one));
        let shape: String = one.chars().map(|char| if char == '-' { '-' } else { 'x' }).collect();
        assert_eq!(shape, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
        assert_eq!(one.get(14..15), Some("4"));
        assert!(matches!(one.get(19..20), Some("8" | "9" | "a" | "b")));
        assert_ne!(one, uuid().unwrap());
    }
}
