//! The commands that are kept: listing, clearing, and which go when.

use sessiond_core::{
    Call, CommandStatus, Handle, Limits, ListCommands, Owner, Pattern, RecentOutput, RunCommand, Service,
};
use tokio::time::sleep;

use crate::rig::{Rig, kill, me, ms, said, target};

async fn three(rig: &Rig) -> [Handle; 3] {
    [rig.launch("seq 1 5; echo no >&2").await, rig.launch("sleep 600").await, rig.launch("printf last").await]
}

fn lines(lines: &[&'static str]) -> Vec<bytes::Bytes> {
    lines.iter().map(|line| bytes::Bytes::from_static(line.as_bytes())).collect()
}

#[tokio::test(start_paused = true)]
async fn commands_are_listed_in_the_order_of_starting() {
    let rig = Rig::new();
    assert_eq!(rig.history(ListCommands::default()).await, []);
    let [first, second, third] = three(&rig).await;
    assert!(first < second && second < third && third.0 < 1 << 53);
    sleep(ms(10)).await;
    let pattern = |text: &str| ListCommands { pattern: Some(Pattern::new(text).unwrap()), ..ListCommands::default() };
    let newest = |limit| ListCommands { limit: Some(limit), ..ListCommands::default() };
    for (request, expected) in [
        (ListCommands::default(), vec![first, second, third]),
        (ListCommands { reverse: true, ..ListCommands::default() }, vec![third, second, first]),
        (newest(1), vec![third]),
        (newest(2), vec![second, third]),
        (newest(3), vec![first, second, third]),
        (newest(4), vec![first, second, third]),
        (ListCommands { reverse: true, ..newest(2) }, vec![third, second]),
        (pattern("^s"), vec![first, second]),
        (pattern("600"), vec![second]),
        (ListCommands { limit: Some(1), ..pattern("^s") }, vec![second]),
        (ListCommands { target: Some(target("local")), ..ListCommands::default() }, vec![first, second, third]),
        (ListCommands { target: Some(target("other")), ..ListCommands::default() }, vec![]),
    ] {
        assert_eq!(rig.history(request.clone()).await, expected, "{request:?}");
    }
    let nowhere = ListCommands { target: Some(target("nowhere")), ..ListCommands::default() };
    assert!(said(rig.registry.list_commands(&me(), nowhere).await.unwrap_err()).starts_with("not_found: "));
}

#[tokio::test(start_paused = true)]
async fn recent_output_is_listed_when_asked_for() {
    let rig = Rig::new();
    three(&rig).await;
    sleep(ms(10)).await;
    let listed = |output_lines| {
        let request = ListCommands { output_lines, ..ListCommands::default() };
        let registry = rig.registry.clone();
        async move { registry.list_commands(&me(), request).await.unwrap() }
    };
    assert!(listed(None).await.iter().all(|summary| summary.output.is_none()));
    let outputs: Vec<_> = listed(Some(2)).await.into_iter().map(|summary| summary.output.unwrap()).collect();
    let expected = [(&["4", "5"][..], &["no"][..]), (&[], &[]), (&["last"], &[])];
    let expected = expected.map(|(stdout, stderr)| RecentOutput { stdout: lines(stdout), stderr: lines(stderr) });
    assert_eq!(outputs, expected);
    let none: Vec<_> = listed(Some(0)).await.into_iter().map(|summary| summary.output.unwrap()).collect();
    assert_eq!(none, [RecentOutput::default(), RecentOutput::default(), RecentOutput::default()]);
}

#[tokio::test(start_paused = true)]
async fn clearing_forgets_what_has_ended_and_leaves_what_runs() {
    let rig = Rig::new();
    assert_eq!(
        said(rig.registry.clear_commands(&me()).await.unwrap_err()),
        "failed_precondition: there is nothing to clear: no host is connected, and no command is kept; ssh_cmd_run \
         starts one"
    );
    let [first, second, third] = three(&rig).await;
    sleep(ms(10)).await;
    let theirs = Call::new(Owner::management("them"));
    rig.registry.run_command(&theirs, Rig::run("true")).await.unwrap();
    assert_eq!(rig.registry.clear_commands(&me()).await, Ok(2));
    assert_eq!(rig.registry.clear_commands(&me()).await, Ok(0));
    assert_eq!(rig.history(ListCommands::default()).await, [second]);
    assert_eq!((rig.check(first, 0).await, rig.check(third, 0).await), (None, None));
    assert_eq!(rig.registry.clear_commands(&theirs).await, Ok(1), "each owner clears its own");
    rig.kill(kill(second)).await;
    let newer = rig.launch("true").await;
    assert_eq!(rig.history(ListCommands::default()).await, [second, newer]);
}

#[tokio::test(start_paused = true)]
async fn a_running_command_is_never_evicted() {
    let rig = Rig::with(Limits { finished_per_owner: 5, ..Limits::default() });
    let running = rig.launch("echo here; sleep 600").await;
    let mut handles = Vec::new();
    for number in 0..100 {
        handles.push(rig.ran(Rig::run(&format!("echo {number}"))).await.command.unwrap().handle);
    }
    let listed = rig.history(ListCommands::default()).await;
    assert_eq!(listed[0], running);
    assert_eq!(listed[1..], handles[95..]);
    assert_eq!(rig.check(handles[94], 0).await, None, "the oldest finished ones go");
    assert_eq!(rig.check(running, 0).await.unwrap().status, CommandStatus::Running);
    assert_eq!(rig.lines(running, None, None).await.unwrap(), (1, "here".into()));
}

#[tokio::test(start_paused = true)]
async fn finished_commands_go_by_bytes_and_by_time_as_sessions_do() {
    let limits = Limits { finished_bytes_per_owner: 25, finished_ttl: ms(1000), ..Limits::default() };
    let rig = Rig::with(limits);
    let first = rig.launch("printf 0123456789").await;
    sleep(ms(10)).await;
    let session = rig.start("printf 0123456789").await;
    rig.to_end(session).await;
    let second = rig.launch("printf 0123456789").await;
    sleep(ms(10)).await;
    assert_eq!(rig.history(ListCommands::default()).await, [second], "30 bytes are too many, and the first one goes");
    assert!(rig.read(session, 0, Default::default()).await.is_ok());
    assert_eq!(rig.check(first, 0).await, None);
    sleep(ms(1000)).await;
    assert_eq!(rig.history(ListCommands::default()).await, []);
    assert!(rig.read(session, 0, Default::default()).await.is_err());
    assert_eq!(rig.check(second, 0).await, None);
    let request = RunCommand { wait: Some(ms(5000)), ..Rig::run("sleep 2") };
    assert!(rig.check(rig.ran(request).await.command.unwrap().handle, 0).await.is_some(), "time counts from the end");
}

#[tokio::test(start_paused = true)]
async fn long_texts_of_commands_take_room_too() {
    let rig = Rig::with(Limits { finished_bytes_per_owner: 250_000, ..Limits::default() });
    let long = format!("true {}", "x".repeat(100_000));
    let mut handles = Vec::new();
    for _ in 0..4 {
        handles.push(rig.launch(&long).await);
        sleep(ms(10)).await;
    }
    assert_eq!(
        rig.history(ListCommands::default()).await,
        handles[2..],
        "two of these are as much as there is room for"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handle_is_never_used_twice_not_even_by_another_life() {
    let handles = [Rig::new().launch("true").await, Rig::new().launch("true").await, Rig::new().launch("true").await];
    assert!(handles[0] != handles[1] && handles[1] != handles[2] && handles[0] != handles[2]);
    let rig = Rig::new();
    let before = rig.launch("true").await;
    sleep(ms(10)).await;
    rig.registry.clear_commands(&me()).await.unwrap();
    assert!(rig.launch("true").await > before, "clearing gives no number back");
}
