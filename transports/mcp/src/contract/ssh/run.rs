//! `ssh_cmd_run`: a command on a host, waited for as long as told, and kept under a handle.

use std::time::SystemTime;

use sessiond_core::{
    CommandInfo, CommandRun, CommandStatus, DEFAULT_SILENCE, Error, Handle, Invocation, LineFacts, MAX_INLINE, Result,
    RunCommand, RunStatus, Tail, Verb, decode,
};

use super::{
    END_TIME, ERROR, EXIT_CODE, HANDLE, HOST, LONGEST_LIMIT_S, NEXT_STEP, OUTPUT_LINES, PID, SIGNAL, START_TIME,
    STDERR_LINES, host, host_name, next_step, put_exit, when_there,
};
use crate::answer::{Answer, TextStyle};
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, LEFT_RUNNING, Shown, beginning, end_line, processes};
use crate::schema::{Field, Kind, Object};
use crate::time::rfc3339;

pub(super) const TOOL: Tool = Tool {
    name: "ssh_cmd_run",
    title: "Run a command on an SSH host",
    summary: "Runs a command on an SSH host, waits for it as long as told, and keeps it under a handle",
    about: "Runs a command in a fresh shell on an SSH host, stdout and stderr apart, and waits for its end at most 50 s. It \
            connects first where it must. What has not ended by then goes on, and its output is collected: handle_id is \
            then for ssh_cmd_check_status (waits for the end), ssh_cmd_output (reads lines) and ssh_cmd_kill. So it is \
            for long work too; for interactive programs use session_start with the host as client_token. Several \
            commands may run at once.\n\
            status: success (exit code 0); command_failed (another exit code, or a signal); io_timeout (no output for so \
            long) and wait_timeout (the wait is up): it still runs; runtime_timeout (stopped with all it started); \
            cwd_not_found (nothing ran); error (the connection was lost). All but success and the two that leave it \
            running mark the result as an error.\n\
            output and stderr are the newest 32 KB of each stream; ssh_cmd_output reads the newest 2 MB. Cancelling the \
            call ends the waiting only. Handles end when their host is connected again after a loss.\n\
            Errors, when nothing ran: not_found for an unknown host; failed_precondition when host_name is left out and \
            not one host is connected; permission_denied (host key or login); unavailable; limit_exceeded; unsupported \
            (use_sudo, or no SSH host). The command can do whatever the account can. Calling again runs it again.",
    hints: Hints::ACT,
    family: Family::Ssh,
    verb: Verb::RunCommand,
    input: Object::closed(&[
        Field::required("command", Kind::TEXT, "One or more lines for the shell of the account on the host."),
        host_name("Host to run on, a key of ssh_host_list; may be left out while one is connected."),
        Field::optional(
            IO_TIMEOUT,
            Kind::Seconds { min_ms: 1, max: LONGEST_LIMIT_S, default: Some(DEFAULT_SILENCE.as_secs()) },
            "Return after so many seconds without output; the command goes on.",
        ),
        Field::optional(
            WAIT_TIMEOUT,
            Kind::Seconds { min_ms: 0, max: LONGEST_LIMIT_S, default: None },
            "Return after so many seconds; the command goes on. Left out, or above 50: 50.",
        ),
        Field::optional(
            RUNTIME_TIMEOUT,
            Kind::Seconds { min_ms: 1, max: LONGEST_LIMIT_S, default: None },
            "Stop the command after so many seconds, with all it started. Left out: never.",
        ),
        Field::optional(
            USE_SUDO,
            Kind::Boolean { default: Some(false) },
            "To run as root. Not available yet: only false is accepted.",
        ),
        Field::optional("cwd", Kind::TEXT, "Directory on the host to run in; a leading ~ is the home directory."),
        Field::optional("env", Kind::TextMap, "Environment variables to add, names and values as strings."),
        Field::optional("stdin", Kind::TEXT, "All of its standard input. Left out: empty."),
    ]),
    output: Object::open(&[
        Field::required(
            "status",
            Kind::Choice(&[
                "success",
                "command_failed",
                "io_timeout",
                "wait_timeout",
                "runtime_timeout",
                "cwd_not_found",
                "sudo_required",
                "error",
            ]),
            "How it went; see the tool's description.",
        ),
        Field::optional("id", Kind::NATURAL, "The handle again."),
        Field { about: "Handle for the other ssh_cmd tools; absent when nothing ran.", ..when_there(HANDLE) },
        Field::required("command", Kind::TEXT, "What was run; of more than 1,024 characters the first."),
        Field { about: "The host it ran on.", ..HOST },
        EXIT_CODE,
        SIGNAL,
        Field::required("output", Kind::TEXT, "Newest output on stdout, as text."),
        Field::required("stderr", Kind::TEXT, "Newest output on stderr, as text."),
        Field::required("output_truncated", Kind::BOOLEAN, "Whether stdout has had more."),
        Field::required("stderr_truncated", Kind::BOOLEAN, "Whether stderr has had more."),
        Field::optional("output_note", Kind::TEXT, "How to read what is not shown here."),
        OUTPUT_LINES,
        STDERR_LINES,
        PID,
        Field::optional("cwd", Kind::TEXT, "The directory that was asked for."),
        START_TIME,
        END_TIME,
        Field::required("still_running", Kind::BOOLEAN, "Whether it runs on."),
        Field::optional("wait_capped", Kind::BOOLEAN, "True when the call would have waited on, but for its 50 s."),
        NEXT_STEP,
        ERROR,
        Field::optional("detail", Kind::TEXT, "What it left running in the background, by pid."),
    ]),
    run: |request| Box::pin(run(request)),
};

const IO_TIMEOUT: &str = "io_timeout";
const WAIT_TIMEOUT: &str = "wait_timeout";
const RUNTIME_TIMEOUT: &str = "runtime_timeout";
const USE_SUDO: &str = "use_sudo";

/// What is said of a call, for its answer.
struct Asked {
    command: String,
    cwd: Option<String>,
    at: SystemTime,
    style: TextStyle,
}

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    if args.flag(USE_SUDO) {
        return Err(Error::unsupported(
            "use_sudo is not available yet: leave it out, and where the account may become root without a password, put \
             `sudo -n` before the command",
        ));
    }
    let request = RunCommand {
        target: host(&mut args, &cx.owner)?,
        invocation: Invocation {
            command: args.text("command").unwrap_or_default(),
            cwd: args.text("cwd"),
            env: args.text_map("env"),
        },
        stdin: args.text("stdin").unwrap_or_default().into(),
        silence: args.seconds(IO_TIMEOUT).unwrap_or(DEFAULT_SILENCE),
        wait: args.seconds(WAIT_TIMEOUT),
        time_limit: args.seconds(RUNTIME_TIMEOUT),
    };
    let asked = Asked {
        command: beginning(&request.invocation.command),
        cwd: request.invocation.cwd.clone(),
        at: SystemTime::now(),
        style,
    };
    Ok(answer(service.run_command(cx, request).await?, asked))
}

fn answer(run: CommandRun, asked: Asked) -> Answer {
    let CommandRun { status, target, command, stdout, stderr, descendants, error } = run;
    let mut fields = Fields::default();
    fields.put("status", status.as_str());
    fields.put("command", asked.command);
    fields.put("host_name", target.as_str());
    fields.put_some("cwd", asked.cwd);
    put_command(&mut fields, command.as_ref(), asked.at);
    // What the registry says of this call goes before what the end says of itself.
    fields.put_some("error", error);
    fields.put_some("wait_capped", matches!(status, RunStatus::WaitTimeout { capped: true }).then_some(true));
    let detail = processes(LEFT_RUNNING, &descendants);
    fields.put_some("detail", detail.clone());
    let note = command.as_ref().and_then(|command| note(command, &stdout, &stderr));
    fields.put_some("output_note", note.clone());
    let step = step(status, command.as_ref());
    fields.put_some("next_step", step.clone());

    let says = [Some(first_words(status, command.as_ref(), &fields)), detail, note, step];
    let line = says.into_iter().flatten().collect::<Vec<String>>().join("; ");
    let (output, errors) = (decode(&stdout.bytes), decode(&stderr.bytes));
    let text = Shown::of(&[("stdout:", &output), ("stderr:", &errors)], asked.style).under(line);
    fields.put("output", output);
    fields.put("stderr", errors);
    fields.put("output_truncated", stdout.truncated);
    fields.put("stderr_truncated", stderr.truncated);
    Answer { is_error: is_error(status), ..Answer::new(fields.0, text) }
}

/// Whether the result is marked as an error: not while the command runs on, which is what the waits are for.
fn is_error(status: RunStatus) -> bool {
    match status {
        RunStatus::Success | RunStatus::IoTimeout | RunStatus::WaitTimeout { .. } => false,
        RunStatus::CommandFailed | RunStatus::RuntimeTimeout | RunStatus::CwdNotFound | RunStatus::Error => true,
    }
}

/// What is known of the command. Of one that was never started, the same shape with nothing in it.
fn put_command(fields: &mut Fields, command: Option<&CommandInfo>, asked_at: SystemTime) {
    let none = LineFacts::default();
    let (stdout, stderr) = command.map_or((none, none), |info| (info.stdout, info.stderr));
    fields.put("output_lines", stdout.total);
    fields.put("stderr_lines", stderr.total);
    fields.put("start_time", rfc3339(command.map_or(asked_at, |info| info.started_at)));
    fields.put("still_running", command.is_some_and(|info| info.status == CommandStatus::Running));
    let Some(info) = command else { return };
    fields.put("id", info.handle.0);
    fields.put("handle_id", info.handle.0);
    put_exit(fields, info.end.as_ref());
    fields.put_some("pid", info.pid);
    fields.put_some("end_time", info.ended_at.map(rfc3339));
}

fn step(status: RunStatus, command: Option<&CommandInfo>) -> Option<String> {
    match (status, command) {
        (RunStatus::CwdNotFound, _) => Some(
            "nothing was run: give a cwd that exists on the host, or leave it out for the home directory".to_owned(),
        ),
        (_, Some(info)) => next_step(info.handle, info.status),
        (_, None) => None,
    }
}

/// The first words of the text: how it went, and the handle.
fn first_words(status: RunStatus, command: Option<&CommandInfo>, fields: &Fields) -> String {
    let mut words = status.as_str().to_owned();
    match command.and_then(|info| info.end.as_ref()) {
        Some(end) => words = format!("{words}: {}", end_line(end)),
        None => {
            if let Some(error) = fields.0.get("error").and_then(|error| error.as_str()) {
                words = format!("{words}: {error}");
            }
        }
    }
    match command {
        Some(info) => format!("{words}; handle_id {}", info.handle),
        None => words,
    }
}

/// What is not shown of the output, and how to read it (CO33).
fn note(info: &CommandInfo, stdout: &Tail, stderr: &Tail) -> Option<String> {
    let notes = [("output", "stdout", stdout, info.stdout), ("stderr", "stderr", stderr, info.stderr)];
    let notes: Vec<String> = notes
        .into_iter()
        .filter(|(_, _, tail, _)| tail.truncated)
        .map(|(name, stream, tail, facts)| stream_note(info.handle, name, stream, tail, facts))
        .collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn stream_note(handle: Handle, name: &str, stream: &str, tail: &Tail, facts: LineFacts) -> String {
    format!(
        "{name} has the newest {} bytes of at most {MAX_INLINE}, from line {} of {} on: ssh_cmd_output with handle_id \
         {handle}, stream {stream} and start_line {} reads from the first line that is kept",
        tail.bytes.len(),
        tail.first_line,
        facts.total,
        facts.dropped + 1
    )
}
