//! Finding the user's `sessiond-grpc`, or starting one that outlives this process.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sessiond_bootstrap::Args;
use sessiond_core::ErrorKind;
use sessiond_grpc::client::{GrpcClient, address_of_user, own_address, uid};
use sessiond_grpc::{Address, make_directory};

/// The server's program.
const PROGRAM: &str = "sessiond-grpc";

/// What it prints before its address, once it listens.
const LISTENING: &str = "listening on ";

/// Where its log goes, beside its socket.
const LOG: &str = "sessiond.log";

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

/// The user's server; one is started where none answers.
///
/// # Errors
/// Others can reach into its directory, or it does not start.
pub(crate) async fn found_or_started(common: &Args, limit: FileLimit) -> Result<GrpcClient> {
    let found = match address_of_user() {
        Ok(address) => GrpcClient::connect(&address).await,
        Err(error) => Err(error),
    };
    match found {
        Err(error) if error.kind() == ErrorKind::Unavailable => started(common, limit).await,
        found => Ok(found?),
    }
}

async fn started(common: &Args, limit: FileLimit) -> Result<GrpcClient> {
    let address = own_address();
    let Address::Unix(socket) = &address else { bail!("{address} is no socket of this user") };
    let directory = socket.parent().context("the socket lies in no directory")?;
    make_directory(directory, uid())?;
    let log = directory.join(LOG);
    let program = program();
    let mut child = limit
        .during(|| spawn(&program, common, &log))
        .with_context(|| format!("starting {}: is it installed beside this program?", program.display()))?;
    let mut line = String::new();
    let stdout = child.stdout.take().context("the server has no stdout")?;
    // Nothing else is under way yet that this could keep waiting.
    BufReader::new(stdout).read_line(&mut line).context("waiting for the server")?;
    if let Some(address) = line.strip_prefix(LISTENING) {
        tracing::info!(pid = child.id(), address = address.trim(), "started a server");
        return Ok(GrpcClient::connect(&address.trim().parse()?).await?);
    }
    let _ = child.wait();
    // Somebody else may have started one at the same time, and been first.
    let connected = GrpcClient::connect(&address).await;
    connected.with_context(|| format!("{PROGRAM} did not start; {} says why", log.display()))
}

/// The server's program: beside this one, else on the path.
fn program() -> PathBuf {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(PROGRAM));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PROGRAM.into())
}

/// Starts it with nothing of ours but the configuration: no descriptor, no terminal, no working directory.
fn spawn(program: &Path, common: &Args, log: &Path) -> std::io::Result<Child> {
    let log = File::options().append(true).create(true).mode(0o600).open(log)?;
    let mut server = Command::new(program);
    if let Some(config) = &common.config {
        server.arg("--config").arg(std::path::absolute(config)?);
    }
    server.arg("--background").current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn()
}
