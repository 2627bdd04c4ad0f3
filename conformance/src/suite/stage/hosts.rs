//! Short words for what scenarios do with hosts and with commands under a handle.

use std::time::{Duration, Instant};

use sessiond_core::{
    CheckCommand, CommandInfo, CommandLines, CommandRun, CommandSummary, ConnectHost, DEFAULT_SILENCE, DisconnectHost,
    Handle, HostConnected, HostDisconnected, Invocation, KillCommand, KillOutcome, ListCommands, ReadCommand, Result,
    RunCommand, Signal, Stream, TargetName, decode,
};

use super::{LONG, Stage, said, target};

/// How long scenarios wait for what must come.
const LONGEST: Duration = Duration::from_millis(LONG);

/// The lines as text.
pub fn texts(read: &CommandLines) -> Vec<String> {
    read.lines.iter().map(|line| decode(line)).collect()
}

/// The handle of a command that has been started.
pub fn handle(run: &CommandRun) -> Handle {
    run.command.as_ref().unwrap_or_else(|| panic!("it has started: {run:?}")).handle
}

/// A request to run a command on the host of the stage, to be changed where it differs from the defaults.
pub fn run(command: &str) -> RunCommand {
    RunCommand {
        target: Some(target()),
        invocation: Invocation::new(command),
        stdin: bytes::Bytes::new(),
        silence: DEFAULT_SILENCE,
        wait: Some(LONGEST),
        time_limit: None,
    }
}

/// A request for lines of stdout, the newest ones unless that is changed.
pub fn newest(handle: Handle) -> ReadCommand {
    ReadCommand { handle, stream: Stream::Stdout, lines: None, start_line: None }
}

/// A request to kill a command as the tools do unless told otherwise.
pub fn kill(handle: Handle) -> KillCommand {
    KillCommand { handle, signal: Signal::Term, force: true, wait: Duration::from_secs(1) }
}

impl Stage {
    /// Runs a command on a host.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn try_run(&self, request: RunCommand) -> Result<CommandRun> {
        self.service.run_command(&self.call(), request).await
    }

    /// Runs a command on the host to its end.
    pub async fn run(&self, command: &str) -> CommandRun {
        self.try_run(run(command)).await.unwrap_or_else(|error| panic!("{}", said(error)))
    }

    /// Starts a command on the host and leaves it running.
    pub async fn launch(&self, command: &str) -> Handle {
        let request = RunCommand { wait: Some(Duration::from_millis(1)), ..run(command) };
        handle(&self.try_run(request).await.unwrap_or_else(|error| panic!("{}", said(error))))
    }

    /// Starts a command on the host and waits until this is its newest line.
    pub async fn launch_until(&self, command: &str, shows: &str) -> Handle {
        let handle = self.launch(command).await;
        let began = Instant::now();
        while self.lines(newest(handle)).await.last().is_none_or(|line| line != shows) {
            assert!(began.elapsed() < LONGEST, "{command} shows {shows:?}");
            // No call waits for output of a command that runs on.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        handle
    }

    /// Reads lines as text.
    pub async fn lines(&self, request: ReadCommand) -> Vec<String> {
        texts(&self.try_lines(request).await.unwrap_or_else(|error| panic!("{}", said(error))))
    }

    /// Reads lines.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn try_lines(&self, request: ReadCommand) -> Result<CommandLines> {
        self.service.read_command(&self.call(), request).await
    }

    /// How a command stands after so many milliseconds at most.
    pub async fn check(&self, handle: Handle, wait: u64) -> Option<CommandInfo> {
        let request = CheckCommand { handle, wait: Duration::from_millis(wait) };
        self.service.check_command(&self.call(), request).await.unwrap_or_else(|error| panic!("{}", said(error)))
    }

    /// How a command stands once it has ended.
    pub async fn ended(&self, handle: Handle) -> CommandInfo {
        let info = self.check(handle, LONG).await.unwrap_or_else(|| panic!("{handle} is known"));
        assert!(info.ended_at.is_some() || info.end.is_some(), "it ends: {info:?}");
        info
    }

    /// Kills a command.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn kill(&self, request: KillCommand) -> Result<KillOutcome> {
        self.service.kill_command(&self.call(), request).await
    }

    /// Lists commands.
    pub async fn history(&self, request: ListCommands) -> Vec<CommandSummary> {
        self.service.list_commands(&self.call(), request).await.unwrap_or_else(|error| panic!("{}", said(error)))
    }

    /// Connects to a host.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn connect(&self, target: TargetName) -> Result<HostConnected> {
        self.service.connect_host(&self.call(), ConnectHost { target: Some(target) }).await
    }

    /// Lets go of a host; of the one that is connected when none is named.
    ///
    /// # Errors
    /// What the server answers.
    pub async fn disconnect(&self, target: Option<TargetName>) -> Result<HostDisconnected> {
        self.service.disconnect_host(&self.call(), DisconnectHost { target }).await
    }
}
