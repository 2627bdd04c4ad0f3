//! What waits for a person on an agent platform: looking at it, and completing it once somebody has said so.

use super::Registry;
use super::agents::{NOTHING, agents};
use crate::agent::{FinishState, ManualTask, PlatformId};
use crate::call::Call;
use crate::error::{Error, Result, shown};
use crate::service::{CompleteManualTask, DescribeManualTask, TaskCompletion};

/// What is said when nobody waited for the answer to a completion.
const UNKNOWN: &str = "whether the platform did it is not known; describe_manual_task shows it";

impl Registry {
    /// Something that waits for a person.
    pub(super) async fn manual_task(&self, cx: &Call, request: DescribeManualTask) -> Result<ManualTask> {
        let id = PlatformId::new("work_item_id", request.work_item)?;
        let target = self.platform(cx, request.target.as_ref()).await?;
        self.ask(cx, agents(&target)?.manual_task(cx, &id), NOTHING).await
    }

    /// Completes something that waits for a person, or says what that would do. It is looked at first in any case:
    /// what cannot be completed is refused before anybody is asked to confirm it.
    pub(super) async fn complete_task(&self, cx: &Call, request: CompleteManualTask) -> Result<TaskCompletion> {
        let id = PlatformId::new("work_item_id", request.work_item)?;
        if request.variables.as_ref().is_some_and(|variables| !variables.is_flat_object()) {
            return Err(Error::invalid_argument(
                "variables must be a flat JSON object, like {\"name\": \"value\"}: give no list and no object as a value",
            ));
        }
        let target = self.platform(cx, request.target.as_ref()).await?;
        let platform = agents(&target)?;
        let (state, variables) = (request.finish_state, request.variables.as_ref());
        let task = self.ask(cx, platform.manual_task(cx, &id), NOTHING).await?;
        check(&task, state)?;
        let warnings = if request.confirm {
            self.ask(cx, platform.finish_task(cx, &id, state, variables), UNKNOWN).await?;
            Vec::new()
        } else {
            warnings(&task, state, variables.is_some())
        };
        let completed = request.confirm;
        Ok(TaskCompletion {
            work_item_id: task.work_item_id,
            title: task.title,
            finish_state: state,
            completed,
            warnings,
        })
    }
}

/// Whether a task may end like this.
fn check(task: &ManualTask, state: FinishState) -> Result<()> {
    if !task.pending {
        let status = shown(&task.status);
        return Err(Error::failed_precondition(format!(
            "the task waits no more, its status is \"{status}\": nothing was changed; describe_session shows what waits"
        )));
    }
    if !task.completion_supported {
        let what = match &task.view_type {
            Some(view) => format!("of the view type \"{}\"", shown(view)),
            None => "whose view type the platform does not name".to_owned(),
        };
        return Err(Error::unsupported(format!(
            "a task {what} cannot be completed from here: a person completes it on the platform itself"
        )));
    }
    if state == FinishState::Failure && button(task.btn_failure.as_ref()).is_none() {
        return Err(Error::failed_precondition(
            "the task has no button for failure: success is its only finish_state; describe_manual_task shows its buttons",
        ));
    }
    Ok(())
}

/// What whoever confirms should know.
fn warnings(task: &ManualTask, state: FinishState, has_variables: bool) -> Vec<String> {
    let pressed = match state {
        FinishState::Success => button(task.btn_success.as_ref()),
        FinishState::Failure => button(task.btn_failure.as_ref()),
    };
    let mut warnings = vec![
        "nothing was changed: repeat the call with confirm true once a person has agreed".to_owned(),
        "completing it cannot be undone, and whatever waits for it goes on at once".to_owned(),
        "the platform records the account of this server as whoever completed it".to_owned(),
    ];
    if let Some(pressed) = pressed {
        warnings.push(format!("{} presses the button \"{}\"", state.as_str(), shown(pressed)));
    }
    if has_variables {
        warnings.push("the variables are handed to the platform with it".to_owned());
    }
    warnings
}

/// The words on a button, where it has any.
fn button(words: Option<&String>) -> Option<&str> {
    words.map(|words| words.trim()).filter(|words| !words.is_empty())
}
