//! Hosts, connections and commands out of what the tools of the ssh family answer.

use std::time::SystemTime;

use bytes::Bytes;
use serde_json::Value;
use sessiond_core::{
    Cause, CommandInfo, CommandRun, CommandStatus, CommandSummary, Connection, ConnectionFacts, ConnectionStatus, End,
    Exit, Handle, HostConnected, HostDisconnected, HostInfo, HostKey, KillOutcome, KillResult, LineFacts, RecentOutput,
    RunStatus, Signal, Stream, Tail, TargetInfo, TargetName,
};

use super::fields::Fields;
use crate::suite::stage;

const RUNS: [RunStatus; 7] = [
    RunStatus::Success,
    RunStatus::CommandFailed,
    RunStatus::IoTimeout,
    RunStatus::WaitTimeout { capped: false },
    RunStatus::RuntimeTimeout,
    RunStatus::CwdNotFound,
    RunStatus::Error,
];
const COMMANDS: [CommandStatus; 4] =
    [CommandStatus::Running, CommandStatus::Completed, CommandStatus::Killed, CommandStatus::Lost];
const KILLS: [KillResult; 4] =
    [KillResult::Killed, KillResult::AlreadyExited, KillResult::NotRunning, KillResult::FailedToKill];

/// The name of a stream on the wire.
pub(super) fn stream_name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

/// The one of these that has this name.
fn named<T: Copy>(all: &[T], name_of: impl Fn(T) -> &'static str, name: &str) -> T {
    all.iter().copied().find(|one| name_of(*one) == name).unwrap_or_else(|| panic!("there is no {name:?}"))
}

fn name(fields: &Fields<'_>, field: &str) -> TargetName {
    TargetName::new(fields.text(field)).unwrap_or_else(|error| panic!("{error}"))
}

/// A time on the wire; only that there is one can be compared across transports.
fn time(fields: &Fields<'_>, field: &str) -> Option<SystemTime> {
    fields.maybe_text(field).map(|_| SystemTime::UNIX_EPOCH)
}

pub(super) fn lines(list: &Value) -> Vec<Bytes> {
    let line = |line: &Value| Bytes::from(line.as_str().unwrap_or_else(|| panic!("no line: {line}")).to_owned());
    list.as_array().unwrap_or_else(|| panic!("no lines: {list}")).iter().map(line).collect()
}

pub(super) fn host(host: &Value) -> TargetInfo {
    let fields = Fields(host);
    let info = HostInfo { description: fields.maybe_text("description"), source: fields.text("source") };
    TargetInfo { host: Some(info), ..TargetInfo::new(name(&fields, "key"), "ssh") }
}

pub(super) fn connected(answer: &Value) -> HostConnected {
    let fields = Fields(answer);
    let key = answer.get("host_key").unwrap_or_else(|| panic!("there is no host_key in {answer}"));
    let key = Fields(key);
    let hops = answer.get("hops").and_then(Value::as_array).unwrap_or_else(|| panic!("there are no hops in {answer}"));
    HostConnected {
        target: name(&fields, "connected_to"),
        was_connected: fields.text("status") == "already_connected",
        facts: ConnectionFacts {
            host: fields.text("host"),
            user: fields.text("user"),
            port: port(&fields).unwrap_or_else(|| panic!("there is no port in {answer}")),
            os: fields.maybe_text("os_type"),
            server_version: fields.text("server_version"),
            host_key: HostKey {
                kind: key.text("type"),
                fingerprint: key.text("fingerprint"),
                verified_by: key.text("verified_by"),
            },
            auth_method: fields.text("auth_method"),
            hops: hops.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        },
    }
}

fn port(fields: &Fields<'_>) -> Option<u16> {
    fields.is("port").then(|| u16::try_from(fields.number("port")).unwrap_or_else(|_| panic!("port is out of range")))
}

pub(super) fn connection(connection: &Value) -> Connection {
    let fields = Fields(connection);
    Connection {
        target: name(&fields, "host_name"),
        status: ConnectionStatus {
            host: fields.text("host"),
            user: fields.maybe_text("user"),
            port: port(&fields),
            connected: fields.flag("connected"),
            since: time(&fields, "since"),
            channels: fields.number("channels") as usize,
            last_error: fields.maybe_text("last_error"),
        },
    }
}

pub(super) fn disconnected(answer: &Value) -> HostDisconnected {
    let fields = Fields(answer);
    HostDisconnected {
        target: fields.is("disconnected_from").then(|| name(&fields, "disconnected_from")),
        was_connected: fields.flag("was_connected"),
        // What was stopped stands in the message, for people.
        stopped: 0,
        survivors: Vec::new(),
    }
}

/// How a command ended, as far as its fields tell.
fn ended(fields: &Fields<'_>, status: CommandStatus) -> Option<End> {
    let exit = match (fields.maybe_text("signal"), fields.0.get("exit_code").and_then(Value::as_i64)) {
        (Some(signal), _) => Exit::Signaled(signal),
        (None, Some(code)) => Exit::Exited(i32::try_from(code).unwrap_or(-1)),
        (None, None) if status == CommandStatus::Lost => Exit::Lost(fields.maybe_text("error").unwrap_or_default()),
        (None, None) => return None,
    };
    let cause = if status == CommandStatus::Killed { Cause::Stop { confirmed: true } } else { Cause::Own };
    Some(End { exit, cause })
}

fn facts(fields: &Fields<'_>, total: &str, dropped: &str) -> LineFacts {
    let dropped = if fields.is(dropped) { fields.number(dropped) } else { 0 };
    LineFacts { total: fields.number(total), dropped }
}

/// A command's record. Not every tool tells all of it; what a tool leaves out stays empty.
fn info(fields: &Fields<'_>, handle: u64, status: CommandStatus) -> CommandInfo {
    CommandInfo {
        handle: Handle(handle),
        target: if fields.is("host_name") { name(fields, "host_name") } else { stage::target() },
        command: fields.maybe_text("command").unwrap_or_default().into(),
        cwd: fields.maybe_text("cwd").map(Into::into),
        status,
        end: ended(fields, status),
        pid: fields.is("pid").then(|| fields.number("pid") as u32),
        started_at: SystemTime::UNIX_EPOCH,
        ended_at: time(fields, "end_time"),
        stdout: facts(fields, "output_lines", "output_dropped"),
        stderr: if fields.is("stderr_lines") {
            facts(fields, "stderr_lines", "stderr_dropped")
        } else {
            <_>::default()
        },
    }
}

pub(super) fn run(answer: &Value) -> CommandRun {
    let fields = Fields(answer);
    let status = match named(&RUNS, RunStatus::as_str, &fields.text("status")) {
        RunStatus::WaitTimeout { .. } => {
            RunStatus::WaitTimeout { capped: fields.is("wait_capped") && fields.flag("wait_capped") }
        }
        status => status,
    };
    let standing = match status {
        _ if fields.flag("still_running") => CommandStatus::Running,
        RunStatus::RuntimeTimeout => CommandStatus::Killed,
        RunStatus::Error => CommandStatus::Lost,
        _ => CommandStatus::Completed,
    };
    let command = fields.is("id").then(|| {
        assert_eq!(fields.number("id"), fields.number("handle_id"), "the same number: {answer}");
        info(&fields, fields.number("id"), standing)
    });
    CommandRun {
        status,
        target: name(&fields, "host_name"),
        command,
        stdout: tail(&fields, "output", "output_truncated", "output_lines"),
        stderr: tail(&fields, "stderr", "stderr_truncated", "stderr_lines"),
        // Their pids stand in the text, for people.
        descendants: Vec::new(),
        error: fields.maybe_text("error"),
    }
}

fn tail(fields: &Fields<'_>, output: &str, truncated: &str, total: &str) -> Tail {
    let bytes = Bytes::from(fields.text(output));
    let lines =
        bytes.split(|byte| *byte == b'\n').count() as u64 - u64::from(bytes.is_empty() || bytes.ends_with(b"\n"));
    Tail { first_line: (fields.number(total) + 1).saturating_sub(lines), truncated: fields.flag(truncated), bytes }
}

pub(super) fn checked(answer: &Value) -> Option<CommandInfo> {
    let fields = Fields(answer);
    let status = fields.text("status");
    if status == "not_found" {
        return None;
    }
    Some(info(&fields, fields.number("handle_id"), named(&COMMANDS, CommandStatus::as_str, &status)))
}

pub(super) fn killed(answer: &Value, signal: Signal) -> KillOutcome {
    let fields = Fields(answer);
    KillOutcome {
        handle: Handle(fields.number("handle_id")),
        pid: fields.is("pid").then(|| fields.number("pid") as u32),
        result: named(&KILLS, KillResult::as_str, &fields.text("result")),
        signal,
        force_used: fields.flag("force_kill_used"),
        // Their pids stand in the text, for people.
        survivors: Vec::new(),
    }
}

pub(super) fn listed(command: &Value) -> CommandSummary {
    let fields = Fields(command);
    let status = named(&COMMANDS, CommandStatus::as_str, &fields.text("status"));
    let output = fields.is("output").then(|| RecentOutput {
        stdout: lines(fields.0.get("output").unwrap_or(&Value::Null)),
        stderr: fields.0.get("stderr").map(lines).unwrap_or_default(),
    });
    CommandSummary { info: info(&fields, fields.number("handle_id"), status), output }
}
