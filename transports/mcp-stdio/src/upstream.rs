//! Reaching a `sessiond-grpc`: one that is named, the user's own, or one that is started here and outlives this process.

use std::fs::File;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sessiond_bootstrap::{Args, Bootstrap};
use sessiond_core::{ErrorKind, Tasks};
use sessiond_grpc::client::{Credentials, GrpcClient, address_of_user, own_address, uid};
use sessiond_grpc::{Address, make_directory};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// How long what has printed a key may take to end.
const TASKS_END: Duration = Duration::from_secs(1);

/// The server's program.
const PROGRAM: &str = "sessiond-grpc";

/// What it prints before its address, once it listens.
const LISTENING: &str = "listening on ";

/// Where its log goes, beside its socket.
const LOG: &str = "sessiond.log";

/// How long a server may take to listen. It does so before it reaches for any target.
const START: Duration = Duration::from_secs(30);

/// The limit of open files as it was before this process has raised it: what a server that is started here is to find.
#[derive(Clone, Copy)]
pub(crate) struct FileLimit(Rlimit);

impl FileLimit {
    /// What holds now.
    pub(crate) fn now() -> Self {
        Self(getrlimit(Resource::Nofile))
    }

    /// Does something while the limit holds.
    fn during<T>(self, work: impl FnOnce() -> T) -> T {
        let raised = getrlimit(Resource::Nofile);
        // Lowering and raising again below the hard limit is never refused.
        let _ = setrlimit(Resource::Nofile, self.0);
        let done = work();
        let _ = setrlimit(Resource::Nofile, raised);
        done
    }
}

/// The server that listens here, connected with the first call, so that it may come later than its bridges. On a network
/// each call proves who we are, as the configuration has it.
///
/// # Errors
/// What proves who we are cannot be had, or would go through a network in the clear.
pub(crate) async fn at(address: &Address, bootstrap: &Bootstrap) -> Result<GrpcClient> {
    let credentials = match address {
        Address::Unix(_) => Credentials::none(),
        Address::Tcp(_) | Address::Tls(_) => {
            let tasks = Tasks::new();
            let connect = bootstrap.connect(&tasks).await;
            tasks.shutdown(TASKS_END).await;
            let connect = connect.context("[connect] of the configuration")?;
            Credentials::of(connect.key(), connect.tls.authorities(), connect.tls.certificate())?
        }
    };
    Ok(GrpcClient::lazy(address, &credentials)?)
}

/// The user's server; `None` where nobody answers.
///
/// # Errors
/// `permission_denied` when others can reach into its directory.
pub(crate) async fn found() -> sessiond_core::Result<Option<GrpcClient>> {
    let found = match address_of_user() {
        Ok(address) => GrpcClient::connect(&address).await,
        Err(error) => Err(error),
    };
    match found {
        Err(error) if error.kind() == ErrorKind::Unavailable => Ok(None),
        found => found.map(Some),
    }
}

/// Starts the user's server, with the configuration that this process was given.
///
/// # Errors
/// Others can reach into its directory, it is not installed, it does not start, or `ending` fires before it has.
pub(crate) async fn started(common: &Args, limit: FileLimit, ending: &CancellationToken) -> Result<GrpcClient> {
    let address = own_address();
    let Address::Unix(socket) = &address else { bail!("{address} is no socket of this user") };
    let directory = socket.parent().context("the socket lies in no directory")?;
    make_directory(directory, uid())?;
    let (program, log) = (program()?, directory.join(LOG));
    let mut child = limit
        .during(|| spawn(&program, common, &log))
        .with_context(|| format!("starting {}, with its log in {}", program.display(), log.display()))?;
    let said = tokio::select! {
        said = tokio::time::timeout(START, first_line(&mut child)) => said,
        // Others may be about to use it.
        () = ending.cancelled() => bail!("told to end before the server has started"),
    };
    let Ok(line) = said else {
        // It may just have ended by itself.
        let _ = child.start_kill();
        bail!("{PROGRAM} does not come to listen and was ended; {} may say why", log.display());
    };
    let line = line?;
    if let Some(address) = line.strip_prefix(LISTENING) {
        tracing::info!(pid = child.id(), address = address.trim(), "started a server");
        return Ok(GrpcClient::connect(&address.trim().parse()?).await?);
    }
    // Somebody else may have started one at the same time, and been first: it listens by now.
    let connected = GrpcClient::connect(&address).await;
    connected.with_context(|| format!("{PROGRAM} did not start; {} says why", log.display()))
}

/// The server's program: beside this one, else on the path.
///
/// # Errors
/// It is in neither place.
pub(crate) fn program() -> Result<PathBuf> {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(PROGRAM));
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A relative entry would mean whatever lies where the client happens to be.
    let on_path = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
    let on_path = on_path.map(|directory| directory.join(PROGRAM));
    beside.into_iter().chain(on_path).find(|path| is_program(path)).with_context(|| {
        format!("{PROGRAM} is neither beside this program nor on the path: install it, or leave --connect out")
    })
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

/// Starts it with nothing of ours but the configuration: no descriptor, no terminal, no working directory.
fn spawn(program: &Path, common: &Args, log: &Path) -> std::io::Result<Child> {
    let log = File::options().append(true).create(true).mode(0o600).open(log)?;
    let mut server = Command::new(program);
    if let Some(config) = &common.config {
        server.arg("--config").arg(std::path::absolute(config)?);
    }
    if let Some(level) = common.log {
        server.arg("--log").arg(level.as_str());
    }
    server.arg("--background").current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn()
}

/// The first thing it says, or nothing where it ends before.
async fn first_line(child: &mut Child) -> Result<String> {
    let mut line = String::new();
    let stdout = child.stdout.take().context("the server has no stdout")?;
    BufReader::new(stdout).read_line(&mut line).await.context("waiting for the server")?;
    Ok(line)
}
