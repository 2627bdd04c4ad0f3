//! `ssh_cmd_history`: the caller's commands that have a handle.

use bytes::Bytes;
use serde_json::Value;
use sessiond_core::{CommandSummary, ListCommands, Pattern, RecentOutput, Result, Verb, decode};

use super::{
    END_TIME, ERROR, EXIT_CODE, HANDLE, HOST, OUTPUT_LINES, PID, SIGNAL, START_TIME, STDERR_LINES, count, host,
    host_name, put_exit,
};
use crate::answer::Answer;
use crate::args::Args;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, beginning, counted, end_line, listing, one_line};
use crate::schema::{Field, Kind, Object};
use crate::time::rfc3339;

/// The lines of each stream when the caller names no number.
const DEFAULT_RECENT: u64 = 3;
/// The most lines of each stream; ssh_cmd_output is for more.
const MAX_RECENT: u64 = 1000;

pub(super) const TOOL: Tool = Tool {
    name: "ssh_cmd_history",
    title: "List SSH commands",
    summary: "Lists the commands that you have run on SSH hosts, with their handles and how they stand",
    about: "Lists your commands of ssh_cmd_run on all hosts, oldest first, with their handles, how they stand and how \
            much they printed. Use it to find a handle_id again after losing context, to see what still runs, or, with \
            include_output, the last lines of each. A running command is always listed; ended ones go some time after \
            their end (30 minutes by default), or when their host is connected again. Commands of execute_command and \
            sessions are not shown: for those see session_list.\n\
            limit keeps the newest; give one, since a long history is a long answer. pattern keeps the commands whose \
            text it matches. It changes nothing and asks no host; ssh_cmd_output reads more of a command's output. \
            Errors: not_found for an unknown host; invalid_argument for a pattern that does not compile.",
    hints: Hints::LOOK,
    family: Family::Ssh,
    verb: Verb::ListCommands,
    input: Object::closed(&[
        Field::optional(
            "limit",
            Kind::Natural { min: 1, max: None, default: None },
            "Only the newest so many; left out: all.",
        ),
        Field::optional(
            "include_output",
            Kind::Boolean { default: Some(false) },
            "Whether to add the newest lines of each stream.",
        ),
        Field::optional(
            "output_lines",
            Kind::within(0, MAX_RECENT).default(DEFAULT_RECENT),
            "With include_output: how many lines of each stream.",
        ),
        Field::optional("reverse", Kind::Boolean { default: Some(false) }, "Whether the newest comes first."),
        Field::optional("pattern", Kind::TEXT, "Regular expression (Rust syntax) to find in the command's text."),
        host_name("Show only commands on this host."),
    ]),
    output: Object::open(&[Field::required("result", Kind::Many(&Kind::Object(&COMMAND)), "The commands.")]),
    run: |request| Box::pin(run(request)),
};

const COMMAND: Object = Object::open(&[
    Field::required("id", Kind::NATURAL, "The handle again."),
    HANDLE,
    HOST,
    Field::required("command", Kind::TEXT, "What it runs; of more than 1,024 characters the first, then an ellipsis."),
    Field::required(
        "status",
        Kind::Choice(&["running", "completed", "killed", "lost"]),
        "completed: ended by itself, whatever its exit code; lost: nobody knows how it ended.",
    ),
    EXIT_CODE,
    SIGNAL,
    ERROR,
    START_TIME,
    END_TIME,
    PID,
    OUTPUT_LINES,
    STDERR_LINES,
    Field::required("output_dropped", Kind::NATURAL, "Early lines of stdout that are no longer kept."),
    Field::required("stderr_dropped", Kind::NATURAL, "Early lines of stderr that are no longer kept."),
    Field::optional("output", Kind::Many(&Kind::TEXT), "With include_output: its newest lines on stdout."),
    Field::optional("stderr", Kind::Many(&Kind::TEXT), "With include_output: its newest lines on stderr."),
]);

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    let request = ListCommands {
        target: host(&mut args, &cx.owner)?,
        limit: count(&args, "limit"),
        reverse: args.flag("reverse"),
        pattern: args.text("pattern").map(|pattern| Pattern::new(&pattern)).transpose()?,
        output_lines: output_lines(&args),
    };
    let commands = service.list_commands(cx, request).await?;
    let lines: Vec<String> = commands.iter().map(line).collect();
    let heading = counted(commands.len(), "command");
    let mut fields = Fields::default();
    fields.put("result", commands.into_iter().map(command).collect::<Vec<Value>>());
    Ok(Answer::new(fields.0, listing(heading, &lines, style)))
}

/// How many lines of each stream are wanted. A number alone asks for them too.
fn output_lines(args: &Args) -> Option<u64> {
    let lines = args.natural("output_lines");
    args.flag_or("include_output", lines.is_some()).then(|| lines.unwrap_or(DEFAULT_RECENT))
}

fn line(CommandSummary { info, .. }: &CommandSummary) -> String {
    let end = info.end.as_ref().map(|end| format!(", {}", end_line(end))).unwrap_or_default();
    format!("{} on {} {}{end}: {}", info.handle, info.target, info.status.as_str(), one_line(&info.command))
}

fn command(CommandSummary { info, output }: CommandSummary) -> Value {
    let mut fields = Fields::default();
    fields.put("id", info.handle.0);
    fields.put("handle_id", info.handle.0);
    fields.put("host_name", info.target.as_str());
    fields.put("command", beginning(&info.command));
    fields.put("status", info.status.as_str());
    put_exit(&mut fields, info.end.as_ref());
    fields.put("start_time", rfc3339(info.started_at));
    fields.put_some("end_time", info.ended_at.map(rfc3339));
    fields.put_some("pid", info.pid);
    fields.put("output_lines", info.stdout.total);
    fields.put("stderr_lines", info.stderr.total);
    fields.put("output_dropped", info.stdout.dropped);
    fields.put("stderr_dropped", info.stderr.dropped);
    if let Some(RecentOutput { stdout, stderr }) = output {
        fields.put("output", texts(&stdout));
        fields.put("stderr", texts(&stderr));
    }
    Value::Object(fields.0)
}

fn texts(lines: &[Bytes]) -> Vec<Value> {
    lines.iter().map(|line| Value::from(decode(line))).collect()
}
