//! `session_control`: interrupt, end of input, stop, signals, size and keys.

use sessiond_core::{Action, ControlOutcome, ControlSession, Error, Key, Result, Verb};

use super::{
    CANCELED, DONE, ERROR, EXIT_CODE, MAX_BYTES, MAX_SIDE, NEXT_CURSOR, OUTPUT, RUNS_ON, SESSION_ID, TIMED_OUT,
    TRUNCATED, UNTIL, WAIT_MS, session, size, wait, when_waited,
};
use crate::answer::Answer;
use crate::args::Args;
use crate::contract::{Family, Hints, Request, Tool};
use crate::render::{Fields, Telling};
use crate::schema::{Field, Kind, Object};

/// The most keys of one call.
const MAX_KEYS: usize = 256;

pub(super) const TOOL: Tool = Tool {
    name: "session_control",
    title: "Control a session",
    summary: "Interrupts a session, presses keys, sends a signal, ends its input or resizes its terminal",
    about: "Steers a session other than by text. action is one of:\n\
            - interrupt: interrupts the job in the foreground, as ctrl-c does; the session goes on\n\
            - keys: presses the keys in order, such as [\"ctrl-c\"], [\"up\", \"enter\"], [\"escape\", \":\", \"q\", \
            \"enter\"]. Names: enter, tab, escape, space, backspace, up, down, left, right, home, end, insert, delete, \
            page-up, page-down, f1 to f12, or one character; with ctrl-, alt- or shift- before\n\
            - eof: tells the program that its input has ended, as ctrl-d does\n\
            - signal: sends the signal (HUP, INT, TERM, USR1, ...) to the job in the foreground\n\
            - resize: changes the terminal to cols and rows\n\
            - stop: asks for the end of the session and all it started; session_stop does that too and says when it \
            is done\n\
            Give wait_ms, best with until, to get the output since just before in the same call. accepted false, \
            with the reason in detail, means that it was not done, for example because the session has ended.\n\
            Errors: not_found; unsupported when the target cannot do it; invalid_argument for an unknown key or \
            signal. To type text use session_write.",
    hints: Hints::ACT,
    family: Family::Session,
    verb: Verb::ControlSession,
    input: Object::closed(&[
        SESSION_ID,
        RUNS_ON,
        Field::required("action", Kind::Choice(&ACTIONS), "What to do."),
        Field::optional("signal", Kind::TEXT, "For signal: its name, such as TERM or SIGTERM."),
        Field::optional("cols", Kind::within(1, MAX_SIDE), "For resize: width in characters."),
        Field::optional("rows", Kind::within(1, MAX_SIDE), "For resize: height in lines."),
        Field::optional("keys", Kind::List { of: &Kind::TEXT, max: MAX_KEYS }, "For keys: the keys, in order."),
        WAIT_MS,
        UNTIL,
        MAX_BYTES,
    ]),
    output: Object::open(&[
        Field::required("accepted", Kind::BOOLEAN, "Whether it was done."),
        Field::optional("detail", Kind::TEXT, "Why not, or what else there is to say."),
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

const ACTIONS: [&str; 6] = ["interrupt", "eof", "stop", "signal", "resize", "keys"];

/// The arguments that belong to one action each.
const BELONGING: [(&str, &str); 4] = [("signal", "signal"), ("cols", "resize"), ("rows", "resize"), ("keys", "keys")];

async fn run(Request { service, cx, mut args, style }: Request<'_>) -> Result<Answer> {
    let action = action(&mut args)?;
    let wait = wait(&mut args)?;
    let (session, target) = session(&mut args, &cx.owner)?;
    let telling = Telling::new(style, &wait);
    let outcome = service.control_session(cx, ControlSession { session, target, action, wait }).await?;
    Ok(answer(outcome, telling))
}

fn action(args: &mut Args) -> Result<Action> {
    let name = args.text("action").unwrap_or_default();
    for (argument, owner) in BELONGING {
        if owner == name && !args.has(argument) {
            return Err(Error::invalid_argument(format!("{argument} is missing: action {name} needs it")));
        }
        if owner != name && args.has(argument) {
            return Err(Error::invalid_argument(format!(
                "{argument} goes with action {owner}, not with {name}: leave it out"
            )));
        }
    }
    match name.as_str() {
        "interrupt" => Ok(Action::Interrupt),
        "eof" => Ok(Action::Eof),
        "stop" => Ok(Action::Stop),
        "signal" => args.text("signal").unwrap_or_default().parse().map(Action::Signal),
        "resize" => size(args).map(Action::Resize),
        _ => {
            let keys = args.texts("keys").unwrap_or_default();
            keys.iter().map(|key| key.parse()).collect::<Result<Vec<Key>>>().map(Action::Keys)
        }
    }
}

fn answer(outcome: ControlOutcome, telling: Telling) -> Answer {
    let mut line = if outcome.accepted { "accepted" } else { "not accepted" }.to_owned();
    if let Some(detail) = &outcome.detail {
        line = format!("{line}: {detail}");
    }
    let mut fields = Fields::default();
    fields.put("accepted", outcome.accepted);
    fields.put_some("detail", outcome.detail);
    fields.with_read(Some(line), outcome.read.as_ref(), telling)
}
