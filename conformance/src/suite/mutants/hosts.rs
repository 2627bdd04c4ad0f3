//! Faults of commands on hosts: how their output is read, how they are waited for, killed and listed.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use sessiond_core::{
    Call, CheckCommand, CommandLines, CommandRun, CommandStatus, Error, ErrorKind, Owner, ReadCommand, Result,
    RunCommand, RunStatus, Service, Stream, TargetInfo,
};
use tokio::sync::Mutex as Turnstile;

use super::messages::{says, set_input};
use super::verbs::{hooked, set};
use crate::suite::house::BackendKind;
use crate::suite::mutant::{Fault, Mutant};
use crate::suite::stage::{OWNER, named, target};
use crate::suite::verbs::{Broken, Faulty, Hooks};

/// A change of all lines that are read.
macro_rules! lines {
    ($change:expr) => {
        Hooks {
            lines_out: |read| {
                if let Ok(read) = read {
                    let change: fn(&mut CommandLines) = $change;
                    change(read);
                }
            },
            ..Hooks::NONE
        }
    };
}

/// A change of what a command came to.
macro_rules! runs {
    ($change:expr) => {
        Hooks {
            run_out: |answer| {
                if let Ok(answer) = answer {
                    let change: fn(&mut CommandRun) = $change;
                    change(answer);
                }
            },
            ..Hooks::NONE
        }
    };
}

pub(super) const MUTANTS: &[Mutant] = &[
    says("CO01", "the number of lines has a least value in the schema", |message| {
        set_input(message, "ssh_cmd_output", "/lines", json!({ "type": "integer", "minimum": 1, "description": "x" }));
    }),
    hooked("CO02", "an empty line is none", lines!(|read| read.lines.retain(|line| !line.is_empty()))),
    hooked(
        "CO10",
        "it is the newest 49 unless told otherwise",
        Hooks { lines_in: |request| request.lines = Some(request.lines.unwrap_or(49)), ..Hooks::NONE },
    ),
    hooked(
        "CO11",
        "lines are numbered from 0",
        Hooks { lines_in: |request| request.start_line = request.start_line.map(|line| line + 1), ..Hooks::NONE },
    ),
    hooked(
        "CO12",
        "past the end is an error",
        Hooks {
            lines_out: |read| {
                if read.as_ref().is_ok_and(|read| read.lines.is_empty()) {
                    *read = Err(Error::invalid_argument("start_line is past the end"));
                }
            },
            ..Hooks::NONE
        },
    ),
    set("CO20", "half as much is kept", |settings| settings.limits.handle_output = 1 << 20),
    hooked(
        "CO21",
        "a line that fills the memory is gone",
        lines!(|read| read.lines.retain(|line| line.len() < 1 << 21)),
    ),
    hooked(
        "CO30",
        "stderr reads as stdout",
        Hooks { lines_in: |request| request.stream = Stream::Stdout, ..Hooks::NONE },
    ),
    Mutant {
        id: "CO31",
        title: "there is nothing to read before the end",
        backend: BackendKind::Fake,
        fault: Fault::Service(|right| Arc::new(Broken(Late(right)))),
    },
    hooked(
        "CO32",
        "an unknown handle has no output",
        Hooks {
            lines_out: |read| {
                if read.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                    *read = Ok(CommandLines::default());
                }
            },
            ..Hooks::NONE
        },
    ),
    Mutant {
        id: "CO32",
        title: "whoever has a handle may read",
        backend: BackendKind::Fake,
        fault: Fault::Service(|right| Arc::new(Broken(Open(right)))),
    },
    hooked("CO33", "what is missing is not told", runs!(|answer| answer.stdout.truncated = false)),
    hooked(
        "CO34",
        "what was dropped is not told",
        Hooks {
            check_out: |answer| {
                if let Ok(Some(info)) = answer {
                    info.stdout.dropped = 0;
                }
            },
            ..Hooks::NONE
        },
    ),
    hooked(
        "CF01",
        "silence is passed over",
        Hooks { run_in: |request| request.silence = Duration::from_secs(1000), ..Hooks::NONE },
    ),
    hooked(
        "CF01",
        "no time limit stops anything",
        Hooks { run_in: |request| request.time_limit = None, ..Hooks::NONE },
    ),
    hooked(
        "CF01",
        "a directory that is not there is left for another",
        Hooks {
            run_in: |request| {
                request.invocation.cwd.take_if(|cwd| cwd.starts_with("/missing"));
            },
            ..Hooks::NONE
        },
    ),
    hooked(
        "CF01",
        "a lost connection is a command that failed",
        runs!(|answer| {
            if answer.status == RunStatus::Error {
                answer.status = RunStatus::CommandFailed;
            }
        }),
    ),
    hooked(
        "CF02",
        "a look waits for nothing",
        Hooks { check_in: |request| request.wait = Duration::ZERO, ..Hooks::NONE },
    ),
    hooked("CF03", "a kill never forces", Hooks { kill_in: |request| request.force = false, ..Hooks::NONE }),
    hooked(
        "CF04",
        "what runs is not listed",
        Hooks {
            history_out: |answer| {
                if let Ok(all) = answer {
                    all.retain(|listed| listed.info.status != CommandStatus::Running);
                }
            },
            ..Hooks::NONE
        },
    ),
    Mutant {
        id: "CF06",
        title: "one command at a time",
        backend: BackendKind::Fake,
        fault: Fault::Service(|right| Arc::new(Broken(OneAtATime { right, turn: Turnstile::default() }))),
    },
    hooked(
        "CF08",
        "who names no host gets the first one",
        Hooks { run_in: |request| request.target = request.target.take().or_else(|| Some(target())), ..Hooks::NONE },
    ),
    hooked(
        "CF09",
        "this machine is a host",
        Hooks {
            hosts_out: |answer| {
                if let Ok(list) = answer {
                    list.hosts.push(TargetInfo::new(named("second"), "pty"));
                }
            },
            ..Hooks::NONE
        },
    ),
];

struct Late(Arc<dyn Service>);

#[async_trait]
impl Faulty for Late {
    fn right(&self) -> &dyn Service {
        &*self.0
    }

    async fn read_command(&self, cx: &Call, request: ReadCommand) -> Result<CommandLines> {
        let look = CheckCommand { handle: request.handle, wait: Duration::ZERO };
        match self.0.check_command(cx, look).await? {
            Some(info) if info.status == CommandStatus::Running => Ok(CommandLines::default()),
            _ => self.0.read_command(cx, request).await,
        }
    }
}

/// Takes everybody for the one who has started everything.
struct Open(Arc<dyn Service>);

#[async_trait]
impl Faulty for Open {
    fn right(&self) -> &dyn Service {
        &*self.0
    }

    async fn read_command(&self, _cx: &Call, request: ReadCommand) -> Result<CommandLines> {
        self.0.read_command(&Call::new(Owner::management(OWNER)), request).await
    }
}

struct OneAtATime {
    right: Arc<dyn Service>,
    turn: Turnstile<()>,
}

#[async_trait]
impl Faulty for OneAtATime {
    fn right(&self) -> &dyn Service {
        &*self.right
    }

    async fn run_command(&self, cx: &Call, request: RunCommand) -> Result<CommandRun> {
        let _turn = self.turn.lock().await;
        self.right.run_command(cx, request).await
    }
}
