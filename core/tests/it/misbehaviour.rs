//! One kind of misbehaviour at a time, and exactly what callers see of it.

use bytes::Bytes;
use futures_util::future::join;
use sessiond_conformance::faults::{Ending, LONGEST_DELAY, Launching, Plan, Stopping, Writing};
use sessiond_core::{
    Call, Cause, Cursor, End, ErrorKind, ExecuteCommand, Exit, ListSessions, Service, SessionId, StartSession, Status,
    StopStatus, Wait, WriteSession,
};
use tokio::time::{Instant, sleep};

use crate::faults::{House, PLACES, Slice};
use crate::rig::{Rig, end, me, ms, said, target, until};

impl House {
    async fn start(&self, command: &str) -> sessiond_core::Result<SessionId> {
        Ok(self.registry.start_session(&me(), Rig::request(command)).await?.session)
    }

    /// All output that is kept, and the end, once it is there.
    async fn to_end(&self, session: SessionId) -> Slice {
        let wait = until(20_000, end());
        self.read(&me(), session, Cursor::START, wait).await.unwrap()
    }

    async fn listed(&self) -> usize {
        self.registry.list_sessions(&me(), ListSessions::default()).await.unwrap().sessions.len()
    }
}

fn stopped(exit: Exit, confirmed: bool) -> Option<End> {
    Some(End { exit, cause: Cause::Stop { confirmed } })
}

#[tokio::test(start_paused = true)]
async fn an_end_that_comes_before_the_handle_is_an_end_like_any_other() {
    let house = House::planned(Plan { launching: Launching::EndsFirst, cut: 1, ..Plan::default() });
    for _ in 0..2 * PLACES {
        let session = house.start("echo hello; exit 3").await.unwrap();
        let slice = house.to_end(session).await;
        assert_eq!(slice.bytes, "hello\r\n");
        assert_eq!(slice.ended, Some(End { exit: Exit::Exited(3), cause: Cause::Own }));
    }
    let page = house.registry.list_sessions(&me(), ListSessions::default()).await.unwrap();
    assert!(page.sessions.iter().all(|listed| listed.status == Status::Finished && listed.ended_at.is_some()));
    for _ in 0..2 * PLACES {
        let result = house.registry.execute_command(&me(), Rig::command("echo hello")).await.unwrap();
        assert_eq!(result.stdout, "hello\n");
    }
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_fails_late_leaves_no_record_whatever_it_printed() {
    let delay = ms(100);
    let house = House::planned(Plan { launching: Launching::FailsLate, launch_delay: delay, ..Plan::default() });
    for script in ["echo hello; sleep 600", "echo hello; exit 0"].repeat(PLACES) {
        let error = house.start(script).await.unwrap_err();
        assert_eq!(said(error), "unavailable: the target has taken its launch back, as planned");
        let error = house.registry.execute_command(&me(), Rig::command(script)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
    sleep(LONGEST_DELAY).await;
    assert_eq!((house.listed().await, house.behind()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_is_taken_back_or_over_its_deadline_ends_at_once() {
    let house = House::planned(Plan { launching: Launching::Hangs, ..Plan::default() });
    let cx = Call { deadline: Instant::now() + ms(250), ..me() };
    let begun = Instant::now();
    let error = house.registry.start_session(&cx, Rig::request("true")).await.unwrap_err();
    assert_eq!((error.kind(), begun.elapsed()), (ErrorKind::TimedOut, ms(250)));
    let cx = me();
    let (started, ()) = join(house.registry.start_session(&cx, Rig::request("true")), async {
        sleep(ms(70)).await;
        cx.cancel.cancel();
    })
    .await;
    assert_eq!(said(started.unwrap_err()), "unavailable: the call was taken back: nothing was started");
    assert_eq!((begun.elapsed(), house.listed().await), (ms(320), 0));
}

#[tokio::test(start_paused = true)]
async fn a_link_that_breaks_is_a_lost_session_with_what_had_arrived() {
    let house = House::planned(Plan { ending: Ending::BreaksAfter(3), cut: 1, ..Plan::default() });
    let session = house.start("printf 'a€b'; sleep 600").await.unwrap();
    let slice = house.to_end(session).await;
    assert_eq!(sessiond_core::decode(&slice.bytes), "a\u{fffd}\u{fffd}");
    let end = slice.ended.unwrap();
    assert_eq!((end.exit_code(), end.canceled(), end.lost()), (-1, false, true));
    sleep(LONGEST_DELAY).await;
    assert_eq!(house.behind(), 0, "what ran behind the link is gone");
}

#[tokio::test(start_paused = true)]
async fn an_outcome_and_an_end_may_come_in_any_order() {
    let late = ms(1500);
    let outcome_first = Plan { end_delay: late, ..Plan::default() };
    let end_first = Plan { outcome_delay: late, ..Plan::default() };
    for plan in [outcome_first, end_first] {
        let house = House::planned(plan);
        let session = house.start("sleep 600").await.unwrap();
        let early = house.stop(session, ms(1000)).await.unwrap();
        assert_eq!((early.status, early.end), (StopStatus::Stopping, None), "neither alone is the whole truth");
        let outcome = house.stop(session, ms(1000)).await.unwrap();
        assert_eq!(outcome.status, StopStatus::Stopped);
        assert_eq!(outcome.end, stopped(Exit::Signaled("TERM".into()), true));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_is_not_confirmed_cancels_nothing() {
    let house = House::planned(Plan { stopping: Stopping::Unconfirmed, ..Plan::default() });
    let session = house.start("sleep 600").await.unwrap();
    let outcome = house.stop(session, ms(1000)).await.unwrap();
    assert_eq!((outcome.status, outcome.survivors), (StopStatus::Stopping, vec![1000]), "it has given up");
    assert_eq!(outcome.end, stopped(Exit::Signaled("TERM".into()), false));
    let request = ExecuteCommand { time_limit: Some(ms(100)), ..Rig::command("sleep 600") };
    let result = house.registry.execute_command(&me(), request).await.unwrap();
    assert!(!result.end.timed_out());
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_breaks_or_never_answers_keeps_no_end_and_no_caller() {
    for (stopping, kind, time) in [
        (Stopping::BreaksOnce, ErrorKind::Internal, ms(0)),
        (Stopping::RefusedOnce, ErrorKind::Unavailable, ms(0)),
        (Stopping::HangsOnce, ErrorKind::Unavailable, ms(30_500)),
    ] {
        let house = House::planned(Plan { stopping, ..Plan::default() });
        let session = house.start("sleep 2; exit 5").await.unwrap();
        let first = house.stop(session, ms(0)).await;
        assert!(first.is_err() || first.is_ok_and(|outcome| outcome.end.is_none()));
        sleep(time + ms(2001)).await;
        assert_eq!(house.to_end(session).await.ended, stopped(Exit::Exited(5), false), "{stopping:?}");

        let begun = Instant::now();
        let request = ExecuteCommand { time_limit: Some(ms(100)), ..Rig::command("sleep 600") };
        let result = house.registry.execute_command(&me(), request).await.unwrap();
        assert_eq!(begun.elapsed(), time + ms(100));
        assert!(result.end.error().unwrap().starts_with("it could not be stopped"), "{result:?}");

        let session = house.start("sleep 600").await.unwrap();
        match house.stop(session, ms(1)).await {
            Ok(outcome) => assert_eq!((outcome.status, time.is_zero()), (StopStatus::Stopping, false)),
            Err(error) => assert_eq!((error.kind(), time.is_zero()), (kind, true)),
        }
        sleep(time).await;
        assert_eq!(house.stop(session, ms(1000)).await.unwrap().status, StopStatus::Stopped, "a second try is free");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_reason_of_a_stop_stays() {
    let house = House::planned(Plan { stopping: Stopping::RefusedOnce, ..Plan::default() });
    let request = StartSession { time_limit: Some(ms(100)), ..Rig::request("sleep 600") };
    let session = house.registry.start_session(&me(), request).await.unwrap().session;
    sleep(ms(200)).await;
    let outcome = house.stop(session, ms(1000)).await.unwrap();
    let cause = Cause::TimeLimit { limit: ms(100), confirmed: true };
    assert_eq!(outcome.end, Some(End { exit: Exit::Signaled("TERM".into()), cause }), "the stop only finished it");
    assert_eq!((outcome.accepted, outcome.status), (true, StopStatus::Finished));
}

#[tokio::test(start_paused = true)]
async fn lost_bytes_keep_their_places() {
    let house = House::planned(Plan { lose_every: 4, cut: 1, ..Plan::default() });
    let session = house.start("printf abcdefghij; sleep 600").await.unwrap();
    sleep(ms(10)).await;
    let (mut cursor, mut pieces) = (Cursor::START, Vec::new());
    while cursor.0 < 10 {
        let slice = house.read(&me(), session, cursor, Wait::default()).await.unwrap();
        pieces.push((slice.start.0, slice.lost, String::from_utf8(slice.bytes.to_vec()).unwrap()));
        cursor = slice.next;
    }
    assert_eq!(pieces, [(0, 0, "abc".into()), (4, 1, "efg".into()), (8, 1, "ij".into())]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_cut_or_refused_says_so() {
    let write = |session, input: &str| WriteSession {
        session,
        target: Some(target("local")),
        input: Bytes::copy_from_slice(input.as_bytes()),
        wait: Wait::default(),
    };
    let house = House::planned(Plan { writing: Writing::Half, ..Plan::default() });
    let session = house.start("cat").await.unwrap();
    let outcome = house.registry.write_session(&me(), write(session, "abcd")).await.unwrap();
    assert_eq!((outcome.bytes, outcome.stalled.as_deref()), (2, Some("the target has taken half of it, as planned")));
    let house = House::planned(Plan { writing: Writing::Refused, ..Plan::default() });
    let session = house.start("cat").await.unwrap();
    let error = house.registry.write_session(&me(), write(session, "abcd")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn callers_who_stop_at_once_share_one_stop_and_its_outcome() {
    let house = House::planned(Plan { stopping: Stopping::RefusedOnce, outcome_delay: ms(100), ..Plan::default() });
    let session = house.start("sleep 600").await.unwrap();
    let (first, second) = join(house.stop(session, ms(1000)), house.stop(session, ms(1000))).await;
    let refused = "unavailable: the target has refused the stop, as planned";
    assert_eq!([first, second].map(|outcome| said(outcome.unwrap_err())), [refused, refused]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_waits_for_its_turn_ends_at_its_deadline() {
    let house = House::planned(Plan::default());
    let session = house.start("sleep 600").await.unwrap();
    let write = || WriteSession {
        session,
        target: Some(target("local")),
        input: vec![b'x'; 10_000].into(),
        wait: Wait::default(),
    };
    let (deaf, hurried) = (me(), Call { deadline: Instant::now() + ms(700), ..me() });
    let begun = Instant::now();
    let (first, ()) = join(house.registry.write_session(&deaf, write()), async {
        let error = house.registry.write_session(&hurried, write()).await.unwrap_err();
        assert_eq!((error.kind(), begun.elapsed()), (ErrorKind::TimedOut, ms(700)));
    })
    .await;
    assert_eq!(first.unwrap().bytes, 4096, "the one before it is not disturbed");
}

#[tokio::test(start_paused = true)]
async fn no_task_outlives_what_it_is_for() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let house = House::planned(Plan::default());
    let idle = tasks();
    let request = StartSession { time_limit: Some(ms(86_400_000)), ..Rig::request("exit 0") };
    let session = house.registry.start_session(&me(), request).await.unwrap().session;
    house.to_end(session).await;
    sleep(ms(1)).await;
    assert_eq!(tasks(), idle, "the time limit of what has ended is forgotten");
    house.registry.shutdown().await;
    assert_eq!(tasks(), 0, "the end of the server ends them all");
}
