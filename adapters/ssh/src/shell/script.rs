//! Scripts that run beside a process, on a channel of their own: what is asked, and what the answer means.

use std::time::Duration;

use sessiond_core::{Machine, Mark, Result, Signal, Stopped};

use super::first::Leader;
use super::quote;

/// The exec request of every script, which follows over standard input.
const EXEC: &str = "exec sh";

const MEMBERS: &str = include_str!("members.sh");
const STOP: &str = include_str!("stop.sh");
const LIST: &str = include_str!("list.sh");
const SIGNAL: &str = include_str!("signal.sh");
const TERMINAL: &str = include_str!("terminal.sh");
const FACTS: &str = include_str!("facts.sh");

/// How long a stop tries force, after the grace, before it gives up: what has not died by then hangs in the kernel.
pub(crate) const FORCE: Duration = Duration::from_secs(3);

/// Graces beyond this are this.
const LONGEST_GRACE: Duration = Duration::from_secs(24 * 3600);

/// Clock ticks a second, as Linux tells times to programs.
const TICKS: u64 = 100;

/// The end of a process is heard of a little later than it comes. What starts in its session after that is another's;
/// its number comes round much later.
const LATE: u64 = 2 * TICKS;

/// A script, ready to be sent.
pub(crate) struct Script {
    /// What its output begins behind.
    mark: Mark,
    text: String,
}

impl Script {
    /// These variables, then these parts, without their comments.
    ///
    /// # Errors
    /// `internal` without randomness for the mark.
    fn new(variables: &[(&str, &str)], parts: &[&str]) -> Result<Self> {
        let mark = Mark::random()?;
        let mut text = format!("echo {mark}\n");
        for (name, value) in variables {
            text.push_str(&format!("{name}={}\n", quote::word(value)));
        }
        for line in parts.iter().flat_map(|part| part.lines()).map(str::trim_start) {
            if !line.is_empty() && !line.starts_with('#') {
                text.push_str(line);
                text.push('\n');
            }
        }
        Ok(Self { mark, text })
    }

    /// The command line of the exec request.
    pub(crate) fn exec(&self) -> &'static str {
        EXEC
    }

    /// What goes in over standard input.
    pub(crate) fn input(&self) -> &str {
        &self.text
    }

    /// The answer in what the host printed; nothing when no `sh` has run the script.
    pub(crate) fn answer<'o>(&self, output: &'o str) -> Option<&'o str> {
        let (_noise, answer) = output.split_once(&self.mark.to_string())?;
        Some(answer.trim())
    }
}

/// Whose processes are meant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reach {
    /// Those of one process.
    One(Mark),
    /// Those of all siblings of this mark.
    Family(Mark),
}

impl Reach {
    fn pattern(self) -> String {
        match self {
            Self::One(mark) => mark.to_string(),
            Self::Family(mark) => mark.family(),
        }
    }
}

/// A leader, and for how long it has lived when it is known to have ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) leader: Leader,
    pub(crate) lived: Option<Duration>,
}

impl Group {
    /// `pid:start:last`. See `members.sh`.
    fn shown(&self) -> String {
        let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        let last = self.leader.started.zip(self.lived).map(|(started, lived)| {
            let ticks = u64::try_from(lived.as_millis() / u128::from(1000 / TICKS)).unwrap_or(u64::MAX);
            started.saturating_add(ticks).saturating_add(LATE)
        });
        format!("{}:{}:{}", self.leader.pid, number(self.leader.started), number(last))
    }
}

fn leaders(groups: &[Group]) -> String {
    let all: Vec<String> = groups.iter().map(Group::shown).collect();
    all.join(" ")
}

/// A stop.
pub(crate) struct Ladder<'a> {
    pub(crate) reach: Reach,
    pub(crate) groups: &'a [Group],
    pub(crate) grace: Duration,
}

impl Ladder<'_> {
    /// The script that climbs it.
    ///
    /// # Errors
    /// As for every script: `internal` without randomness.
    pub(crate) fn script(&self) -> Result<Script> {
        let hundredths = |time: Duration| (time.as_millis() / 10).to_string();
        let (grace, force) = (hundredths(self.grace()), hundredths(FORCE));
        let variables = [("m", &*self.reach.pattern()), ("l", &*leaders(self.groups)), ("g", &*grace), ("f", &*force)];
        Script::new(&variables, &[MEMBERS, STOP])
    }

    /// How long it may take on the host.
    pub(crate) fn longest(&self) -> Duration {
        self.grace() + FORCE
    }

    fn grace(&self) -> Duration {
        self.grace.min(LONGEST_GRACE)
    }

    /// What its answer means; nothing when it broke off.
    pub(crate) fn read(answer: &str) -> Option<Stopped> {
        match answer.split_once(' ').map_or((answer, ""), |(word, rest)| (word, rest)) {
            ("confirmed", _) => Some(Stopped::Confirmed),
            ("hidden", _) => Some(Stopped::Unconfirmed { pids: Vec::new() }),
            ("left", left) => Some(Stopped::Unconfirmed { pids: pids(left) }),
            _ => None,
        }
    }
}

/// Lists the living processes of one.
pub(crate) mod members {
    use super::{Group, LIST, MEMBERS, Mark, Result, Script, leaders, pids};

    /// The script that looks.
    ///
    /// # Errors
    /// As for every script: `internal` without randomness.
    pub(crate) fn script(mark: Mark, group: Group) -> Result<Script> {
        Script::new(&[("m", &mark.to_string()), ("l", &leaders(&[group]))], &[MEMBERS, LIST])
    }

    /// Their process ids; nothing when it broke off.
    pub(crate) fn read(answer: &str) -> Option<Vec<u32>> {
        answer.strip_prefix("members").map(pids)
    }
}

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It was sent.
    Sent,
    /// The leader has ended.
    Gone,
    /// There is no such group.
    Nobody,
    /// It runs as another user.
    Denied,
}

/// Sends one signal.
pub(crate) mod signal {
    use super::{Delivery, Leader, Result, SIGNAL, Script, Signal};

    /// Whom a signal is for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Whom {
        /// The leader alone.
        Leader,
        /// The group that the leader began.
        Group,
        /// The group in the foreground of the leader's terminal.
        Terminal,
    }

    /// The script that sends it.
    ///
    /// # Errors
    /// As for every script: `internal` without randomness.
    pub(crate) fn script(leader: Leader, signal: Signal, whom: Whom) -> Result<Script> {
        let to = match whom {
            Whom::Leader => "leader",
            Whom::Group => "group",
            Whom::Terminal => "terminal",
        };
        let started = leader.started.map(|started| started.to_string()).unwrap_or_default();
        let variables = [("p", &*leader.pid.to_string()), ("b", &*started), ("s", signal.name()), ("to", to)];
        Script::new(&variables, &[SIGNAL])
    }

    /// What its answer means; nothing when it broke off.
    pub(crate) fn read(answer: &str) -> Option<Delivery> {
        match answer {
            "sent" => Some(Delivery::Sent),
            "gone" => Some(Delivery::Gone),
            "nobody" => Some(Delivery::Nobody),
            "denied" => Some(Delivery::Denied),
            _ => None,
        }
    }
}

/// Asks how a terminal treats its input.
pub(crate) mod modes {
    use sessiond_core::Discipline;

    use super::{Leader, Result, Script, TERMINAL};
    use crate::shell::discipline;

    /// The script that asks.
    ///
    /// # Errors
    /// As for every script: `internal` without randomness.
    pub(crate) fn script(leader: Leader) -> Result<Script> {
        let device = leader.terminal.map(|number| format!("/dev/pts/{number}")).unwrap_or_default();
        Script::new(&[("d", &device), ("p", &leader.pid.to_string())], &[TERMINAL])
    }

    /// How; nothing when there is no terminal any more, or no `stty`.
    pub(crate) fn read(answer: &str) -> Option<Discipline> {
        answer.strip_prefix("modes ").map(discipline::read)
    }
}

/// Asks what kind of machine a host is.
pub(crate) mod facts {
    use super::{FACTS, Machine, Result, Script};

    /// The script that asks.
    ///
    /// # Errors
    /// As for every script: `internal` without randomness.
    pub(crate) fn script() -> Result<Script> {
        Script::new(&[], &[FACTS])
    }

    /// What it is.
    pub(crate) fn read(answer: &str) -> Machine {
        let fact = |name: &str| {
            let value = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        Machine {
            os: fact("os").map(|name| name.to_lowercase()),
            arch: fact("arch"),
            hostname: fact("host"),
            shell: fact("shell"),
        }
    }
}

/// The numbers in `pid:start pid:start`.
fn pids(members: &str) -> Vec<u32> {
    let mut pids: Vec<u32> =
        members.split_ascii_whitespace().filter_map(|member| member.split(':').next()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

#[cfg(test)]
mod tests;
