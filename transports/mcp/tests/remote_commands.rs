//! Commands on hosts after their start: what is asked of the service, and how its answers read.

use std::time::Duration;

use serde_json::{Value, json};
use sessiond_core::{
    CheckCommand, CommandInfo, CommandLines, CommandSummary, Handle, KillCommand, KillOutcome, KillResult, LineFacts,
    ListCommands, Pattern, ReadCommand, RecentOutput, Signal, Stream,
};

use crate::script::{Asked, ENDED, STARTED, Say, Stage, exited, lost, object, running, seconds};
use crate::support::{Reply, target};

mod check {
    use super::*;

    #[tokio::test]
    async fn a_check_waits_five_seconds_unless_told_otherwise() {
        let stage = Stage::new().await;
        for (arguments, wait) in [
            (json!({"handle_id": 77}), seconds(5)),
            (json!({"handle_id": 77, "wait_seconds": 0}), Duration::ZERO),
            (json!({"handle_id": 77.0, "wait_seconds": 0.25}), Duration::from_millis(250)),
            (json!({"handle_id": 77, "wait_seconds": 50}), seconds(50)),
        ] {
            let expected = Asked::Check(CheckCommand { handle: Handle(77), wait });
            assert_eq!(stage.asked("ssh_cmd_check_status", arguments).await, expected);
        }
    }

    async fn checked(say: Option<CommandInfo>) -> (Value, String) {
        let stage = Stage::new().await;
        let mut reply = stage.answer(Say::Check(say), "ssh_cmd_check_status", json!({"handle_id": 77})).await;
        assert!(!reply.is_error, "{reply:?}");
        let fields = reply.structured.as_object_mut().unwrap();
        assert!(fields.remove("timestamp").unwrap().as_str().unwrap() > "2026");
        assert!(fields.remove("waited_seconds").unwrap().as_f64().unwrap() < 60.0);
        (reply.structured, reply.text)
    }

    #[tokio::test]
    async fn a_running_command_has_no_exit_code_yet() {
        let (structured, text) = checked(Some(running())).await;
        let step = "it still runs: ssh_cmd_check_status with handle_id 77 waits for its end, ssh_cmd_output reads what it \
                    has printed, ssh_cmd_kill ends it";
        let expected = json!({
            "handle_id": 77, "status": "running", "pid": 4711, "output_available": true, "output_lines": 2,
            "stderr_lines": 1, "output_dropped": 0, "stderr_dropped": 0, "next_step": step,
        });
        assert_eq!(structured, expected);
        assert_eq!(text, format!("running; 2 lines on stdout, 1 on stderr; {step}"));
    }

    #[tokio::test]
    async fn an_ended_command_says_how() {
        let quiet =
            CommandInfo { stdout: LineFacts::default(), stderr: LineFacts { total: 9, dropped: 9 }, ..exited(3) };
        let (structured, text) = checked(Some(quiet)).await;
        let expected = json!({
            "handle_id": 77, "status": "completed", "exit_code": 3, "pid": 4711, "output_available": false,
            "output_lines": 0, "stderr_lines": 9, "output_dropped": 0, "stderr_dropped": 9,
        });
        assert_eq!(structured, expected);
        assert_eq!(text, "completed: exit code 3; 0 lines on stdout, 9 on stderr");
        assert_eq!(checked(Some(lost())).await.0["error"], "lost: the connection broke");
    }

    #[tokio::test]
    async fn an_unknown_handle_is_not_found_and_never_a_pid() {
        let (structured, text) = checked(None).await;
        let step = "there is no command with handle_id 77 for you: it never was, its host has been connected again since, \
                    the server has restarted, or it is too long ago; ssh_cmd_history lists those there are";
        let expected = json!({
            "handle_id": 77, "status": "not_found", "output_available": false, "output_lines": 0, "stderr_lines": 0,
            "output_dropped": 0, "stderr_dropped": 0, "next_step": step,
        });
        assert_eq!((structured, text), (expected, format!("not_found: {step}")));
    }
}

mod output {
    use super::*;

    #[tokio::test]
    async fn which_lines_are_read_is_the_callers_to_say() {
        let stage = Stage::new().await;
        let read =
            |stream, lines, start_line| Asked::Lines(ReadCommand { handle: Handle(77), stream, lines, start_line });
        for (arguments, expected) in [
            (json!({}), read(Stream::Stdout, None, None)),
            (json!({"lines": null, "start_line": null}), read(Stream::Stdout, None, None)),
            (json!({"lines": 3, "stream": "stdout"}), read(Stream::Stdout, Some(3), None)),
            (json!({"start_line": 7, "stream": "stderr"}), read(Stream::Stderr, None, Some(7))),
            (json!({"lines": 2.0, "start_line": 7}), read(Stream::Stdout, Some(2), Some(7))),
            (json!({"lines": 1e300}), read(Stream::Stdout, Some(u64::MAX), None)),
        ] {
            let mut all = json!({"handle_id": 77});
            all.as_object_mut().unwrap().extend(object(arguments));
            assert_eq!(stage.asked("ssh_cmd_output", all).await, expected);
        }
    }

    #[tokio::test]
    async fn what_can_be_no_handle_is_the_handle_of_nothing() {
        let stage = Stage::new().await;
        for handle in [json!(0), json!(-5), json!(-1e300)] {
            let asked = stage.asked("ssh_cmd_output", json!({"handle_id": handle})).await;
            let nothing = ReadCommand { handle: Handle(0), stream: Stream::Stdout, lines: None, start_line: None };
            assert_eq!(asked, Asked::Lines(nothing));
        }
    }

    #[tokio::test]
    async fn the_result_is_a_plain_list_of_lines() {
        let stage = Stage::new().await;
        let say = CommandLines { first: 7, lines: vec!["seven".into(), "".into(), b"\xe2\x82!".as_slice().into()] };
        let reply = stage.answer(Say::Lines(say), "ssh_cmd_output", json!({"handle_id": 77})).await;
        let expected = json!({"result": ["seven", "", "\u{fffd}\u{fffd}!"]});
        assert_eq!((reply.is_error, reply.structured), (false, expected));
        assert_eq!(reply.text, "3 lines from line 7 on\nseven\n\n\u{fffd}\u{fffd}!");
        let reply = stage.answer(Say::Lines(CommandLines::default()), "ssh_cmd_output", json!({"handle_id": 77})).await;
        assert_eq!((reply.structured, reply.text.as_str()), (json!({"result": []}), "no lines there"));
    }
}

mod kill {
    use super::*;

    #[tokio::test]
    async fn a_kill_asks_with_term_and_then_insists() {
        let stage = Stage::new().await;
        let kill = |signal, force, wait| Asked::Kill(KillCommand { handle: Handle(77), signal, force, wait });
        for (arguments, expected) in [
            (json!({}), kill(Signal::Term, true, seconds(1))),
            (
                json!({"signal": 9, "force": false, "wait_seconds": 0.5}),
                kill(Signal::Kill, false, Duration::from_millis(500)),
            ),
            (json!({"signal": "int"}), kill(Signal::Int, true, seconds(1))),
            (json!({"signal": "SIGUSR1", "force": null}), kill(Signal::Usr1, true, seconds(1))),
            (json!({"signal": "2"}), kill(Signal::Int, true, seconds(1))),
        ] {
            let mut all = json!({"handle_id": 77});
            all.as_object_mut().unwrap().extend(object(arguments));
            assert_eq!(stage.asked("ssh_cmd_kill", all).await, expected);
        }
    }

    async fn killed(result: KillResult, force_used: bool, survivors: &[u32]) -> Reply {
        let outcome = KillOutcome {
            handle: Handle(77),
            pid: Some(4711),
            result,
            signal: Signal::Term,
            force_used,
            survivors: survivors.to_vec(),
        };
        let stage = Stage::new().await;
        let mut reply = stage.answer(Say::Kill(outcome), "ssh_cmd_kill", json!({"handle_id": 77})).await;
        reply.structured.as_object_mut().unwrap().remove("timestamp").expect("the answer has its time");
        reply
    }

    #[tokio::test]
    async fn what_came_of_it_is_told_and_a_failure_is_marked() {
        let fields = |result: &str, force_used: bool| {
            json!({
                "handle_id": 77, "pid": 4711, "result": result, "signal": "TERM", "force_kill_used": force_used,
            })
        };
        let reply = killed(KillResult::Killed, true, &[]).await;
        assert_eq!((reply.is_error, reply.structured), (false, fields("killed", true)));
        assert_eq!(reply.text, "killed, KILL was needed");
        let reply = killed(KillResult::NotRunning, false, &[]).await;
        assert_eq!((reply.is_error, reply.structured), (false, fields("not_running", false)));
        let reply = killed(KillResult::FailedToKill, false, &[8, 9]).await;
        let mut expected = fields("failed_to_kill", false);
        expected["survivors"] = json!([8, 9]);
        assert_eq!((reply.is_error, reply.structured), (true, expected));
        assert_eq!(reply.text, "failed_to_kill; still alive: 8, 9; with force true what ignores the signal is killed");
    }
}

mod history {
    use super::*;

    #[tokio::test]
    async fn a_list_is_narrowed_as_asked() {
        let stage = Stage::new().await;
        assert_eq!(stage.asked("ssh_cmd_history", json!({})).await, Asked::History(ListCommands::default()));
        let arguments = json!({
            "limit": 5, "include_output": true, "output_lines": 0, "reverse": true, "pattern": "^make",
            "host_name": "box",
        });
        let expected = ListCommands {
            target: Some(target("box")),
            limit: Some(5),
            reverse: true,
            pattern: Some(Pattern::new("^make").unwrap()),
            output_lines: Some(0),
        };
        assert_eq!(stage.asked("ssh_cmd_history", arguments).await, Asked::History(expected));
        for (arguments, output_lines) in [
            (json!({"include_output": true}), Some(3)),
            (json!({"output_lines": 2}), Some(2)),
            (json!({"include_output": false, "output_lines": 2}), None),
        ] {
            let expected = Asked::History(ListCommands { output_lines, ..ListCommands::default() });
            assert_eq!(stage.asked("ssh_cmd_history", arguments).await, expected);
        }
    }

    #[tokio::test]
    async fn commands_are_listed_with_their_handles_and_newest_lines() {
        let stage = Stage::new().await;
        let output = RecentOutput { stdout: vec!["one".into(), "two".into()], stderr: vec!["err".into()] };
        let commands = vec![
            CommandSummary { info: exited(1), output: Some(output) },
            CommandSummary { info: CommandInfo { handle: Handle(78), ..running() }, output: None },
        ];
        let reply = stage.answer(Say::History(commands), "ssh_cmd_history", json!({})).await;
        let common = json!({
            "host_name": "box", "command": "make", "start_time": STARTED, "pid": 4711, "output_lines": 2,
            "stderr_lines": 1, "output_dropped": 0, "stderr_dropped": 0,
        });
        let with = |more: Value| {
            let mut all = common.clone();
            all.as_object_mut().unwrap().extend(object(more));
            all
        };
        let expected = json!({"result": [
            with(json!({
                "id": 77, "handle_id": 77, "status": "completed", "exit_code": 1, "end_time": ENDED,
                "output": ["one", "two"], "stderr": ["err"],
            })),
            with(json!({"id": 78, "handle_id": 78, "status": "running"})),
        ]});
        assert_eq!((reply.is_error, reply.structured), (false, expected));
        assert_eq!(reply.text, "2 commands\n77 on box completed, exit code 1: make\n78 on box running: make");
    }

    #[tokio::test]
    async fn clearing_says_how_many_were_forgotten() {
        let stage = Stage::new().await;
        assert_eq!(stage.asked("ssh_cmd_clear_history", json!({})).await, Asked::Clear);
        let reply = stage.answer(Say::Clear(2), "ssh_cmd_clear_history", json!({})).await;
        let message = "forgot 2 commands that had ended; running ones stay";
        let expected = json!({"status": "cleared", "message": message, "cleared_entries": 2});
        assert_eq!((reply.is_error, reply.structured, reply.text.as_str()), (false, expected, message));
    }
}

/// Calls that are refused for their arguments alone.
fn refused() -> Vec<(&'static str, Value)> {
    let about = |tool, more: Value| {
        let mut all = json!({"handle_id": 77});
        all.as_object_mut().unwrap().extend(object(more));
        (tool, all)
    };
    let (check, output, kill) = ("ssh_cmd_check_status", "ssh_cmd_output", "ssh_cmd_kill");
    vec![
        ("ssh_host_list", json!({"host_name": "box"})),
        ("ssh_conn_connect", json!({"host": "box"})),
        ("ssh_conn_status", json!({"host_name": 5})),
        ("ssh_cmd_run", json!({})),
        ("ssh_cmd_run", json!({"command": "make", "timeout": 5})),
        ("ssh_cmd_run", json!({"command": "make", "io_timeout": 0})),
        ("ssh_cmd_run", json!({"command": "make", "io_timeout": "60"})),
        ("ssh_cmd_run", json!({"command": "make", "wait_timeout": -1})),
        ("ssh_cmd_run", json!({"command": "make", "runtime_timeout": 86_401})),
        ("ssh_cmd_run", json!({"command": "make", "use_sudo": "yes"})),
        ("ssh_cmd_run", json!({"command": "make", "env": {"A": 1}})),
        (output, json!({})),
        (output, json!({"handle_id": null})),
        (output, json!({"handle_id": "77"})),
        (output, json!({"handle_id": 77.5})),
        about(output, json!({"lines": 0})),
        about(output, json!({"lines": -1})),
        about(output, json!({"lines": 1.5})),
        about(output, json!({"lines": "5"})),
        about(output, json!({"start_line": 0})),
        about(output, json!({"start_line": -1})),
        about(output, json!({"stream": "both"})),
        about(check, json!({"wait_seconds": 50.5})),
        about(check, json!({"wait_seconds": -0.1})),
        about(kill, json!({"signal": 0})),
        about(kill, json!({"signal": 64})),
        about(kill, json!({"signal": "NOPE"})),
        about(kill, json!({"signal": 1.5})),
        about(kill, json!({"signal": true})),
        about(kill, json!({"force": "no"})),
        ("ssh_cmd_history", json!({"limit": 0})),
        ("ssh_cmd_history", json!({"output_lines": 1001})),
        ("ssh_cmd_history", json!({"pattern": "("})),
        ("ssh_cmd_clear_history", json!({"all": true})),
    ]
}

#[tokio::test]
async fn the_catalogue_of_refusals() {
    let stage = Stage::new().await;
    let mut catalogue = String::new();
    for (tool, arguments) in refused() {
        let shown = arguments.to_string();
        catalogue.push_str(&format!("{tool} {shown}\n  {}\n", stage.refused(tool, arguments).await));
    }
    insta::assert_snapshot!("refusals", catalogue);
}
