//! The command line.

use std::io::Read;
use std::str::FromStr;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use serde_json::{Map, Value};
use sessiond_bootstrap::{Args, CONNECT, Environment};
use sessiond_grpc::Address;

const EXAMPLES: &str = "\
Examples:
  Register with Claude Code, which then starts it when it needs it:
      claude mcp add sessiond -- sessiond-mcp-stdio
  The same, with sessions that outlive the client:
      claude mcp add sessiond -- sessiond-mcp-stdio --connect auto
  See whether everything is in order:
      sessiond-mcp-stdio check
  Run a session here, and see its output until it ends:
      sessiond-mcp-stdio call session_start '{\"command\": \"echo hello\", \"client_token\": \"local\"}'
  Run a command, and take its result apart:
      sessiond-mcp-stdio call execute_command '{\"command\": \"uname -a\", \"client_token\": \"local\"}' | jq .stdout
  The same on a host of ~/.ssh/config:
      sessiond-mcp-stdio call ssh_cmd_run '{\"command\": \"uname -a\", \"host_name\": \"HOST\"}' | jq .output

The server ends when stdin does, or on SIGTERM, SIGINT or SIGHUP, and takes with it whatever it has started. With
--connect that is nothing: sessions are those of sessiond-grpc, where `sessiond-grpc list` shows them.";

/// Sessions for AI agents over MCP on stdin and stdout
///
/// Without a subcommand it serves: an MCP client starts it and speaks with it on stdin and stdout. Logs go to stderr.
#[derive(Debug, Default, Parser)]
#[command(name = "sessiond-mcp-stdio", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Args,
    /// Work in the sessions of a running sessiond-grpc, which outlive this process: unix:PATH, http://IP:PORT, https://HOST:PORT, or auto for
    /// the user's own, which is started where none runs [default: $SESSIOND_CONNECT, else sessions of this process]
    #[arg(long, global = true, value_name = "ADDRESS")]
    connect: Option<Upstream>,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Cli {
    /// What this process was started with. A client mostly starts it with nothing: then no parser is built, which the
    /// client would wait for.
    pub(crate) fn own() -> Self {
        if std::env::args_os().len() > 1 { Self::parse() } else { Self::default() }
    }

    /// Which server is behind the bridge, when there is to be one.
    ///
    /// # Errors
    /// The variable holds no address.
    pub(crate) fn upstream(&self, environment: &Environment) -> anyhow::Result<Option<Upstream>> {
        let Some(text) = environment.connect().filter(|_| self.connect.is_none()) else {
            return Ok(self.connect.clone());
        };
        let upstream = text.to_str().context("is not UTF-8").and_then(|text| Ok(text.parse()?));
        upstream.map(Some).context(CONNECT)
    }
}

/// Which server is behind the bridge.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Upstream {
    /// The user's own; one is started where none runs.
    Auto,
    /// The one that listens here.
    At(Address),
}

impl FromStr for Upstream {
    type Err = sessiond_core::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::At) }
    }
}

/// What it can do besides serving.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the tools
    Tools(Form),
    /// Check the configuration and each target; exit code 1 when something is wrong
    Check,
    /// Call one tool and print its result as JSON; exit code 1 when it fails
    ///
    /// Sessions and commands live as long as the server that started them, which here is this one call. So `session_start`
    /// follows the session's output until it ends, and exits with the session's exit code; Ctrl-C stops the session. With
    /// --connect the session lives on, and its id is printed.
    Call(Call),
}

/// How to show the tools.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(multiple = false)]
pub(crate) struct Form {
    /// As a Markdown table
    #[arg(long)]
    pub(crate) markdown: bool,
    /// As the result of tools/list, with the schemas
    #[arg(long)]
    pub(crate) json: bool,
}

/// One call.
#[derive(Debug, clap::Args)]
pub(crate) struct Call {
    /// The tool's name; `sessiond-mcp-stdio tools` lists them
    pub(crate) tool: String,
    /// Its arguments, a JSON object; - reads it from stdin
    #[arg(value_name = "JSON", default_value = "{}")]
    json: String,
}

impl Call {
    /// The arguments, parsed.
    ///
    /// # Errors
    /// They are no JSON object, or stdin cannot be read.
    pub(crate) fn arguments(&self) -> anyhow::Result<Map<String, Value>> {
        let mut text = String::new();
        if self.json == "-" {
            std::io::stdin().read_to_string(&mut text).context("reading the arguments from stdin")?;
        } else {
            text.clone_from(&self.json);
        }
        match serde_json::from_str(&text).context("the arguments are no JSON")? {
            Value::Object(arguments) => Ok(arguments),
            _ => bail!("the arguments are no JSON object, such as {{\"client_token\": \"local\"}}"),
        }
    }
}
