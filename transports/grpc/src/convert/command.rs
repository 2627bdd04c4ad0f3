//! Commands that are run, and what is known of those that have a handle.

use sessiond_core::{
    CheckCommand, CommandInfo, CommandResult, CommandRun, CommandStatus, DEFAULT_SILENCE, ExecuteCommand, Handle,
    LineFacts, Result, RunCommand, RunStatus, Tail, TargetName,
};

use super::{Decode, Encode, known, required, target, unsaid};
use crate::proto;

impl Encode for ExecuteCommand {
    type Message = proto::ExecuteCommandRequest;

    fn encode(self) -> Self::Message {
        proto::ExecuteCommandRequest {
            target: self.target.map(|name| name.to_string()),
            client_id: self.client_id,
            invocation: Some(self.invocation.encode()),
            stdin: self.stdin,
            time_limit: self.time_limit.encode(),
        }
    }
}

impl Decode for proto::ExecuteCommandRequest {
    type Value = ExecuteCommand;

    fn decode(self) -> Result<ExecuteCommand> {
        Ok(ExecuteCommand {
            target: target(self.target)?,
            client_id: self.client_id,
            invocation: required(self.invocation, "invocation")?.decode()?,
            stdin: self.stdin,
            time_limit: self.time_limit.decode()?,
        })
    }
}

impl Encode for CommandResult {
    type Message = proto::ExecuteCommandResponse;

    fn encode(self) -> Self::Message {
        proto::ExecuteCommandResponse {
            stdout: self.stdout,
            stderr: self.stderr,
            truncated: self.truncated,
            end: Some(self.end.encode()),
            descendants: self.descendants,
        }
    }
}

impl Decode for proto::ExecuteCommandResponse {
    type Value = CommandResult;

    fn decode(self) -> Result<CommandResult> {
        Ok(CommandResult {
            stdout: self.stdout,
            stderr: self.stderr,
            truncated: self.truncated,
            end: required(self.end, "end")?.decode()?,
            descendants: self.descendants,
        })
    }
}

impl Encode for RunCommand {
    type Message = proto::RunCommandRequest;

    fn encode(self) -> Self::Message {
        proto::RunCommandRequest {
            target: self.target.map(|name| name.to_string()),
            invocation: Some(self.invocation.encode()),
            stdin: self.stdin,
            silence: Some(self.silence.encode()),
            wait: self.wait.encode(),
            time_limit: self.time_limit.encode(),
        }
    }
}

impl Decode for proto::RunCommandRequest {
    type Value = RunCommand;

    fn decode(self) -> Result<RunCommand> {
        Ok(RunCommand {
            target: target(self.target)?,
            invocation: required(self.invocation, "invocation")?.decode()?,
            stdin: self.stdin,
            silence: self.silence.decode()?.unwrap_or(DEFAULT_SILENCE),
            wait: self.wait.decode()?,
            time_limit: self.time_limit.decode()?,
        })
    }
}

impl Encode for CommandRun {
    type Message = proto::RunCommandResponse;

    fn encode(self) -> Self::Message {
        proto::RunCommandResponse {
            status: run_status(self.status).into(),
            wait_capped: self.status == RunStatus::WaitTimeout { capped: true },
            target: self.target.to_string(),
            command: self.command.map(info),
            stdout: Some(self.stdout.encode()),
            stderr: Some(self.stderr.encode()),
            descendants: self.descendants,
            error: self.error,
        }
    }
}

fn run_status(status: RunStatus) -> proto::RunStatus {
    match status {
        RunStatus::Success => proto::RunStatus::Success,
        RunStatus::CommandFailed => proto::RunStatus::CommandFailed,
        RunStatus::IoTimeout => proto::RunStatus::IoTimeout,
        RunStatus::WaitTimeout { .. } => proto::RunStatus::WaitTimeout,
        RunStatus::RuntimeTimeout => proto::RunStatus::RuntimeTimeout,
        RunStatus::CwdNotFound => proto::RunStatus::CwdNotFound,
        RunStatus::Error => proto::RunStatus::Error,
    }
}

impl Decode for proto::RunCommandResponse {
    type Value = CommandRun;

    fn decode(self) -> Result<CommandRun> {
        let status = match known::<proto::RunStatus>(self.status, "status")? {
            proto::RunStatus::Unspecified => return Err(unsaid("status")),
            proto::RunStatus::Success => RunStatus::Success,
            proto::RunStatus::CommandFailed => RunStatus::CommandFailed,
            proto::RunStatus::IoTimeout => RunStatus::IoTimeout,
            proto::RunStatus::WaitTimeout => RunStatus::WaitTimeout { capped: self.wait_capped },
            proto::RunStatus::RuntimeTimeout => RunStatus::RuntimeTimeout,
            proto::RunStatus::CwdNotFound => RunStatus::CwdNotFound,
            proto::RunStatus::Error => RunStatus::Error,
        };
        Ok(CommandRun {
            status,
            target: TargetName::new(self.target)?,
            command: self.command.decode()?,
            stdout: self.stdout.unwrap_or_default().decode()?,
            stderr: self.stderr.unwrap_or_default().decode()?,
            descendants: self.descendants,
            error: self.error,
        })
    }
}

impl Encode for Tail {
    type Message = proto::Tail;

    fn encode(self) -> proto::Tail {
        proto::Tail { data: self.bytes, first_line: self.first_line, truncated: self.truncated }
    }
}

impl Decode for proto::Tail {
    type Value = Tail;

    fn decode(self) -> Result<Tail> {
        Ok(Tail { bytes: self.data, first_line: self.first_line, truncated: self.truncated })
    }
}

/// What is known of a command.
pub(super) fn info(info: CommandInfo) -> proto::CommandInfo {
    proto::CommandInfo {
        handle: info.handle.0,
        target: info.target.to_string(),
        command: info.command.to_string(),
        cwd: info.cwd.map(|cwd| cwd.to_string()),
        status: info.status.encode().into(),
        end: info.end.encode(),
        pid: info.pid,
        started_at: Some(info.started_at.encode()),
        ended_at: info.ended_at.encode(),
        stdout: Some(info.stdout.encode()),
        stderr: Some(info.stderr.encode()),
    }
}

impl Decode for proto::CommandInfo {
    type Value = CommandInfo;

    fn decode(self) -> Result<CommandInfo> {
        Ok(CommandInfo {
            handle: Handle(self.handle),
            target: TargetName::new(self.target)?,
            command: self.command.into(),
            cwd: self.cwd.map(Into::into),
            status: known::<proto::CommandStatus>(self.status, "status")?.decode()?,
            end: self.end.decode()?,
            pid: self.pid,
            started_at: required(self.started_at, "started_at")?.decode()?,
            ended_at: self.ended_at.decode()?,
            stdout: self.stdout.unwrap_or_default().decode()?,
            stderr: self.stderr.unwrap_or_default().decode()?,
        })
    }
}

impl Encode for CommandStatus {
    type Message = proto::CommandStatus;

    fn encode(self) -> proto::CommandStatus {
        match self {
            Self::Running => proto::CommandStatus::Running,
            Self::Completed => proto::CommandStatus::Completed,
            Self::Killed => proto::CommandStatus::Killed,
            Self::Lost => proto::CommandStatus::Lost,
        }
    }
}

impl Decode for proto::CommandStatus {
    type Value = CommandStatus;

    fn decode(self) -> Result<CommandStatus> {
        Ok(match self {
            Self::Unspecified => return Err(unsaid("status")),
            Self::Running => CommandStatus::Running,
            Self::Completed => CommandStatus::Completed,
            Self::Killed => CommandStatus::Killed,
            Self::Lost => CommandStatus::Lost,
        })
    }
}

impl Encode for LineFacts {
    type Message = proto::LineFacts;

    fn encode(self) -> proto::LineFacts {
        proto::LineFacts { total: self.total, dropped: self.dropped }
    }
}

impl Decode for proto::LineFacts {
    type Value = LineFacts;

    fn decode(self) -> Result<LineFacts> {
        Ok(LineFacts { total: self.total, dropped: self.dropped })
    }
}

impl Encode for CheckCommand {
    type Message = proto::CheckCommandRequest;

    fn encode(self) -> Self::Message {
        proto::CheckCommandRequest { handle: self.handle.0, wait: Some(self.wait.encode()) }
    }
}

impl Decode for proto::CheckCommandRequest {
    type Value = CheckCommand;

    fn decode(self) -> Result<CheckCommand> {
        Ok(CheckCommand { handle: Handle(self.handle), wait: self.wait.decode()?.unwrap_or_default() })
    }
}

impl Encode for Option<CommandInfo> {
    type Message = proto::CheckCommandResponse;

    fn encode(self) -> Self::Message {
        proto::CheckCommandResponse { command: self.map(info) }
    }
}

impl Decode for proto::CheckCommandResponse {
    type Value = Option<CommandInfo>;

    fn decode(self) -> Result<Option<CommandInfo>> {
        self.command.decode()
    }
}
