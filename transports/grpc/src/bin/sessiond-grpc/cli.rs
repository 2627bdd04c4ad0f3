//! The command line.

use clap::{Parser, Subcommand};
use sessiond_bootstrap::Args;
use sessiond_bootstrap::identity::KeyCommand;
use sessiond_bootstrap::network::Door;
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
  Serve on a network: make a key, put the entry that this prints into network.keys_file, and serve with TLS
      sessiond-grpc key new alice --role full
      sessiond-grpc --listen 0.0.0.0:7700
  Reach that server, with the key in $SESSIOND_CONNECT_KEY or where [connect] of the configuration says:
      sessiond-grpc list --connect https://box.example:7700
  Let an MCP client work in the sessions of this server:
      claude mcp add sessiond -- sessiond-mcp-stdio --connect auto
  Call it from a shell:
      buf curl --http2-prior-knowledge --protocol grpc --unix-socket $XDG_RUNTIME_DIR/sessiond.sock \\
          http://localhost/sessiond.v1.TargetService/ListTargets

On SIGTERM or SIGINT the server ends, and takes with it whatever it has started. On SIGHUP a server with keys or
certificates reads their files again, and any other one ends.";

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
    /// Where to listen: unix:PATH, or IP:PORT, where callers show a key or a certificate [default: grpc.listen of the
    /// configuration, else the user's socket]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<Address>,

    /// Let every account of this machine in, on a port of this machine only
    #[arg(long)]
    pub(crate) no_password: bool,

    /// Take keys without TLS beyond this machine, because a proxy in front of this server speaks it
    #[arg(long, conflicts_with = "no_password")]
    pub(crate) plain: bool,

    /// Belong to no terminal and no parent, for whoever starts a server that is to outlive them
    #[arg(long, hide = true)]
    pub(crate) background: bool,
}

impl Serve {
    /// Whether anything is said of how to serve.
    pub(crate) fn is_given(&self) -> bool {
        self.listen.is_some() || self.no_password || self.plain || self.background
    }

    /// What a port asks of whoever comes.
    pub(crate) fn door(&self) -> Door {
        match (self.no_password, self.plain) {
            (true, _) => Door::Open,
            (false, true) => Door::AskedInTheClear,
            (false, false) => Door::Asked,
        }
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
    /// Make keys for servers on a network
    #[command(subcommand)]
    Key(KeyCommand),
}

impl Command {
    /// Which server it is about; none for what needs no server.
    pub(crate) fn server(&self) -> Option<&Server> {
        match self {
            Self::List(server) => Some(server),
            Self::Tail(tail) => Some(&tail.server),
            Self::Attach(attach) => Some(&attach.server),
            Self::Key(_) => None,
        }
    }
}

/// Which server.
#[derive(Debug, clap::Args)]
pub(crate) struct Server {
    /// Where it listens: unix:PATH, http://IP:PORT or https://HOST:PORT [default: the user's socket]
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
