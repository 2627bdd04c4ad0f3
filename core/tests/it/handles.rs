//! Commands under a handle over a backend that misbehaves: whatever an adapter or its link does, the promises hold.

use bytes::Bytes;
use futures_util::future::{join, join_all};
use sessiond_conformance::faults::{Dice, LONGEST_DELAY, Plan, Stopping};
use sessiond_core::{
    Call, CheckCommand, CommandStatus, End, ErrorKind, Handle, KillCommand, KillResult, ListCommands, ReadCommand,
    RunCommand, RunStatus, Service, Signal, Stream,
};
use tokio::time::{Instant, sleep, timeout};

use crate::faults::{House, LIMITS, STOP, Script, bounded, for_each_seed};
use crate::rig::{Rig, me, ms};

/// The longest that a target may keep a caller who asks what is left behind.
const LOOK: u64 = 2000;

/// The longest that a kill takes beyond its wait: a stop that hangs, and an end that does not arrive.
const KILL: u64 = 45_000;

/// Does this and that to a command, and kills it until it has ended.
async fn act(house: &House, handle: Handle, mut dice: Dice) {
    for _ in 0..dice.below(5) {
        sleep(ms(dice.below(400))).await;
        let wait = ms(dice.below(700));
        match dice.below(4) {
            0 => drop(bounded(wait, house.registry.check_command(&me(), CheckCommand { handle, wait })).await),
            1 => {
                let request = ReadCommand { handle, stream: Stream::Stdout, lines: None, start_line: Some(1) };
                drop(bounded(ms(0), house.registry.read_command(&me(), request)).await);
            }
            2 => {
                let request = ListCommands { output_lines: Some(3), ..ListCommands::default() };
                let listed = bounded(ms(0), house.registry.list_commands(&me(), request)).await.unwrap();
                assert!(listed.iter().any(|listed| listed.info.handle == handle));
            }
            _ => {
                let signal = dice.pick(&[Signal::Term, Signal::Winch, Signal::Kill]).unwrap();
                let request = KillCommand { handle, signal, force: dice.below(2) == 0, wait };
                // Some do not wait for what comes of it.
                drop(timeout(ms(dice.below(2000)), house.registry.kill_command(&me(), request)).await);
            }
        }
    }
    for _ in 0..4 {
        let request = KillCommand { handle, signal: Signal::Term, force: true, wait: ms(300) };
        match bounded(ms(300 + KILL), house.registry.kill_command(&me(), request)).await {
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Internal), "{error}"),
            Ok(outcome) => {
                assert_eq!(outcome.survivors.is_empty(), outcome.result != KillResult::FailedToKill, "{outcome:?}");
            }
        }
    }
}

/// Looks at a command again and again; what has been seen of its end stays.
async fn watch(house: &House, handle: Handle) -> Option<End> {
    let mut seen: Option<(CommandStatus, End)> = None;
    for _ in 0..200 {
        let check = CheckCommand { handle, wait: ms(370) };
        let info = bounded(ms(370), house.registry.check_command(&me(), check)).await.unwrap().unwrap();
        assert_eq!(
            (info.end.is_none(), info.ended_at.is_none()),
            (info.status == CommandStatus::Running, info.end.is_none())
        );
        match (info.end, &seen) {
            (Some(end), None) => seen = Some((info.status, end)),
            (None, None) => {}
            (now, Some((status, end))) => {
                assert_eq!((info.status, now.as_ref()), (*status, Some(end)), "an end never changes");
                return now;
            }
        }
    }
    None
}

/// A caller of one command, from its start to its end.
async fn caller(house: &House, seed: u64) -> Option<Handle> {
    let mut dice = Dice::new(seed);
    let script = Script::drawn(&mut dice, "\n");
    sleep(ms(dice.below(300))).await;
    let request = RunCommand {
        wait: dice.pick(&[Some(ms(0)), Some(ms(700)), Some(ms(5000))]).unwrap(),
        silence: ms(dice.below(2000)),
        time_limit: dice.pick(&[None, None, Some(ms(800))]).unwrap(),
        ..Rig::run(&script.text)
    };
    let longest = LIMITS.launch + request.wait.unwrap() + ms(LOOK);
    let run = match bounded(longest, house.registry.run_command(&me(), request)).await {
        Ok(run) => run,
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::TimedOut), "{error}");
            return None;
        }
    };
    let mut rest = script.prints.iter();
    assert!(run.stdout.bytes.iter().all(|byte| rest.any(|printed| printed == byte)), "in order, if with losses");
    let info = run.command.unwrap();
    let running = matches!(run.status, RunStatus::IoTimeout | RunStatus::WaitTimeout { .. });
    assert!(!running || info.end.is_none(), "who has seen the end is told of it: {:?}", run.status);
    join(watch(house, info.handle), act(house, info.handle, Dice::new(seed + 7))).await;
    Some(info.handle)
}

#[test]
fn whatever_a_backend_does_to_a_command_it_is_found_and_comes_to_its_end() {
    for_each_seed(|seed| async move {
        let house = House::new(seed);
        let callers = join_all((0..5).map(|number| caller(&house, seed * 1000 + number * 100))).await;
        // Whatever could not be stopped ends by itself by now.
        sleep(ms(700_000)).await;
        for handle in callers.into_iter().flatten() {
            let check = CheckCommand { handle, wait: ms(0) };
            let info = house.registry.check_command(&me(), check).await.unwrap().unwrap();
            assert!(info.end.is_some(), "an end that waits for nobody's outcome: {info:?}");
        }
        assert_eq!(house.behind(), 0, "nothing is left");
    });
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_outlast_its_deadline_by_a_stop_that_hangs() {
    let house = House::planned(Plan { stopping: Stopping::HangsOnce, ..Plan::default() });
    let cx = Call { deadline: Instant::now() + ms(100), ..me() };
    let begun = Instant::now();
    let result = house.registry.execute_command(&cx, Rig::command("echo x; sleep 600")).await.unwrap();
    assert_eq!((begun.elapsed(), &result.stdout), (ms(100) + LIMITS.stop_grace + ms(1000), &Bytes::from("x\n")));
    assert_eq!(
        result.end.error().unwrap(),
        "it could not be stopped: the target did not say: it was stopped, but it is \
                                             not certain that everything it started is gone"
    );
    sleep(STOP + LONGEST_DELAY).await;
}
