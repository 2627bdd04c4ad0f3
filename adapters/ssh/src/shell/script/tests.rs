//! The scripts, run by real shells on real processes of this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use sessiond_core::Invocation;

use super::*;
use crate::shell::{First, FirstLine, Launch};

const SHELLS: &[&str] = &["dash", "bash"];

/// A command launched as on a host, in a session of its own.
struct Launched {
    mark: Mark,
    leader: Leader,
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Launched {
    fn new(command: &str) -> Self {
        let mark = Mark::random().unwrap();
        let launch = Launch::piped(&Invocation::new(command), mark).unwrap();
        let mut child = Command::new("setsid")
            .args(["bash", "-c", &launch.exec])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(launch.input.as_bytes()).unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let Some((First::Started(leader), _)) = FirstLine::new(mark).feed(line.as_bytes()) else { panic!("{line:?}") };
        Self { mark, leader, child, output }
    }

    /// Reads the next line that the command prints.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn group(&self) -> Group {
        Group { leader: self.leader, lived: None }
    }

    fn stop(&self, shell: &str, grace: u64) -> Option<Stopped> {
        let ladder =
            Ladder { reach: Reach::One(self.mark), groups: &[self.group()], grace: Duration::from_millis(grace) };
        Ladder::read(&run(shell, &ladder.script().unwrap(), |text| text))
    }

    fn members(&self, shell: &str) -> Vec<u32> {
        members::read(&run(shell, &members::script(self.mark, self.group()).unwrap(), |text| text)).unwrap()
    }

    /// Waits for the leader's end.
    fn ended(&mut self) {
        self.child.wait().unwrap();
    }
}

/// Runs a script as a host would, and returns its answer.
fn run(shell: &str, script: &Script, change: impl Fn(String) -> String) -> String {
    let mut child = Command::new(shell).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(change(script.input().to_owned()).as_bytes()).unwrap();
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    child.wait().unwrap();
    script.answer(&output).unwrap_or_else(|| panic!("no answer in {output:?}")).to_owned()
}

fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z")
}

#[test]
fn a_stop_leaves_nobody_whatever_the_command_has_started() {
    for shell in SHELLS {
        for command in [
            "echo up; sleep 1000",
            "echo up; sleep 1000 | cat | sleep 1000",
            "echo up; sleep 1000; sleep 1000",
            "sleep 1000 & sleep 1000 & echo up; wait",
            "setsid sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 & echo up; sleep 1000",
            "(setsid sh -c 'sleep 1000 & sleep 1000' &) ; echo up; sleep 1000",
            "trap '' TERM HUP; echo up; while :; do sleep 1; done",
            "env -i setsid sleep 1000 & echo up; sleep 1000",
            "set -m; sleep 1000 & sleep 1000 & echo up; wait",
        ] {
            let mut launched = Launched::new(command);
            assert_eq!(launched.line(), "up");
            let before = launched.members(shell);
            assert!(before.contains(&launched.leader.pid), "{shell}: {command}: {before:?}");
            assert_eq!(launched.stop(shell, 200), Some(Stopped::Confirmed), "{shell}: {command}");
            for pid in before {
                assert!(!lives(pid) || pid == launched.leader.pid, "{shell}: {command}: {pid}");
            }
            launched.ended();
            assert_eq!(launched.stop(shell, 200), Some(Stopped::Confirmed), "once more");
        }
    }
}

#[test]
fn who_outlives_the_leader_is_listed_and_stopped() {
    for shell in SHELLS {
        let mut launched = Launched::new("setsid sleep 1000 >/dev/null & env -i sleep 1000 >/dev/null & echo up");
        assert_eq!(launched.line(), "up");
        launched.ended();
        assert_eq!(launched.members(shell).len(), 2, "{shell}: one by its mark, one by its session");
        assert_eq!(launched.stop(shell, 1000), Some(Stopped::Confirmed));
        assert_eq!(launched.members(shell), Vec::<u32>::new());
    }
}

#[test]
fn a_session_whose_number_another_has_taken_proves_nothing() {
    for shell in SHELLS {
        let mut other = Command::new("setsid").args(["sleep", "1000"]).spawn().unwrap();
        // The number is that of a process that started at another time.
        let leader = Leader { pid: other.id(), started: Some(7), terminal: None };
        let mark = Mark::random().unwrap();
        let group = Group { leader, lived: Some(Duration::ZERO) };
        assert_eq!(members::read(&run(shell, &members::script(mark, group).unwrap(), |text| text)), Some(Vec::new()));
        let ladder = Ladder { reach: Reach::One(mark), groups: &[group], grace: Duration::ZERO };
        assert_eq!(Ladder::read(&run(shell, &ladder.script().unwrap(), |text| text)), Some(Stopped::Confirmed));
        assert!(lives(other.id()));
        other.kill().unwrap();
        other.wait().unwrap();
    }
}

#[test]
fn who_started_in_a_session_long_after_its_end_is_not_of_it() {
    let group = |lived: u64| Group {
        leader: Leader { pid: 42, started: Some(1000), terminal: None },
        lived: Some(Duration::from_millis(lived)),
    };
    assert_eq!(group(500).shown(), "42:1000:1250");
    assert_eq!(group(0).shown(), "42:1000:1200");
    let unknown = Leader { pid: 42, started: None, terminal: None };
    assert_eq!(Group { leader: unknown, lived: Some(Duration::ZERO) }.shown(), "42::");
}

#[test]
fn a_whole_family_is_stopped_at_once() {
    let mark = Mark::random().unwrap();
    let mut children: Vec<Child> = (0..3)
        .map(|_| {
            let own = mark.sibling().unwrap().to_string();
            Command::new("sleep").arg("1000").env("SESSIOND_SESSION", own).spawn().unwrap()
        })
        .collect();
    let ladder = Ladder { reach: Reach::Family(mark), groups: &[], grace: Duration::from_secs(1) };
    let answer = std::thread::scope(|scope| {
        for child in &mut children {
            scope.spawn(|| child.wait().unwrap());
        }
        run("sh", &ladder.script().unwrap(), |text| text)
    });
    assert_eq!(Ladder::read(&answer), Some(Stopped::Confirmed));
}

#[test]
fn a_host_without_proc_is_looked_at_with_ps() {
    let no_proc = |text: String| text.replace("/proc/", "/no-proc/");
    for shell in SHELLS {
        let mut launched = Launched::new("setsid sleep 1000 & sleep 1000 & echo up; wait");
        assert_eq!(launched.line(), "up");
        let script = members::script(launched.mark, launched.group()).unwrap();
        assert_eq!(members::read(&run(shell, &script, no_proc)).unwrap().len(), 3, "{shell}");
        let group = [Group { leader: Leader { started: None, ..launched.leader }, lived: None }];
        let ladder = Ladder { reach: Reach::One(launched.mark), groups: &group, grace: Duration::from_secs(2) };
        let answer = run(shell, &ladder.script().unwrap(), no_proc);
        assert_eq!(Ladder::read(&answer), Some(Stopped::Confirmed), "{shell}: {answer}");
        launched.ended();
    }
}

#[test]
fn a_grep_that_stops_at_a_nul_is_handed_lines() {
    let split = |text: String| text.replace("*) nul=split ;;\nesac", "*) nul=split ;;\nesac\nnul=split");
    let mut launched = Launched::new("(setsid sleep 1000 &); echo up; exec sleep 1000");
    assert_eq!(launched.line(), "up");
    let script = members::script(launched.mark, launched.group()).unwrap();
    assert!(split(script.input().to_owned()).contains("esac\nnul=split"));
    assert_eq!(members::read(&run("sh", &script, split)).unwrap().len(), 2);
    assert_eq!(launched.stop("sh", 1000), Some(Stopped::Confirmed));
}

#[test]
fn a_signal_reaches_whom_it_is_for() {
    let send = |launched: &Launched, shell: &str, which, whom| {
        signal::read(&run(shell, &signal::script(launched.leader, which, whom).unwrap(), |text| text)).unwrap()
    };
    for shell in SHELLS {
        let mut launched = Launched::new("trap 'echo got' USR1; echo up; while :; do sleep 0.05; done");
        assert_eq!(launched.line(), "up");
        assert_eq!(send(&launched, shell, Signal::Usr1, signal::Whom::Leader), Delivery::Sent);
        assert_eq!(launched.line(), "got");
        assert_eq!(send(&launched, shell, Signal::Term, signal::Whom::Terminal), Delivery::Nobody);
        assert_eq!(send(&launched, shell, Signal::Kill, signal::Whom::Group), Delivery::Sent);
        launched.ended();
        assert_eq!(send(&launched, shell, Signal::Term, signal::Whom::Leader), Delivery::Gone);
        let other = Leader { pid: std::process::id(), ..launched.leader };
        launched.leader = other;
        assert_eq!(send(&launched, shell, Signal::Term, signal::Whom::Leader), Delivery::Gone, "another's number");
    }
}

#[test]
fn a_machine_tells_what_it_is() {
    let machine = facts::read(&run("sh", &facts::script().unwrap(), |text| text));
    assert_eq!((machine.os.as_deref(), machine.arch.as_deref()), (Some("linux"), Some(std::env::consts::ARCH)));
    assert!(machine.hostname.is_some_and(|name| !name.is_empty()));
}

#[test]
fn what_is_no_answer_is_none() {
    assert_eq!(Ladder::read(""), None);
    assert_eq!(members::read("confirmed"), None);
    assert_eq!(signal::read("sent?"), None);
    assert_eq!(modes::read("gone"), None);
    assert_eq!(Ladder::read("left 12:5 3:"), Some(Stopped::Unconfirmed { pids: vec![3, 12] }));
    assert_eq!(Ladder::read("hidden"), Some(Stopped::Unconfirmed { pids: Vec::new() }));
    assert_eq!(Script::new(&[], &[]).unwrap().answer("This account is not available."), None);
}
