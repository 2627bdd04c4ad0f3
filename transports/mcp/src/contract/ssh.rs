//! The family of SSH hosts: the tools, and what they have in common.

mod check;
mod clear;
mod connect;
mod disconnect;
mod history;
mod hosts;
mod kill;
mod output;
mod run;
mod status;

use sessiond_core::{
    Access, CommandInfo, CommandStatus, End, Error, Exit, Handle, LineFacts, MAX_CHECK_WAIT, MAX_TIME_LIMIT, Owner,
    Result, TargetName, not_found,
};

use super::Tool;
use crate::args::Args;
use crate::render::Fields;
use crate::schema::{Field, Kind, Need};

/// The tools, in the order in which an agent meets them.
pub(super) const TOOLS: [&Tool; 10] = [
    &hosts::TOOL,
    &connect::TOOL,
    &status::TOOL,
    &disconnect::TOOL,
    &run::TOOL,
    &check::TOOL,
    &output::TOOL,
    &kill::TOOL,
    &history::TOOL,
    &clear::TOOL,
];

/// The longest wait for a command's end, in seconds.
const LONGEST_CHECK_S: u64 = MAX_CHECK_WAIT.as_secs();
/// The longest time that a command can be given, in seconds.
const LONGEST_LIMIT_S: u64 = MAX_TIME_LIMIT.as_secs();

// Inputs.

const fn host_name(about: &'static str) -> Field {
    Field::optional("host_name", Kind::TEXT, about)
}

const HANDLE_ID: Field =
    Field::required("handle_id", Kind::Integer, "Handle of the command, from ssh_cmd_run or ssh_cmd_history.");

// Results.

const HOST: Field = Field::required("host_name", Kind::TEXT, "The host.");
const HANDLE: Field = Field::required("handle_id", Kind::NATURAL, "Handle of the command.");
const EXIT_CODE: Field =
    Field::optional("exit_code", Kind::Integer, "Its exit code, once it has ended by an exit of its own.");
const SIGNAL: Field = Field::optional("signal", Kind::TEXT, "The signal that ended it, such as TERM.");
const PID: Field = Field::optional("pid", Kind::NATURAL, "Its process id on the host.");
const OUTPUT_LINES: Field = Field::required("output_lines", Kind::NATURAL, "Lines on stdout so far.");
const STDERR_LINES: Field = Field::required("stderr_lines", Kind::NATURAL, "Lines on stderr so far.");
const START_TIME: Field = Field::required("start_time", Kind::TEXT, "When it started, RFC 3339 in UTC.");
const END_TIME: Field = Field::optional("end_time", Kind::TEXT, "When it ended, RFC 3339 in UTC.");
const TIMESTAMP: Field = Field::required("timestamp", Kind::TEXT, "When this was so, RFC 3339 in UTC.");
const NEXT_STEP: Field = Field::optional("next_step", Kind::TEXT, "What to do next, where that is not plain.");
const ERROR: Field =
    Field::optional("error", Kind::TEXT, "What went wrong, or how it ended when not by an exit of its own.");

/// The host that a call names.
///
/// # Errors
/// For what cannot be a host's name: `invalid_argument`, or the one [`not_found`] for scoped access (SR13).
fn host(args: &mut Args, owner: &Owner) -> Result<Option<TargetName>> {
    let Some(name) = args.text("host_name") else { return Ok(None) };
    let host = TargetName::new(name).map_err(|error| {
        Error::new(error.kind(), format!("host_name is no name of a host: {error}; ssh_host_list shows each"))
    });
    match host {
        Err(_) if *owner.access() != Access::Management => Err(not_found()),
        other => other.map(Some),
    }
}

/// The command that a call names. What can be no handle is the handle of nothing: 0 is never given.
fn handle(args: &Args) -> Handle {
    Handle(args.natural(HANDLE_ID.name).unwrap_or(0))
}

/// A count that fits this machine.
fn count(args: &Args, name: &str) -> Option<usize> {
    args.natural(name).map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

/// A property that an answer has whenever there is a command.
const fn when_there(field: Field) -> Field {
    Field { need: Need::Optional, ..field }
}

/// How a command ended: by its exit code or by a signal, and otherwise in words.
fn put_exit(fields: &mut Fields, end: Option<&End>) {
    let Some(end) = end else { return };
    match &end.exit {
        Exit::Exited(code) => fields.put("exit_code", *code),
        Exit::Signaled(name) => fields.put("signal", name.as_str()),
        Exit::Failed(_) | Exit::Canceled | Exit::Lost(_) => {}
    }
    fields.put_some("error", end.error());
}

/// Whether any of a command's output can be read.
fn has_output(info: &CommandInfo) -> bool {
    [info.stdout, info.stderr].iter().any(|facts| facts.total > facts.dropped)
}

/// How many lines there are, in words.
fn lines_line(stdout: LineFacts, stderr: LineFacts) -> String {
    format!("{} lines on stdout, {} on stderr", stdout.total, stderr.total)
}

/// What to do about a command where it stands.
fn next_step(handle: Handle, status: CommandStatus) -> Option<String> {
    match status {
        CommandStatus::Running => Some(format!(
            "it still runs: ssh_cmd_check_status with handle_id {handle} waits for its end, ssh_cmd_output reads what it \
             has printed, ssh_cmd_kill ends it"
        )),
        CommandStatus::Lost => Some(format!(
            "the connection was lost, and with it the way to the command: read what it had printed with ssh_cmd_output \
             and handle_id {handle} before anything connects to the host again, then see there what it has done before \
             you run it again"
        )),
        CommandStatus::Completed | CommandStatus::Killed => None,
    }
}
