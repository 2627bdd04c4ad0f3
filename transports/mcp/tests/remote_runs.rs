//! `ssh_cmd_run`: what is asked of the service, and how each status reads.

use std::time::Duration;

use serde_json::{Value, json};
use sessiond_core::{
    Cause, CommandInfo, CommandRun, CommandStatus, Exit, Invocation, LineFacts, RunCommand, RunStatus, Tail,
};

use crate::script::{Asked, ENDED, STARTED, Say, Stage, exited, info, lost, object, running, seconds};
use crate::support::{Reply, target};

fn run(status: RunStatus, command: CommandInfo) -> CommandRun {
    CommandRun {
        status,
        target: target("box"),
        command: Some(command),
        stdout: Tail { bytes: "one\ntwo\n".into(), first_line: 1, truncated: false },
        stderr: Tail { bytes: "err".into(), first_line: 1, truncated: false },
        descendants: Vec::new(),
        error: None,
    }
}

/// What every answer about [`run`] has, and these.
fn answer(more: Value) -> Value {
    let mut all = json!({
        "id": 77, "handle_id": 77, "command": "make", "host_name": "box", "output": "one\ntwo\n", "stderr": "err",
        "output_truncated": false, "stderr_truncated": false, "output_lines": 2, "stderr_lines": 1, "pid": 4711,
        "start_time": STARTED,
    });
    all.as_object_mut().unwrap().extend(object(more));
    all
}

async fn answered(say: CommandRun) -> Reply {
    Stage::new().await.answer(Say::Run(say), "ssh_cmd_run", json!({"command": "make"})).await
}

#[tokio::test]
async fn a_call_with_a_command_alone_waits_as_usual() {
    let stage = Stage::new().await;
    let expected = Asked::Run(RunCommand {
        target: None,
        invocation: Invocation::new("make"),
        stdin: "".into(),
        silence: seconds(60),
        wait: None,
        time_limit: None,
    });
    assert_eq!(stage.asked("ssh_cmd_run", json!({"command": "make"})).await, expected);
    let nulls = json!({
        "command": "make", "host_name": null, "io_timeout": null, "wait_timeout": null, "runtime_timeout": null,
        "use_sudo": null, "cwd": null, "env": null, "stdin": null,
    });
    assert_eq!(stage.asked("ssh_cmd_run", nulls).await, expected);
}

#[tokio::test]
async fn every_argument_reaches_the_service() {
    let stage = Stage::new().await;
    let arguments = json!({
        "command": "make", "host_name": "box", "io_timeout": 2, "wait_timeout": 0, "runtime_timeout": 1.5,
        "use_sudo": false, "cwd": "/src", "env": {"A": "1"}, "stdin": "yes\n",
    });
    let expected = Asked::Run(RunCommand {
        target: Some(target("box")),
        invocation: Invocation {
            command: "make".into(),
            cwd: Some("/src".into()),
            env: vec![("A".into(), "1".into())],
        },
        stdin: "yes\n".into(),
        silence: seconds(2),
        wait: Some(Duration::ZERO),
        time_limit: Some(Duration::from_millis(1500)),
    });
    assert_eq!(stage.asked("ssh_cmd_run", arguments).await, expected);
}

#[tokio::test]
async fn success_is_a_result() {
    let reply = answered(run(RunStatus::Success, exited(0))).await;
    let expected = answer(json!({"status": "success", "exit_code": 0, "end_time": ENDED, "still_running": false}));
    assert_eq!((reply.is_error, reply.structured), (false, expected));
    assert_eq!(reply.text, "success: exit code 0; handle_id 77\nstdout:\none\ntwo\nstderr:\nerr\n");
}

#[tokio::test]
async fn a_failure_is_a_result_that_is_marked() {
    let reply = answered(run(RunStatus::CommandFailed, exited(42))).await;
    let expected =
        answer(json!({"status": "command_failed", "exit_code": 42, "end_time": ENDED, "still_running": false}));
    assert_eq!((reply.is_error, reply.structured, reply.meta), (true, expected, Value::Null));
    assert!(reply.text.starts_with("command_failed: exit code 42; handle_id 77\n"), "{}", reply.text);
}

#[tokio::test]
async fn a_signal_is_named_and_is_no_exit_code() {
    let killed = info(CommandStatus::Killed, Some(Exit::Signaled("TERM".into())), Cause::Stop { confirmed: true });
    let reply = answered(run(RunStatus::CommandFailed, killed)).await;
    let expected = answer(json!({
        "status": "command_failed", "signal": "TERM", "error": "ended by signal TERM", "end_time": ENDED,
        "still_running": false,
    }));
    assert_eq!((reply.is_error, reply.structured), (true, expected));
}

#[tokio::test]
async fn what_runs_on_is_no_error_and_says_how_to_go_on() {
    let step = "it still runs: ssh_cmd_check_status with handle_id 77 waits for its end, ssh_cmd_output reads what it \
                has printed, ssh_cmd_kill ends it";
    for (status, capped) in [
        (RunStatus::IoTimeout, None),
        (RunStatus::WaitTimeout { capped: false }, None),
        (RunStatus::WaitTimeout { capped: true }, Some(true)),
    ] {
        let reply = answered(run(status, running())).await;
        let mut expected = answer(json!({"status": status.as_str(), "still_running": true, "next_step": step}));
        if let Some(capped) = capped {
            expected["wait_capped"] = capped.into();
        }
        assert_eq!((reply.is_error, reply.structured), (false, expected));
        assert!(reply.text.starts_with(&format!("{}; handle_id 77; {step}\n", status.as_str())), "{}", reply.text);
    }
}

#[tokio::test]
async fn a_command_that_its_time_limit_has_stopped_is_marked() {
    let limit = Cause::TimeLimit { limit: seconds(3), confirmed: true };
    let stopped = info(CommandStatus::Killed, Some(Exit::Signaled("TERM".into())), limit);
    let reply = answered(run(RunStatus::RuntimeTimeout, stopped)).await;
    let expected = answer(json!({
        "status": "runtime_timeout", "signal": "TERM", "end_time": ENDED, "still_running": false,
        "error": "ended by signal TERM: its time limit of 3000 ms was reached",
    }));
    assert_eq!((reply.is_error, reply.structured), (true, expected));
}

#[tokio::test]
async fn a_lost_connection_keeps_the_handle_and_has_no_exit_code() {
    let reply = answered(run(RunStatus::Error, lost())).await;
    let step = "the connection was lost, and with it the way to the command: read what it had printed with \
                ssh_cmd_output and handle_id 77 before anything connects to the host again, then see there what it \
                has done before you run it again";
    let expected = answer(json!({
        "status": "error", "end_time": ENDED, "still_running": false, "error": "lost: the connection broke",
        "next_step": step,
    }));
    assert_eq!((reply.is_error, reply.structured), (true, expected));
}

#[tokio::test]
async fn where_nothing_ran_the_answer_has_the_same_shape_without_a_handle() {
    let missing = CommandRun {
        command: None,
        stdout: Tail::default(),
        stderr: Tail::default(),
        error: Some("there is no directory /nowhere".into()),
        ..run(RunStatus::CwdNotFound, exited(0))
    };
    let stage = Stage::new().await;
    let arguments = json!({"command": "make", "cwd": "/nowhere"});
    let mut reply = stage.answer(Say::Run(missing), "ssh_cmd_run", arguments).await;
    let asked_at = reply.structured.as_object_mut().unwrap().remove("start_time").unwrap();
    assert!(asked_at.as_str().unwrap() > "2026", "{asked_at}");
    let step = "nothing was run: give a cwd that exists on the host, or leave it out for the home directory";
    let expected = json!({
        "status": "cwd_not_found", "command": "make", "host_name": "box", "cwd": "/nowhere", "output": "",
        "stderr": "", "output_truncated": false, "stderr_truncated": false, "output_lines": 0, "stderr_lines": 0,
        "still_running": false, "error": "there is no directory /nowhere", "next_step": step,
    });
    assert_eq!((reply.is_error, reply.structured), (true, expected));
    assert_eq!(reply.text, format!("cwd_not_found: there is no directory /nowhere; {step}"));
}

#[tokio::test]
async fn output_that_is_not_all_shown_says_how_to_read_it() {
    let long = CommandInfo {
        stdout: LineFacts { total: 900, dropped: 100 },
        stderr: LineFacts { total: 3, dropped: 0 },
        ..exited(0)
    };
    let say = CommandRun {
        stdout: Tail { bytes: "899\n900\n".into(), first_line: 899, truncated: true },
        stderr: Tail { bytes: "end".into(), first_line: 3, truncated: true },
        ..run(RunStatus::Success, long)
    };
    let reply = answered(say).await;
    let note = "output has the newest 8 bytes of at most 32768, from line 899 of 900 on: ssh_cmd_output with \
                handle_id 77, stream stdout and start_line 101 reads from the first line that is kept; stderr has \
                the newest 3 bytes of at most 32768, from line 3 of 3 on: ssh_cmd_output with handle_id 77, stream \
                stderr and start_line 1 reads from the first line that is kept";
    assert_eq!(reply.structured["output_note"], note);
    assert_eq!(
        (&reply.structured["output_truncated"], &reply.structured["stderr_truncated"]),
        (&json!(true), &json!(true))
    );
    assert!(reply.text.contains(note), "{}", reply.text);
}

#[tokio::test]
async fn what_is_left_in_the_background_is_named() {
    let reply = answered(CommandRun { descendants: vec![5, 6], ..run(RunStatus::Success, exited(0)) }).await;
    assert_eq!(reply.structured["detail"], "still running in the background: 5, 6");
    assert!(reply.text.contains("; still running in the background: 5, 6\n"), "{}", reply.text);
}

#[tokio::test]
async fn a_page_of_a_command_is_not_repeated() {
    let stage = Stage::new().await;
    let say = Say::Run(run(RunStatus::Success, exited(0)));
    let reply = stage.answer(say, "ssh_cmd_run", json!({"command": "x".repeat(5000)})).await;
    assert_eq!(reply.structured["command"], format!("{}…", "x".repeat(1024)));
}

#[tokio::test]
async fn sudo_is_refused_with_what_to_do_instead() {
    assert_eq!(
        Stage::new().await.refused("ssh_cmd_run", json!({"command": "id", "use_sudo": true})).await,
        "unsupported: use_sudo is not available yet: leave it out, and where the account may become root without a \
         password, put `sudo -n` before the command"
    );
}
