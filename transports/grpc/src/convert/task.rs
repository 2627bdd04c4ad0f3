//! What waits for a person on an agent platform.

use sessiond_core::{CompleteManualTask, DescribeManualTask, FinishState, ManualTask, Result, TaskCompletion};

use super::agent::text;
use super::{Decode, Encode, alike, json, known, required, target, unsaid};
use crate::proto;

alike! {
    ManualTask {
        work_item_id, status, pending, title, view_type, header, message, body, btn_success, btn_failure,
        waiting_age_seconds, completion_supported
    }
}

impl Encode for DescribeManualTask {
    type Message = proto::DescribeManualTaskRequest;

    fn encode(self) -> Self::Message {
        let target = self.target.map(|name| name.to_string());
        proto::DescribeManualTaskRequest { target, work_item_id: self.work_item }
    }
}

impl Decode for proto::DescribeManualTaskRequest {
    type Value = DescribeManualTask;

    fn decode(self) -> Result<DescribeManualTask> {
        Ok(DescribeManualTask { target: target(self.target)?, work_item: self.work_item_id })
    }
}

impl Decode for proto::DescribeManualTaskResponse {
    type Value = ManualTask;

    fn decode(self) -> Result<ManualTask> {
        required(self.task, "task")?.decode()
    }
}

impl Encode for CompleteManualTask {
    type Message = proto::CompleteManualTaskRequest;

    fn encode(self) -> Self::Message {
        proto::CompleteManualTaskRequest {
            target: self.target.map(|name| name.to_string()),
            work_item_id: self.work_item,
            finish_state: self.finish_state.encode().into(),
            confirm: self.confirm,
            variables_json: self.variables.map(text),
        }
    }
}

impl Decode for proto::CompleteManualTaskRequest {
    type Value = CompleteManualTask;

    fn decode(self) -> Result<CompleteManualTask> {
        Ok(CompleteManualTask {
            target: target(self.target)?,
            work_item: self.work_item_id,
            finish_state: known::<proto::FinishState>(self.finish_state, "finish_state")?.decode()?,
            confirm: self.confirm,
            variables: json::object(self.variables_json, "variables_json")?,
        })
    }
}

impl Encode for TaskCompletion {
    type Message = proto::CompleteManualTaskResponse;

    fn encode(self) -> Self::Message {
        proto::CompleteManualTaskResponse {
            work_item_id: self.work_item_id,
            title: self.title,
            finish_state: self.finish_state.encode().into(),
            completed: self.completed,
            warnings: self.warnings,
        }
    }
}

impl Decode for proto::CompleteManualTaskResponse {
    type Value = TaskCompletion;

    fn decode(self) -> Result<TaskCompletion> {
        Ok(TaskCompletion {
            work_item_id: self.work_item_id,
            title: self.title,
            finish_state: known::<proto::FinishState>(self.finish_state, "finish_state")?.decode()?,
            completed: self.completed,
            warnings: self.warnings,
        })
    }
}

impl Encode for FinishState {
    type Message = proto::FinishState;

    fn encode(self) -> proto::FinishState {
        match self {
            Self::Success => proto::FinishState::Success,
            Self::Failure => proto::FinishState::Failure,
        }
    }
}

impl Decode for proto::FinishState {
    type Value = FinishState;

    fn decode(self) -> Result<FinishState> {
        Ok(match self {
            Self::Unspecified => return Err(unsaid("finish_state")),
            Self::Success => FinishState::Success,
            Self::Failure => FinishState::Failure,
        })
    }
}
