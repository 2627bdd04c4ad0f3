//! Waiting for output: what ends a wait, and what does not. Time is paused and jumps when everybody waits.

use sessiond_core::{Action, Exit, Until, Wait};
use tokio::time::Instant;

use crate::rig::{Rig, end, for_output, me, ms, pattern, said, shown, target, until};

#[tokio::test(start_paused = true)]
async fn a_read_returns_at_once_when_output_is_there() {
    let rig = Rig::new();
    let session = rig.start("echo hello; sleep 60").await;
    let read = rig.read(session, 0, for_output(20_000)).await.unwrap();
    assert_eq!(shown(&read), ("hello\r\n".into(), 7, "output"));
    let again = rig.read(session, 0, for_output(0)).await.unwrap();
    assert_eq!(read.slice, again.slice, "reading consumes nothing");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_expires_is_an_empty_success() {
    let rig = Rig::new();
    let session = rig.start("sleep 60").await;
    let started = Instant::now();
    let read = rig.read(session, 0, for_output(1500)).await.unwrap();
    assert_eq!(shown(&read), (String::new(), 0, "deadline"));
    assert_eq!(started.elapsed(), ms(1500));
    assert_eq!(read.slice.ended, None);
}

#[tokio::test(start_paused = true)]
async fn output_and_the_end_wake_a_waiting_read() {
    let rig = Rig::new();
    let session = rig.start("sleep 3; printf hi; sleep 2; exit 4").await;
    let started = Instant::now();
    let first = rig.read(session, 0, for_output(20_000)).await.unwrap();
    assert_eq!((shown(&first), started.elapsed()), (("hi".into(), 2, "output"), ms(3000)));
    let last = rig.read(session, 2, for_output(20_000)).await.unwrap();
    assert_eq!((shown(&last), started.elapsed()), ((String::new(), 2, "end"), ms(5000)));
    assert_eq!(last.slice.ended.unwrap().exit, Exit::Exited(4));
}

#[tokio::test(start_paused = true)]
async fn a_held_back_tail_alone_ends_no_wait() {
    let rig = Rig::new();
    let session = rig.start(r"printf '\xe2\x82'; sleep 2; printf '\xac'; sleep 60").await;
    let started = Instant::now();
    let read = rig.read(session, 0, for_output(20_000)).await.unwrap();
    assert_eq!((shown(&read), started.elapsed()), (("€".into(), 3, "output"), ms(2000)));
}

#[tokio::test(start_paused = true)]
async fn a_pattern_is_found_across_pieces_and_the_output_ends_with_it() {
    let rig = Rig::new();
    let session = rig.start("printf 'log'; sleep 1; printf 'in: and more'; sleep 60").await;
    let read = rig.read(session, 0, until(20_000, pattern("gin:"))).await.unwrap();
    assert_eq!(shown(&read), ("login:".into(), 6, "pattern"));
    let rest = rig.read(session, 6, for_output(0)).await.unwrap();
    assert_eq!(shown(&rest).0, " and more", "what follows the match is still there");
}

#[tokio::test(start_paused = true)]
async fn new_output_alone_does_not_end_a_wait_for_something_else() {
    let rig = Rig::new();
    let session = rig.start("printf a; sleep 1; printf b; sleep 60").await;
    let started = Instant::now();
    let read = rig.read(session, 0, until(5000, pattern("never"))).await.unwrap();
    assert_eq!((shown(&read), started.elapsed()), (("ab".into(), 2, "deadline"), ms(5000)));
}

#[tokio::test(start_paused = true)]
async fn quiet_counts_from_the_last_byte_or_the_calls_start() {
    let rig = Rig::new();
    let quiet = || Until { quiet: Some(ms(500)), ..Until::default() };
    let session = rig.start("printf a; sleep 0.4; printf b; sleep 0.4; printf c; sleep 60").await;
    let started = Instant::now();
    let read = rig.read(session, 0, until(20_000, quiet())).await.unwrap();
    assert_eq!((shown(&read), started.elapsed()), (("abc".into(), 3, "quiet"), ms(1300)));
    let started = Instant::now();
    let read = rig.read(session, 0, until(20_000, quiet())).await.unwrap();
    assert_eq!((shown(&read), started.elapsed()), (("abc".into(), 3, "quiet"), ms(500)));
}

#[tokio::test(start_paused = true)]
async fn any_of_several_conditions_ends_a_wait() {
    let rig = Rig::new();
    let session = rig.start("printf a; sleep 1; printf b; sleep 1; exit 0").await;
    let all = Until { quiet: Some(ms(5000)), end: true, ..pattern("zzz") };
    let read = rig.read(session, 0, until(20_000, all)).await.unwrap();
    assert_eq!(shown(&read), ("ab".into(), 2, "end"));
}

#[tokio::test(start_paused = true)]
async fn the_end_ends_every_wait() {
    let rig = Rig::new();
    let session = rig.start("printf a; sleep 1").await;
    let read = rig.read(session, 0, until(20_000, pattern("never"))).await.unwrap();
    assert_eq!(shown(&read), ("a".into(), 1, "end"));
}

#[tokio::test(start_paused = true)]
async fn a_full_answer_ends_a_wait() {
    let rig = Rig::new();
    let session = rig.start("seq 1 100; sleep 60").await;
    let wait = Wait { max_bytes: Some(10), ..until(20_000, pattern("99")) };
    let read = rig.read(session, 0, wait).await.unwrap();
    assert_eq!(shown(&read), ("1\r\n2\r\n3\r\n4".into(), 10, "max_bytes"));
}

#[tokio::test(start_paused = true)]
async fn a_condition_without_time_looks_once() {
    let rig = Rig::new();
    let session = rig.start("echo ready; sleep 60").await;
    rig.read(session, 0, for_output(1000)).await.unwrap();
    let read = rig.read(session, 0, until(0, pattern("ready"))).await.unwrap();
    assert_eq!(shown(&read), ("ready".into(), 5, "pattern"));
    let read = rig.read(session, 0, until(0, pattern("never"))).await.unwrap();
    assert_eq!(shown(&read), ("ready\r\n".into(), 7, "deadline"));
}

#[tokio::test(start_paused = true)]
async fn a_long_search_sees_everything_that_was_there() {
    let rig = Rig::new();
    let session = rig.start("head -c 900000 /dev/zero; printf needle; sleep 60").await;
    rig.read(session, 0, until(1000, Until { quiet: Some(ms(10)), ..Until::default() })).await.unwrap();
    let read = rig.read(session, 0, until(0, pattern("needle"))).await.unwrap();
    assert_eq!((read.fired.as_str(), read.slice.next.0), ("pattern", 900_006));
}

#[tokio::test(start_paused = true)]
async fn a_pattern_may_match_after_its_beginning_was_dropped() {
    let rig = Rig::new();
    let session = rig.start("printf first; sleep 1; head -c 2000000 /dev/zero; printf last; sleep 60").await;
    let read = rig.read(session, 0, until(20_000, pattern("last"))).await.unwrap();
    assert_eq!(read.fired.as_str(), "pattern");
    assert_eq!((read.slice.next.0, read.slice.lost), (2_000_009, 2_000_009 - (1 << 20)));
}

#[tokio::test(start_paused = true)]
async fn nothing_matches_across_a_loss() {
    let rig = Rig::new();
    let session = rig.start("printf ab; :lose 3; printf cd; sleep 60").await;
    let read = rig.read(session, 0, until(1000, pattern("abcd"))).await.unwrap();
    assert_eq!(shown(&read), ("ab".into(), 2, "max_bytes"), "a piece ends before what is missing");
    let read = rig.read(session, 2, until(1000, pattern("cd"))).await.unwrap();
    assert_eq!((shown(&read), read.slice.lost), (("cd".into(), 7, "pattern"), 3));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_taken_back_ends_its_wait_and_nothing_else() {
    let rig = Rig::new();
    let session = rig.start("sleep 5; echo still here; sleep 60").await;
    let cx = me();
    let cancel = cx.cancel.clone();
    let request = sessiond_core::ReadSession {
        session,
        target: Some(target("local")),
        cursor: sessiond_core::Cursor::START,
        wait: for_output(20_000),
    };
    let started = Instant::now();
    let (read, ()) = tokio::join!(sessiond_core::Service::read_session(&*rig.registry, &cx, request), async {
        tokio::time::sleep(ms(700)).await;
        cancel.cancel();
    });
    assert_eq!((shown(&read.unwrap()), started.elapsed()), ((String::new(), 0, "deadline"), ms(700)));
    assert_eq!(shown(&rig.read(session, 0, for_output(20_000)).await.unwrap()).0, "still here\r\n");
}

#[tokio::test(start_paused = true)]
async fn many_readers_wait_without_disturbing_each_other() {
    let rig = Rig::new();
    let session = rig.start("sleep 1; printf abc; sleep 60").await;
    let reads = (0..100).map(|_| rig.read(session, 0, for_output(20_000)));
    for read in futures_util::future::join_all(reads).await {
        assert_eq!(shown(&read.unwrap()), ("abc".into(), 3, "output"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cursor_past_the_end_is_refused_also_while_waiting() {
    let rig = Rig::new();
    let session = rig.start("printf abc; sleep 60").await;
    rig.read(session, 0, for_output(1000)).await.unwrap();
    let error = rig.read(session, 4, for_output(20_000)).await.unwrap_err();
    assert_eq!(
        said(error),
        "invalid_argument: cursor 4 is past the end of the output, which is 3: go on from the last next_cursor, or from 0"
    );
}

#[tokio::test(start_paused = true)]
async fn waits_out_of_range_are_refused() {
    let rig = Rig::new();
    let session = rig.start("sleep 60").await;
    for (wait, message) in [
        (for_output(20_001), "wait_ms must be 0 to 20000"),
        (Wait { max_bytes: Some(3), ..Wait::default() }, "max_bytes must be 4 to 1048576"),
        (Wait { max_bytes: Some(1_048_577), ..Wait::default() }, "max_bytes must be 4 to 1048576"),
        (until(1, Until { quiet: Some(ms(20_001)), ..Until::default() }), "until.quiet_ms must be at most 20000"),
        (until(1, Until::default()), "until is empty: give pattern, quiet_ms, end, or several of them"),
    ] {
        assert_eq!(said(rig.read(session, 0, wait).await.unwrap_err()), format!("invalid_argument: {message}"));
    }
}

#[tokio::test(start_paused = true)]
async fn one_call_writes_and_reads_what_came_of_it() {
    let rig = Rig::new();
    let session = rig.start("echo ready; cat").await;
    rig.read(session, 0, for_output(1000)).await.unwrap();
    let written = rig.write(session, "ping\r", until(5000, pattern("ping\r\nping"))).await.unwrap();
    assert_eq!((written.bytes, written.stalled), (5, None));
    assert_eq!(shown(&written.read.unwrap()), ("ping\r\nping".into(), 17, "pattern"));
    let outcome = rig.control(session, Action::Eof).await.unwrap();
    assert_eq!((outcome.accepted, outcome.read), (true, None), "who does not ask to wait gets no output");
    assert_eq!(rig.read(session, 0, until(5000, end())).await.unwrap().fired.as_str(), "end");
}

#[tokio::test(start_paused = true)]
async fn a_pattern_that_costs_too_much_gives_up_and_lets_others_go_first() {
    let rig = Rig::new();
    let session = rig.start("cat").await;
    for _ in 0..16 {
        rig.write(session, &format!("{}\r", "ab".repeat(2000)), Wait::default()).await.unwrap();
    }
    let mut turns = 0;
    let costly = rig.read(session, 0, until(1000, pattern("(a[ab]{0,400}){8}c")));
    let others = async {
        loop {
            turns += 1;
            tokio::task::yield_now().await;
        }
    };
    let read = tokio::select! {
        read = costly => read,
        () = others => unreachable!(),
    };
    let error = said(read.unwrap_err());
    assert!(error.starts_with("invalid_argument: the pattern is too costly"), "{error}");
    assert!(turns > 1, "others had their turn meanwhile");
}

#[tokio::test(start_paused = true)]
async fn a_search_that_is_taken_back_ends() {
    let rig = Rig::new();
    let session = rig.start("head -c 1000000 /dev/zero; sleep 600").await;
    rig.read(session, 0, until(1000, Until { quiet: Some(ms(10)), ..Until::default() })).await.unwrap();
    let cx = me();
    cx.cancel.cancel();
    let request = sessiond_core::ReadSession {
        session,
        target: Some(target("local")),
        cursor: sessiond_core::Cursor::START,
        wait: until(20_000, pattern("never")),
    };
    let started = Instant::now();
    let read = sessiond_core::Service::read_session(&*rig.registry, &cx, request).await.unwrap();
    assert_eq!((read.fired.as_str(), started.elapsed()), ("deadline", ms(0)));
}
