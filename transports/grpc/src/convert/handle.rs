//! Commands under a handle: reading what they print, ending them, listing them.

use sessiond_core::{
    CommandLines, CommandSummary, Cursor, Handle, KillCommand, KillOutcome, KillResult, ListCommands, Pattern, Read,
    ReadCommand, ReadCommandOutput, RecentOutput, Result, Signal,
};

use super::command::info;
use super::{Decode, Encode, count, known, required, target, unsaid};
use crate::proto;

impl Encode for ReadCommand {
    type Message = proto::ReadCommandRequest;

    fn encode(self) -> Self::Message {
        proto::ReadCommandRequest {
            handle: self.handle.0,
            stream: self.stream.encode().into(),
            lines: self.lines,
            start_line: self.start_line,
        }
    }
}

impl Decode for proto::ReadCommandRequest {
    type Value = ReadCommand;

    fn decode(self) -> Result<ReadCommand> {
        Ok(ReadCommand {
            handle: Handle(self.handle),
            stream: known::<proto::Stream>(self.stream, "stream")?.decode()?,
            lines: self.lines,
            start_line: self.start_line,
        })
    }
}

impl Encode for CommandLines {
    type Message = proto::ReadCommandResponse;

    fn encode(self) -> Self::Message {
        proto::ReadCommandResponse { first: self.first, lines: self.lines }
    }
}

impl Decode for proto::ReadCommandResponse {
    type Value = CommandLines;

    fn decode(self) -> Result<CommandLines> {
        Ok(CommandLines { first: self.first, lines: self.lines })
    }
}

impl Encode for ReadCommandOutput {
    type Message = proto::ReadCommandOutputRequest;

    fn encode(self) -> Self::Message {
        proto::ReadCommandOutputRequest {
            handle: self.handle.0,
            stream: self.stream.encode().into(),
            cursor: self.cursor.0,
            wait: Some(self.wait.encode()),
        }
    }
}

impl Decode for proto::ReadCommandOutputRequest {
    type Value = ReadCommandOutput;

    fn decode(self) -> Result<ReadCommandOutput> {
        Ok(ReadCommandOutput {
            handle: Handle(self.handle),
            stream: known::<proto::Stream>(self.stream, "stream")?.decode()?,
            cursor: Cursor(self.cursor),
            wait: self.wait.decode()?.unwrap_or_default(),
        })
    }
}

impl Decode for proto::ReadCommandOutputResponse {
    type Value = Read;

    fn decode(self) -> Result<Read> {
        required(self.read, "read")?.decode()
    }
}

impl Encode for KillCommand {
    type Message = proto::KillCommandRequest;

    fn encode(self) -> Self::Message {
        proto::KillCommandRequest {
            handle: self.handle.0,
            signal: Some(self.signal.name().to_owned()),
            force: self.force,
            wait: Some(self.wait.encode()),
        }
    }
}

impl Decode for proto::KillCommandRequest {
    type Value = KillCommand;

    fn decode(self) -> Result<KillCommand> {
        Ok(KillCommand {
            handle: Handle(self.handle),
            signal: self.signal.map_or(Ok(Signal::Term), |name| name.parse())?,
            force: self.force,
            wait: self.wait.decode()?.unwrap_or_default(),
        })
    }
}

impl Encode for KillOutcome {
    type Message = proto::KillCommandResponse;

    fn encode(self) -> Self::Message {
        proto::KillCommandResponse {
            handle: self.handle.0,
            pid: self.pid,
            result: self.result.encode().into(),
            signal: self.signal.name().to_owned(),
            force_used: self.force_used,
            survivors: self.survivors,
        }
    }
}

impl Decode for proto::KillCommandResponse {
    type Value = KillOutcome;

    fn decode(self) -> Result<KillOutcome> {
        Ok(KillOutcome {
            handle: Handle(self.handle),
            pid: self.pid,
            result: known::<proto::KillResult>(self.result, "result")?.decode()?,
            signal: self.signal.parse()?,
            force_used: self.force_used,
            survivors: self.survivors,
        })
    }
}

impl Encode for KillResult {
    type Message = proto::KillResult;

    fn encode(self) -> proto::KillResult {
        match self {
            Self::Killed => proto::KillResult::Killed,
            Self::AlreadyExited => proto::KillResult::AlreadyExited,
            Self::NotRunning => proto::KillResult::NotRunning,
            Self::FailedToKill => proto::KillResult::FailedToKill,
        }
    }
}

impl Decode for proto::KillResult {
    type Value = KillResult;

    fn decode(self) -> Result<KillResult> {
        Ok(match self {
            Self::Unspecified => return Err(unsaid("result")),
            Self::Killed => KillResult::Killed,
            Self::AlreadyExited => KillResult::AlreadyExited,
            Self::NotRunning => KillResult::NotRunning,
            Self::FailedToKill => KillResult::FailedToKill,
        })
    }
}

impl Encode for ListCommands {
    type Message = proto::ListCommandsRequest;

    fn encode(self) -> Self::Message {
        proto::ListCommandsRequest {
            target: self.target.map(|name| name.to_string()),
            limit: self.limit.map(|limit| limit as u64),
            reverse: self.reverse,
            pattern: self.pattern.map(|pattern| pattern.as_str().to_owned()),
            output_lines: self.output_lines,
        }
    }
}

impl Decode for proto::ListCommandsRequest {
    type Value = ListCommands;

    fn decode(self) -> Result<ListCommands> {
        Ok(ListCommands {
            target: target(self.target)?,
            limit: self.limit.map(count),
            reverse: self.reverse,
            pattern: self.pattern.as_deref().map(Pattern::new).transpose()?,
            output_lines: self.output_lines,
        })
    }
}

impl Encode for Vec<CommandSummary> {
    type Message = proto::ListCommandsResponse;

    fn encode(self) -> Self::Message {
        proto::ListCommandsResponse { commands: self.into_iter().map(summary).collect() }
    }
}

fn summary(summary: CommandSummary) -> proto::CommandSummary {
    proto::CommandSummary { info: Some(info(summary.info)), output: summary.output.encode() }
}

impl Decode for proto::ListCommandsResponse {
    type Value = Vec<CommandSummary>;

    fn decode(self) -> Result<Vec<CommandSummary>> {
        self.commands.decode()
    }
}

impl Decode for proto::CommandSummary {
    type Value = CommandSummary;

    fn decode(self) -> Result<CommandSummary> {
        Ok(CommandSummary { info: required(self.info, "info")?.decode()?, output: self.output.decode()? })
    }
}

impl Encode for RecentOutput {
    type Message = proto::RecentOutput;

    fn encode(self) -> proto::RecentOutput {
        proto::RecentOutput { stdout: self.stdout, stderr: self.stderr }
    }
}

impl Decode for proto::RecentOutput {
    type Value = RecentOutput;

    fn decode(self) -> Result<RecentOutput> {
        Ok(RecentOutput { stdout: self.stdout, stderr: self.stderr })
    }
}

/// How many commands were forgotten.
impl Encode for usize {
    type Message = proto::ClearCommandsResponse;

    fn encode(self) -> Self::Message {
        proto::ClearCommandsResponse { cleared: self as u64 }
    }
}

impl Decode for proto::ClearCommandsResponse {
    type Value = usize;

    fn decode(self) -> Result<usize> {
        Ok(count(self.cleared))
    }
}
