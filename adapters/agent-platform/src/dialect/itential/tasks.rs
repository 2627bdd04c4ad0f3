//! Manual tasks: what waits for a person in the work centre.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::value::RawValue;
use sessiond_core::{Error, ErrorKind, FinishState, Json, ManualTask, ManualTaskSummary, PlatformId, Result, shown};

use super::{missing, pages};
use crate::http::{self, Ask, Http, Path, malformed};
use crate::json::{Lenient, Page, record};
use crate::request::Request;

record! {
    /// A manual task.
    Item {
        id: "id",
        status: "status",
        summary: "summary",
        name: "name",
        view: "view",
        execution: "execution",
        created_at: "createdAt",
        data: "data",
    }
}

record! {
    /// What a task hangs on.
    Execution { id: "id" }
}

record! {
    /// What a task's view is given, below `incoming` or bare.
    Incoming {
        incoming: "incoming",
        header: "header",
        message: "message",
        body: "body",
        btn_success: "btn_success",
        btn_failure: "btn_failure",
    }
}

/// Where the tasks are.
const ITEMS: [&str; 2] = ["work-center-service", "work-items"];
/// The views that a task can be completed in without a person at the platform: all others are forms, or unknown.
const COMPLETABLE: [&str; 3] = ["ViewData", "ViewHTML", "InteractiveHTML"];
/// How the platform calls a task that waits.
const PENDING: &str = "pending";

impl Item<'_> {
    fn is_pending_of(&self, session: &PlatformId) -> bool {
        self.status.str().as_deref() == Some(PENDING)
            && self.execution.record::<Execution<'_>>().id.id().as_deref() == Some(session.as_str())
    }

    /// The words for people; where there are none, the name, which rather is the view's.
    fn title(&self) -> Option<String> {
        self.summary.word().or_else(|| self.name.word())
    }

    /// The last segment of the view's path, else the name.
    fn view_type(&self) -> Option<String> {
        let view = self.view.word();
        let path = view.as_deref().map(|view| view.split(['?', '#']).next().unwrap_or_default());
        let last = path.and_then(|path| path.trim_end_matches('/').rsplit('/').next()).filter(|last| !last.is_empty());
        last.map(str::to_owned).or_else(|| self.name.word())
    }

    fn waiting_age(&self) -> Option<u64> {
        self.created_at.moment().map(|moment| moment.age(SystemTime::now()))
    }

    /// As a session's description names it; `None` for one without an id.
    fn to_summary(self) -> Option<ManualTaskSummary> {
        let view_type = self.view_type();
        Some(ManualTaskSummary {
            work_item_id: self.id.id()?,
            title: self.title(),
            completion_supported: is_completable(view_type.as_deref()),
            view_type,
            waiting_age_seconds: self.waiting_age(),
        })
    }
}

fn is_completable(view_type: Option<&str>) -> bool {
    view_type.is_some_and(|view| COMPLETABLE.contains(&view))
}

/// What of a session waits for a person: pending tasks on its own id (DS31).
pub(super) async fn pending(http: &Http, cx: &Request, session: &PlatformId) -> Result<Vec<ManualTaskSummary>> {
    let ask = Ask::get(Path::of(&ITEMS)?).query("rootExecutionId", session);
    let reply = match http.ask(cx, &ask).await {
        // A session that never had a task is not known there (DS30).
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        answered => answered?,
    };
    let page: Page<Item<'_>> = pages::decode(&reply)?;
    let own = page.records.into_iter().filter(|item| item.is_pending_of(session));
    Ok(own.filter_map(Item::to_summary).collect())
}

/// A task with all that it says.
pub(super) async fn describe(http: &Http, cx: &Request, id: &PlatformId) -> Result<ManualTask> {
    let record = async { http.ask(cx, &Ask::get(path(id, &[])?)).await.map_err(|error| no_task(error, id)) };
    let given = async {
        match http.ask(cx, &Ask::get(path(id, &["variables", "incoming"])?)).await {
            // A task that was given nothing.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            given => given.map(Some),
        }
    };
    let (record, given) = futures_util::future::try_join(record, given).await?;
    let Lenient(Some(found)) = record.json::<Lenient<Item<'_>>>()? else { return Err(malformed()) };
    let is_around = !found.id.is_some() && found.data.is_object();
    let item: Item<'_> = if is_around { found.data.record() } else { found };
    let given: Option<Lenient<Incoming<'_>>> = given.as_ref().map(|given| given.json()).transpose()?;
    let outer = given.and_then(|given| given.0).unwrap_or_default();
    let given: Incoming<'_> = if outer.incoming.is_object() { outer.incoming.record() } else { outer };
    let status = item.status.text().unwrap_or_default();
    let view_type = item.view_type();
    Ok(ManualTask {
        work_item_id: item.id.id().unwrap_or_else(|| id.as_str().to_owned()),
        pending: status == PENDING,
        status,
        title: item.title(),
        completion_supported: is_completable(view_type.as_deref()),
        view_type,
        header: given.header.shown(),
        message: given.message.shown(),
        body: given.body.shown(),
        btn_success: given.btn_success.text(),
        btn_failure: given.btn_failure.text(),
        waiting_age_seconds: item.waiting_age(),
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Completion {
    finish_state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    variables: Option<Box<RawValue>>,
}

/// Completes a task.
pub(super) async fn finish(
    http: &Http,
    cx: &Request,
    id: &PlatformId,
    state: FinishState,
    variables: Option<&Json>,
) -> Result<()> {
    let variables = variables.map(http::raw).transpose()?;
    let ask = Ask::patch(path(id, &["complete"])?).json(&Completion { finish_state: state.as_str(), variables })?;
    http.ask(cx, &ask).await.map(drop).map_err(|error| no_task(error, id))
}

fn path(id: &PlatformId, below: &[&str]) -> Result<Path> {
    let segments: Vec<&str> = ITEMS.into_iter().chain([id.as_str()]).chain(below.iter().copied()).collect();
    Path::of(&segments)
}

fn no_task(error: Error, id: &PlatformId) -> Error {
    missing(error, || {
        let id = shown(id.as_str());
        format!("there is no manual task \"{id}\" on this platform: describe_session lists those of a session")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(json: &str) -> Item<'_> {
        serde_json::from_str::<Lenient<Item<'_>>>(json).unwrap().0.unwrap()
    }

    #[test]
    fn the_view_says_whether_a_task_can_be_completed() {
        for (json, view_type, completable) in [
            (r#"{"view": "/work-center/view/ViewData"}"#, Some("ViewData"), true),
            (r#"{"view": "view/ViewHTML/?x=/y#z"}"#, Some("ViewHTML"), true),
            (r#"{"view": "InteractiveHTML"}"#, Some("InteractiveHTML"), true),
            (r#"{"view": "/x/RenderJsonSchema", "name": "ViewData"}"#, Some("RenderJsonSchema"), false),
            (r#"{"view": "/x/viewdata"}"#, Some("viewdata"), false),
            (r#"{"view": null, "name": "ViewData"}"#, Some("ViewData"), true),
            (r#"{"view": 7, "name": ""}"#, None, false),
            ("{}", None, false),
        ] {
            let found = item(json).view_type();
            assert_eq!((found.as_deref(), is_completable(found.as_deref())), (view_type, completable), "{json}");
        }
    }

    #[test]
    fn only_pending_tasks_on_the_session_itself_are_its_own() {
        let session = PlatformId::new("session_id", "s1").unwrap();
        let own = |json| item(json).is_pending_of(&session);
        assert!(own(r#"{"status": "pending", "execution": {"id": "s1"}}"#));
        for other in [
            r#"{"status": "completed", "execution": {"id": "s1"}}"#,
            r#"{"status": "pending", "execution": {"id": "s2"}, "rootExecution": {"id": "s1"}}"#,
            r#"{"status": "pending", "execution": "s1"}"#,
            r#"{"status": "pending"}"#,
            r#"{"status": null, "execution": {"id": "s1"}}"#,
        ] {
            assert!(!own(other), "{other}");
        }
    }
}
