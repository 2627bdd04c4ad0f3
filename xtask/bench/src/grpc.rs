//! The gRPC servers under measurement, and a client that adds as little as it can: the generated stubs on one thread.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use futures_util::future::try_join_all;
use sessiond_grpc::proto::session_service_client::SessionServiceClient;
use sessiond_grpc::proto::{
    FollowSessionRequest, FollowSessionResponse, Invocation, ReadSessionRequest, SessionRef, StartSessionRequest,
    StopSessionRequest, Until, Wait, WriteSessionRequest, follow_session_response,
};
use tokio::runtime::Runtime;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

use crate::usage::Usage;

/// The stubs.
pub(crate) type Stub = SessionServiceClient<Channel>;

/// A server on a unix socket in a folder of its own, and a connection to it.
pub(crate) struct Grpc {
    server: Child,
    folder: std::path::PathBuf,
    runtime: Runtime,
    stub: Stub,
}

impl Grpc {
    /// Starts `sessiond-grpc`, which keeps so much of a session's output.
    ///
    /// # Errors
    /// It does not start or does not answer.
    pub(crate) fn sessiond(program: &Path, kept: usize) -> Result<Self> {
        Self::start(program, |command, socket| {
            command.args(["--listen", &format!("unix:{socket}")]);
            command.env("SESSIOND_LIMITS__SESSION_OUTPUT_BYTES", kept.to_string());
        })
    }

    /// Starts the empty server.
    ///
    /// # Errors
    /// It does not start or does not answer.
    pub(crate) fn empty(program: &Path) -> Result<Self> {
        Self::start(program, |command, socket| {
            command.arg(socket);
        })
    }

    fn start(program: &Path, arrange: impl FnOnce(&mut Command, &str)) -> Result<Self> {
        let number = std::process::id();
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = std::env::temp_dir().join(format!("sessiond-bench-{number}-{name}"));
        std::fs::create_dir_all(&folder)?;
        let socket = folder.join("s").display().to_string();
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // A folder without a configuration.
        command.env("HOME", "/nonexistent").env("SHELL", "/bin/sh").stdin(Stdio::null()).stdout(Stdio::piped());
        arrange(&mut command, &socket);
        let mut server = command.spawn().with_context(|| format!("starting {}", program.display()))?;
        let mut line = String::new();
        BufReader::new(server.stdout.as_mut().context("no stdout")?).read_line(&mut line)?;
        ensure!(line.starts_with("listening on "), "{name} said {line:?}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stub = runtime.block_on(connect(&socket))?;
        Ok(Self { server, folder, runtime, stub })
    }

    /// Where it listens, as a bridge takes it.
    pub(crate) fn address(&self) -> String {
        format!("unix:{}", self.folder.join("s").display())
    }

    /// Runs something against the server.
    pub(crate) fn run<T, F: Future<Output = Result<T>>>(&self, work: impl FnOnce(Stub) -> F) -> Result<T> {
        self.runtime.block_on(work(self.stub.clone()))
    }

    /// What the server takes.
    ///
    /// # Errors
    /// It is gone.
    pub(crate) fn usage(&self) -> Result<Usage> {
        Usage::of(self.server.id())
    }
}

impl Drop for Grpc {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Connects; windows are wide, so that the client holds nobody up.
async fn connect(socket: &str) -> Result<Stub> {
    let endpoint = Endpoint::from_shared(format!("unix:{socket}"))?
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size((1 << 31) - 1);
    Ok(SessionServiceClient::new(endpoint.connect().await?).max_decoding_message_size(usize::MAX))
}

/// A session of sessiond by its id, or a behaviour of the empty server by its name.
pub(crate) fn named(id: &str) -> Option<SessionRef> {
    Some(SessionRef { session_id: id.to_owned(), target: Some("local".to_owned()) })
}

/// Starts a session and waits until this pattern matches, or until it has ended.
///
/// # Errors
/// The server refuses.
pub(crate) async fn session(mut stub: Stub, command: &str, pattern: Option<&str>) -> Result<String> {
    use sessiond_grpc::proto::start_session_request::What;
    let what = What::Start(Invocation { command: command.to_owned(), ..Invocation::default() });
    let until = Until { pattern: pattern.map(str::to_owned), end: pattern.is_none(), ..Until::default() };
    let time = Some(prost_types::Duration { seconds: 20, nanos: 0 });
    let wait = Some(Wait { time, until: Some(until), max_bytes: None });
    let request =
        StartSessionRequest { target: Some("local".to_owned()), what: Some(what), wait, ..Default::default() };
    Ok(stub.start_session(request).await?.into_inner().session_id)
}

/// Stops a session, and with it whatever waits for it.
///
/// # Errors
/// The server refuses.
pub(crate) async fn stop(mut stub: Stub, id: &str) -> Result<()> {
    stub.stop_session(StopSessionRequest { session: named(id), wait: None }).await?;
    Ok(())
}

/// Types a line, which the terminal shows at once.
///
/// # Errors
/// The server refuses.
pub(crate) async fn type_line(mut stub: Stub, id: &str) -> Result<()> {
    let input = b"go\r".as_slice().into();
    stub.write_session(WriteSessionRequest { session: named(id), input, wait: None }).await?;
    Ok(())
}

/// A read from a cursor on that waits so many seconds at most.
pub(crate) fn read(id: &str, cursor: u64, seconds: i64) -> ReadSessionRequest {
    let time = Some(prost_types::Duration { seconds, nanos: 0 });
    ReadSessionRequest { session: named(id), cursor, wait: Some(Wait { time, ..Wait::default() }) }
}

/// Follows a stream to its end; returns how many bytes came and how many are gone.
///
/// # Errors
/// The stream breaks off.
pub(crate) async fn drain(mut items: Streaming<FollowSessionResponse>) -> Result<(u64, u64)> {
    use follow_session_response::Item;
    let (mut came, mut gone) = (0, 0);
    while let Some(item) = items.message().await? {
        match item.item {
            Some(Item::Chunk(chunk)) => came += chunk.data.len() as u64,
            Some(Item::Gap(gap)) => gone += gap.bytes,
            Some(Item::End(_)) | None => {}
        }
    }
    Ok((came, gone))
}

/// Opens so many streams of a session from a cursor on.
///
/// # Errors
/// One is refused.
pub(crate) async fn follow(
    stub: &Stub,
    id: &str,
    cursor: u64,
    count: usize,
) -> Result<Vec<Streaming<FollowSessionResponse>>> {
    let opened = (0..count).map(|_| {
        let mut stub = stub.clone();
        let request = FollowSessionRequest { session: named(id), cursor };
        async move { anyhow::Ok(stub.follow_session(request).await?.into_inner()) }
    });
    try_join_all(opened).await
}
