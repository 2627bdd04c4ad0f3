//! The registry over a backend that misbehaves: whatever an adapter or its link does, the promises hold.
//!
//! Each seed is a scenario of its own: other scripts, other faults, other callers. A seed that has found something
//! goes into [`FOUND`], which runs first.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{join, join_all};
use sessiond_conformance::faults::{Dice, Faults, LONGEST_DELAY, Plan};
use sessiond_core::fake::Fake;
use sessiond_core::{
    Action, Call, Cause, ControlSession, Cursor, End, ErrorKind, ExecuteCommand, Exit, FixedTargets, Limits,
    ListSessions, Owner, ReadSession, Registry, Service, SessionId, Signal, StartSession, Status, StopSession,
    StopStatus, Wait, WindowSize, WriteSession,
};
use tokio::time::{Instant, sleep, timeout};

use crate::rig::{Rig, me, ms, said, target};

/// Seeds that have found a fault once.
const FOUND: &[u64] = &[6, 54];

/// How many further seeds run.
const SEEDS: u64 = 60;

/// How many may run for one owner.
pub(crate) const PLACES: usize = 8;

pub(crate) const LIMITS: Limits = Limits {
    running_per_owner: PLACES,
    finished_per_owner: 100,
    finished_bytes_per_owner: 1 << 20,
    finished_ttl: Duration::from_secs(3600),
    stop_grace: Duration::from_millis(500),
    launch: Duration::from_secs(3),
    session_output: 1 << 20,
    command_output: 1 << 20,
    handle_output: 1 << 20,
    default_max_bytes: None,
};

/// The longest that a stop takes which is not refused: its grace and its planned delay.
pub(crate) const STOP: Duration = Duration::from_millis(500 + 1500);

/// A registry with a misbehaving target `local` and a sound one `other`.
pub(crate) struct House {
    pub(crate) registry: Arc<Registry>,
    faults: Arc<Faults>,
    fakes: [Arc<Fake>; 2],
}

impl House {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let kept = [32, 100, 1 << 20];
        let limits =
            Limits { session_output: dice.pick(&kept).unwrap(), command_output: dice.pick(&kept).unwrap(), ..LIMITS };
        Self::with(limits, move |number| Plan::drawn(seed, number))
    }

    /// Every start goes wrong in the same way.
    pub(crate) fn planned(plan: Plan) -> Self {
        Self::with(LIMITS, move |_| plan)
    }

    fn with(limits: Limits, plans: impl Fn(u64) -> Plan + Send + Sync + 'static) -> Self {
        let fakes = [Fake::new(), Fake::new()];
        let faults = Faults::over(fakes[0].clone(), plans);
        let targets = FixedTargets::new(vec![
            (Fake::info(target("local")), faults.clone()),
            (Fake::info(target("other")), fakes[1].clone()),
        ]);
        Self { registry: Registry::new(Arc::new(targets), limits), faults, fakes }
    }

    pub(crate) async fn read(
        &self,
        cx: &Call,
        session: SessionId,
        cursor: Cursor,
        wait: Wait,
    ) -> sessiond_core::Result<Slice> {
        let within = wait.time;
        let request = ReadSession { session, target: Some(target("local")), cursor, wait };
        bounded(within, self.registry.read_session(cx, request)).await.map(|read| read.slice)
    }

    pub(crate) async fn stop(
        &self,
        session: SessionId,
        wait: Duration,
    ) -> sessiond_core::Result<sessiond_core::StopOutcome> {
        let request = StopSession { session, target: Some(target("local")), wait };
        bounded(wait, self.registry.stop_session(&me(), request)).await
    }

    /// How many processes and tasks there are behind the registry.
    pub(crate) fn behind(&self) -> usize {
        self.faults.running() + self.fakes.iter().map(|fake| fake.running()).sum::<usize>()
    }
}

pub(crate) type Slice = sessiond_core::Slice;

/// A call that must have its answer within this time.
pub(crate) async fn bounded<T>(limit: Duration, call: impl Future<Output = T>) -> T {
    timeout(limit + ms(1), call).await.unwrap_or_else(|_| panic!("a call that had {limit:?} has no answer"))
}

/// What a session prints when nothing goes wrong, and the script that prints it.
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) prints: Vec<u8>,
}

impl Script {
    pub(crate) fn drawn(dice: &mut Dice, newline: &str) -> Self {
        let mut script = Self { text: String::new(), prints: Vec::new() };
        for _ in 0..dice.below(6) {
            match dice.below(4) {
                0 => {
                    let line = dice.pick(&["plain", "äöü", "€ and 😀", "語語語"]).unwrap();
                    script.text.push_str(&format!("printf '{line}'; "));
                    script.prints.extend(line.as_bytes());
                }
                1 => {
                    let last = dice.below(20) + 1;
                    script.text.push_str(&format!("seq 1 {last}; "));
                    script.prints.extend((1..=last).map(|line| format!("{line}{newline}")).collect::<String>().bytes());
                }
                2 => {
                    script.text.push_str(r"printf '\xff\xe2\x82'; ");
                    script.prints.extend(b"\xff\xe2\x82");
                }
                _ => script.text.push_str(&format!("sleep 0.{}; ", dice.below(10))),
            }
        }
        let endings = ["exit 0", "exit 7", "kill -SEGV $$", ":lost its link", ":drop", "sleep 600"];
        let stubborn = ["trap '' TERM; sleep 600", ":unkillable; sleep 600", "helper &; exit 0"];
        script.text.push_str(dice.pick(&[&endings[..], &stubborn[..]].concat()).unwrap());
        script
    }
}

/// Follows a session to its end; every slice must fit the stream.
async fn follow(house: &House, session: SessionId, prints: &[u8], mut dice: Dice) -> End {
    let (mut cursor, mut counted) = (0, 0);
    loop {
        let max_bytes = dice.pick(&[None, Some(4), Some(9), Some(1000)]).unwrap();
        let wait = Wait { time: ms(dice.below(900)), until: None, max_bytes };
        let slice = house.read(&me(), session, Cursor(cursor), wait).await.unwrap();
        let (start, next) = (slice.start.0, slice.next.0);
        let skipped = start - cursor - slice.lost;
        assert!(skipped == 0 || slice.lost > 0 && skipped <= 3, "what is not given is counted");
        assert_eq!(slice.bytes, prints[start as usize..next as usize], "from {start}");
        assert!(slice.end.0 <= prints.len() as u64 && next <= slice.end.0);
        counted += slice.lost + skipped + slice.bytes.len() as u64;
        cursor = next;
        assert_eq!(counted, cursor, "the chain and its loss are the stream");
        if let Some(end) = slice.ended {
            assert_eq!(slice.end, slice.next, "the end is the last item");
            let own = matches!(&end.exit, Exit::Exited(_)) && end.cause == Cause::Own;
            assert!(!own || cursor == prints.len() as u64, "a process that ended by itself is heard to its end");
            return end;
        }
    }
}

/// Looks at a session again and again; what has been seen of its end stays.
async fn watch(house: &House, session: SessionId) -> End {
    let mut seen: Option<(Status, End)> = None;
    loop {
        let page = bounded(ms(0), house.registry.list_sessions(&me(), ListSessions::default())).await.unwrap();
        let listed = page.sessions.into_iter().find(|listed| listed.session == session).unwrap();
        assert_eq!(listed.ended_at.is_some(), listed.end.is_some());
        match (listed.end, &seen) {
            (Some(end), None) => seen = Some((listed.status, end)),
            (now, Some((status, end))) => {
                assert_eq!((listed.status, now.as_ref()), (*status, Some(end)), "terminal fields never change");
                return end.clone();
            }
            (None, None) => assert!(matches!(listed.status, Status::Running | Status::Stopping)),
        }
        sleep(ms(37)).await;
    }
}

/// Does this and that to a session, and stops it until it has ended.
async fn act(house: &House, session: SessionId, mut dice: Dice) {
    let local = || Some(target("local"));
    for _ in 0..dice.below(5) {
        sleep(ms(dice.below(400))).await;
        let cx = Call { deadline: Instant::now() + ms(700), ..me() };
        match dice.below(5) {
            0 => {
                // Empty input prints nothing, so that the stream stays what the script prints.
                let request = WriteSession { session, target: local(), input: Bytes::new(), wait: Wait::default() };
                let _ = bounded(ms(700), house.registry.write_session(&cx, request)).await;
            }
            1 => {
                let action = dice.pick(&[Signal::Winch, Signal::Term]).map(Action::Signal).unwrap();
                let request = ControlSession { session, target: local(), action, wait: Wait::default() };
                let _ = bounded(ms(700), house.registry.control_session(&cx, request)).await;
            }
            2 => {
                let action = Action::Resize(WindowSize::default());
                let request = ControlSession { session, target: local(), action, wait: Wait::default() };
                let _ = bounded(ms(700), house.registry.control_session(&cx, request)).await;
            }
            3 => {
                let wait = Wait { time: ms(20_000), ..Wait::default() };
                let _ = timeout(ms(dice.below(50)), house.read(&cx, session, Cursor::START, wait)).await;
            }
            _ => {
                let _ = house.stop(session, ms(dice.below(300))).await;
            }
        }
    }
    for _ in 0..4 {
        match house.stop(session, STOP + LONGEST_DELAY).await {
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Internal), "{error}"),
            Ok(outcome) => {
                assert_ne!(outcome.accepted, outcome.already_done);
                let Some(end) = outcome.end else {
                    assert_eq!(outcome.status, StopStatus::Stopping);
                    continue;
                };
                let by_stop = end.cause == Cause::Stop { confirmed: true };
                assert_eq!(outcome.status == StopStatus::Stopped, by_stop);
            }
        }
    }
}

/// A caller of one session, from its start to its end. Returns its id when it had one.
async fn caller(house: &House, seed: u64) -> Option<SessionId> {
    let mut dice = Dice::new(seed);
    let script = Script::drawn(&mut dice, "\r\n");
    sleep(ms(dice.below(300))).await;
    let time_limit = dice.pick(&[None, None, Some(ms(800))]).unwrap();
    let request = StartSession { time_limit, ..Rig::request(&script.text) };
    let started = match bounded(LIMITS.launch, house.registry.start_session(&me(), request)).await {
        Ok(started) => started,
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::TimedOut), "{error}");
            return None;
        }
    };
    let session = started.session;
    let readers = (1..3).map(|reader| follow(house, session, &script.prints, Dice::new(seed + reader)));
    let acting = act(house, session, Dice::new(seed + 7));
    let (ends, (seen, ())) = join(join_all(readers), join(watch(house, session), acting)).await;
    assert_eq!(ends, [seen.clone(), seen.clone()], "all see the same end");
    let last = house.stop(session, STOP).await;
    assert!(last.is_err() || last.is_ok_and(|outcome| outcome.already_done && outcome.end == Some(seen)));
    Some(session)
}

/// A caller of a command, who may lose patience.
async fn commander(house: &House, seed: u64) {
    let mut dice = Dice::new(seed);
    let script = Script::drawn(&mut dice, "\n");
    let patience = ms(dice.pick(&[400, 4000]).unwrap());
    let cx = Call { deadline: Instant::now() + patience, ..me() };
    let time_limit = dice.pick(&[None, Some(ms(300))]).unwrap();
    let request = ExecuteCommand { time_limit, ..Rig::command(&script.text) };
    let call = house.registry.execute_command(&cx, request);
    if dice.below(4) == 0 {
        let _ = timeout(ms(dice.below(1000)), call).await;
        return;
    }
    // Beyond the deadline there is only the stop that it brings.
    match bounded(patience + STOP + LONGEST_DELAY, call).await {
        Err(error) => assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::TimedOut), "{error}"),
        Ok(result) => {
            let mut rest = script.prints.iter();
            assert!(result.stdout.iter().all(|byte| rest.any(|printed| printed == byte)), "in order, if with losses");
            let whole = matches!(result.end.exit, Exit::Exited(_)) && result.end.cause == Cause::Own;
            assert!(!whole || result.truncated || result.stdout == script.prints, "what is missing is told");
        }
    }
}

/// Somebody else, to whom nothing of it exists.
async fn stranger(house: &House, session: SessionId) {
    let unknown = SessionId::random().unwrap();
    for (owner, session) in [("them", session), ("them", unknown), ("me", unknown)] {
        let cx = Call::new(Owner::management(owner));
        let error = house.read(&cx, session, Cursor::START, Wait::default()).await.unwrap_err();
        assert_eq!(said(error), crate::registry::NOT_FOUND);
    }
}

/// Runs a scenario in paused time; nothing of it is left when it is over.
fn in_paused_time<F: Future<Output = ()>>(scenario: impl FnOnce() -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        scenario().await;
        // The last stops come to their outcome.
        sleep(STOP).await;
    });
    assert_eq!(runtime.metrics().num_alive_tasks(), 0, "no task is left");
}

pub(crate) fn for_each_seed<F: Future<Output = ()>>(scenario: impl Fn(u64) -> F) {
    for seed in FOUND.iter().copied().chain(0..SEEDS) {
        let run = std::panic::AssertUnwindSafe(|| in_paused_time(|| scenario(seed)));
        std::panic::catch_unwind(run).unwrap_or_else(|_| panic!("seed {seed} has found something: see above"));
    }
}

#[test]
fn whatever_a_backend_does_the_promises_hold() {
    for_each_seed(|seed| async move {
        let house = House::new(seed);
        let callers = join_all((0..4).map(|caller_seed| caller(&house, seed * 1000 + caller_seed * 100)));
        let commanders = join_all((0..3).map(|number| commander(&house, seed * 1000 + 500 + number)));
        let (sessions, _) = join(callers, commanders).await;
        let sessions: Vec<_> = sessions.into_iter().flatten().collect();
        for session in &sessions {
            stranger(&house, *session).await;
        }
        // Whatever could not be stopped ends by itself by now, and the finished are forgotten.
        sleep(LIMITS.finished_ttl + ms(700_000)).await;
        for session in sessions {
            let error = house.read(&me(), session, Cursor::START, Wait::default()).await.unwrap_err();
            assert_eq!(said(error), crate::registry::NOT_FOUND);
        }
        assert_eq!(house.behind(), 0, "nothing runs behind the registry");
        let sound = || StartSession { target: Some(target("other")), ..Rig::request("sleep 60") };
        for _ in 0..PLACES {
            house.registry.start_session(&me(), sound()).await.unwrap();
        }
        let refused = house.registry.start_session(&me(), sound()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::LimitExceeded, "exactly as many places as before");
        house.registry.shutdown().await;
    });
}

#[test]
fn the_end_of_the_server_comes_within_its_grace_whatever_a_backend_does() {
    for_each_seed(|seed| async move {
        let house = House::new(seed);
        let mut dice = Dice::new(seed + 77);
        let scripts: Vec<_> = (0..6).map(|_| Script::drawn(&mut dice, "\r\n").text).collect();
        let cx = me();
        let starts = scripts.iter().map(|script| house.registry.start_session(&cx, Rig::request(script)));
        let begun = Instant::now();
        let (started, ()) = join(join_all(starts), async {
            sleep(ms(dice.below(3200))).await;
            let begun = Instant::now();
            house.registry.shutdown().await;
            assert!(begun.elapsed() <= STOP + LIMITS.stop_grace, "it took {:?}", begun.elapsed());
        })
        .await;
        assert!(begun.elapsed() <= LIMITS.launch + STOP + LIMITS.stop_grace);
        sleep(LONGEST_DELAY + LIMITS.stop_grace).await;
        assert_eq!(house.behind(), 0, "nothing is left");
        for started in started.into_iter().flatten() {
            let wait = Wait::default();
            let mut cursor = Cursor::START;
            let end = loop {
                let slice = house.read(&me(), started.session, cursor, wait.clone()).await.unwrap();
                assert!(slice.ended.is_some() || slice.next > cursor, "every session has its end");
                cursor = slice.next;
                if let Some(end) = slice.ended {
                    break end;
                }
            };
            assert_eq!(house.stop(started.session, ms(0)).await.unwrap().end, Some(end));
        }
    });
}
