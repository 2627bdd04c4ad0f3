//! `execute_command`: one command, run to its end.

use sessiond_core::{CommandResult, DEFAULT_TIME_LIMIT, ExecuteCommand, Invocation, Result, Verb, decode};

use super::{CLIENT_ID, CWD, ENV, LONGEST_LIMIT_MS, RUN_ON, TRUNCATED, target, time_limit};
use crate::answer::{Answer, TextStyle};
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, LEFT_RUNNING, Shown, end_line, processes};
use crate::schema::{Field, Kind, Object};

const DEFAULT_LIMIT_MS: u64 = DEFAULT_TIME_LIMIT.as_millis() as u64;

pub(super) const TOOL: Tool = Tool {
    name: "execute_command",
    title: "Run a command",
    summary: "Runs one command to its end and returns its stdout, stderr and exit code",
    about: "Runs one command in a fresh shell on a target, waits for its end, and returns stdout, stderr and the exit \
            code. For one-shot work such as builds, searches and file operations. It has no terminal, and nothing \
            but files carries over to the next call: use session_start for interactive programs, for a shell that \
            keeps its directory and variables, for servers, and for whatever runs longer than your client waits for \
            a tool (often 60 s).\n\
            After timeout_ms the command and all that it started are stopped and timed_out is true; cancelling the \
            call stops it too. The first 1 MiB of output is kept, stdout and stderr together; the rest is discarded \
            and truncated is true, so send more to a file. A process left in the background with its output still \
            open lives on; detail names its pid.\n\
            A non-zero exit, a timeout or a cancellation marks the result as an error, and all fields are there. \
            Errors without a result, when nothing ran: an unknown target or directory, no permission, \
            limit_exceeded when too many sessions and commands run. The command can do whatever the server's user \
            can.",
    hints: Hints::ACT,
    family: Family::Session,
    verb: Verb::ExecuteCommand,
    input: Object::closed(&[
        Field::required("command", Kind::TEXT, "One or more lines for the target's shell."),
        RUN_ON,
        CLIENT_ID,
        CWD,
        ENV,
        Field::optional("stdin", Kind::TEXT, "All of its standard input. Left out: empty."),
        Field::optional(
            "timeout_ms",
            Kind::within(0, LONGEST_LIMIT_MS).default(DEFAULT_LIMIT_MS),
            "Time limit in milliseconds; 0 is none.",
        ),
    ]),
    output: Object::open(&[
        Field::required("stdout", Kind::TEXT, "Standard output as text; bytes that are not UTF-8 read as U+FFFD."),
        Field::required("stderr", Kind::TEXT, "Standard error, likewise."),
        Field::required("exit_code", Kind::Integer, "Exit code; -1 when it has none (signal, failure, lost)."),
        Field::required("timed_out", Kind::BOOLEAN, "Whether the time limit ended it."),
        Field::required("canceled", Kind::BOOLEAN, "Whether a confirmed stop ended it."),
        Field { about: "Whether output beyond the first 1 MiB was discarded.", ..TRUNCATED },
        Field::optional("error", Kind::TEXT, "How it ended, when not by an exit of its own."),
        Field::optional("detail", Kind::TEXT, "What it left running in the background, by pid."),
    ]),
    run: |request| Box::pin(run(request)),
};

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    let request = ExecuteCommand {
        target: target(&mut args, &cx.owner)?,
        client_id: args.text("client_id"),
        invocation: Invocation {
            command: args.text("command").unwrap_or_default(),
            cwd: args.text("cwd"),
            env: args.text_map("env"),
        },
        stdin: args.text("stdin").unwrap_or_default().into(),
        time_limit: time_limit(args.natural("timeout_ms").unwrap_or(DEFAULT_LIMIT_MS)),
    };
    Ok(answer(service.execute_command(cx, request).await?, style))
}

fn answer(result: CommandResult, style: TextStyle) -> Answer {
    let (stdout, stderr) = (decode(&result.stdout), decode(&result.stderr));
    let mut line = end_line(&result.end);
    if result.truncated {
        line.push_str("; output beyond the first 1 MiB was discarded");
    }
    let detail = processes(LEFT_RUNNING, &result.descendants);
    if let Some(detail) = &detail {
        line.push_str("; ");
        line.push_str(detail);
    }
    let text = Shown::of(&[("stdout:", &stdout), ("stderr:", &stderr)], style).under(line);
    let mut fields = Fields::default();
    fields.put("stdout", stdout);
    fields.put("stderr", stderr);
    fields.put("truncated", result.truncated);
    fields.put_end(&result.end);
    fields.put_some("detail", detail);
    let failed = result.end.exit_code() != 0 || result.end.timed_out() || result.end.canceled();
    Answer { is_error: failed, ..Answer::new(fields.0, text) }
}
