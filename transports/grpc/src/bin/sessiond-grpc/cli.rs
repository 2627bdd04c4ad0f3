//! The command line.

use clap::{Parser, Subcommand};
use sessiond_bootstrap::Args;
use sessiond_core::Key;
use sessiond_grpc::Address;

const EXAMPLES: &str = "\
Examples:
  Serve on the user's socket, until SIGTERM:
      sessiond-grpc
  See what runs, watch one, join one:
      sessiond-grpc list
      sessiond-grpc tail ID
      sessiond-grpc attach ID
  Let an MCP client work in the sessions of this server:
      claude mcp add sessiond -- sessiond-mcp-stdio --connect auto
  Call it from a shell:
      buf curl --http2-prior-knowledge --protocol grpc --unix-socket $XDG_RUNTIME_DIR/sessiond.sock \\
          http://localhost/sessiond.v1.TargetService/ListTargets

On SIGTERM, SIGINT or SIGHUP the server ends, and takes with it whatever it has started.";

/// Sessions over gRPC: they outlive the client that started them
///
/// Without a subcommand it serves, on a unix socket that only its user can reach: $XDG_RUNTIME_DIR/sessiond.sock, else
/// sessiond-UID/sessiond.sock under the temporary directory. It prints where it listens; logs go to stderr.
#[derive(Debug, Parser)]
#[command(name = "sessiond-grpc", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Args,
    #[command(flatten)]
    pub(crate) serve: Serve,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// How to serve.
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Where to listen: unix:PATH, or IP:PORT of this machine with --no-password [default: the user's socket]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<Address>,

    /// Let every account of this machine in: a port proves nobody's identity
    #[arg(long)]
    pub(crate) no_password: bool,

    /// Belong to no terminal and no parent, for whoever starts a server that is to outlive them
    #[arg(long, hide = true)]
    pub(crate) background: bool,
}

impl Serve {
    /// Whether anything is said of how to serve.
    pub(crate) fn is_given(&self) -> bool {
        self.listen.is_some() || self.no_password || self.background
    }
}

/// What a person does with a running server.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the sessions
    List(Server),
    /// Show a session's output until it ends, and exit with its exit code
    Tail(Tail),
    /// Join a session from this terminal; the detach key leaves it running
    Attach(Attach),
}

impl Command {
    pub(crate) fn server(&self) -> &Server {
        match self {
            Self::List(server) => server,
            Self::Tail(tail) => &tail.server,
            Self::Attach(attach) => &attach.server,
        }
    }
}

/// Which server.
#[derive(Debug, clap::Args)]
pub(crate) struct Server {
    /// Where it listens: unix:PATH or http://IP:PORT [default: the user's socket]
    #[arg(long, value_name = "ADDRESS")]
    connect: Option<Address>,
}

impl Server {
    /// Where it listens.
    ///
    /// # Errors
    /// The user's socket lies where others could have put it.
    pub(crate) fn address(&self) -> sessiond_core::Result<Address> {
        match &self.connect {
            Some(address) => Ok(address.clone()),
            None => sessiond_grpc::client::address_of_user(),
        }
    }
}

/// Which session to watch.
#[derive(Debug, clap::Args)]
pub(crate) struct Tail {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Its id, or how it begins
    pub(crate) id: String,
    /// From which byte of its output on; a cursor of an earlier read. Output that is gone is said to be
    #[arg(long, value_name = "BYTE", default_value_t = 0)]
    pub(crate) from: u64,
}

/// Which session to join.
#[derive(Debug, clap::Args)]
pub(crate) struct Attach {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Its id, or how it begins
    pub(crate) id: String,
    /// The key that leaves the session, which goes on
    #[arg(long, value_name = "KEY", default_value = "ctrl-]", value_parser = key)]
    pub(crate) detach_key: Key,
}

fn key(text: &str) -> Result<Key, String> {
    text.parse().map_err(|error: sessiond_core::Error| error.to_string())
}
