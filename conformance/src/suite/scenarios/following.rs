//! Commands that run: looked at, killed, listed and cleared (CF02 to CF04).

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use sessiond_core::{
    CheckCommand, CommandStatus, ConnectHost, ErrorKind, Exit, Handle, KillCommand, KillResult, Limits, ListCommands,
    Pattern, Signal,
};

use super::commands::{HOST, NOBODYS, refusals};
use super::family::{alive, sleeper};
use crate::suite::house::{House, Settings};
use crate::suite::scenario::{Need, Scenario, host};
use crate::suite::stage::hosts::{handle, kill, newest};
use crate::suite::stage::{LONG, named, target};

pub(super) const SCENARIOS: &[Scenario] = &[
    host("CF02", "a look waits for the end, and no longer than asked", |house| looked_at(house).boxed()),
    host("CF02", "a handle is never taken for a process id", |house| no_pid(house).boxed()),
    host("CF03", "a kill is told as it came out", |house| killed(house).boxed()),
    host("CF03", "who ignores TERM needs force, and lives without it", |house| forced(house).boxed()),
    host("CF03", "pipelines and lists die whole", |house| pipeline(house).boxed()).needing(&[HOST, Need::Shell]),
    host("CF04", "a running command outlives a hundred after it", |house| kept(house).boxed()),
    host("CF04", "the history is the user's, in order, cut and filtered as asked", |house| history(house).boxed()),
    host("CF04", "clearing forgets what has ended and nothing else", |house| cleared(house).boxed()),
];

async fn looked_at(house: House) {
    let stage = house.open().await;
    let soon = stage.launch("sleep 2; exit 4").await;
    let began = Instant::now();
    assert_eq!(stage.check(soon, 0).await.unwrap().status, CommandStatus::Running);
    let info = stage.check(soon, LONG).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "it came with the end: {:?}", began.elapsed());
    assert_eq!((info.status, info.end.unwrap().exit_code()), (CommandStatus::Completed, 4));
    let never = stage.launch("sleep 1000").await;
    let began = Instant::now();
    assert_eq!(stage.check(never, 300).await.unwrap().status, CommandStatus::Running);
    assert!((Duration::from_millis(300)..Duration::from_secs(5)).contains(&began.elapsed()));
    assert_eq!(stage.check(NOBODYS, 0).await, None);
    let over = CheckCommand { handle: never, wait: Duration::from_secs(51) };
    let refused = stage.service.check_command(&stage.call(), over).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert!(refused.message().contains("50"), "it names the range: {refused}");
}

async fn no_pid(house: House) {
    let stage = house.open().await;
    let runs = stage.launch("sleep 1000").await;
    let pid = stage.check(runs, 0).await.unwrap().pid.unwrap();
    refusals(&stage, &stage.call(), Handle(u64::from(pid))).await;
    assert_eq!(stage.check(runs, 0).await.unwrap().status, CommandStatus::Running);
}

async fn killed(house: House) {
    let stage = house.open().await;
    let runs = stage.launch_until("echo ready; sleep 1000", "ready").await;
    let pid = stage.check(runs, 0).await.unwrap().pid;
    let outcome = stage.kill(kill(runs)).await.unwrap();
    assert_eq!((outcome.result, outcome.pid, outcome.force_used), (KillResult::Killed, pid, false));
    let info = stage.check(runs, 0).await.unwrap();
    assert_eq!((info.status, info.end.unwrap().exit), (CommandStatus::Killed, Exit::Signaled("TERM".to_owned())));
    assert_eq!(stage.kill(kill(runs)).await.unwrap().result, KillResult::NotRunning, "once more");
    assert_eq!(stage.check(runs, 0).await.unwrap().status, CommandStatus::Killed, "which changes nothing");
    let over = handle(&stage.run("true").await);
    assert_eq!(stage.kill(kill(over)).await.unwrap().result, KillResult::NotRunning);
    assert_eq!(stage.kill(kill(NOBODYS)).await.unwrap_err().kind(), ErrorKind::NotFound);
}

async fn forced(house: House) {
    let stage = house.open().await;
    let runs = stage.launch_until("trap '' TERM; echo ready; sleep 1000", "ready").await;
    let wait = Duration::from_millis(300);
    let gently = KillCommand { force: false, wait, ..kill(runs) };
    let outcome = stage.kill(gently).await.unwrap();
    assert_eq!((outcome.result, outcome.force_used), (KillResult::FailedToKill, false));
    assert_eq!(stage.check(runs, 0).await.unwrap().status, CommandStatus::Running, "it lives on");
    let outcome = stage.kill(KillCommand { wait, ..kill(runs) }).await.unwrap();
    assert_eq!((outcome.result, outcome.force_used), (KillResult::Killed, true));
    assert_eq!(stage.check(runs, 0).await.unwrap().end.unwrap().exit, Exit::Signaled("KILL".to_owned()));
    let named = stage.launch_until("echo ready; exec sleep 1000", "ready").await;
    stage.kill(KillCommand { signal: Signal::Int, ..kill(named) }).await.unwrap();
    assert_eq!(stage.check(named, 0).await.unwrap().end.unwrap().exit, Exit::Signaled("INT".to_owned()));
}

async fn pipeline(house: House) {
    let stage = house.open().await;
    for script in ["sleep T | sleep T | cat", "sleep T; sleep T", "(sleep T; true) & (setsid sleep T &); wait"] {
        let time = sleeper();
        let runs = stage.launch_until(&format!("echo ready; {}", script.replace('T', &time)), "ready").await;
        while alive(&stage, &time).await == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(stage.kill(kill(runs)).await.unwrap().result, KillResult::Killed, "{script}");
        assert_eq!(alive(&stage, &time).await, 0, "{script}: nothing is left");
    }
}

async fn kept(house: House) {
    let limits = Limits { finished_per_owner: 10, ..Limits::default() };
    let stage = house.open_with(Settings { limits, ..Settings::default() }).await;
    let runs = stage.launch_until("echo first; sleep 1000", "first").await;
    let early = handle(&stage.run("true").await);
    for _ in 0..10 {
        join_all((0..10).map(|_| stage.run("true"))).await;
    }
    assert_eq!(stage.check(runs, 0).await.unwrap().status, CommandStatus::Running);
    assert_eq!(stage.lines(newest(runs)).await, ["first"]);
    assert_eq!(stage.check(early, 0).await, None, "the oldest finished ones go");
    assert_eq!(stage.history(ListCommands::default()).await.len(), 11, "ten finished ones and the running one");
}

async fn history(house: House) {
    let stage = house.open().await;
    stage.service.connect_host(&stage.call(), ConnectHost { target: Some(target()) }).await.unwrap();
    for command in ["echo one; echo two", "echo err >&2; exit 3", "true"] {
        stage.run(command).await;
    }
    let told = async |request| -> Vec<String> {
        stage.history(request).await.iter().map(|listed| listed.info.command.to_string()).collect()
    };
    let all = ListCommands::default;
    assert_eq!(told(all()).await, ["echo one; echo two", "echo err >&2; exit 3", "true"], "no probe of the server's");
    assert_eq!(told(ListCommands { limit: Some(2), ..all() }).await, ["echo err >&2; exit 3", "true"], "the newest");
    assert_eq!(told(ListCommands { limit: Some(2), reverse: true, ..all() }).await, ["true", "echo err >&2; exit 3"]);
    let pattern = Some(Pattern::new("e.ho (one|err)").unwrap());
    assert_eq!(told(ListCommands { pattern, ..all() }).await.len(), 2);
    let listed = stage.history(ListCommands { output_lines: Some(1), ..all() }).await;
    let outputs: Vec<_> = listed.iter().filter_map(|listed| listed.output.clone()).collect();
    assert_eq!(outputs[0].stdout, ["two"]);
    assert_eq!((outputs[1].stdout.len(), &outputs[1].stderr[..]), (0, &["err".into()][..]));
    assert_eq!(listed[1].info.end.as_ref().unwrap().exit_code(), 3);
    assert!(stage.history(all()).await.iter().all(|listed| listed.output.is_none()), "only when asked for");
    let elsewhere = ListCommands { target: Some(named("nowhere")), ..all() };
    let refused = stage.service.list_commands(&stage.call(), elsewhere).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
}

async fn cleared(house: House) {
    let stage = house.open().await;
    let refused = stage.service.clear_commands(&stage.call()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::FailedPrecondition, "nothing has been connected");
    let over = handle(&stage.run("true").await);
    let runs = stage.launch("sleep 1000").await;
    assert_eq!(stage.service.clear_commands(&stage.call()).await, Ok(1));
    assert_eq!(stage.check(over, 0).await, None);
    assert_eq!(stage.check(runs, 0).await.unwrap().status, CommandStatus::Running);
    assert_eq!(stage.service.clear_commands(&stage.call()).await, Ok(0), "once more");
    stage.run("true").await;
    assert_eq!(stage.history(ListCommands::default()).await.len(), 2);
}
