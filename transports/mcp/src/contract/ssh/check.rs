//! `ssh_cmd_check_status`: how a command stands, at its end or when the wait is up.

use std::time::{Duration, SystemTime};

use sessiond_core::{CheckCommand, CommandInfo, CommandStatus, Handle, Result, Verb};
use tokio::time::Instant;

use super::{
    ERROR, EXIT_CODE, HANDLE, HANDLE_ID, LONGEST_CHECK_S, NEXT_STEP, OUTPUT_LINES, PID, SIGNAL, STDERR_LINES,
    TIMESTAMP, handle, has_output, lines_line, next_step, put_exit,
};
use crate::answer::Answer;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, end_line};
use crate::schema::{Field, Kind, Object};
use crate::time::rfc3339;

/// The wait when the caller names none, in seconds.
const DEFAULT_WAIT_S: u64 = 5;

pub(super) const TOOL: Tool = Tool {
    name: "ssh_cmd_check_status",
    title: "Check an SSH command",
    summary: "Waits for a command on an SSH host to end, and says how it stands",
    about: "Waits until a command of ssh_cmd_run has ended, at most wait_seconds, and says how it stands. It returns as \
            soon as the command ends, so a long wait costs nothing; prefer one long wait to many short ones. Use it \
            after ssh_cmd_run has returned io_timeout or wait_timeout; calling it changes nothing and never stops the \
            command.\n\
            status: running; completed (ended by itself, whatever exit_code); killed (by ssh_cmd_kill or by \
            runtime_timeout); lost (its connection broke, nobody knows how it ended); not_found (no such command of \
            yours: handles end when their host is connected again after a loss or a disconnect, when the server \
            restarts, and some time after the end; ssh_cmd_history lists those there are). A handle is never a pid.\n\
            The output itself is read with ssh_cmd_output: output_lines says how much there is, output_dropped how many \
            early lines are no longer kept. Errors: invalid_argument only.",
    hints: Hints::LOOK,
    family: Family::Ssh,
    verb: Verb::CheckCommand,
    input: Object::closed(&[
        HANDLE_ID,
        Field::optional(
            "wait_seconds",
            Kind::Seconds { min_ms: 0, max: LONGEST_CHECK_S, default: Some(DEFAULT_WAIT_S) },
            "How long to wait for its end at most, in seconds; 0 does not wait.",
        ),
    ]),
    output: Object::open(&[
        HANDLE,
        Field::required(
            "status",
            Kind::Choice(&["running", "completed", "killed", "lost", NOT_FOUND]),
            "How it stands; see the tool's description.",
        ),
        Field::required("waited_seconds", Kind::Number, "How long this call has waited."),
        EXIT_CODE,
        SIGNAL,
        PID,
        Field::required("output_available", Kind::BOOLEAN, "Whether ssh_cmd_output has anything to read."),
        OUTPUT_LINES,
        STDERR_LINES,
        Field::required("output_dropped", Kind::NATURAL, "Early lines of stdout that are no longer kept."),
        Field::required("stderr_dropped", Kind::NATURAL, "Early lines of stderr that are no longer kept."),
        TIMESTAMP,
        NEXT_STEP,
        ERROR,
    ]),
    run: |request| Box::pin(run(request)),
};

const NOT_FOUND: &str = "not_found";

async fn run(Request { service, cx, args, .. }: Request<'_>) -> Result<Answer> {
    let handle = handle(&args);
    let wait = args.seconds("wait_seconds").unwrap_or(Duration::from_secs(DEFAULT_WAIT_S));
    let begin = Instant::now();
    let found = service.check_command(cx, CheckCommand { handle, wait }).await?;
    let waited = begin.elapsed();
    let mut fields = Fields::default();
    fields.put("handle_id", handle.0);
    fields.put("waited_seconds", waited.as_millis() as f64 / 1000.0);
    fields.put("timestamp", rfc3339(SystemTime::now()));
    let line = match &found {
        Some(info) => put_found(&mut fields, info),
        None => put_missing(&mut fields, handle),
    };
    Ok(Answer::new(fields.0, line))
}

fn put_found(fields: &mut Fields, info: &CommandInfo) -> String {
    fields.put("status", info.status.as_str());
    put_exit(fields, info.end.as_ref());
    fields.put_some("pid", info.pid);
    fields.put("output_available", has_output(info));
    fields.put("output_lines", info.stdout.total);
    fields.put("stderr_lines", info.stderr.total);
    fields.put("output_dropped", info.stdout.dropped);
    fields.put("stderr_dropped", info.stderr.dropped);
    let mut line = info.status.as_str().to_owned();
    if let (Some(end), true) = (&info.end, info.status != CommandStatus::Running) {
        line = format!("{line}: {}", end_line(end));
    }
    line = format!("{line}; {}", lines_line(info.stdout, info.stderr));
    if let Some(step) = next_step(info.handle, info.status) {
        line = format!("{line}; {step}");
        fields.put("next_step", step);
    }
    line
}

fn put_missing(fields: &mut Fields, handle: Handle) -> String {
    fields.put("status", NOT_FOUND);
    fields.put("output_available", false);
    for lines in ["output_lines", "stderr_lines", "output_dropped", "stderr_dropped"] {
        fields.put(lines, 0);
    }
    let step = format!(
        "there is no command with handle_id {handle} for you: it never was, its host has been connected again since, the \
         server has restarted, or it is too long ago; ssh_cmd_history lists those there are"
    );
    fields.put("next_step", step.clone());
    format!("{NOT_FOUND}: {step}")
}
