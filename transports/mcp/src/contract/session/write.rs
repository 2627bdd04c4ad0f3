//! `session_write`: input for a session.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use sessiond_core::{Error, Result, Verb, WriteOutcome, WriteSession};

use super::{
    CANCELED, DONE, ERROR, EXIT_CODE, MAX_BYTES, NEXT_CURSOR, OUTPUT, RUNS_ON, SESSION_ID, TIMED_OUT, TRUNCATED, UNTIL,
    WAIT_MS, one_of, session, wait, when_waited,
};
use crate::answer::Answer;
use crate::args::Args;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, Telling};
use crate::schema::{Field, Kind, Object};

pub(super) const TOOL: Tool = Tool {
    name: "session_write",
    title: "Type into a session",
    summary: "Types text or bytes into a session, and reads what came of it when asked",
    about: "Types input into a session, exactly as given: end a line with \\n, or nothing happens in a shell. Give \
            wait_ms, best with until, to get the output since just before the write in the same call; go on with \
            next_cursor in session_read.\n\
            accepted true means that all bytes were handed to the terminal, not that the program has read them; \
            writing again types again. When the program takes nothing for 5 s the call ends with accepted false and \
            bytes says how many were handed over; the rest is not written later. Nothing is cut silently: where the \
            terminal gathers lines, a line over 4,095 bytes is refused with the reason.\n\
            For keys by name (ctrl-c, up, enter), for the end of input and for signals use session_control.\n\
            Errors: not_found; failed_precondition when the session has ended or a line is too long; unsupported \
            when its target takes no input.",
    hints: Hints::ACT,
    family: Family::Session,
    verb: Verb::WriteSession,
    input: Object::closed(&[
        SESSION_ID,
        RUNS_ON,
        Field::optional("input", Kind::TEXT, "Text to type, such as \"ls -l\\n\"."),
        Field::optional("input_base64", Kind::TEXT, "Instead of input: bytes in base64, for what is not text."),
        WAIT_MS,
        UNTIL,
        MAX_BYTES,
    ]),
    output: Object::open(&[
        Field::required("accepted", Kind::BOOLEAN, "Whether all bytes were handed to the terminal."),
        Field::required("bytes", Kind::NATURAL, "How many bytes were handed to the terminal."),
        Field::optional("detail", Kind::TEXT, "Why not all were."),
        when_waited(OUTPUT),
        when_waited(NEXT_CURSOR),
        when_waited(TRUNCATED),
        when_waited(DONE),
        EXIT_CODE,
        TIMED_OUT,
        CANCELED,
        ERROR,
    ]),
    run: |request| Box::pin(run(request)),
};

/// The usual alphabet, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    one_of(&args, "input", "input_base64", "text to type, or input_base64 for bytes")?;
    let input = input(&mut args)?;
    let wait = wait(&mut args)?;
    let (session, target) = session(&mut args, &cx.owner)?;
    let telling = Telling::new(style, &wait);
    let outcome = service.write_session(cx, WriteSession { session, target, input, wait }).await?;
    Ok(answer(outcome, telling))
}

fn input(args: &mut Args) -> Result<Bytes> {
    match args.text("input_base64") {
        Some(text) => BASE64
            .decode(text)
            .map(Bytes::from)
            .map_err(|_| Error::invalid_argument("input_base64 is not base64: use A-Z, a-z, 0-9, + and / alone")),
        None => Ok(args.text("input").unwrap_or_default().into()),
    }
}

fn answer(outcome: WriteOutcome, telling: Telling) -> Answer {
    let line = match &outcome.stalled {
        Some(why) => format!("not all accepted, {} bytes handed over: {why}", outcome.bytes),
        None => format!("{} bytes handed over", outcome.bytes),
    };
    let mut fields = Fields::default();
    fields.put("accepted", outcome.stalled.is_none());
    fields.put("bytes", outcome.bytes);
    fields.put_some("detail", outcome.stalled);
    fields.with_read(Some(line), outcome.read.as_ref(), telling)
}
