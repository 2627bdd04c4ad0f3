//! Steering a session (EX04).

use futures_util::FutureExt;
use sessiond_core::{Action, Capability, Key, Signal, Wait, WindowSize};

use crate::suite::house::House;
use crate::suite::scenario::{Need, Scenario, session};
use crate::suite::stage::{LONG, Stage, facts, for_output, pattern, text, until};

pub(super) const SCENARIOS: &[Scenario] = &[
    session("EX04", "an interrupt ends the job in the foreground", |house| interrupt(house).boxed())
        .needing(&[Need::Backend(Capability::Signals)]),
    session("EX04", "an interrupt leaves an interactive shell alive", |house| shell(house).boxed())
        .needing(&[Need::Shell]),
    session("EX04", "the end of input reaches the program", |house| eof(house).boxed())
        .needing(&[Need::Backend(Capability::Eof)]),
    session("EX04", "a resize reaches the terminal", |house| resize(house).boxed())
        .needing(&[Need::Backend(Capability::Resize)]),
    session("EX04", "a signal goes to the foreground by its name", |house| signal(house).boxed())
        .needing(&[Need::Backend(Capability::Signals)]),
    session("EX04", "keys send what a terminal sends, as the program asked for them", |house| keys(house).boxed())
        .needing(&[Need::Backend(Capability::Write)]),
    session("EX04", "an ended session accepts nothing, which is no error", |house| ended(house).boxed()),
];

fn named(names: &[&str]) -> Action {
    Action::Keys(names.iter().map(|name| name.parse::<Key>().unwrap()).collect())
}

async fn accepted(stage: &Stage, session: sessiond_core::SessionId, action: Action) {
    let outcome = stage.control(session, action, Wait::default()).await.unwrap();
    assert!(outcome.accepted, "{:?}", outcome.detail);
}

async fn interrupt(house: House) {
    let stage = house.open().await;
    // In the shell's own place: a shell that is interrupted while it forks takes the signal and its child does not.
    let session = stage.start_until("echo ready; exec sleep 1000", "ready").await;
    accepted(&stage, session, Action::Interrupt).await;
    let (code, _, canceled, error) = facts(&stage.to_end(session).await.1);
    assert_eq!((code, canceled, error.as_deref()), (-1, false, Some("ended by signal INT")));
}

async fn shell(house: House) {
    let stage = house.open().await;
    let session = stage.start("PS1='here> ' bash --norc --noprofile -i").await;
    stage.shows(session, "here> $").await;
    stage.write(session, "sh -c 'echo in front; exec sleep 1000'\r", Wait::default()).await.unwrap();
    stage.shows(session, r"[\r\n]in front\r\n").await;
    let from = stage.read(session, 0, for_output(0)).await.slice.next.0;
    accepted(&stage, session, Action::Interrupt).await;
    let read = stage.read(session, from, until(LONG, pattern("here> $"))).await;
    assert_eq!(read.fired.as_str(), "pattern", "the prompt comes back: {:?}", text(&read));
    let outcome = stage.write(session, "echo alive$((40+2))\r", until(LONG, pattern("alive42"))).await.unwrap();
    assert_eq!(outcome.read.unwrap().fired.as_str(), "pattern");
}

async fn eof(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("echo ready; cat; echo over; exit 5", "ready").await;
    accepted(&stage, session, Action::Eof).await;
    let (output, ended) = stage.to_end(session).await;
    assert_eq!((output.as_str(), ended.exit_code()), ("ready\r\nover\r\n", 5));
}

async fn resize(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("stty size; read line; stty size; exit 0", r"24 80\r\n").await;
    accepted(&stage, session, Action::Resize(WindowSize::new(132, 50).unwrap())).await;
    accepted(&stage, session, named(&["enter"])).await;
    assert_eq!(stage.to_end(session).await.0, "24 80\r\n\r\n50 132\r\n");
}

async fn signal(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("trap '' USR2; echo ready; sleep 1000", "ready").await;
    accepted(&stage, session, Action::Signal(Signal::Usr2)).await;
    let read = stage.read(session, 7, for_output(300)).await;
    assert_eq!(read.slice.ended, None, "it is ignored, as the program wants");
    accepted(&stage, session, Action::Signal(Signal::Kill)).await;
    let (code, _, canceled, error) = facts(&stage.to_end(session).await.1);
    assert_eq!((code, canceled, error.as_deref()), (-1, false, Some("ended by signal KILL")));
}

async fn keys(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("echo ready; cat", "ready\r\n").await;
    let outcome = stage.control(session, named(&["h", "i", "enter"]), until(LONG, pattern("hi\r\nhi\r\n"))).await;
    assert_eq!(outcome.unwrap().read.unwrap().fired.as_str(), "pattern");
    accepted(&stage, session, named(&["ctrl-c"])).await;
    stage.to_end(session).await;
}

async fn ended(house: House) {
    let stage = house.open().await;
    let session = stage.start("exit 0").await;
    stage.to_end(session).await;
    for action in [Action::Interrupt, Action::Eof, Action::Signal(Signal::Term), named(&["enter"])] {
        let outcome = stage.control(session, action, Wait::default()).await.unwrap();
        assert!(!outcome.accepted && outcome.detail.is_some_and(|why| why.contains("has ended")));
    }
}
