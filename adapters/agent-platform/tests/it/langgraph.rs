//! The adapter against a real LangGraph server: graphs without a model, on loopback.

mod proxy;
mod server;

use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt;
use sessiond_agent_platform::Platform;
use sessiond_core::{
    Agent, AgentAction, AgentPlatform, AgentSessionQuery, Backend, ErrorKind, Exit, Json, PlatformId, Stopped,
    TokenCounts, TokenSummary,
};
use tempfile::TempDir;

use self::proxy::Proxy;
use self::server::{Server, platform};
use crate::followed::{Followed, log, spec};
use crate::support::{AMPLE, call};

/// A graph whose steps are done when the test says so.
struct Gate(TempDir);

impl Gate {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The command for an agent behind this gate.
    fn command(&self, agent: &str) -> String {
        let path = self.0.path().to_str().unwrap();
        format!("{agent} {{\"messages\": [], \"gate\": {path:?}}}")
    }

    /// Lets a step be done.
    fn open(&self, step: usize) {
        let path: &Path = self.0.path();
        std::fs::write(path.join(step.to_string()), "").unwrap();
    }
}

fn agents(platform: &Platform) -> &dyn AgentPlatform {
    Backend::agents(platform).unwrap()
}

fn json(text: &str) -> Json {
    Json::from_checked(text)
}

async fn status(platform: &Platform, id: &PlatformId) -> String {
    agents(platform).describe(&call(), id).await.unwrap().status
}

/// Looks again and again until something is as it should be: for what no follower shows.
async fn eventually<F: Future<Output = bool>>(mut is_so: impl FnMut() -> F) {
    let look = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(AMPLE, look).await.expect("it has not come to be so in time");
}

#[tokio::test]
async fn a_run_is_followed_to_its_end() {
    let platform = Server::shared().platform();
    let gate = Gate::new();
    let run = Followed::start(&platform, &gate.command("steps")).await.unwrap();
    gate.open(1);
    assert_eq!(run.shows("1\n").await, "step 1\n");
    gate.open(2);
    assert_eq!(run.shows("2\n").await, "step 1\nstep 2\n");
    assert_eq!(status(&platform, &run.id()).await, "busy");
    gate.open(3);
    assert_eq!(run.to_end().await, ("step 1\nstep 2\nstep 3\n".into(), Exit::Exited(0)));
    let detail = agents(&platform).describe(&call(), &run.id()).await.unwrap();
    assert_eq!((detail.status.as_str(), detail.agent_name.as_deref()), ("idle", Some("steps")));
    assert_eq!((detail.output.as_deref(), detail.pending_manual_tasks), (Some("step 3"), Some(vec![])));
    assert!(detail.started_at.is_some() && detail.end_time.is_some() && detail.duration_ms.is_none());
    let turns: Vec<_> =
        detail.reasoning_events.iter().map(|turn| (turn.sequence_number, turn.text.as_deref())).collect();
    assert_eq!(turns, [(Some(1), Some("step 1")), (Some(2), Some("step 2")), (Some(3), Some("step 3"))]);
    assert!(detail.reasoning_events.iter().all(|turn| turn.event_id.is_some() && turn.timestamp.is_some()));
}

#[tokio::test]
async fn nobody_has_to_wait_for_a_run_to_be_recorded() {
    let platform = Server::shared().platform();
    let run =
        Followed::start(&platform, "echo {\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}").await.unwrap();
    assert_eq!(run.ended().await.exit, Exit::Exited(0));
    assert_eq!(run.text(), "echo: hi\n");
    let bare = Followed::start(&platform, "echo").await.unwrap();
    assert_eq!(bare.to_end().await, ("echo: \n".into(), Exit::Exited(0)));
}

#[tokio::test]
async fn a_graph_without_messages_speaks_in_its_updates() {
    let platform = Server::shared().platform();
    let run = Followed::start(&platform, "total {\"total\": 5}").await.unwrap();
    let said = "{\"total\":6,\"log\":[\"added\"]}\n{\"total\":7,\"log\":[\"added\"]}\n";
    assert_eq!(run.to_end().await, (said.into(), Exit::Exited(0)));
}

#[tokio::test]
async fn a_message_that_calls_a_tool_is_no_turn() {
    let platform = Server::shared().platform();
    let run = Followed::start(&platform, "tools {\"messages\": []}").await.unwrap();
    assert_eq!(run.to_end().await, ("step 1\n".into(), Exit::Exited(0)));
}

#[tokio::test]
async fn nodes_of_one_step_speak_one_after_the_other() {
    let platform = Server::shared().platform();
    let run = Followed::start(&platform, "parallel {\"messages\": []}").await.unwrap();
    assert_eq!(run.to_end().await, ("step 1\necho: step 1\necho: step 1\n".into(), Exit::Exited(0)));
}

#[tokio::test]
async fn a_run_that_fails_says_why() {
    let platform = Server::shared().platform();
    let run = Followed::start(&platform, "failing {\"messages\": []}").await.unwrap();
    assert_eq!(run.to_end().await, ("step 1\n".into(), Exit::Failed("the well is dry".into())));
    assert_eq!(status(&platform, &run.id()).await, "error");
    assert_eq!(run.stop().await, Ok(Stopped::Confirmed));
}

#[tokio::test]
async fn a_stop_cancels_and_is_confirmed_by_the_platform() {
    let platform = Server::shared().platform();
    let run = Followed::start(&platform, "endless {\"messages\": []}").await.unwrap();
    run.shows("step 1\n").await;
    assert_eq!(run.input_state().await, (false, "no manual task waits".into()));
    assert_eq!(run.stop().await, Ok(Stopped::Confirmed));
    assert_eq!(run.to_end().await, ("step 1\n".into(), Exit::Canceled));
    assert_eq!(status(&platform, &run.id()).await, "interrupted");
    assert_eq!(run.stop().await, Ok(Stopped::Confirmed));
    let again = agents(&platform).control(&call(), &run.id(), AgentAction::Cancel, None).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::FailedPrecondition);
}

#[tokio::test]
async fn a_run_that_has_not_begun_is_cancelled_too() {
    let platform = Server::shared().platform();
    let run = Followed::start(&platform, "endless {\"messages\": []}").await.unwrap();
    assert_eq!(run.stop().await, Ok(Stopped::Confirmed));
    assert_eq!(run.to_end().await.1, Exit::Canceled);
}

#[tokio::test]
async fn a_run_that_somebody_else_cancels_ends_as_cancelled() {
    let platform = Server::shared().platform();
    let run = Followed::start(&platform, "endless {\"messages\": []}").await.unwrap();
    run.shows("step 1\n").await;
    let other = Server::shared().platform();
    let cancelled = agents(&other).control(&call(), &run.id(), AgentAction::Cancel, None).await.unwrap();
    assert_eq!(cancelled.session_id, run.id().to_string());
    assert_eq!(run.to_end().await.1, Exit::Canceled);
}

#[tokio::test]
async fn an_interrupt_waits_for_a_person_and_is_answered() {
    let platform = Server::shared().platform();
    let run = Followed::start(&platform, "approve {\"messages\": []}").await.unwrap();
    run.shows("step 1\n").await;
    eventually(async || run.input_state().await.0).await;
    assert_eq!(run.input_state().await.1, "manual task \"Approve change\" waits");
    assert_eq!(run.log.end(), None);

    let detail = agents(&platform).describe(&call(), &run.id()).await.unwrap();
    assert_eq!((detail.status.as_str(), detail.output, detail.end_time), ("interrupted", None, None));
    let tasks = detail.pending_manual_tasks.unwrap();
    assert_eq!(tasks.len(), 1);
    assert_eq!((tasks[0].title.as_deref(), tasks[0].completion_supported), (Some("Approve change"), false));
    let item = PlatformId::new("work_item_id", tasks[0].work_item_id.clone()).unwrap();
    let task = agents(&platform).manual_task(&call(), &item).await.unwrap();
    assert_eq!((task.pending, task.title.as_deref(), task.completion_supported), (true, Some("Approve change"), false));
    assert_eq!(task.body.as_deref(), Some("{\"question\":\"Approve change\",\"risk\":\"low\"}"));
    let finish = agents(&platform).finish_task(&call(), &item, sessiond_core::FinishState::Success, None).await;
    assert_eq!(finish.unwrap_err().kind(), ErrorKind::Unsupported);

    let control = |action, input: Option<Json>| {
        let (platform, id) = (platform.clone(), run.id());
        async move { agents(&platform).control(&call(), &id, action, input.as_ref()).await }
    };
    assert_eq!(control(AgentAction::Pause, None).await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(control(AgentAction::Resume, None).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let resumed = control(AgentAction::Resume, Some(json("\"yes\""))).await.unwrap();
    assert_eq!(resumed.session_id, run.id().to_string());
    assert_eq!(run.to_end().await, ("step 1\nyou said yes\n".into(), Exit::Exited(0)));
    let late = control(AgentAction::Resume, Some(json("\"again\""))).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::FailedPrecondition);
    assert_eq!(agents(&platform).manual_task(&call(), &item).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn what_waits_for_a_person_waits_no_more_once_it_is_stopped() {
    let platform = Server::shared().platform();
    let run = Followed::start(&platform, "approve {\"messages\": []}").await.unwrap();
    run.shows("step 1\n").await;
    eventually(async || run.input_state().await.0).await;
    assert_eq!(run.stop().await, Ok(Stopped::Confirmed));
    assert_eq!(run.to_end().await.0, "step 1\n");
    let detail = agents(&platform).describe(&call(), &run.id()).await.unwrap();
    assert_eq!((detail.status.as_str(), detail.pending_manual_tasks), ("idle", Some(vec![])));
    let answer = json("\"yes\"");
    let late = agents(&platform).control(&call(), &run.id(), AgentAction::Resume, Some(&answer)).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::FailedPrecondition);
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let platform = Server::shared().platform();
    for id in ["00000000-0000-4000-8000-000000000000", "nobody", "1"] {
        let id = PlatformId::new("session_id", id).unwrap();
        let agents = agents(&platform);
        let message = format!("there is no session \"{id}\" on this platform: get_sessions lists those that it has");
        let kinds = [
            Followed::attach(&platform, id.as_str()).await.err(),
            agents.describe(&call(), &id).await.err(),
            agents.token_usage(&call(), &id).await.err(),
            agents.control(&call(), &id, AgentAction::Cancel, None).await.err(),
            agents.control(&call(), &id, AgentAction::Resume, Some(&json("1"))).await.err(),
        ];
        for error in kinds {
            let error = error.unwrap();
            assert_eq!((error.kind(), error.message()), (ErrorKind::NotFound, message.as_str()));
        }
        assert_eq!(agents.manual_task(&call(), &id).await.unwrap_err().kind(), ErrorKind::NotFound);
    }
    let (log, out) = log();
    let refused = platform.start_session(&call(), spec("nobody {}"), out).await.err().unwrap();
    assert_eq!(refused.message(), "there is no agent \"nobody\" on this platform: get_agents lists those that it has");
    assert!(log.end().is_some_and(|end| end.lost()));
}

#[tokio::test]
async fn a_run_that_was_started_elsewhere_is_attached() {
    let platform = Server::shared().platform();
    let gate = Gate::new();
    let command = gate.command("steps");
    let inputs = json(command.trim_start_matches("steps "));
    let started = agents(&platform).start(&call(), "steps", Some(&inputs)).await.unwrap();
    let run = Followed::attach(&platform, &started.session_id).await.unwrap();
    gate.open(1);
    assert_eq!(run.shows("1\n").await, "step 1\n");
    let second = Followed::attach(&platform, &started.session_id).await.unwrap();
    gate.open(2);
    gate.open(3);
    let all = ("step 1\nstep 2\nstep 3\n".to_owned(), Exit::Exited(0));
    assert_eq!(run.to_end().await, all);
    assert_eq!(second.to_end().await, all);
    let late = Followed::attach(&platform, &started.session_id).await.unwrap();
    assert_eq!((late.ended().await.exit, late.text()), (all.1, all.0));
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_leaves_no_run() {
    let platform = Server::shared().platform();
    let (log, out) = log();
    let started = platform.start_session(&call(), spec("orphan {\"messages\": []}"), out).now_or_never();
    assert!(started.is_none(), "nothing starts without a request");
    assert!(log.end().is_some_and(|end| end.lost()));
    let query = AgentSessionQuery { agent_name: Some("orphan".into()), limit: 10, ..AgentSessionQuery::default() };
    let runs = async || agents(&platform).sessions(&call(), &query).await.unwrap().sessions;
    eventually(async || runs().await.iter().any(|run| run.status != "busy")).await;
    assert_eq!(runs().await.len(), 1);
    platform.shutdown(AMPLE).await;
}

#[tokio::test]
async fn agents_are_the_assistants() {
    let platform = Server::shared().platform();
    let all = agents(&platform).agents(&call()).await.unwrap();
    let mut names: Vec<_> = all.iter().map(|agent| agent.name.as_str()).collect();
    names.sort_unstable();
    let expected = ["approve", "echo", "endless", "failing", "orphan", "parallel", "steps", "tools", "total"];
    assert_eq!(names, expected);
    let echo = all.iter().find(|agent| agent.name == "echo").unwrap();
    let route_name = Some("echo".to_owned());
    let id = echo.agent_id.clone().unwrap();
    let whole = Agent { name: "echo".into(), agent_id: Some(id.clone()), route_name, ..Agent::default() };
    assert_eq!(*echo, whole);
    let run = Followed::start(&platform, &id).await.unwrap();
    assert_eq!(run.to_end().await.1, Exit::Exited(0));
}

#[tokio::test]
async fn sessions_are_listed_page_by_page_and_filtered() {
    let server = Server::start();
    let platform = server.platform();
    for agent in ["echo", "echo", "failing", "echo"] {
        Followed::start(&platform, &format!("{agent} {{\"messages\": []}}")).await.unwrap().to_end().await;
    }
    let list = async |query: AgentSessionQuery| {
        let page = agents(&platform).sessions(&call(), &query).await.unwrap();
        let names: Vec<_> =
            page.sessions.iter().map(|session| (session.agent_name.clone().unwrap(), session.status.clone())).collect();
        (names, page.next_page_token)
    };
    let (echo, failing) = (("echo".to_owned(), "idle".to_owned()), ("failing".to_owned(), "error".to_owned()));
    let all = AgentSessionQuery { limit: 3, ..AgentSessionQuery::default() };
    let (first, next) = list(all.clone()).await;
    assert_eq!(first, [echo.clone(), failing.clone(), echo.clone()]);
    assert!(next.is_some());
    assert_eq!(list(AgentSessionQuery { page_token: next, ..all.clone() }).await, (vec![echo.clone()], None));
    let of = |name: &str| AgentSessionQuery { agent_name: Some(name.into()), ..all.clone() };
    assert_eq!(list(of("echo")).await, (vec![echo.clone(); 3], None));
    assert_eq!(list(of("Echo")).await, (vec![], None));
    let in_state = |status: &str| AgentSessionQuery { status: Some(status.into()), ..all.clone() };
    assert_eq!(list(in_state("error")).await, (vec![failing], None));
    assert_eq!(list(in_state("COMPLETE")).await, (vec![], None));
    let future = Some(std::time::SystemTime::now() + AMPLE);
    assert_eq!(list(AgentSessionQuery { started_after: future, ..all.clone() }).await, (vec![], None));
    assert_eq!(list(AgentSessionQuery { started_before: future, limit: 10, ..all }).await.0.len(), 4);
}

#[tokio::test]
async fn what_messages_say_that_they_cost_is_added_up() {
    let platform = Server::shared().platform();
    let run = Followed::start(&platform, "steps {\"messages\": []}").await.unwrap();
    run.to_end().await;
    let usage = agents(&platform).token_usage(&call(), &run.id()).await.unwrap();
    let summary = TokenSummary {
        session_id: run.id().to_string(),
        turn_count: 3,
        total_duration_ms: 0,
        total_input_tokens: 30,
        total_output_tokens: 6,
        total_tokens: 36,
    };
    assert_eq!(usage.summary, summary);
    let counts: Vec<_> =
        usage.turns.iter().filter_map(|turn| turn.token_usage).map(|turn| turn.output_tokens).collect();
    assert_eq!(counts, [Some(1), Some(2), Some(3)]);
    assert_eq!(usage.turns[0].token_usage.map(|counts: TokenCounts| counts.total_tokens), Some(Some(11)));
    let silent = Followed::start(&platform, "total {\"total\": 1}").await.unwrap();
    silent.to_end().await;
    let unknown = agents(&platform).token_usage(&call(), &silent.id()).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn a_stream_that_breaks_neither_doubles_nor_loses_a_turn() {
    let proxy = Proxy::before(Server::shared().address()).await;
    let platform = platform(proxy.address(), |_| ());
    let gate = Gate::new();
    let run = Followed::start(&platform, &gate.command("steps")).await.unwrap();
    let reading = async {
        proxy.passed("/stream?", 1).await;
        gate.open(1);
        run.shows("1\n").await;
        proxy.cut();
        gate.open(2);
        run.shows("2\n").await;
        // It listens again, from where it was.
        proxy.passed("last-event-id: ", 1).await;
        proxy.cut();
        gate.open(3);
    };
    let (_, end) = tokio::join!(reading, run.to_end());
    assert_eq!(end, ("step 1\nstep 2\nstep 3\n".into(), Exit::Exited(0)));
}

#[tokio::test]
async fn a_platform_that_is_gone_for_long_enough_loses_its_runs() {
    let mut server = Server::start();
    let platform = platform(server.address(), |config| config.lost_after = Duration::from_millis(1500));
    let run = Followed::start(&platform, "endless {\"messages\": []}").await.unwrap();
    run.shows("step 1\n").await;
    server.kill();
    let (text, exit) = run.to_end().await;
    assert_eq!(text, "step 1\n");
    let Exit::Lost(how) = exit else { panic!("{exit:?}") };
    assert_eq!(
        how,
        "it could not be followed for 1500 ms, and may still run: the platform cannot be reached: check the target's \
         url, and whether it runs"
    );
    assert_eq!(run.session.input_state(&call()).await, None);
    platform.shutdown(AMPLE).await;
}

#[tokio::test]
async fn a_server_that_ends_cancels_what_it_has_started_and_leaves_alone_what_it_was_shown() {
    let (ours, theirs) = (Server::shared().platform(), Server::shared().platform());
    let gate = Gate::new();
    let run = Followed::start(&ours, &gate.command("steps")).await.unwrap();
    gate.open(1);
    run.shows("1\n").await;
    let shown = Followed::attach(&theirs, run.id().as_str()).await.unwrap();
    theirs.shutdown(AMPLE).await;
    assert_eq!(shown.ended().await.exit, Exit::Lost("the server ended; the run goes on at its platform".into()));
    assert_eq!(status(&ours, &run.id()).await, "busy");
    ours.shutdown(AMPLE).await;
    assert_eq!(run.to_end().await, ("step 1\n".into(), Exit::Canceled));
    assert_eq!(status(&Server::shared().platform(), &run.id()).await, "interrupted");
}
