//! What the tests of sessions and commands need: a host with a server of its own, its backend, and waits for what must
//! come.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sessiond_core::{
    Backend, Call, Command, CommandSpec, Connections, Cursor, End, Error, Exit, Fired, Invocation, LogKind, OutputLog,
    OutputSink, Owner, Pattern, Retention, Session, SessionSpec, Stopped, Stream, TargetName, Targets, TaskKind, Tasks,
    Until, Wait, WindowSize, Written, decode,
};
use sessiond_ssh::{ClientConfig, Config, HostConfig, Hosts};
use sessiond_ssh_peer::{Account, Dropbear, Key, Keys, Server, Sshd, SshdBuilder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// Relays bytes.
const RELAY: TaskKind = TaskKind("test relay");

/// How long a test waits for what must come.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// The grace of a stop.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// The account that tests log in to unless they say otherwise.
pub(crate) const ALICE: &str = "alice";

/// A server, and this side of it. Both go with the test.
pub(crate) struct Place<S = Sshd> {
    pub(crate) server: S,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) config: Config,
    _keys: Keys,
}

impl Place {
    /// OpenSSH with an ordinary account.
    pub(crate) async fn new() -> Self {
        Self::with(|builder| builder, |account| account).await
    }

    /// OpenSSH as root.
    pub(crate) async fn root() -> Self {
        Self::of(Account::root(), |builder| builder).await
    }

    /// With another server or another account.
    pub(crate) async fn with(
        server: impl FnOnce(SshdBuilder<'_>) -> SshdBuilder<'_>,
        account: impl FnOnce(Account) -> Account,
    ) -> Self {
        Self::of(account(Account::new(ALICE)), server).await
    }

    async fn of(account: Account, server: impl FnOnce(SshdBuilder<'_>) -> SshdBuilder<'_>) -> Self {
        let (keys, key) = keys();
        let name = account.home().file_name().unwrap().to_str().unwrap().to_owned();
        let sshd = server(Sshd::builder().account(account.authorized_key(&key))).start().unwrap();
        Self::around(sshd, keys, &key, &name).await
    }
}

impl Place<Dropbear> {
    /// Dropbear with an ordinary account.
    pub(crate) async fn dropbear() -> Self {
        let (keys, key) = keys();
        let account = Account::new(ALICE).authorized_key(&key);
        let dropbear = Dropbear::builder().account(account).start().unwrap();
        Self::around(dropbear, keys, &key, ALICE).await
    }
}

fn keys() -> (Keys, Key) {
    let keys = Keys::new().unwrap();
    let key = keys.ed25519("id").unwrap();
    (keys, key)
}

impl<S: std::ops::Deref<Target = Server>> Place<S> {
    async fn around(server: S, keys: Keys, key: &Key, user: &str) -> Self {
        let known_hosts = keys.dir().join("known_hosts");
        std::fs::write(&known_hosts, server.known_hosts_lines().unwrap()).unwrap();
        let host = HostConfig {
            name: "host".to_owned(),
            host: Some(server.address().ip().to_string()),
            port: Some(server.port()),
            user: Some(user.to_owned()),
            identities: vec![key.path().to_owned()],
            identities_only: Some(true),
            known_hosts: vec![known_hosts],
            ..HostConfig::default()
        };
        let config = Config { hosts: vec![host], client_config: ClientConfig::Nothing, ..Config::default() };
        let backend = backend(&config).await;
        Self { server, backend, config, _keys: keys }
    }

    /// The same host with other settings.
    pub(crate) async fn configured(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self.backend = backend(&self.config).await;
        self
    }

    /// The same host through a relay on this port.
    pub(crate) async fn through(self, port: u16) -> Self {
        let known = self.server.known_hosts_lines_as(&format!("[127.0.0.1]:{port}")).unwrap();
        self.configured(|config| {
            std::fs::write(&config.hosts[0].known_hosts[0], known).unwrap();
            config.hosts[0].port = Some(port);
        })
        .await
    }

    pub(crate) fn connections(&self) -> &dyn Connections {
        self.backend.connections().unwrap()
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, command: &str) -> Outcome {
        self.start(command).await.to_end().await
    }

    pub(crate) async fn start(&self, command: &str) -> Piped {
        self.try_start(Invocation::new(command), "").await.unwrap()
    }

    pub(crate) async fn try_start(&self, invocation: Invocation, stdin: &str) -> Result<Piped, Error> {
        let spec = CommandSpec { invocation, stdin: Bytes::copy_from_slice(stdin.as_bytes()) };
        Piped::run(&*self.backend, spec, Retention::Newest(256 << 20)).await
    }

    pub(crate) async fn session(&self, command: &str) -> Terminal {
        self.try_session(Invocation::new(command)).await.unwrap()
    }

    pub(crate) async fn try_session(&self, invocation: Invocation) -> Result<Terminal, Error> {
        let spec = SessionSpec { invocation, size: WindowSize::default(), login: false };
        Terminal::start(&*self.backend, spec).await
    }

    /// How many processes on the host carry a mark of ours.
    pub(crate) fn marked(&self) -> usize {
        let count = "grep -ls SESSIOND_SESSION= /proc/[0-9]*/environ | wc -l";
        self.server.look(count).unwrap().trim().parse().unwrap()
    }

    /// Whether a process of this id lives on the host; a zombie does not.
    pub(crate) fn lives(&self, pid: u32) -> bool {
        let look = format!("grep -qs '^State:[[:space:]]*[^ZX]' /proc/{pid}/status && echo yes || echo no");
        self.server.look(&look).unwrap().trim() == "yes"
    }
}

async fn backend(config: &Config) -> Arc<dyn Backend> {
    let hosts = Hosts::new(config.clone()).unwrap();
    hosts.resolve(&TargetName::new("host").unwrap()).await.unwrap().backend
}

pub(crate) fn call() -> Call {
    Call::new(Owner::management("test"))
}

/// A relay to a server that is far away: every byte takes its time. It ends with the value.
pub(crate) struct Far {
    port: u16,
    tasks: Tasks,
}

impl Far {
    /// Every byte takes so long, each way.
    pub(crate) async fn before(server: SocketAddr, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, tasks) = (listener.local_addr().unwrap().port(), Tasks::new());
        let (relays, last) = (tasks.clone(), tasks.token().clone());
        tasks.spawn(RELAY, async move {
            while let Some(Ok((client, _))) = last.run_until_cancelled(listener.accept()).await {
                let (here, there) = (client.into_split(), TcpStream::connect(server).await.unwrap().into_split());
                for (from, to) in [(here.0, there.1), (there.0, here.1)] {
                    let relay = last.clone().run_until_cancelled_owned(late(from, to, delay));
                    relays.spawn(RELAY, async { relay.await.unwrap_or_default() });
                }
            }
        });
        Self { port, tasks }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.tasks.token().cancel();
    }
}

/// Moves bytes, each of them so much later.
async fn late(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let (sent, mut due) = tokio::sync::mpsc::unbounded_channel();
    let read = async move {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            if sent.send((Instant::now() + delay, bytes[..count].to_vec())).is_err() {
                break;
            }
        }
    };
    let write = async move {
        while let Some((at, bytes)) = due.recv().await {
            tokio::time::sleep_until(at).await;
            if to.write_all(&bytes).await.is_err() {
                break;
            }
        }
    };
    tokio::join!(read, write);
}

/// A session and what it prints.
pub(crate) struct Terminal {
    pub(crate) session: Box<dyn Session>,
    pub(crate) log: Arc<OutputLog>,
}

impl Terminal {
    pub(crate) async fn start(backend: &dyn Backend, spec: SessionSpec) -> Result<Self, Error> {
        let log = OutputLog::new(LogKind::Session(spec.size), Retention::Newest(1 << 20));
        let session = backend.start_session(&call(), spec, OutputSink::new(log.clone())).await?;
        Ok(Self { session, log })
    }

    /// Waits until the pattern matches in everything printed so far, and returns all of that.
    pub(crate) async fn shows(&self, pattern: &str) -> String {
        self.shows_from(Cursor::START, pattern).await
    }

    async fn shows_from(&self, from: Cursor, pattern: &str) -> String {
        let until = Until { pattern: Some(Pattern::new(pattern).unwrap()), end: true, ..Until::default() };
        let wait = Wait { time: LONG, until: Some(until), max_bytes: None };
        let read = self.log.read_when(&call(), Stream::Stdout, from, &wait).await.unwrap();
        let text = decode(&read.slice.bytes);
        assert_eq!(read.fired, Fired::Pattern, "{pattern:?} never came:\n{text}");
        text
    }

    pub(crate) async fn write(&self, input: impl AsRef<[u8]>) -> Written {
        self.session.write(&call(), Bytes::copy_from_slice(input.as_ref())).await.unwrap()
    }

    /// Types something that must be taken.
    pub(crate) async fn type_in(&self, input: &str) {
        assert_eq!(self.write(input).await, Written { bytes: input.len() as u64, stalled: None });
    }

    /// Types something and waits for what it brings.
    pub(crate) async fn dialog(&self, input: &str, pattern: &str) -> String {
        let from = self.log.bounds(Stream::Stdout).1;
        self.type_in(input).await;
        self.shows_from(from, pattern).await
    }

    /// Everything that was printed, and how it ended, once it has.
    pub(crate) async fn to_end(&self) -> (String, Exit) {
        let end = ended(&self.log).await;
        (text(&self.log, Stream::Stdout), end.exit)
    }

    pub(crate) async fn stop(&self) {
        assert_eq!(self.session.stop(GRACE).await, Ok(Stopped::Confirmed));
    }
}

/// A command and what it prints.
pub(crate) struct Piped {
    pub(crate) command: Box<dyn Command>,
    pub(crate) log: Arc<OutputLog>,
}

impl Piped {
    pub(crate) async fn run(backend: &dyn Backend, spec: CommandSpec, retention: Retention) -> Result<Self, Error> {
        let log = OutputLog::new(LogKind::Command, retention);
        let command = backend.run_command(&call(), spec, OutputSink::new(log.clone())).await?;
        Ok(Self { command, log })
    }

    pub(crate) async fn to_end(&self) -> Outcome {
        let end = ended(&self.log).await;
        Outcome { stdout: text(&self.log, Stream::Stdout), stderr: text(&self.log, Stream::Stderr), exit: end.exit }
    }

    /// The bytes of stdout, once it has ended well.
    pub(crate) async fn bytes(&self) -> Bytes {
        assert_eq!(ended(&self.log).await.exit, Exit::Exited(0), "{}", text(&self.log, Stream::Stderr));
        self.log.read(Stream::Stdout, Cursor::START, usize::MAX, None).unwrap().bytes
    }

    /// Waits until the pattern matches in stdout, and returns all of it.
    pub(crate) async fn shows(&self, pattern: &str) -> String {
        let until = Until { pattern: Some(Pattern::new(pattern).unwrap()), end: true, ..Until::default() };
        let wait = Wait { time: LONG, until: Some(until), max_bytes: None };
        let read = self.log.read_when(&call(), Stream::Stdout, Cursor::START, &wait).await.unwrap();
        let text = decode(&read.slice.bytes);
        assert_eq!(read.fired, Fired::Pattern, "{pattern:?} never came:\n{text}");
        text
    }

    pub(crate) fn pid(&self) -> u32 {
        self.command.facts().pid.unwrap()
    }
}

pub(crate) async fn ended(log: &OutputLog) -> End {
    tokio::time::timeout(LONG, log.ended()).await.expect("the end never came")
}

pub(crate) fn text(log: &OutputLog, stream: Stream) -> String {
    decode(&log.read(stream, Cursor::START, usize::MAX, None).unwrap().bytes)
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: Exit,
}

impl Outcome {
    pub(crate) fn of(stdout: &str, stderr: &str, exit: Exit) -> Self {
        Self { stdout: stdout.into(), stderr: stderr.into(), exit }
    }

    pub(crate) fn printed(stdout: &str) -> Self {
        Self::of(stdout, "", Exit::Exited(0))
    }
}

/// The numbers behind `name=` in a text.
pub(crate) fn numbers(text: &str, name: &str) -> Vec<u32> {
    let number = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
    text.split(&format!("{name}=")).skip(1).filter_map(number).collect()
}
