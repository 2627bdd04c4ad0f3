//! `session_start`: something lasting, on a terminal.

use sessiond_core::{Error, Invocation, Launch, MAX_LABEL, NativeId, Result, StartSession, Started, Verb};

use super::{
    CANCELED, CLIENT_ID, CWD, DONE, ENV, ERROR, EXIT_CODE, LONGEST_LIMIT_MS, MAX_BYTES, MAX_SIDE, NEXT_CURSOR, OUTPUT,
    RUN_ON, TIMED_OUT, TRUNCATED, UNTIL, WAIT_MS, one_of, size, target, time_limit, wait, when_waited,
};
use crate::answer::Answer;
use crate::args::Args;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, Telling};
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "session_start",
    title: "Start a session",
    summary: "Starts a shell or program on a terminal of its own, which lasts beyond the call",
    about: "Starts a command on a terminal of its own and returns its session_id at once. The session lasts beyond \
            the call, until its program ends, session_stop ends it, or the server ends. For a lasting shell start \
            `bash -i`; for a REPL, a server, an editor or a long job start that. For a command whose result you \
            just want, execute_command is simpler.\n\
            Then session_read reads its output from a cursor, session_write types into it, session_control sends \
            keys and signals. Give wait_ms, with until if you know what to wait for, to get the first output in the \
            same call; the session goes on whatever the wait finds.\n\
            The command is handed to the target's shell ($SHELL -c), with TERM=xterm-256color; login makes that a \
            login shell. native_id attaches to what runs on the target already, where the target can, instead of \
            starting something. On an agent platform command is the name of an agent (get_agents), then its inputs as a \
            JSON object if it takes any, and native_id is the id of a session from get_sessions. timeout_ms stops the session and all that it started when it is over.\n\
            A launch that fails (no such directory, no permission) is an error and leaves nothing behind; an unknown \
            program is the shell's exit code 127. At most 64 sessions and commands run at once by default \
            (limit_exceeded). The command can do whatever the server's user can. Calling again starts another one: \
            session_list shows what runs.",
    hints: Hints::ACT,
    family: Family::Session,
    verb: Verb::StartSession,
    input: Object::closed(&[
        Field::optional(
            "command",
            Kind::TEXT,
            "One or more lines for the target's shell, such as bash -i; on a platform, the agent.",
        ),
        RUN_ON,
        CLIENT_ID,
        CWD,
        ENV,
        Field::optional(
            "timeout_ms",
            Kind::within(0, LONGEST_LIMIT_MS).default(0),
            "Time limit of the session in milliseconds; 0 is none.",
        ),
        Field::optional("cols", Kind::within(1, MAX_SIDE).default(80), "Width of the terminal in characters."),
        Field::optional("rows", Kind::within(1, MAX_SIDE).default(24), "Height of the terminal in lines."),
        Field::optional(
            "label",
            Kind::Text { max: Some(MAX_LABEL) },
            "Name of your own, which session_list shows; at most 256 bytes.",
        ),
        Field::optional("login", Kind::Boolean { default: Some(false) }, "Whether the shell is a login shell."),
        Field::optional("native_id", Kind::TEXT, "Instead of command: id of what runs on the target already."),
        WAIT_MS,
        UNTIL,
        MAX_BYTES,
    ]),
    output: Object::open(&[
        Field::required("session_id", Kind::TEXT, "Id of the new session, for the other session tools."),
        Field { about: "Cursor for the next session_read; 0 when this call did not wait.", ..NEXT_CURSOR },
        when_waited(OUTPUT),
        when_waited(TRUNCATED),
        when_waited(DONE),
        EXIT_CODE,
        TIMED_OUT,
        CANCELED,
        ERROR,
    ]),
    run: |request| Box::pin(run(request)),
};

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    one_of(&args, "command", "native_id", "lines for the shell, or native_id to attach to what runs already")?;
    let request = StartSession {
        target: target(&mut args, &cx.owner)?,
        client_id: args.text("client_id"),
        what: launch(&mut args)?,
        time_limit: time_limit(args.natural("timeout_ms").unwrap_or(0)),
        size: size(&args)?,
        label: args.text("label"),
        login: args.flag("login"),
        wait: wait(&mut args)?,
    };
    let telling = Telling::new(style, &request.wait);
    let Started { session, read } = service.start_session(cx, request).await?;
    let mut fields = Fields::default();
    fields.put("session_id", session.to_string());
    fields.put("next_cursor", 0);
    Ok(fields.with_read(Some(format!("session {session} started")), read.as_ref(), telling))
}

fn launch(args: &mut Args) -> Result<Launch> {
    let Some(native) = args.text("native_id") else {
        return Ok(Launch::Start(Invocation {
            command: args.text("command").unwrap_or_default(),
            cwd: args.text("cwd"),
            env: args.text_map("env"),
        }));
    };
    match ["cwd", "env", "login"].into_iter().find(|name| args.has(name)) {
        Some(name) => {
            Err(Error::invalid_argument(format!("{name} goes with command, not with native_id: leave it out")))
        }
        None => Ok(Launch::Attach(NativeId(native))),
    }
}
