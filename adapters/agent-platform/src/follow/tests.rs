//! Followers of a platform that does what a test tells it, in time that stands still but for waiting.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use sessiond_core::{
    Agent, AgentAction, AgentRun, AgentSession, AgentSessionPage, AgentSessionQuery, Call, Cursor, FinishState, Json,
    LogKind, ManualTask, ManualTaskSummary, OutputLog, Owner, Pattern, ReasoningEvent, Retention, Stopped, Stream,
    Tasks, TokenUsage, Until, Wait, WindowSize, decode,
};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::*;
use crate::dialect::{Dialect, EventId, Happened, RunEvent};

/// What the platform knows, and what it was asked.
struct World {
    phase: Phase,
    turns: Vec<ReasoningEvent>,
    /// What every question is answered instead.
    fault: Option<Error>,
    state_fault: Option<Error>,
    turns_fault: Option<Error>,
    /// What it answers when it is asked whether it is there.
    check: Result<()>,
    /// What a cancel does: the phase that follows, or a refusal.
    on_cancel: Vec<Result<Phase>>,
    looks: Vec<Instant>,
    readings: usize,
    cancels: usize,
    /// Where its events come from, and from where on it was asked for them.
    events: Option<mpsc::UnboundedReceiver<Result<RunEvent>>>,
    listened: Vec<Option<EventId>>,
}

struct Scripted(Arc<Mutex<World>>);

fn nothing<T>() -> Result<T> {
    Err(Error::unsupported("not of use here"))
}

#[async_trait]
impl Dialect for Scripted {
    async fn check(&self, _cx: &Request) -> Result<()> {
        self.world().check.clone()
    }

    async fn state(&self, _cx: &Request, id: &PlatformId) -> Result<RunState> {
        let mut world = self.world();
        world.looks.push(Instant::now());
        if let Some(fault) = world.state_fault.as_ref().or(world.fault.as_ref()) {
            return Err(fault.clone());
        }
        let session = AgentSession { session_id: id.to_string(), ..AgentSession::default() };
        Ok(RunState { session, phase: world.phase, error: Some("it broke".into()), waiting: None })
    }

    async fn turns(&self, _cx: &Request, _id: &PlatformId) -> Result<Vec<ReasoningEvent>> {
        let mut world = self.world();
        world.readings += 1;
        world.turns_fault.clone().or(world.fault.clone()).map_or_else(|| Ok(world.turns.clone()), Err)
    }

    async fn pending_tasks(&self, _cx: &Request, _id: &PlatformId) -> Result<Vec<ManualTaskSummary>> {
        nothing()
    }

    async fn events(
        &self,
        _cx: &Request,
        _id: &PlatformId,
        last: Option<&EventId>,
    ) -> Result<Option<BoxStream<'static, Result<RunEvent>>>> {
        let mut world = self.world();
        world.listened.push(last.cloned());
        Ok(world.events.take().map(|events| {
            stream::unfold(events, |mut events| async { events.recv().await.map(|event| (event, events)) }).boxed()
        }))
    }

    async fn sessions(&self, _cx: &Request, _query: &AgentSessionQuery) -> Result<AgentSessionPage> {
        nothing()
    }

    async fn token_usage(&self, _cx: &Request, _id: &PlatformId) -> Result<TokenUsage> {
        nothing()
    }

    async fn agents(&self, _cx: &Request) -> Result<Vec<Agent>> {
        nothing()
    }

    async fn start(&self, _cx: &Request, _agent: &str, _inputs: Option<&Json>) -> Result<AgentRun> {
        nothing()
    }

    async fn control(
        &self,
        _cx: &Request,
        id: &PlatformId,
        _action: AgentAction,
        _input: Option<&Json>,
    ) -> Result<AgentRun> {
        let mut world = self.world();
        world.cancels += 1;
        let next = if world.on_cancel.is_empty() { Ok(world.phase) } else { world.on_cancel.remove(0) };
        world.phase = next?;
        Ok(AgentRun { session_id: id.to_string(), status: String::new() })
    }

    async fn manual_task(&self, _cx: &Request, _item: &PlatformId) -> Result<ManualTask> {
        nothing()
    }

    async fn finish_task(
        &self,
        _cx: &Request,
        _item: &PlatformId,
        _state: FinishState,
        _variables: Option<&Json>,
    ) -> Result<()> {
        nothing()
    }
}

impl Scripted {
    fn world(&self) -> std::sync::MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A followed run, and the platform that it is on.
struct Stage {
    world: Arc<Mutex<World>>,
    site: Arc<Site>,
    id: PlatformId,
    log: Arc<OutputLog>,
    begun: Instant,
}

impl Stage {
    fn new() -> Self {
        Self::with(|_| ())
    }

    fn with(change: impl FnOnce(&mut World)) -> Self {
        Self::begun(Begin::Soon, change)
    }

    fn begun(begin: Begin, change: impl FnOnce(&mut World)) -> Self {
        let mut world = World {
            phase: Phase::Running,
            turns: Vec::new(),
            fault: None,
            state_fault: None,
            turns_fault: None,
            check: Ok(()),
            on_cancel: Vec::new(),
            looks: Vec::new(),
            readings: 0,
            cancels: 0,
            events: None,
            listened: Vec::new(),
        };
        change(&mut world);
        let world = Arc::new(Mutex::new(world));
        let site = Arc::new(Site {
            dialect: Box::new(Scripted(world.clone())),
            timeout: Duration::from_secs(30),
            lost_after: Duration::from_secs(300),
            tasks: Tasks::new(),
        });
        let log = OutputLog::new(LogKind::Session(WindowSize::default()), Retention::Newest(1 << 20));
        let id = PlatformId::new("session_id", "run").unwrap();
        follow(&site, id.clone(), OutputSink::new(log.clone()), begin);
        Self { world, site, id, log, begun: Instant::now() }
    }

    fn world<R>(&self, act: impl FnOnce(&mut World) -> R) -> R {
        act(&mut self.world.lock().unwrap())
    }

    fn say(&self, text: &str) {
        let turn = ReasoningEvent { event_id: Some(text.into()), text: Some(text.into()), ..ReasoningEvent::default() };
        self.world(|world| world.turns.push(turn));
    }

    fn text(&self) -> String {
        decode(&self.log.read(Stream::Stdout, Cursor::START, usize::MAX, None).unwrap().bytes)
    }

    /// Reads, as a client does that waits, until this is there; how long that took.
    async fn shows(&self, pattern: &str) -> Duration {
        let pattern = Some(Pattern::new(pattern).unwrap());
        let until = Some(Until { pattern, ..Until::default() });
        let wait = Wait { time: Duration::from_secs(3600), until, max_bytes: None };
        let now = Instant::now();
        let cx = Call::new(Owner::management("test"));
        self.log.read_when(&cx, Stream::Stdout, Cursor::START, &wait).await.unwrap();
        now.elapsed()
    }

    /// When the looks were, in whole seconds from the beginning.
    fn looks(&self) -> Vec<u64> {
        self.world(|world| world.looks.iter().map(|look| look.duration_since(self.begun).as_secs()).collect())
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_nobody_waits_for_is_looked_at_every_half_minute_and_its_turns_are_left_alone() {
    let stage = Stage::new();
    stage.say("one");
    sleep(Duration::from_secs(3600)).await;
    let looks = stage.looks();
    assert_eq!(looks[..5], [1, 3, 7, 15, 31]);
    assert!(looks.windows(2).skip(4).all(|pair| pair[1] - pair[0] >= 30), "{looks:?}");
    assert!(looks.len() > 110, "{looks:?}");
    assert_eq!((stage.world(|world| world.readings), stage.text()), (0, String::new()));
}

#[tokio::test(start_paused = true)]
async fn somebody_who_begins_to_wait_has_what_is_there_at_once_and_what_comes_within_a_second() {
    let stage = Stage::new();
    stage.say("one");
    sleep(Duration::from_secs(600)).await;
    assert!(stage.shows("one").await < Duration::from_millis(100));
    let later = async {
        sleep(Duration::from_millis(7_777)).await;
        stage.say("two");
        Instant::now()
    };
    let (_, said) = tokio::join!(stage.shows("two"), later);
    assert!(said.elapsed() < Duration::from_secs(1), "{:?}", said.elapsed());
    assert_eq!(stage.text(), "one\ntwo\n");
}

#[tokio::test(start_paused = true)]
async fn the_end_comes_behind_all_that_was_said_also_when_nobody_waits() {
    for (phase, exit) in [
        (Phase::Complete, Exit::Exited(0)),
        (Phase::Failed, Exit::Failed("it broke".into())),
        (Phase::Canceled, Exit::Canceled),
    ] {
        let stage = Stage::new();
        sleep(Duration::from_secs(100)).await;
        stage.say("one");
        stage.say("two");
        stage.world(|world| world.phase = phase);
        assert_eq!(stage.log.ended().await.exit, exit);
        assert_eq!((stage.text(), stage.world(|world| world.readings)), ("one\ntwo\n".into(), 1));
        assert!(stage.site.tasks.settled(Duration::from_secs(1)).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_comes_late_among_others_is_given_once_and_behind_them() {
    let stage = Stage::new();
    stage.say("b");
    stage.shows("b").await;
    stage.say("a");
    stage.world(|world| world.turns.reverse());
    stage.shows("a").await;
    stage.world(|world| world.turns.reverse());
    stage.say("c");
    stage.world(|world| world.phase = Phase::Complete);
    stage.log.ended().await;
    assert_eq!(stage.text(), "b\na\nc\n");
}

#[tokio::test(start_paused = true)]
async fn an_end_whose_last_words_cannot_be_read_is_looked_at_again() {
    let stage = Stage::with(|world| {
        world.phase = Phase::Complete;
        world.turns_fault = Some(Error::unavailable("away"));
    });
    stage.say("last words");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(stage.log.end(), None);
    stage.world(|world| world.turns_fault = None);
    assert_eq!(stage.log.ended().await.exit, Exit::Exited(0));
    assert_eq!(stage.text(), "last words\n");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_the_platform_does_not_know_any_more_is_lost() {
    let stage = Stage::new();
    sleep(Duration::from_secs(100)).await;
    stage.world(|world| world.fault = Some(Error::not_found("no such session")));
    let lost = Exit::Lost("the platform does not know the run any more".into());
    assert_eq!(stage.log.ended().await.exit, lost);
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_knows_nothing_at_all_has_not_lost_a_run() {
    let nothing = || Error::not_found("no such thing");
    let stage = Stage::new();
    sleep(Duration::from_secs(100)).await;
    stage.world(|world| (world.fault, world.check) = (Some(nothing()), Err(nothing())));
    sleep(Duration::from_secs(200)).await;
    assert_eq!(stage.log.end(), None);
    stage.say("back");
    stage.world(|world| (world.fault, world.check, world.phase) = (None, Ok(()), Phase::Complete));
    assert_eq!((stage.log.ended().await.exit, stage.text()), (Exit::Exited(0), "back\n".into()));
}

#[tokio::test(start_paused = true)]
async fn a_run_of_whose_messages_the_platform_knows_nothing_ends_as_it_says() {
    for waits in [false, true] {
        let stage = Stage::with(|world| world.turns_fault = Some(Error::not_found("no messages")));
        let reader = async {
            if waits {
                stage.shows("never").await;
            }
        };
        let over = async {
            sleep(Duration::from_secs(20)).await;
            stage.world(|world| world.phase = Phase::Complete);
        };
        let (end, ..) = tokio::join!(stage.log.ended(), reader, over);
        assert_eq!((end.exit, stage.text()), (Exit::Exited(0), String::new()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_on_which_nothing_comes_through_is_not_relied_upon() {
    let (_tell, events) = mpsc::unbounded_channel();
    let stage = Stage::with(|world| world.events = Some(events));
    let said = async {
        sleep(Duration::from_secs(10)).await;
        stage.say("one");
        Instant::now()
    };
    let (_, said) = tokio::join!(stage.shows("one"), said);
    assert!(said.elapsed() <= Duration::from_millis(500), "{:?}", said.elapsed());
    assert_eq!(stage.world(|world| world.listened.clone()), [None]);
}

#[tokio::test(start_paused = true)]
async fn turns_that_came_beside_a_state_that_did_not_are_given_all_the_same() {
    let stage = Stage::new();
    stage.say("one");
    stage.world(|world| world.state_fault = Some(Error::unavailable("away")));
    assert!(stage.shows("one").await < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_fails_for_a_while_loses_nothing_and_is_not_stormed() {
    let stage = Stage::new();
    stage.world(|world| world.fault = Some(Error::unavailable("away")));
    let back = async {
        sleep(Duration::from_secs(120)).await;
        let looks = stage.looks().len();
        assert!((20..=40).contains(&looks), "{looks} looks in two minutes of somebody waiting");
        stage.say("back");
        stage.world(|world| world.fault = None);
    };
    tokio::join!(stage.shows("back"), back);
    assert_eq!((stage.text(), stage.log.end()), ("back\n".into(), None));
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_fails_for_too_long_loses_its_runs_for_the_reason_that_it_gives() {
    for waits in [false, true] {
        let stage = Stage::new();
        sleep(Duration::from_secs(100)).await;
        stage.world(|world| world.fault = Some(Error::permission_denied("this server's login is refused")));
        let now = Instant::now();
        let reader = async {
            if waits {
                stage.shows("never").await;
            }
        };
        let (end, ()) = tokio::join!(stage.log.ended(), reader);
        let how = "it could not be followed for 300 s, and may still run: this server's login is refused";
        assert_eq!(end.exit, Exit::Lost(how.into()));
        assert!((300..=335).contains(&now.elapsed().as_secs()), "{:?}", now.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_platform_tells_brings_a_look_forward_while_somebody_waits() {
    let (tell, events) = mpsc::unbounded_channel();
    let stage = Stage::with(|world| world.events = Some(events));
    sleep(Duration::from_secs(100)).await;
    assert_eq!(stage.world(|world| world.listened.clone()), []);
    let told = async {
        // Long enough for everything that is due to its beginning.
        sleep(Duration::from_secs(60)).await;
        let before = stage.looks().len();
        sleep(Duration::from_secs(20)).await;
        assert_eq!(stage.looks().len() - before, 4);
        stage.say("one");
        let said = Instant::now();
        tell.send(Ok(RunEvent { id: Some(EventId("7".into())), what: Happened::Changed })).unwrap();
        said
    };
    let keep_alive = async {
        for _ in 0..100 {
            sleep(Duration::from_secs(5)).await;
            let _ = tell.send(Ok(RunEvent { id: None, what: Happened::Heartbeat }));
        }
    };
    tokio::select! {
        (_, said) = async { tokio::join!(stage.shows("one"), told) } => {
            assert!(said.elapsed() < Duration::from_millis(300), "{:?}", said.elapsed());
        }
        () = keep_alive => panic!("it was not seen"),
    }
    assert_eq!(stage.world(|world| world.listened.clone()), [None]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_is_polled_for_and_opened_again_where_it_was() {
    let (tell, events) = mpsc::unbounded_channel();
    let (again, more) = mpsc::unbounded_channel();
    let stage = Stage::with(|world| world.events = Some(events));
    let broken = async {
        sleep(Duration::from_secs(2)).await;
        tell.send(Ok(RunEvent { id: Some(EventId("7".into())), what: Happened::Changed })).unwrap();
        sleep(Duration::from_secs(2)).await;
        stage.world(|world| world.events = Some(more));
        drop(tell);
        sleep(Duration::from_millis(100)).await;
        stage.say("one");
        Instant::now()
    };
    let (_, said) = tokio::join!(stage.shows("one"), broken);
    assert!(said.elapsed() <= Duration::from_millis(500), "{:?}", said.elapsed());
    let told_again = async {
        sleep(Duration::from_secs(5)).await;
        stage.say("two");
        again.send(Ok(RunEvent { id: None, what: Happened::Changed })).unwrap();
    };
    tokio::join!(stage.shows("two"), told_again);
    assert_eq!(stage.world(|world| world.listened.clone()), [None, Some(EventId("7".into()))]);
    assert_eq!(stage.text(), "one\ntwo\n");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_lets_go_of_the_runs_that_it_was_shown() {
    let stage = Stage::begun(Begin::AtOnce, |_| ());
    sleep(Duration::from_secs(10)).await;
    assert!(stage.site.tasks.shutdown(Duration::from_secs(1)).await);
    let lost = Exit::Lost("the server ended; the run goes on at its platform".into());
    assert_eq!(stage.log.ended().await.exit, lost);
    assert_eq!(stage.world(|world| world.cancels), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_cancels_the_runs_that_it_has_started_and_has_their_last_words() {
    let stage = Stage::with(|world| world.on_cancel = vec![Ok(Phase::Canceled)]);
    stage.say("last");
    sleep(Duration::from_secs(10)).await;
    assert!(stage.site.tasks.shutdown(Duration::from_secs(5)).await);
    assert_eq!((stage.log.ended().await.exit, stage.text()), (Exit::Canceled, "last\n".to_owned()));
    assert_eq!(stage.world(|world| world.cancels), 1);
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_does_not_end_a_run_does_not_keep_the_server_from_ending() {
    let stage = Stage::new();
    sleep(Duration::from_secs(10)).await;
    assert!(stage.site.tasks.shutdown(Duration::from_secs(5)).await);
    let lost = Exit::Lost("the server ended, and the platform has not confirmed that the run has".into());
    assert_eq!(stage.log.ended().await.exit, lost);
}

mod stopping {
    use super::*;

    async fn stop(stage: &Stage) -> Result<Stopped> {
        end(&stage.site, &stage.id, Instant::now() + Duration::from_secs(22)).await
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_confirmed_when_the_platform_says_so_and_not_before() {
        let stage = Stage::with(|world| world.on_cancel = vec![Ok(Phase::Canceling)]);
        let done = async {
            sleep(Duration::from_secs(7)).await;
            stage.world(|world| world.phase = Phase::Canceled);
        };
        let now = Instant::now();
        let (stopped, ()) = tokio::join!(async { (stop(&stage).await, now.elapsed()) }, done);
        assert_eq!(stopped.0, Ok(Stopped::Confirmed));
        assert!(stopped.1 >= Duration::from_secs(7) && stopped.1 < Duration::from_millis(8_100), "{:?}", stopped.1);
        assert_eq!(stage.world(|world| world.cancels), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_over_is_not_cancelled_again() {
        for over in [Ok(Phase::Complete), Ok(Phase::Canceled), Err(Error::not_found("gone"))] {
            let stage = Stage::with(|world| match over {
                Ok(phase) => world.phase = phase,
                Err(gone) => world.fault = Some(gone),
            });
            assert_eq!(stop(&stage).await, Ok(Stopped::Confirmed));
            assert_eq!(stage.world(|world| world.cancels), 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_platform_that_knows_nothing_at_all_confirms_nothing() {
        let nothing = || Error::not_found("no such thing");
        let stage = Stage::with(|world| (world.fault, world.check) = (Some(nothing()), Err(nothing())));
        assert_eq!(stop(&stage).await.unwrap_err().kind(), ErrorKind::Unavailable);
        let stage = Stage::with(|world| {
            (world.fault, world.check) = (Some(nothing()), Err(Error::unavailable("away")));
        });
        assert_eq!(stop(&stage).await, Err(Error::unavailable("away")));
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_again_after_a_cancel_is_cancelled_again() {
        let stage = Stage::with(|world| world.on_cancel = vec![Ok(Phase::Waiting), Ok(Phase::Complete)]);
        let now = Instant::now();
        assert_eq!(stop(&stage).await, Ok(Stopped::Confirmed));
        assert!(now.elapsed() < Duration::from_secs(1));
        assert_eq!(stage.world(|world| world.cancels), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn what_heeds_no_cancel_is_unconfirmed_in_the_end() {
        let stage = Stage::new();
        let now = Instant::now();
        assert_eq!(stop(&stage).await, Ok(Stopped::Unconfirmed { pids: vec![] }));
        assert!(now.elapsed() <= Duration::from_secs(22));
        let cancels = stage.world(|world| world.cancels);
        assert!((2..=6).contains(&cancels), "{cancels}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_platform_that_takes_no_cancel_says_why() {
        let refused = Error::permission_denied("not yours");
        let stage = Stage::with(|world| world.on_cancel = vec![Err(refused.clone()); 100]);
        assert_eq!(stop(&stage).await, Err(refused));
        let away = Error::unavailable("away");
        let stage = Stage::with(|world| world.fault = Some(away.clone()));
        assert_eq!(stop(&stage).await, Err(away));
    }
}

/// A task in the runtime's hands is as large as its future, and a thousand runs are a thousand of them.
#[tokio::test(start_paused = true)]
async fn a_follower_that_does_nothing_is_small() {
    let stage = Stage::new();
    let out = OutputSink::new(OutputLog::new(LogKind::Session(WindowSize::default()), Retention::Newest(1 << 20)));
    let now = Instant::now();
    let bell = Bell(Arc::new(watch::Sender::new(0)));
    let follower = Follower {
        begin: Begin::Soon,
        demand: out.demand(),
        watch: Watch {
            site: stage.site.clone(),
            id: stage.id.clone(),
            out,
            pace: Pace::new(now, 0),
            given: Given::default(),
            mark: Mark::default(),
        },
        telling: Telling::new(now),
        rung: bell.0.subscribe(),
        _bell: bell,
    };
    let size = size_of_val(&follower.run());
    assert!(size <= 4096, "{size} bytes");
}
