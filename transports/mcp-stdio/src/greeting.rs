//! What a person sees who starts the server by hand: what it is, and how to let a client start it instead.

use std::io::{IsTerminal, Write};

use serde_json::json;

/// Greets whoever sits at the terminal that stdin is; clients talk through pipes and get none of it.
pub(crate) fn greet() {
    if std::io::stdin().is_terminal() {
        let program =
            std::env::current_exe().map_or_else(|_| "sessiond-mcp-stdio".into(), |path| path.display().to_string());
        // Nobody to greet is no reason not to serve.
        let _ = std::io::stderr().lock().write_all(text(&program).as_bytes());
    }
}

fn text(program: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let cursor = json!({"mcpServers": {"sessiond": {"command": program}}});
    let vscode = json!({"name": "sessiond", "command": program});
    let desktop = json!({"mcpServers": {"sessiond": {"command": "ssh", "args": ["HOST", program]}}});
    format!(
        "\
sessiond-mcp-stdio {version}: shells on this machine and on SSH hosts for AI agents, over MCP.
An MCP client starts it and speaks with it on stdin and stdout. Register it with

  Claude Code       claude mcp add sessiond -- {program}
  Codex             codex mcp add sessiond -- {program}
  VS Code           code --add-mcp '{vscode}'
  Cursor            ~/.cursor/mcp.json: {cursor}
  Claude Desktop    elsewhere, with this machine as HOST: {desktop}

To try it here, leave with Ctrl-D and run

  {program} call session_start '{{\"command\": \"echo hello\", \"client_token\": \"local\"}}'

It now reads protocol messages from this terminal. --help says more.
"
    )
}
