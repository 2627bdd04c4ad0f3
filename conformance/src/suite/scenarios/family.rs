//! Starting, writing, stopping, running commands, listing (SF01 to SF07).

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::json;
use sessiond_core::{
    Action, Capability, ErrorKind, ExecuteCommand, Invocation, Launch, Limits, ListSessions, ListTargets, StartSession,
    Status, StopStatus, Wait, decode,
};

use crate::suite::house::{House, Settings};
use crate::suite::scenario::{Need, Scenario, command, session};
use crate::suite::stage::hosts::run;
use crate::suite::stage::{LONG, Stage, end, for_output, pattern, text, until};

pub(super) const SCENARIOS: &[Scenario] = &[
    session("SF01", "a session has the documented surroundings", |house| surroundings(house).boxed())
        .needing(&[Need::Shell]),
    session("SF01", "the caller's directory and variables hold, and ~ is the home directory", |house| {
        own(house).boxed()
    })
    .needing(&[Need::Shell]),
    session("SF01", "a launch that fails is an error at once and leaves nothing", |house| no_launch(house).boxed()),
    session("SF01", "an unknown program is the shell's 127", |house| unknown_program(house).boxed()),
    session("SF02", "writes arrive whole and in order", |house| in_order(house).boxed())
        .needing(&[Need::Backend(Capability::Write)]),
    session("SF02", "a program that does not read lets a write end after 5 s", |house| stalled(house).boxed())
        .needing(&[Need::Backend(Capability::Write)]),
    session("SF02", "a write to an ended session is an error", |house| late_write(house).boxed()),
    session("SF02", "a line that the terminal would cut is refused whole", |house| long_line(house).boxed())
        .needing(&[Need::Shell]),
    session("SF03", "a stop is confirmed, and asking again is harmless", |house| stop(house).boxed()),
    session("SF03", "a stop that is not over yet says so", |house| stopping(house).boxed()),
    session("SF03", "nothing survives a confirmed stop", |house| survivors(house).boxed()).needing(&[Need::Shell]),
    command("SF04", "a command has its streams and its code", |house| result(house).boxed()),
    command("SF04", "a command over its time has what it printed", |house| over_time(house).boxed()),
    command("SF04", "a command that is taken back is stopped", |house| taken_back(house).boxed()),
    command("SF04", "a failed command marks the result and keeps all fields", |house| marked(house).boxed()),
    command("SF04", "a child in the background delays the answer by the grace alone", |house| {
        background(house).boxed()
    })
    .needing(&[Need::Shell]),
    session("SF05", "a caller that has forgotten everything finds it again", |house| found(house).boxed()),
    session("SF05", "management access learns each target's client_token without one", |house| tokens(house).boxed())
        .needing(&[Need::Management]),
    session("SF05", "a long list comes by page", |house| pages(house).boxed()),
    session("SF06", "over the limit a start is refused by name, and nothing is evicted", |house| limit(house).boxed()),
    session("SF07", "starting, writing and steering read what came of it", |house| one_call(house).boxed()),
];

fn in_shell(invocation: Invocation) -> StartSession {
    StartSession { what: Launch::Start(invocation), ..Stage::request("") }
}

async fn surroundings(house: House) {
    let stage = house.open().await;
    let script = "printf '%s|' \"$TERM\" \"${LC_ALL:-}${LC_CTYPE:-}${LANG:-}\"; tty >/dev/null && echo tty; stty -a | \
                  grep -o -- '[-]*iutf8'; echo \"${SESSIOND_LOG-unset}\"; ls -l /proc/self/fd | grep -c -v -e pts -e \
                  total -e /proc/";
    let session = stage.start(script).await;
    let (output, _) = stage.to_end(session).await;
    let mut lines = output.lines();
    let first = lines.next().unwrap_or_default();
    assert!(first.starts_with("xterm-256color|") && first.ends_with("|tty"), "{output}");
    assert_ne!(first, "xterm-256color||tty", "there is a character set");
    assert_eq!(lines.collect::<Vec<_>>()[..2], ["iutf8", "unset"], "nothing of the server is in its environment");
}

async fn own(house: House) {
    let stage = house.open().await;
    let mut invocation = Invocation::new("pwd; echo \"$OWN\"");
    invocation.cwd = Some("/usr".into());
    invocation.env = vec![("OWN".into(), "a b".into())];
    let session = stage.try_start(in_shell(invocation)).await.unwrap();
    assert_eq!(stage.to_end(session).await.0, "/usr\r\na b\r\n");
    let mut invocation = Invocation::new("test \"$PWD\" = \"$HOME\" && echo home");
    invocation.cwd = Some("~".into());
    let session = stage.try_start(in_shell(invocation)).await.unwrap();
    assert_eq!(stage.to_end(session).await.0, "home\r\n");
}

/// Launches that fail, as each backend has them.
fn failing(house: &House) -> Vec<Invocation> {
    if house.has(Need::Scripted) {
        return vec![Invocation::new(":fail no such place")];
    }
    let with = |cwd: &str| Invocation { cwd: Some(cwd.into()), ..Invocation::new("echo ran") };
    vec![with("/no/such/directory"), with("/etc/passwd")]
}

async fn no_launch(house: House) {
    let stage = house.open().await;
    let mut broken = failing(&house);
    broken.push(Invocation::new("echo \0"));
    for invocation in broken {
        let refused = stage.try_start(in_shell(invocation.clone())).await;
        assert!(refused.is_err(), "{invocation:?}");
    }
    assert_eq!(stage.list(ListSessions::default()).await.unwrap().sessions, []);
}

async fn unknown_program(house: House) {
    let stage = house.open().await;
    let session = stage.start("no-such-program-anywhere").await;
    let (output, ended) = stage.to_end(session).await;
    assert_eq!(ended.exit_code(), 127);
    assert!(output.contains("not found"), "{output:?}");
}

async fn in_order(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("echo ready; cat; exit 0", "ready\r\n").await;
    let lines: Vec<String> = (0..20).map(|line| format!("line-{line:02}\r")).collect();
    for line in &lines {
        let written = stage.write(session, line, Wait::default()).await.unwrap();
        assert_eq!((written.bytes, written.stalled), (line.len() as u64, None));
    }
    stage.control(session, Action::Eof, Wait::default()).await.unwrap();
    let (output, _) = stage.to_end(session).await;
    let places: Vec<_> = (0..20).map(|line| output.rfind(&format!("line-{line:02}\r\n"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{output:?}");
    assert!(
        (0..20).all(|line| output.matches(&format!("line-{line:02}")).count() == 2),
        "echoed and answered once each"
    );
}

async fn stalled(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("echo ready; sleep 1000", "ready").await;
    let lines = "0123456789abcde\n".repeat(65_536);
    // What is between us and the program takes some of it.
    for _ in 0..8 {
        let began = Instant::now();
        let written = stage.write(session, &lines, Wait::default()).await.unwrap();
        if written.stalled.is_some() {
            assert!(began.elapsed() >= Duration::from_secs(5), "it was given 5 s");
            assert!(written.bytes < lines.len() as u64, "{written:?}");
            let read = stage.read(session, 0, for_output(0)).await;
            assert_eq!(read.slice.ended, None, "the session is none the worse");
            return;
        }
    }
    panic!("a program that does not read is handed 8 MiB")
}

async fn late_write(house: House) {
    let stage = house.open().await;
    let session = stage.start("exit 7").await;
    stage.to_end(session).await;
    let error = stage.write(session, "x", Wait::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FailedPrecondition);
    assert!(error.message().contains("exit code 7"), "{error}");
}

async fn long_line(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("echo ready; cat", "ready\r\n").await;
    let error = stage.write(session, &"x".repeat(4097), Wait::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FailedPrecondition);
    assert!(error.message().contains("4095"), "it says how long a line may be: {error}");
    assert_eq!(text(&stage.read(session, 7, for_output(200)).await), "", "nothing of it was written");
    let fits = format!("{}\n", "y".repeat(4095));
    assert_eq!(stage.write(session, &fits, Wait::default()).await.unwrap().bytes, 4096);
    stage.shows(session, "y\r\ny{4095}\r\n").await;
}

async fn stop(house: House) {
    let stage = house.open().await;
    let session = stage.start_until("echo ready; sleep 1000", "ready").await;
    let first = stage.stop(session, LONG).await;
    assert_eq!((first.accepted, first.already_done, first.status), (true, false, StopStatus::Stopped));
    let again = stage.stop(session, LONG).await;
    assert_eq!((again.accepted, again.already_done, again.status), (false, true, StopStatus::Stopped));
    let own = stage.start("exit 0").await;
    stage.to_end(own).await;
    assert_eq!(stage.stop(own, LONG).await.status, StopStatus::Finished);
}

async fn stopping(house: House) {
    let limits = Limits { stop_grace: Duration::from_millis(700), ..Limits::default() };
    let stage = house.open_with(Settings { limits, ..Settings::default() }).await;
    let session = stage.start_until("trap '' HUP; trap '' TERM; echo ready; sleep 1000", "ready").await;
    let early = stage.stop(session, 0).await;
    assert_eq!((early.accepted, early.status, early.end), (true, StopStatus::Stopping, None));
    let listed = stage.list(ListSessions::default()).await.unwrap().sessions.remove(0);
    assert_eq!(listed.status, Status::Stopping);
    let late = stage.stop(session, LONG).await;
    assert_eq!(late.status, StopStatus::Stopped);
    assert_eq!(late.end.unwrap().error().as_deref(), Some("ended by signal KILL"));
}

async fn survivors(house: House) {
    let stage = house.open().await;
    let time = sleeper();
    let script = format!(
        "sleep {time} | sleep {time} & (setsid sleep {time} &); nohup sleep {time} >/dev/null 2>&1 & \
         (trap '' HUP TERM; sleep {time}) & set -m; sleep {time} & set +m; echo started; wait"
    );
    let session = stage.start_until(&script, "started\r\n").await;
    while alive(&stage, &time).await < 6 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(stage.stop(session, LONG).await.status, StopStatus::Stopped);
    assert_eq!(alive(&stage, &time).await, 0, "none of the six is left");
}

/// A time to sleep that nobody else sleeps, which tells our sleepers from all others.
pub(super) fn sleeper() -> String {
    format!("1000.{}", sessiond_core::SessionId::random().map(number).unwrap())
}

/// Nine digits out of an id, as a fraction of a second.
fn number(id: sessiond_core::SessionId) -> u64 {
    id.to_string().bytes().fold(7, |sum: u64, byte| (sum * 31 + u64::from(byte)) % 1_000_000_000)
}

/// How many processes sleep for this very time.
pub(super) async fn alive(stage: &Stage, time: &str) -> usize {
    let counted = stage.execute(&format!("ps -e -o args= | grep -cx 'sleep {time}' || true")).await;
    decode(&counted.stdout).trim().parse().unwrap_or_else(|_| panic!("{counted:?}"))
}

async fn result(house: House) {
    let stage = house.open().await;
    let result = stage.execute("echo out; echo err >&2; exit 3").await;
    assert_eq!((&result.stdout[..], &result.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
    assert_eq!((result.end.exit_code(), result.end.error(), result.truncated), (3, None, false));
    let fed = ExecuteCommand { stdin: "fed\n".into(), ..Stage::command("cat") };
    let result = stage.service.execute_command(&stage.call(), fed).await.unwrap();
    assert_eq!(&result.stdout[..], b"fed\n");
}

async fn over_time(house: House) {
    let stage = house.open().await;
    let request =
        ExecuteCommand { time_limit: Some(Duration::from_millis(300)), ..Stage::command("echo begun; sleep 1000") };
    let result = stage.service.execute_command(&stage.call(), request).await.unwrap();
    assert_eq!((&result.stdout[..], result.end.timed_out(), result.end.canceled()), (&b"begun\n"[..], true, false));
    assert_eq!(result.end.exit_code(), -1);
}

async fn taken_back(house: House) {
    let limits = Limits { running_per_owner: 2, ..Limits::default() };
    let stage = house.open_with(Settings { limits, ..Settings::default() }).await;
    let cx = stage.call();
    let cancel = cx.cancel.clone();
    let take_back = async {
        stage.execute("sleep 0.3").await;
        cancel.cancel();
    };
    let (_, ()) = futures_util::join!(stage.service.execute_command(&cx, Stage::command("sleep 1000")), take_back);
    // Two may run: when both places are free again, the command is gone.
    let began = Instant::now();
    loop {
        let run = || async { stage.service.execute_command(&stage.call(), Stage::command("sleep 0.1")).await };
        if let (Ok(_), Ok(_)) = futures_util::join!(run(), run()) {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "its place is free again");
    }
}

async fn marked(house: House) {
    let stage = house.open().await;
    let run = |command: &str, timeout: u64| {
        let arguments = json!({ "command": command, "client_token": "local", "timeout_ms": timeout });
        async { stage.tool("execute_command", arguments).await }
    };
    for (command, timeout, is_error) in [("exit 0", 0, false), ("exit 3", 0, true), ("sleep 1000", 200, true)] {
        let result = run(command, timeout).await;
        assert_eq!((result.is_error, result.kind()), (is_error, None), "{command}: {}", result.text);
        for field in ["stdout", "stderr", "exit_code", "timed_out", "canceled", "truncated"] {
            assert!(!result.get(field).is_null(), "{command}: {field}");
        }
    }
}

async fn background(house: House) {
    let linger = Duration::from_millis(500);
    let stage = house.open_with(Settings { linger, ..Settings::default() }).await;
    let began = Instant::now();
    let arguments = json!({ "command": "echo begun; sleep 1000 & exit 4", "client_token": "local" });
    let result = stage.tool("execute_command", arguments).await;
    assert!(began.elapsed() >= linger && began.elapsed() < Duration::from_secs(15));
    assert_eq!((result.get("stdout"), result.get("exit_code")), (&json!("begun\n"), &json!(4)));
    assert!(result.text.contains("still running in the background: "), "its pid stands in the text: {}", result.text);
}

async fn found(house: House) {
    let stage = house.open().await;
    let labelled = StartSession { label: Some("mine".into()), ..Stage::request("echo hello; sleep 1000") };
    let session = stage.try_start(labelled).await.unwrap();
    stage.shows(session, "hello\r\n").await;
    let targets = stage.service.list_targets(&stage.call(), ListTargets::default()).await.unwrap();
    assert_eq!(targets[0].info.name.as_str(), "local");
    let listed = stage.list(ListSessions::default()).await.unwrap().sessions.remove(0);
    assert_eq!(
        (listed.session, listed.label.as_deref(), &*listed.command),
        (session, Some("mine"), "echo hello; sleep 1000")
    );
    assert_eq!((listed.output_start.0, listed.output_end.0, listed.status), (0, 7, Status::Running));
}

async fn tokens(house: House) {
    let clients = house.open().await.tool("list_clients", json!({})).await;
    assert_eq!(clients.get("clients")[0]["client_token"], "local");
}

async fn pages(house: House) {
    let stage = house.open().await;
    let mut started = Vec::new();
    for _ in 0..5 {
        started.push(stage.start("exit 0").await);
    }
    for session in &started {
        stage.to_end(*session).await;
    }
    started.push(stage.start("sleep 1000").await);
    let (mut seen, mut page_token) = (Vec::new(), None);
    loop {
        let request = ListSessions { limit: Some(2), page_token, ..ListSessions::default() };
        let page = stage.list(request).await.unwrap();
        assert!(page.sessions.len() <= 2);
        seen.extend(page.sessions.iter().map(|listed| listed.session));
        page_token = page.next_page_token;
        if page_token.is_none() {
            break;
        }
    }
    started.reverse();
    assert_eq!(seen, started, "the running one first, then the newest");
}

async fn limit(house: House) {
    let stage = house.open().await;
    let sessions = join_all((0..64).map(|_| stage.start("sleep 1000"))).await;
    let error = stage.try_start(Stage::request("true")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.message().contains("64"), "{error}");
    if house.has(Need::Backend(Capability::Connections)) {
        let error = stage.try_run(run("true")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "commands count too: {error}");
    }
    let running = ListSessions { limit: Some(500), status: Some(Status::Running), ..ListSessions::default() };
    assert_eq!(stage.list(running).await.unwrap().sessions.len(), 64, "none was evicted");
    stage.stop(sessions[0], LONG).await;
    stage.start("true").await;
}

async fn one_call(house: House) {
    let stage = house.open().await;
    let request = StartSession { wait: until(LONG, pattern("ready\r\n")), ..Stage::request("echo ready; cat; exit 2") };
    let started = stage.service.start_session(&stage.call(), request).await.unwrap();
    assert_eq!(text(&started.read.unwrap()), "ready\r\n");
    let session = started.session;
    let written = stage.write(session, "ping\r", until(LONG, pattern("ping\r\nping\r\n"))).await.unwrap();
    let read = written.read.unwrap();
    assert_eq!((text(&read), read.slice.next.0), ("ping\r\nping\r\n".to_owned(), 19), "from just before the write");
    let steered = stage.control(session, Action::Eof, until(LONG, end())).await.unwrap();
    assert_eq!(steered.read.unwrap().slice.ended.unwrap().exit_code(), 2);
    let silent = stage.try_start(Stage::request("exit 0")).await.unwrap();
    let unasked = stage.write(silent, "", Wait::default()).await;
    assert!(unasked.is_err() || unasked.unwrap().read.is_none(), "who does not wait gets no output");
}
