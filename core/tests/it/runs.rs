//! Runs of agents as sessions (DF02): their text, their end, whether they wait for input, and the end of the server.

use std::time::Duration;

use sessiond_core::{
    Action, Call, Cause, ControlSession, Cursor, End, Error, ErrorKind, Exit, InputState, Invocation, Launch,
    ListSessions, NativeId, Read, ReadSession, Result, Service, SessionId, StartSession, StopSession, StopStatus, Wait,
    decode,
};
use tokio::time::{Instant, advance};

use crate::agents::{Platforms, session};
use crate::rig::{end, for_output, me, ms, said, shown, target, until};

impl Platforms {
    async fn read(&self, session: SessionId, cursor: u64, wait: Wait) -> Result<Read> {
        let request = ReadSession { session, target: Some(target("blue")), cursor: Cursor(cursor), wait };
        self.registry.read_session(&me(), request).await
    }

    /// All the text and the end, once it is there.
    async fn to_end(&self, session: SessionId) -> (String, Option<End>) {
        let read = self.read(session, 0, until(20_000, end())).await.unwrap();
        (decode(&read.slice.bytes), read.slice.ended)
    }

    async fn stop(&self, session: SessionId) -> Result<sessiond_core::StopOutcome> {
        let request = StopSession { session, target: Some(target("blue")), wait: ms(1000) };
        self.registry.stop_session(&me(), request).await
    }

    /// The platform's id of each listed session, with what is said of its input.
    async fn inputs(&self, cx: &Call) -> Vec<(Option<String>, Option<InputState>)> {
        let page = self.registry.list_sessions(cx, ListSessions::default()).await.unwrap();
        page.sessions.into_iter().map(|listed| (listed.native_id.map(|id| id.0), listed.input_state)).collect()
    }
}

fn own(exit: Exit) -> Option<End> {
    Some(End { exit, cause: Cause::Own })
}

fn waits(evidence: &str) -> Option<InputState> {
    Some(InputState { waiting: true, evidence: evidence.to_owned() })
}

const LET_GO: &str = "the server ended; the run goes on";

#[tokio::test(start_paused = true)]
async fn a_run_is_read_turn_by_turn_to_its_end() {
    let rig = Platforms::one();
    let run = rig.run("blue").await;
    assert_eq!(shown(&rig.read(run, 0, Wait::default()).await.unwrap()), (String::new(), 0, "deadline"));
    rig.blue.turn("run-1", "one");
    let read = rig.read(run, 0, for_output(20_000)).await.unwrap();
    assert_eq!(shown(&read), ("one\n".to_owned(), 4, "output"));
    rig.blue.turn("run-1", "two\n");
    rig.blue.end("run-1", Exit::Exited(0));
    let read = rig.read(run, 4, for_output(20_000)).await.unwrap();
    assert_eq!((shown(&read), read.slice.ended), (("two\n".to_owned(), 8, "output"), own(Exit::Exited(0))));
    let attached = rig.attach("blue", "run-1").await.unwrap();
    assert_eq!(rig.to_end(attached).await, ("one\ntwo\n".to_owned(), own(Exit::Exited(0))), "also when it is over");
}

#[tokio::test(start_paused = true)]
async fn inputs_follow_the_name_and_what_an_agent_has_not_is_refused() {
    let rig = Platforms::one();
    let with = |invocation| Platforms::start(Launch::Start(invocation), "blue");
    let inputs = with(Invocation::new(r#" echo {"a": {"b": 1}} "#));
    rig.registry.start_session(&me(), inputs).await.unwrap();
    let cwd = with(Invocation { cwd: Some("/".into()), ..Invocation::new("echo") });
    let env = with(Invocation { env: vec![("A".into(), "b".into())], ..Invocation::new("echo") });
    let login = StartSession { login: true, ..with(Invocation::new("echo")) };
    for request in [cwd, env, login] {
        assert_eq!(rig.registry.start_session(&me(), request).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    let unknown = with(Invocation::new("nobody"));
    assert_eq!(rig.registry.start_session(&me(), unknown).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(rig.attach("blue", "run-9").await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(rig.blue.asked(), [r#"start echo {"a": {"b": 1}}"#, "start nobody", "attach run-9"]);
    assert_eq!(rig.inputs(&me()).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_as_the_platform_says() {
    let rig = Platforms::one();
    let failed = Exit::Failed("no such model".to_owned());
    let lost = Exit::Lost("it is gone".to_owned());
    for (exit, facts) in [
        (Exit::Exited(0), (0, false, None)),
        (failed, (-1, false, Some("no such model".to_owned()))),
        (Exit::Canceled, (-1, true, None)),
        (lost, (-1, false, Some("lost: it is gone".to_owned()))),
    ] {
        let run = rig.run("blue").await;
        let native = rig.inputs(&me()).await[0].0.clone().unwrap();
        rig.blue.end(&native, exit.clone());
        let end = rig.to_end(run).await.1.unwrap();
        assert_eq!((end.exit_code(), end.canceled(), end.error()), facts);
        assert_eq!(end, End { exit, cause: Cause::Own });
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_cancels_what_was_started_and_what_was_attached_to() {
    let rig = Platforms::one();
    rig.blue.put_session(session("theirs", "RUNNING"));
    let (started, attached) = (rig.run("blue").await, rig.attach("blue", "theirs").await.unwrap());
    for (session, native) in [(started, "run-1"), (attached, "theirs")] {
        let outcome = rig.stop(session).await.unwrap();
        let end = End { exit: Exit::Canceled, cause: Cause::Stop { confirmed: true } };
        assert_eq!((outcome.status, outcome.end), (StopStatus::Stopped, Some(end)));
        assert_eq!(rig.describe(&me(), native, None).await.unwrap().status, "CANCELED");
    }
    rig.blue.put_session(session("stubborn", "RUNNING"));
    let stubborn = rig.attach("blue", "stubborn").await.unwrap();
    rig.blue.fail(Some(Error::unavailable("the platform does not answer")));
    assert_eq!(said(rig.stop(stubborn).await.unwrap_err()), "unavailable: the platform does not answer");
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_cancels_a_run_and_says_so() {
    let rig = Platforms::one();
    let request = Platforms::start(Launch::Start(Invocation::new("echo")), "blue");
    let request = StartSession { time_limit: Some(ms(500)), ..request };
    let run = rig.registry.start_session(&me(), request).await.unwrap().session;
    let end = rig.to_end(run).await.1.unwrap();
    assert_eq!(end, End { exit: Exit::Canceled, cause: Cause::TimeLimit { limit: ms(500), confirmed: true } });
    assert_eq!((end.timed_out(), end.canceled()), (true, false));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_server_cancels_its_own_runs_and_lets_go_of_others() {
    let rig = Platforms::one();
    rig.blue.put_session(session("theirs", "RUNNING"));
    let (started, attached) = (rig.run("blue").await, rig.attach("blue", "theirs").await.unwrap());
    rig.blue.turn("theirs", "before");
    rig.registry.shutdown().await;
    rig.blue.turn("theirs", "after");
    let ended = |exit, cause| Some(End { exit, cause });
    let cancelled = ended(Exit::Canceled, Cause::Shutdown { confirmed: true });
    assert_eq!(rig.to_end(started).await, (String::new(), cancelled));
    let let_go = own(Exit::Lost(LET_GO.to_owned()));
    assert_eq!(rig.to_end(attached).await, ("before\n".to_owned(), let_go));
    assert_eq!(rig.blue.asked(), ["start echo", "attach theirs", "stop run-1"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_server_waits_for_a_stop_that_is_under_way() {
    let rig = Platforms::one();
    rig.blue.put_session(session("theirs", "RUNNING"));
    let attached = rig.attach("blue", "theirs").await.unwrap();
    rig.blue.delay(ms(1000));
    let stop =
        ControlSession { session: attached, target: Some(target("blue")), action: Action::Stop, wait: Wait::default() };
    rig.registry.control_session(&me(), stop).await.unwrap();
    rig.registry.shutdown().await;
    let ended = rig.to_end(attached).await.1.unwrap();
    assert_eq!(ended.cause, Cause::Stop { confirmed: true });
}

#[tokio::test(start_paused = true)]
async fn an_attachment_that_comes_about_while_the_server_ends_is_let_go_of() {
    let rig = Platforms::one();
    rig.blue.put_session(session("theirs", "RUNNING"));
    rig.blue.delay(ms(100));
    let request = Platforms::start(Launch::Attach(NativeId("theirs".to_owned())), "blue");
    let cx = me();
    let (attached, ()) = tokio::join!(rig.registry.start_session(&cx, request), rig.registry.shutdown());
    assert_eq!(said(attached.unwrap_err()), "unavailable: the server is ending: nothing was started");
    assert_eq!(rig.blue.asked(), ["attach theirs"], "nobody cancels it");
}

#[tokio::test(start_paused = true)]
async fn a_list_tells_who_waits_for_input_as_far_as_that_is_known_in_time() {
    let rig = Platforms::one();
    for run in ["run-1", "run-2", "run-3"] {
        rig.run("blue").await;
        rig.blue.input(run, waits(&format!("{run} asks")));
    }
    rig.blue.input("run-2", None);
    rig.blue.end("run-1", Exit::Exited(0));
    let run = |name: &str, input| (Some(name.to_owned()), input);
    let listed = rig.inputs(&me()).await;
    assert_eq!(listed, [run("run-3", waits("run-3 asks")), run("run-2", None), run("run-1", None)]);
    let unknown = [run("run-3", None), run("run-2", None), run("run-1", None)];
    rig.blue.fail(Some(Error::unavailable("the platform does not answer")));
    assert_eq!(rig.inputs(&me()).await, unknown);
    rig.blue.fail(None);
    rig.blue.delay(Duration::from_secs(60));
    let begun = Instant::now();
    assert_eq!((rig.inputs(&me()).await, begun.elapsed()), (unknown.to_vec(), ms(2000)), "all together");
    let hurried = Call { deadline: Instant::now() + ms(300), ..me() };
    let begun = Instant::now();
    assert_eq!((rig.inputs(&hurried).await, begun.elapsed()), (unknown.to_vec(), ms(300)));
}

#[tokio::test(start_paused = true)]
async fn whoever_reads_is_wanted_output_for_and_nobody_else_is() {
    let rig = Platforms::one();
    let run = rig.run("blue").await;
    let is_wanted = || rig.blue.is_wanted("run-1");
    rig.inputs(&me()).await;
    assert!(!is_wanted(), "a list reads nothing");
    let cx = me();
    let request =
        ReadSession { session: run, target: Some(target("blue")), cursor: Cursor::START, wait: for_output(10_000) };
    let waits = rig.registry.read_session(&cx, request);
    tokio::pin!(waits);
    assert!(futures_util::FutureExt::now_or_never(&mut waits).is_none());
    advance(ms(5000)).await;
    assert!(is_wanted(), "for as long as it waits");
    rig.blue.turn("run-1", "one");
    assert_eq!(shown(&waits.await.unwrap()), ("one\n".to_owned(), 4, "output"));
    assert!(is_wanted(), "who follows by a chain of reads comes back");
    advance(ms(2000)).await;
    assert!(!is_wanted());
    for cursor in [4, 0] {
        rig.read(run, cursor, Wait::default()).await.unwrap();
        assert!(is_wanted(), "a read that does not wait is a question too, whatever it finds");
        advance(ms(2000)).await;
        assert!(!is_wanted());
    }
}
