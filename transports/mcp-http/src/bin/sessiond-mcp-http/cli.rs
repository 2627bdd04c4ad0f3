//! The command line.

use std::net::SocketAddr;

use clap::{Parser, Subcommand};
use sessiond_bootstrap::Args;
use sessiond_bootstrap::identity::KeyCommand;
use sessiond_bootstrap::network::Door;

const EXAMPLES: &str = "\
Examples:
  Make a key; put the entry that it prints into the keys file:
      sessiond-mcp-http key new alice --role full
      (umask 077; mkdir -p ~/.config/sessiond; $EDITOR ~/.config/sessiond/keys.toml)
  Serve on this machine, with that file:
      SESSIOND_NETWORK__KEYS_FILE=~/.config/sessiond/keys.toml sessiond-mcp-http
  Let Claude Code work here:
      claude mcp add --transport http sessiond http://127.0.0.1:7110/mcp --header \"Authorization: Bearer KEY\"
  Call a tool by hand:
      curl http://127.0.0.1:7110/mcp -H 'authorization: Bearer KEY' -H 'content-type: application/json' \\
          -H 'accept: application/json, text/event-stream' -H 'mcp-protocol-version: 2026-07-28' \\
          -H 'mcp-method: tools/call' -H 'mcp-name: list_clients' -d '{\"jsonrpc\": \"2.0\", \"id\": 1,
            \"method\": \"tools/call\", \"params\": {\"name\": \"list_clients\", \"_meta\": {
              \"io.modelcontextprotocol/protocolVersion\": \"2026-07-28\",
              \"io.modelcontextprotocol/clientInfo\": {\"name\": \"curl\", \"version\": \"8\"},
              \"io.modelcontextprotocol/clientCapabilities\": {}}}}'
  For the whole network: a certificate, and the names that clients use, in the configuration:
      [network]
      keys_file = '/etc/sessiond/keys.toml'
      certificate_file = '/etc/sessiond/tls.crt'
      certificate_key_file = '/etc/sessiond/tls.key'
      [http]
      listen = '0.0.0.0:7110'
      allowed_hosts = ['sessions.example.com']

Beside /mcp there are /healthz, /readyz and, for management keys, /metrics.

On SIGHUP the server reads keys and certificates again; sessions stay. On SIGTERM or SIGINT it ends, and takes with it
whatever it has started.";

/// Sessions for AI agents over MCP's streamable HTTP
///
/// Without a subcommand it serves, on 127.0.0.1:7110 unless told otherwise, to whoever brings a key. It prints where it
/// listens; logs go to stderr.
#[derive(Debug, Parser)]
#[command(name = "sessiond-mcp-http", version, after_help = EXAMPLES, disable_help_subcommand = true)]
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
    /// Where to listen: IP:PORT [default: the configuration's http.listen, else 127.0.0.1:7110]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,

    /// Serve beyond this machine without TLS, for a proxy in front that speaks it
    #[arg(long)]
    pub(crate) plain: bool,

    /// Let every account of this machine in: nobody is asked for a key
    #[arg(long, conflicts_with = "plain")]
    pub(crate) no_password: bool,
}

impl Serve {
    /// Whether anything is said of how to serve.
    pub(crate) fn is_given(&self) -> bool {
        self.listen.is_some() || self.plain || self.no_password
    }

    /// What guards the port.
    pub(crate) fn door(&self) -> Door {
        match (self.no_password, self.plain) {
            (true, _) => Door::Open,
            (false, true) => Door::AskedInTheClear,
            (false, false) => Door::Asked,
        }
    }
}

/// What it can do besides serving.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check the configuration, the keys and each target; exit code 1 when something is wrong
    Check,
    /// Keys of this server
    #[command(subcommand)]
    Key(KeyCommand),
}
