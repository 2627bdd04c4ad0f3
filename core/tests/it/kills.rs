//! Killing a command under a handle: what each signal, force and wait come to, and what callers see of it.

use futures_util::future::join;
use sessiond_conformance::faults::{Plan, Stopping};
use sessiond_core::{
    Call, Cause, CommandStatus, End, Exit, Handle, KillCommand, KillOutcome, KillResult, RunCommand, RunStatus,
    Service, Signal,
};
use tokio::time::{Instant, sleep};

use crate::faults::House;
use crate::rig::{Rig, kill, me, ms, said};

fn outcome(handle: Handle, result: KillResult) -> KillOutcome {
    let (signal, survivors) = (Signal::Term, Vec::new());
    KillOutcome { handle, pid: Some(1000), result, signal, force_used: false, survivors }
}

fn by(signal: &str, cause: Cause) -> Option<End> {
    Some(End { exit: Exit::Signaled(signal.into()), cause })
}

const KILLED: Cause = Cause::Stop { confirmed: true };

#[tokio::test(start_paused = true)]
async fn a_command_that_obeys_is_killed_without_force() {
    let rig = Rig::new();
    for force in [true, false] {
        let rig = Rig::new();
        let handle = rig.launch("sleep 60").await;
        let begun = Instant::now();
        let killed = rig.kill(KillCommand { force, ..kill(handle) }).await;
        assert_eq!((killed, begun.elapsed()), (outcome(handle, KillResult::Killed), ms(0)));
        let info = rig.check(handle, 0).await.unwrap();
        assert_eq!((info.status, info.end), (CommandStatus::Killed, by("TERM", KILLED)));
        assert_eq!(rig.kill(kill(handle)).await, outcome(handle, KillResult::NotRunning), "asking again is no error");
    }
    let handle = rig.launch("sleep 60").await;
    rig.kill(KillCommand { signal: Signal::Int, ..kill(handle) }).await;
    assert_eq!(rig.check(handle, 0).await.unwrap().end, by("INT", KILLED), "any signal will do that ends it");
}

#[tokio::test(start_paused = true)]
async fn a_command_that_ignores_the_signal_is_killed_by_force_after_the_wait() {
    let rig = Rig::new();
    let handle = rig.launch("trap '' TERM; sleep 60").await;
    sleep(ms(10)).await;
    let begun = Instant::now();
    let killed = rig.kill(KillCommand { wait: ms(700), ..kill(handle) }).await;
    assert_eq!(killed, KillOutcome { force_used: true, ..outcome(handle, KillResult::Killed) });
    assert_eq!(begun.elapsed(), ms(700));
    assert_eq!(rig.check(handle, 0).await.unwrap().end, by("KILL", KILLED));
}

#[tokio::test(start_paused = true)]
async fn without_force_a_command_that_lives_is_said_to_live() {
    let rig = Rig::new();
    let handle = rig.launch("trap '' TERM; sleep 5; exit 4").await;
    sleep(ms(10)).await;
    let begun = Instant::now();
    let failed = KillOutcome { survivors: vec![1000], ..outcome(handle, KillResult::FailedToKill) };
    assert_eq!(rig.kill(KillCommand { force: false, ..kill(handle) }).await, failed);
    assert_eq!(begun.elapsed(), ms(1000));
    let info = rig.check(handle, 20_000).await.unwrap();
    let end = Some(End { exit: Exit::Exited(4), cause: Cause::Own });
    assert_eq!((info.status, info.end), (CommandStatus::Completed, end), "what it outlived has not ended it");
}

#[tokio::test(start_paused = true)]
async fn a_command_that_ends_by_itself_meanwhile_is_killed_all_the_same() {
    let rig = Rig::new();
    let handle = rig.launch("trap '' TERM; sleep 0.5; exit 0").await;
    sleep(ms(10)).await;
    let killed = rig.kill(kill(handle)).await;
    assert_eq!(killed, outcome(handle, KillResult::Killed), "it had its grace, and took it");
    let end = Some(End { exit: Exit::Exited(0), cause: KILLED });
    assert_eq!(rig.check(handle, 0).await.unwrap().end, end);
}

#[tokio::test(start_paused = true)]
async fn what_a_command_leaves_behind_is_killed_with_it() {
    let rig = Rig::new();
    let left = vec![1_001_000];
    let handle = rig.launch("sleep 600 &; sleep 60").await;
    sleep(ms(10)).await;
    let begun = Instant::now();
    let failed = KillOutcome { survivors: left, ..outcome(handle, KillResult::FailedToKill) };
    assert_eq!(rig.kill(KillCommand { force: false, ..kill(handle) }).await, failed);
    assert_eq!(begun.elapsed(), ms(1000), "they had as long to go");
    let info = rig.check(handle, 0).await.unwrap();
    assert_eq!(info.end, by("TERM", Cause::Stop { confirmed: false }));

    let rig = Rig::new();
    let handle = rig.launch("sleep 600 &; sleep 60").await;
    sleep(ms(10)).await;
    assert_eq!(rig.kill(kill(handle)).await, outcome(handle, KillResult::Killed));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_nothing_kills_is_told_with_its_process() {
    let rig = Rig::new();
    let handle = rig.launch(":unkillable; sleep 600").await;
    sleep(ms(10)).await;
    let failed = KillOutcome { force_used: true, survivors: vec![1000], ..outcome(handle, KillResult::FailedToKill) };
    assert_eq!(rig.kill(kill(handle)).await, failed);
    assert_eq!(rig.check(handle, 0).await.unwrap().status, CommandStatus::Running);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_command_hears_of_its_kill() {
    let rig = Rig::new();
    let (run, ()) = join(rig.ran(Rig::run("echo x; sleep 60")), async {
        sleep(ms(500)).await;
        let handle = rig.history(Default::default()).await[0];
        rig.kill(kill(handle)).await;
    })
    .await;
    assert_eq!((run.status, run.error.as_deref()), (RunStatus::CommandFailed, Some("ended by signal TERM")));
    assert_eq!(run.command.unwrap().status, CommandStatus::Killed);
}

#[tokio::test(start_paused = true)]
async fn a_kill_without_force_hinders_no_time_limit() {
    let rig = Rig::new();
    let request = RunCommand { wait: Some(ms(0)), time_limit: Some(ms(500)), ..Rig::run("trap '' TERM; sleep 600") };
    let handle = rig.ran(request).await.command.unwrap().handle;
    sleep(ms(10)).await;
    let begun = Instant::now();
    let killed = rig.kill(KillCommand { force: false, wait: ms(20_000), ..kill(handle) }).await;
    assert_eq!(killed.result, KillResult::Killed);
    assert_eq!(begun.elapsed(), ms(2490), "the limit, and the grace of its stop");
    assert_eq!(rig.check(handle, 0).await.unwrap().end, by("KILL", KILLED), "the first reason stays");
}

#[tokio::test(start_paused = true)]
async fn a_kill_joins_the_stop_that_is_under_way() {
    let rig = Rig::new();
    let limit = ms(100);
    let request = RunCommand { wait: Some(ms(0)), time_limit: Some(limit), ..Rig::run("trap '' TERM; sleep 600") };
    let handle = rig.ran(request).await.command.unwrap().handle;
    sleep(ms(150)).await;
    let begun = Instant::now();
    let killed = rig.kill(KillCommand { force: false, ..kill(handle) }).await;
    assert_eq!((killed, begun.elapsed()), (outcome(handle, KillResult::Killed), ms(1950)), "its outcome, not another");
    assert_eq!(rig.check(handle, 0).await.unwrap().end, by("KILL", Cause::TimeLimit { limit, confirmed: true }));
}

#[tokio::test(start_paused = true)]
async fn a_lost_command_is_not_said_to_be_killed() {
    let lost = "unavailable: the connection that it ran on was lost, and nobody can say whether process 1000 still runs: \
                look for it with ssh_cmd_run, which connects again";
    for force in [true, false] {
        let rig = Rig::new();
        let handle = rig.launch("trap '' TERM; sleep 600").await;
        sleep(ms(10)).await;
        let cx = me();
        let request = || KillCommand { force, ..kill(handle) };
        let (killed, _) = join(rig.registry.kill_command(&cx, request()), async {
            sleep(ms(100)).await;
            rig.local.cut(&me().owner)
        })
        .await;
        assert_eq!(said(killed.unwrap_err()), lost);
        assert_eq!(said(rig.registry.kill_command(&cx, request()).await.unwrap_err()), lost, "nor afterwards");
        assert_eq!(rig.check(handle, 0).await.unwrap().status, CommandStatus::Lost);
    }
}

#[tokio::test(start_paused = true)]
async fn a_kill_goes_on_when_its_caller_has_gone() {
    let rig = Rig::new();
    let handle = rig.launch("trap '' TERM; sleep 60").await;
    sleep(ms(10)).await;
    let cx = me();
    let (gone, ()) = join(rig.registry.kill_command(&cx, kill(handle)), async {
        sleep(ms(100)).await;
        cx.cancel.cancel();
    })
    .await;
    assert_eq!(said(gone.unwrap_err()), "unavailable: the call was taken back: the kill goes on");
    let hurried = Call { deadline: Instant::now() + ms(100), ..me() };
    let late = rig.registry.kill_command(&hurried, KillCommand { wait: ms(20_000), ..kill(handle) }).await;
    assert!(said(late.unwrap_err()).starts_with("timed_out: the kill is still under way"));
    let begun = Instant::now();
    assert_eq!(rig.check(handle, 20_000).await.unwrap().end, by("KILL", KILLED));
    assert_eq!(begun.elapsed(), ms(800), "the first kill has had its way");
}

#[tokio::test(start_paused = true)]
async fn kills_at_once_agree() {
    let rig = Rig::new();
    let handle = rig.launch("trap '' TERM; sleep 60").await;
    sleep(ms(10)).await;
    let (polite, forced) = join(
        rig.kill(KillCommand { force: false, ..kill(handle) }),
        rig.kill(KillCommand { wait: ms(500), ..kill(handle) }),
    )
    .await;
    assert_eq!((polite.result, forced.result), (KillResult::Killed, KillResult::Killed));
    assert_eq!(rig.check(handle, 0).await.unwrap().end, by("KILL", KILLED));
}

#[tokio::test(start_paused = true)]
async fn a_kill_that_the_target_breaks_off_can_be_tried_again() {
    for (stopping, message) in [
        (Stopping::BreaksOnce, "internal: the stop has broken off: try again"),
        (Stopping::RefusedOnce, "unavailable: the target has refused the stop, as planned"),
        (Stopping::HangsOnce, "unavailable: the target has not answered the stop: try again"),
    ] {
        let house = House::planned(Plan { stopping, ..Plan::default() });
        let request = RunCommand { wait: Some(ms(0)), ..Rig::run("trap '' TERM; sleep 600") };
        let run = house.registry.run_command(&me(), request).await.unwrap();
        let handle = run.command.unwrap().handle;
        sleep(ms(10)).await;
        let error = house.registry.kill_command(&me(), kill(handle)).await.unwrap_err();
        assert_eq!(said(error), message, "{stopping:?}");
        let again = house.registry.kill_command(&me(), kill(handle)).await.unwrap();
        assert_eq!(again.result, KillResult::Killed, "{stopping:?}");
    }
}
