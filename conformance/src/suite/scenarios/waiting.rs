//! Waiting for output (SR40, SR41).

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use sessiond_core::{Cursor, ReadSession, Wait};

use crate::suite::house::House;
use crate::suite::scenario::{Scenario, session};
use crate::suite::stage::{LONG, for_output, target, text};

pub(super) const SCENARIOS: &[Scenario] = &[
    session("SR40", "output that is there is returned at once", |house| at_once(house).boxed()),
    session("SR40", "output and the end wake a read that waits", |house| woken(house).boxed()),
    session("SR40", "a wait that expires is an empty success", |house| expired(house).boxed()),
    session("SR41", "waits delay no other call", |house| no_delay(house).boxed()),
    session("SR41", "a wait that is taken back ends, and the session goes on", |house| taken_back(house).boxed()),
];

async fn at_once(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("echo ready; sleep 1000", "ready\r\n").await;
    let began = Instant::now();
    assert_eq!(text(&stage.read(session, 0, for_output(LONG)).await), "ready\r\n");
    assert!(began.elapsed() < Duration::from_millis(LONG / 2), "it did not wait");
}

async fn woken(house: House) {
    let stage = house.open().await;
    let session = stage.start("sleep 0.2; printf hi; sleep 0.2; exit 4").await;
    let first = stage.read(session, 0, for_output(LONG)).await;
    assert_eq!((text(&first), first.slice.ended), ("hi".to_owned(), None));
    let last = stage.read(session, 2, for_output(LONG)).await;
    assert_eq!((text(&last), last.slice.ended.unwrap().exit_code()), (String::new(), 4));
}

async fn expired(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("printf ready; sleep 1000", "ready").await;
    let began = Instant::now();
    let read = stage.read(session, 5, for_output(200)).await;
    assert!(began.elapsed() >= Duration::from_millis(200), "it waited");
    assert_eq!((text(&read), read.slice.next, read.slice.ended, read.slice.lost), (String::new(), Cursor(5), None, 0));
}

async fn no_delay(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("printf ready; sleep 1000", "ready").await;
    let began = Instant::now();
    let waits = join_all((0..10).map(|_| stage.read(session, 5, for_output(2000))));
    let others = async {
        for _ in 0..10 {
            assert_eq!(text(&stage.read(session, 0, for_output(0)).await), "ready");
        }
        began.elapsed()
    };
    let (waited, others) = futures_util::join!(waits, others);
    assert!(others < Duration::from_millis(2000), "ten calls went by before the first wait was over: {others:?}");
    assert!(waited.iter().all(|read| read.slice.ended.is_none() && text(read).is_empty()));
}

async fn taken_back(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("printf ready; read line; printf more; sleep 1000", "ready").await;
    let cx = stage.call();
    let request = ReadSession { session, target: Some(target()), cursor: Cursor(5), wait: for_output(LONG) };
    let cancel = cx.cancel.clone();
    let began = Instant::now();
    let taken_back = async {
        // The call is on its way by the time that another one has been answered.
        stage.read(session, 0, for_output(0)).await;
        cancel.cancel();
    };
    let (_, ()) = futures_util::join!(stage.service.read_session(&cx, request), taken_back);
    assert!(began.elapsed() < Duration::from_millis(LONG / 2), "it did not wait to its end");
    stage.write(session, "\r", Wait::default()).await.unwrap();
    assert_eq!(stage.shows(session, "more").await, "ready\r\nmore", "the session is none the worse");
}
