//! `ssh_cmd_output`: lines of a command's output. Its published schema is its declaration.

use serde_json::Value;
use sessiond_core::{DEFAULT_LINES, Error, ReadCommand, Result, Stream, Verb, decode};

use super::{HANDLE_ID, handle};
use crate::answer::Answer;
use crate::args::Args;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, Shown, counted};
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "ssh_cmd_output",
    title: "Read an SSH command's output",
    summary: "Reads lines of a command's stdout or stderr, while it runs and after its end",
    about: "Reads lines of what a command of ssh_cmd_run has printed, while it runs and after its end. Reading consumes \
            nothing, runs nothing again and asks no host, so it can be repeated.\n\
            Which lines: neither lines nor start_line: the newest 50; lines = N: the newest N; start_line = K: up to 50 \
            from line K on; both: up to N from line K on. Lines are numbered from 1, the command's first, for good. To \
            read all of a long output go on from start_line + the number of lines you got, until you get none; \
            ssh_cmd_check_status says how many there are. A line past the end gives an empty list, also while the \
            command runs, when it may come yet. The last line may lack its end and still grow.\n\
            stdout and stderr are kept apart, the newest 2 MB of each. A start_line that is no longer kept is an error \
            that names the first line that is; for output larger than that, have the command write to a file on the \
            host and read parts of it.\n\
            Errors: not_found for a handle that is not there (ssh_cmd_history lists yours; handles end when their host \
            is connected again); invalid_argument for lines or start_line below 1 or no longer kept.",
    hints: Hints::LOOK,
    family: Family::Ssh,
    verb: Verb::ReadCommand,
    input: Object::closed(&[
        HANDLE_ID,
        Field::optional(LINES, Kind::NullByDefault(&Kind::Integer), "How many lines at most, 1 or more; left out: 50."),
        Field::optional("stream", Kind::FirstOf(&["stdout", STDERR]), "Which of its two streams."),
        Field::optional(
            "start_line",
            Kind::NullByDefault(&Kind::Natural { min: 1, max: None, default: None }),
            "Number of the first line to return, from 1; left out: the newest lines.",
        ),
    ]),
    output: Object::open(&[Field::required(
        "result",
        Kind::Many(&Kind::TEXT),
        "The lines in order, without their ends; bytes that are not UTF-8 read as U+FFFD.",
    )]),
    run: |request| Box::pin(run(request)),
};

const LINES: &str = "lines";
const STDERR: &str = "stderr";

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    let stream = if args.text("stream").is_some_and(|name| name == STDERR) { Stream::Stderr } else { Stream::Stdout };
    let request =
        ReadCommand { handle: handle(&args), stream, lines: lines(&args)?, start_line: args.natural("start_line") };
    let read = service.read_command(cx, request).await?;
    let lines: Vec<String> = read.lines.iter().map(|line| decode(line)).collect();
    let heading = match lines.len() {
        0 => "no lines there".to_owned(),
        some => format!("{} from line {} on", counted(some, "line"), read.first),
    };
    let text = Shown::of(&[("", &lines.join("\n"))], style).under(heading);
    let mut fields = Fields::default();
    fields.put("result", lines.into_iter().map(Value::from).collect::<Vec<Value>>());
    Ok(Answer::new(fields.0, text))
}

/// How many lines are wanted. The published schema names no least number, so it is kept here (CO10).
///
/// # Errors
/// `invalid_argument` below 1.
fn lines(args: &Args) -> Result<Option<u64>> {
    match (args.has(LINES), args.natural(LINES)) {
        (true, None | Some(0)) => Err(Error::invalid_argument(format!(
            "lines must be 1 or more: leave it out for the newest {DEFAULT_LINES}"
        ))),
        (_, lines) => Ok(lines),
    }
}
