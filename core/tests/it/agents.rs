//! Agent platforms behind the registry: which one a call means, what is refused before any request, and what is said.

use std::sync::Arc;
use std::time::Duration;

use sessiond_core::fake::{Fake, FakePlatform};
use sessiond_core::{
    Access, Agent, AgentAction, AgentRun, AgentSessionDetail, AgentSessionPage, AgentSessionQuery, Call,
    ControlAgentSession, DescribeAgentSession, DescribeManualTask, Error, FixedTargets, Invocation, Json, Launch,
    Limits, ListAgentSessions, ListAgents, NativeId, Owner, Registry, Result, Service, SessionId, StartAgent,
    StartSession, TargetInfo, TargetName, TokenUsage,
};

use crate::registry::NOT_FOUND;
use crate::rig::{Rig, me, ms, said, target};

/// A registry over the host `local` and agent platforms.
pub(crate) struct Platforms {
    pub(crate) registry: Arc<Registry>,
    pub(crate) blue: Arc<FakePlatform>,
    pub(crate) red: Arc<FakePlatform>,
}

impl Platforms {
    /// With the platform `blue` alone.
    pub(crate) fn one() -> Self {
        Self::with(&["blue"])
    }

    pub(crate) fn two() -> Self {
        Self::with(&["blue", "red"])
    }

    fn with(names: &[&str]) -> Self {
        let (blue, red) = (FakePlatform::new(), FakePlatform::new());
        let mut targets: Vec<(TargetInfo, Arc<dyn sessiond_core::Backend>)> =
            vec![(Fake::info(target("local")), Fake::new())];
        for (name, platform) in [("blue", &blue), ("red", &red)] {
            if names.contains(&name) {
                targets.push((FakePlatform::info(target(name)), platform.clone()));
            }
        }
        Self { registry: Registry::new(Arc::new(FixedTargets::new(targets)), Limits::default()), blue, red }
    }

    pub(crate) fn start(what: Launch, on: &str) -> StartSession {
        StartSession { target: Some(target(on)), what, ..Rig::request("") }
    }

    /// A session that follows a run of the agent `echo` on a platform.
    pub(crate) async fn run(&self, on: &str) -> SessionId {
        let request = Self::start(Launch::Start(Invocation::new("echo")), on);
        self.registry.start_session(&me(), request).await.unwrap().session
    }

    pub(crate) async fn attach(&self, on: &str, native: &str) -> Result<SessionId> {
        let request = Self::start(Launch::Attach(NativeId(native.to_owned())), on);
        Ok(self.registry.start_session(&me(), request).await?.session)
    }

    pub(crate) async fn describe(
        &self,
        cx: &Call,
        session: impl ToString,
        on: Option<&str>,
    ) -> Result<AgentSessionDetail> {
        self.registry.describe_agent_session(cx, describe(session, on)).await
    }
}

fn describe(session: impl ToString, on: Option<&str>) -> DescribeAgentSession {
    DescribeAgentSession { target: on.map(target), session: session.to_string() }
}

/// A session of the agent `echo`.
pub(crate) fn session(id: &str, status: &str) -> AgentSessionDetail {
    AgentSessionDetail {
        session_id: id.to_owned(),
        status: status.to_owned(),
        agent_name: Some("echo".to_owned()),
        ..AgentSessionDetail::default()
    }
}

fn names(infos: &[TargetInfo]) -> Vec<&str> {
    infos.iter().map(|info| info.name.as_str()).collect()
}

fn limited(names: &[&str]) -> Call {
    let targets = names.iter().map(|name| target(name)).collect();
    Call::new(Owner::new("me", Access::Targets(Arc::new(targets))))
}

fn scoped(to: &str) -> Call {
    Call::new(Owner::scoped("me", target(to)))
}

#[tokio::test(start_paused = true)]
async fn the_platforms_are_those_the_caller_may_use_and_cost_no_request() {
    let rig = Platforms::two();
    for (cx, expected) in [
        (me(), vec!["blue", "red"]),
        (scoped("red"), vec!["red"]),
        (scoped("local"), vec![]),
        (limited(&["local", "blue"]), vec!["blue"]),
    ] {
        let list = rig.registry.list_platforms(&cx).await.unwrap();
        assert_eq!(names(&list.platforms), expected, "{:?}", cx.owner);
    }
    assert_eq!((rig.blue.asked(), rig.red.asked()), (vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_call_means_the_named_platform_or_the_only_one_it_can_mean() {
    const SEVERAL: &str = "failed_precondition: client_token is missing, and there are several agent platforms: name one \
                           of blue, red";
    const NONE: &str = "unsupported: there is no agent platform here: list_clients shows the targets";
    const NO_PLATFORM: &str = "unsupported: this target is no agent platform: list_clients shows which targets are";
    let elsewhere =
        |name: &str| format!("not_found: there is no agent platform \"{name}\" here: list_clients shows yours");
    let (none, one, two) = (Platforms::with(&[]), Platforms::one(), Platforms::two());
    for (rig, cx, named, expected) in [
        (&none, me(), None, Err(NONE.to_owned())),
        (&one, me(), None, Ok("blue")),
        (&one, me(), Some("local"), Err(NO_PLATFORM.to_owned())),
        (&two, me(), None, Err(SEVERAL.to_owned())),
        (&two, me(), Some("red"), Ok("red")),
        (
            &two,
            me(),
            Some("green"),
            Err("not_found: there is no target \"green\": list_clients shows the client_token of each".to_owned()),
        ),
        (&two, scoped("red"), None, Ok("red")),
        (&two, scoped("red"), Some("red"), Ok("red")),
        (&two, scoped("red"), Some("blue"), Err(elsewhere("blue"))),
        (&two, scoped("red"), Some("green"), Err(elsewhere("green"))),
        (&two, scoped("local"), None, Err(NO_PLATFORM.to_owned())),
        (&two, limited(&["red"]), None, Ok("red")),
        (&two, limited(&["local", "red"]), None, Ok("red")),
        (&two, limited(&["local", "red"]), Some("blue"), Err(elsewhere("blue"))),
        (&two, limited(&["blue", "red"]), None, Err(SEVERAL.to_owned())),
        (&two, limited(&[]), None, Err(NONE.to_owned())),
    ] {
        let before = (rig.blue.asked().len(), rig.red.asked().len());
        let asked = rig.registry.list_agents(&cx, ListAgents { target: named.map(target) }).await;
        let (blue, red) = (rig.blue.asked().len() - before.0, rig.red.asked().len() - before.1);
        let meant = asked.map_err(said).map(|_| match (blue, red) {
            (1, 0) => "blue",
            (0, 1) => "red",
            other => panic!("{other:?} requests"),
        });
        assert_eq!(meant, expected, "{:?} names {named:?}", cx.owner);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_names_some_platforms_and_counts_the_rest() {
    let platform = |number: usize| -> (TargetInfo, Arc<dyn sessiond_core::Backend>) {
        (FakePlatform::info(target(&format!("p{number}"))), FakePlatform::new())
    };
    let targets = FixedTargets::new((1..=22).map(platform).collect());
    let registry = Registry::new(Arc::new(targets), Limits::default());
    let error = said(registry.list_agents(&me(), ListAgents::default()).await.unwrap_err());
    assert!(error.ends_with("name one of p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17, p18, p19, p20, 2 more"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn either_id_names_a_session_and_ours_tells_the_platform() {
    let rig = Platforms::two();
    let ours = rig.run("red").await;
    let expected = session("run-1", "RUNNING");
    assert_eq!(rig.describe(&me(), "run-1", Some("red")).await.unwrap(), expected);
    assert_eq!(rig.describe(&me(), ours, None).await.unwrap(), expected);
    assert_eq!(rig.describe(&me(), ours, Some("red")).await.unwrap(), expected);
    assert_eq!(said(rig.describe(&me(), ours, Some("blue")).await.unwrap_err()), NOT_FOUND);
    assert_eq!(rig.red.asked(), ["start echo", "describe run-1", "describe run-1", "describe run-1"]);
    let usage = rig.registry.agent_token_usage(&me(), describe(ours, None)).await.unwrap();
    let mut expected = TokenUsage::default();
    expected.summary.session_id = "run-1".to_owned();
    assert_eq!(usage, expected);
    let cancel =
        ControlAgentSession { target: None, session: ours.to_string(), action: AgentAction::Cancel, input: None };
    let run = rig.registry.control_agent_session(&me(), cancel).await.unwrap();
    assert_eq!(run, AgentRun { session_id: "run-1".to_owned(), status: "CANCELED".to_owned() });
    assert_eq!(rig.describe(&me(), ours, None).await.unwrap().status, "CANCELED", "also once it has ended");
    assert_eq!(rig.blue.asked(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_nobodys_here_is_the_platforms_to_know() {
    let rig = Platforms::one();
    let ours = rig.run("blue").await;
    let stranger = Call::new(Owner::management("them"));
    let elsewhere = Call::new(Owner::scoped("me", target("local")));
    let unknown = SessionId::random().unwrap();
    for (cx, id) in [(&me(), unknown), (&stranger, unknown), (&stranger, ours)] {
        let error = said(rig.describe(cx, id, None).await.unwrap_err());
        assert_eq!(error, format!("not_found: there is no session \"{id}\": get_sessions shows them"));
        assert_eq!(rig.blue.asked().last(), Some(&format!("describe {id}")));
    }
    let error = said(rig.describe(&elsewhere, ours, None).await.unwrap_err());
    assert!(error.starts_with("unsupported: this target is no agent platform"), "{error}");
    let shell = rig.registry.start_session(&me(), Rig::request("sleep 60")).await.unwrap().session;
    let error = said(rig.describe(&me(), shell, None).await.unwrap_err());
    assert!(error.starts_with("unsupported: this target is no agent platform"), "{error}");
    assert_eq!(rig.blue.asked().len(), 4);
    let looks_like_ours = "0123456789abcdefghjkmnpqrs";
    rig.blue.put_session(session(looks_like_ours, "COMPLETE"));
    let found = rig.describe(&stranger, looks_like_ours, None).await.unwrap();
    assert_eq!(found, session(looks_like_ours, "COMPLETE"));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_right_is_refused_before_any_request() {
    let rig = Platforms::one();
    let registry = &rig.registry;
    let cx = &me();
    let control = |session: &str, action, input: Option<&str>| {
        let input = input.map(Json::from_checked);
        ControlAgentSession { target: None, session: session.to_owned(), action, input }
    };
    let list = |limit| {
        let query = AgentSessionQuery { limit, ..AgentSessionQuery::default() };
        ListAgentSessions { target: None, query }
    };
    let start = |agent: &str| StartAgent { target: None, agent: agent.to_owned(), inputs: None };
    let task = |id: &str| DescribeManualTask { target: None, work_item: id.to_owned() };
    let page = |answer: Result<AgentSessionPage>| answer.map(drop);
    let run = |answer: Result<AgentRun>| answer.map(drop);
    for (answer, expected) in [
        (rig.describe(cx, "../whoami", None).await.map(drop), "session_id \"../whoami\" is a path"),
        (rig.describe(cx, "", Some("nowhere")).await.map(drop), "session_id \"\" is empty"),
        (registry.agent_token_usage(cx, describe("a%2fb", None)).await.map(drop), "is percent-encoded"),
        (run(registry.control_agent_session(cx, control(".", AgentAction::Pause, None)).await), "\".\" is a path"),
        (
            run(registry.control_agent_session(cx, control("a", AgentAction::Pause, Some("{}"))).await),
            "input goes with action resume only: leave it out",
        ),
        (registry.describe_manual_task(cx, task("a/b")).await.map(drop), "work_item_id \"a/b\" is a path"),
        (page(registry.list_agent_sessions(cx, list(0)).await), "limit must be 1 to 500"),
        (page(registry.list_agent_sessions(cx, list(501)).await), "limit must be 1 to 500"),
        (run(registry.start_agent(cx, start("")).await), "agent \"\" is empty: give the name, id or route of one that"),
        (run(registry.start_agent(cx, start(&"é".repeat(129))).await), "is too long"),
        (run(registry.start_agent(cx, start("a\nb")).await), "agent \"a\\nb\" has a control character"),
    ] {
        let error = said(answer.unwrap_err());
        assert!(error.starts_with("invalid_argument: ") && error.contains(expected), "{error}");
    }
    assert_eq!(rig.blue.asked(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn requests_and_answers_go_through_as_they_are() {
    let rig = Platforms::one();
    let agent = Agent { name: "Change".into(), agent_id: Some("a-1".into()), ..Agent::default() };
    rig.blue.put_agent(agent.clone());
    let agents = rig.registry.list_agents(&me(), ListAgents::default()).await.unwrap();
    assert_eq!(agents, [Agent { name: "echo".into(), ..Agent::default() }, agent]);
    let inputs = Some(Json::from_checked(r#"{"a":1}"#));
    let request = StartAgent { target: None, agent: "a-1".into(), inputs };
    let run = rig.registry.start_agent(&me(), request).await.unwrap();
    assert_eq!(run, AgentRun { session_id: "run-1".into(), status: "RUNNING".into() });
    let resume = ControlAgentSession {
        target: Some(target("blue")),
        session: "run-1".into(),
        action: AgentAction::Resume,
        input: Some(Json::from_checked("true")),
    };
    rig.registry.control_agent_session(&me(), resume).await.unwrap();
    let query = AgentSessionQuery { limit: 1, agent_name: Some("Change".into()), ..AgentSessionQuery::default() };
    let listed = rig.registry.list_agent_sessions(&me(), ListAgentSessions { target: None, query }).await.unwrap();
    let ids: Vec<_> = listed.sessions.iter().map(|session| session.session_id.as_str()).collect();
    assert_eq!((ids, listed.next_page_token), (vec!["run-1"], None));
    assert_eq!(rig.blue.asked(), ["agents", r#"start a-1 {"a":1}"#, "control run-1 resume true", "sessions"]);
    assert_eq!(rig.registry.list_sessions(&me(), Default::default()).await.unwrap().sessions, [], "nobody follows it");
    let refusal = Error::unavailable("the platform does not answer: try again later");
    rig.blue.fail(Some(refusal.clone()));
    assert_eq!(rig.describe(&me(), "run-1", None).await.unwrap_err(), refusal);
}

#[tokio::test(start_paused = true)]
async fn no_answer_in_time_says_what_is_known() {
    let rig = Platforms::one();
    rig.blue.delay(Duration::from_secs(60));
    let soon = || Call { deadline: tokio::time::Instant::now() + ms(100), ..me() };
    let begun = tokio::time::Instant::now();
    let late = rig.describe(&soon(), "run-1", None).await.unwrap_err();
    assert_eq!(said(late), "timed_out: the platform did not answer in time: nothing has changed; try again");
    let start = StartAgent { target: None, agent: "echo".into(), inputs: None };
    let late = rig.registry.start_agent(&soon(), start.clone()).await.unwrap_err();
    assert_eq!(
        said(late),
        "timed_out: the platform did not answer in time: whether the platform did it is not known; get_sessions shows \
         how its sessions stand"
    );
    assert_eq!(begun.elapsed(), ms(200));
    let cx = me();
    cx.cancel.cancel();
    let taken_back = said(rig.registry.start_agent(&cx, start).await.unwrap_err());
    assert!(
        taken_back.starts_with("unavailable: the call was taken back: whether the platform did it"),
        "{taken_back}"
    );
    let cx = me();
    let (asked, ()) = tokio::join!(rig.registry.list_agents(&cx, ListAgents::default()), rig.registry.shutdown());
    assert_eq!(said(asked.unwrap_err()), "unavailable: the server is ending: nothing has changed; try again");
}

#[tokio::test(start_paused = true)]
async fn a_name_is_not_looked_for_among_the_targets_of_others() {
    let rig = Platforms::two();
    let list = ListAgents { target: Some(TargetName::new("x".repeat(256)).unwrap()) };
    let error = said(rig.registry.list_agents(&scoped("red"), list).await.unwrap_err());
    assert!(error.len() < 200, "{error}");
}
