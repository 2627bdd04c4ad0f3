//! Commands under a handle: how they are run and waited for, and how long a handle holds (CF01, CO32).

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use serde_json::{Value, json};
use sessiond_core::{
    Call, CheckCommand, CommandStatus, ErrorKind, Exit, Handle, KillResult, ListCommands, RunCommand, RunStatus, decode,
};

use super::family::{alive, sleeper};
use crate::suite::house::House;
use crate::suite::scenario::{Need, Scenario, host};
use crate::suite::stage::hosts::{handle, kill, newest, run};
use crate::suite::stage::{Stage, target};

pub(super) const HOST: Need = Need::Backend(sessiond_core::Capability::Connections);

pub(super) const SCENARIOS: &[Scenario] = &[
    host("CO32", "unknown and foreign handles get one answer", |house| foreign(house).boxed())
        .needing(&[HOST, Need::Owners]),
    host("CO32", "handles grow, and another life of the server has others", |house| lives(house).boxed()),
    host("CO32", "after a loss a handle stays until its host is connected again", |house| lost(house).boxed()),
    host("CO32", "a handle does not survive a reconnect", |house| reconnected(house).boxed()),
    host("CF01", "a command that ends has its code, its streams and its facts", |house| ended(house).boxed()),
    host("CF01", "it gets its input, its directory and its variables", |house| surroundings(house).boxed())
        .needing(&[HOST, Need::Shell]),
    host("CF01", "silence ends the waiting and not the command", |house| silence(house).boxed()),
    host("CF01", "a wait that is up ends the waiting and not the command", |house| wait(house).boxed()),
    host("CF01", "the time limit alone stops it, whole", |house| time_limit(house).boxed()),
    host("CF01", "nothing of it is left on the host", |house| whole(house).boxed()).needing(&[HOST, Need::Shell]),
    host("CF01", "killed by another call meanwhile it has failed, with the signal", |house| meanwhile(house).boxed()),
    host("CF01", "a lost connection is an error with the id", |house| broken(house).boxed()),
    host("CF01", "in a directory that is not there nothing runs", |house| nowhere(house).boxed()),
    host("CF01", "taking the call back ends the waiting alone", |house| taken_back(house).boxed()),
    host("CF01", "one shape for every status", |house| shape(house).boxed()),
    host("CF01", "no call blocks longer than 50 s", |house| capped(house).boxed()).needing(&[
        HOST,
        Need::Scripted,
        Need::Owners,
    ]),
];

/// A handle that no server has given out.
pub(super) const NOBODYS: Handle = Handle(1);

/// What every verb says of a handle that is not there: the kinds and the messages.
pub(super) async fn refusals(stage: &Stage, cx: &Call, handle: Handle) -> Vec<String> {
    let check = CheckCommand { handle, wait: Duration::ZERO };
    assert_eq!(stage.service.check_command(cx, check).await.unwrap(), None, "a look says not_found");
    let answers = [
        stage.service.read_command(cx, newest(handle)).await.map(drop),
        stage.service.kill_command(cx, kill(handle)).await.map(drop),
    ];
    let said = |error: sessiond_core::Error| {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        error.to_string().replace(&handle.to_string(), "HANDLE")
    };
    answers.into_iter().map(|answer| said(answer.expect_err("it is not there"))).collect()
}

async fn foreign(house: House) {
    let stage = house.open().await;
    let mine = stage.launch("sleep 1000").await;
    let theirs = stage.stranger();
    let unknown = refusals(&stage, &stage.call(), NOBODYS).await;
    assert_eq!(refusals(&stage, &theirs, mine).await, unknown, "foreign");
    let listed = stage.service.list_commands(&theirs, ListCommands::default()).await.unwrap();
    assert_eq!(listed, [], "and nothing of it is listed");
    assert_eq!(stage.check(mine, 0).await.unwrap().status, CommandStatus::Running, "it runs on");
}

async fn lives(house: House) {
    let (stage, again) = (house.open().await, house.open().await);
    let mut handles = Vec::new();
    for _ in 0..3 {
        handles.push(handle(&stage.run("true").await));
    }
    assert!(handles.is_sorted_by(|one, next| one < next), "each is greater: {handles:?}");
    let other = handle(&again.run("true").await);
    assert!(!handles.contains(&other), "the first is random for each life of the server: {other} {handles:?}");
    assert!(other.0 < 1 << 53, "every JSON number carries it: {other}");
    refusals(&again, &again.call(), handles[0]).await;
}

/// A command whose connection breaks while it runs, seen to its end.
async fn cut(house: &House, stage: &Stage) -> Handle {
    let handle = stage.launch_until("echo kept; sleep 1000", "kept").await;
    // Whoever cuts the connection runs on it.
    stage.launch(house.cut()).await;
    assert_eq!(stage.ended(handle).await.status, CommandStatus::Lost);
    handle
}

async fn lost(house: House) {
    let stage = house.open().await;
    let handle = cut(&house, &stage).await;
    for _ in 0..2 {
        assert_eq!(stage.lines(newest(handle)).await, ["kept"], "it can be read");
        assert_eq!(stage.check(handle, 0).await.unwrap().status, CommandStatus::Lost);
    }
    let connected = stage.connect(target()).await.unwrap();
    assert!(!connected.was_connected, "the old connection is gone");
    refusals(&stage, &stage.call(), handle).await;
}

async fn reconnected(house: House) {
    let stage = house.open().await;
    let old = handle(&stage.run("echo old").await);
    let runs = stage.launch_until("echo running; sleep 1000", "running").await;
    assert!(stage.disconnect(Some(target())).await.unwrap().was_connected);
    stage.connect(target()).await.unwrap();
    for handle in [old, runs] {
        refusals(&stage, &stage.call(), handle).await;
    }
    let new = handle(&stage.run("echo new").await);
    assert!(new > runs);
    assert_eq!(stage.lines(newest(new)).await, ["new"]);
}

async fn ended(house: House) {
    let stage = house.open().await;
    for (command, status, code) in [
        ("echo out; echo err >&2", RunStatus::Success, 0),
        ("echo out; echo err >&2; exit 42", RunStatus::CommandFailed, 42),
    ] {
        let answer = stage.run(command).await;
        assert_eq!((answer.status, &answer.target), (status, &target()));
        assert_eq!((decode(&answer.stdout.bytes), decode(&answer.stderr.bytes)), ("out\n".into(), "err\n".into()));
        let info = answer.command.unwrap();
        assert_eq!((info.end.unwrap().exit_code(), info.status), (code, CommandStatus::Completed));
        assert_eq!((&*info.command, info.ended_at.is_some(), info.pid.is_some()), (command, true, true));
    }
    let unknown = stage.run("no-such-program-anywhere").await;
    assert_eq!(unknown.command.unwrap().end.unwrap().exit_code(), 127);
    let signalled = stage.run("kill -USR1 $$").await;
    assert_eq!(signalled.status, RunStatus::CommandFailed);
    assert_eq!(signalled.command.unwrap().end.unwrap().exit, Exit::Signaled("USR1".to_owned()));
}

async fn surroundings(house: House) {
    let stage = house.open().await;
    let mut request = run("cat; pwd; echo \"$OWN\"; echo $$");
    request.stdin = "fed\nlast".into();
    request.invocation.cwd = Some("/usr".into());
    request.invocation.env = vec![("OWN".into(), "a 'b' \"c\" $HOME\nd".into())];
    let answer = stage.try_run(request).await.unwrap();
    let pid = answer.command.and_then(|command| command.pid).unwrap();
    assert_eq!(decode(&answer.stdout.bytes), format!("fed\nlast/usr\na 'b' \"c\" $HOME\nd\n{pid}\n"));
}

async fn silence(house: House) {
    let stage = house.open().await;
    let began = Instant::now();
    let request = RunCommand { silence: Duration::from_secs(1), ..run("sleep 0.2; echo a; sleep 4; echo b") };
    let answer = stage.try_run(request).await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(1200), "silence counts from the last byte on");
    assert_eq!((answer.status, decode(&answer.stdout.bytes).as_str()), (RunStatus::IoTimeout, "a\n"));
    let info = answer.command.as_ref().unwrap();
    assert_eq!((info.status, info.end.clone()), (CommandStatus::Running, None));
    let info = stage.ended(handle(&answer)).await;
    assert_eq!((info.status, info.end.unwrap().exit_code()), (CommandStatus::Completed, 0));
}

async fn wait(house: House) {
    let stage = house.open().await;
    let began = Instant::now();
    let request = RunCommand { wait: Some(Duration::from_millis(400)), ..run("sleep 1.5; echo late; exit 3") };
    let answer = stage.try_run(request).await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(400));
    assert_eq!(answer.status, RunStatus::WaitTimeout { capped: false });
    let info = stage.ended(handle(&answer)).await;
    assert_eq!((info.status, info.end.unwrap().exit_code()), (CommandStatus::Completed, 3));
    assert_eq!(stage.lines(newest(handle(&answer))).await, ["late"]);
}

async fn time_limit(house: House) {
    let stage = house.open().await;
    let limit = Some(Duration::from_millis(1500));
    let answer = stage.try_run(RunCommand { time_limit: limit, ..run("echo begun; sleep 1000") }).await.unwrap();
    assert_eq!((answer.status, decode(&answer.stdout.bytes).as_str()), (RunStatus::RuntimeTimeout, "begun\n"));
    assert_eq!(answer.command.unwrap().status, CommandStatus::Killed);
    // It holds after the waiting is over, too.
    let request = RunCommand { time_limit: limit, wait: Some(Duration::from_millis(100)), ..run("sleep 1000") };
    let answer = stage.try_run(request).await.unwrap();
    assert_eq!(answer.status, RunStatus::WaitTimeout { capped: false });
    assert_eq!(stage.ended(handle(&answer)).await.status, CommandStatus::Killed);
}

async fn whole(house: House) {
    let stage = house.open().await;
    let time = sleeper();
    let script = format!("sleep {time} | sleep {time} & (setsid sleep {time} &); trap '' TERM HUP; sleep {time}; true");
    let limit = Some(Duration::from_millis(700));
    let answer = stage.try_run(RunCommand { time_limit: limit, ..run(&script) }).await.unwrap();
    assert_eq!(answer.status, RunStatus::RuntimeTimeout);
    assert_eq!(alive(&stage, &time).await, 0, "none of the four is left");
}

async fn meanwhile(house: House) {
    let stage = house.open().await;
    let killer = async {
        let began = Instant::now();
        loop {
            let listed = stage.history(ListCommands::default()).await;
            if let Some(command) = listed.first() {
                return stage.kill(kill(command.info.handle)).await.unwrap();
            }
            assert!(began.elapsed() < Duration::from_secs(20), "it is listed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (answer, outcome) = futures_util::join!(stage.run("sleep 1000"), killer);
    assert_eq!((answer.status, outcome.result), (RunStatus::CommandFailed, KillResult::Killed));
    let info = stage.check(handle(&answer), 0).await.unwrap();
    assert_eq!(info.status, CommandStatus::Killed);
    assert_eq!(answer.command.unwrap().end.unwrap().exit, Exit::Signaled("TERM".to_owned()));
}

async fn broken(house: House) {
    let stage = house.open().await;
    stage.connect(target()).await.unwrap();
    let cutter = async {
        stage.run("sleep 0.5").await;
        stage.launch(house.cut()).await
    };
    let (answer, _) = futures_util::join!(stage.run("echo so far; sleep 1000"), cutter);
    assert_eq!((answer.status, decode(&answer.stdout.bytes).as_str()), (RunStatus::Error, "so far\n"));
    assert!(answer.error.is_some(), "it says what went wrong");
    assert_eq!(answer.command.unwrap().status, CommandStatus::Lost, "and carries the id");
}

async fn nowhere(house: House) {
    let stage = house.open().await;
    let mut request = run("echo ran");
    request.invocation.cwd = Some("/missing/directory".into());
    let answer = stage.try_run(request).await.unwrap();
    assert_eq!((answer.status, answer.command), (RunStatus::CwdNotFound, None));
    assert_eq!(decode(&answer.stdout.bytes), "");
    assert!(answer.error.is_some_and(|why| why.contains("/missing/directory")), "it names the directory");
    assert_eq!(stage.history(ListCommands::default()).await, [], "nothing is listed");
}

async fn taken_back(house: House) {
    let stage = house.open().await;
    let cx = stage.call();
    let cancel = cx.cancel.clone();
    let take_back = async {
        stage.run("sleep 0.3").await;
        cancel.cancel();
    };
    let (_, ()) = futures_util::join!(stage.service.run_command(&cx, run("sleep 4; exit 6")), take_back);
    let listed = stage.history(ListCommands::default()).await;
    let command = listed.iter().find(|listed| listed.info.command.contains("exit 6")).unwrap();
    assert_eq!(command.info.status, CommandStatus::Running, "the answer came at once, and it goes on");
    let info = stage.ended(command.info.handle).await;
    assert_eq!((info.status, info.end.unwrap().exit_code()), (CommandStatus::Completed, 6));
}

async fn shape(house: House) {
    let stage = house.open().await;
    let call = |more: Value| {
        let mut all = json!({ "command": "echo out; sleep 5; exit 3", "host_name": target().as_str() });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let stage = &stage;
        async move { stage.tool("ssh_cmd_run", all).await }
    };
    let always = [
        "status",
        "command",
        "host_name",
        "output",
        "stderr",
        "output_truncated",
        "stderr_truncated",
        "output_lines",
        "stderr_lines",
        "start_time",
        "still_running",
    ];
    for (arguments, status, running) in [
        (json!({ "command": "true" }), "success", false),
        (json!({ "command": "echo out; exit 3" }), "command_failed", false),
        (json!({ "io_timeout": 0.1 }), "io_timeout", true),
        (json!({ "wait_timeout": 0.1 }), "wait_timeout", true),
        (json!({ "runtime_timeout": 0.1 }), "runtime_timeout", false),
        (json!({ "cwd": "/missing/directory" }), "cwd_not_found", false),
        (json!({ "command": house.cut() }), "error", false),
    ] {
        let result = call(arguments).await;
        assert_eq!((result.get("status"), result.kind()), (&json!(status), None), "{}", result.text);
        for field in always {
            assert!(!result.get(field).is_null(), "{status}: {field}");
        }
        assert_eq!(result.get("still_running"), &json!(running), "{status}");
        assert_eq!(result.get("id").is_null(), status == "cwd_not_found", "{status}: an id unless nothing was started");
        assert_eq!(result.get("id"), result.get("handle_id"), "the same number");
    }
}

async fn capped(house: House) {
    let stage = house.open().await;
    let patient = |wait| RunCommand { silence: Duration::from_secs(1000), wait, ..run("sleep 1000") };
    let began = Instant::now();
    let (long, open) =
        futures_util::join!(stage.try_run(patient(Some(Duration::from_secs(100)))), stage.try_run(patient(None)));
    assert!((Duration::from_secs(49)..Duration::from_secs(60)).contains(&began.elapsed()), "{:?}", began.elapsed());
    for answer in [long, open] {
        assert_eq!(answer.unwrap().status, RunStatus::WaitTimeout { capped: true });
    }
}
