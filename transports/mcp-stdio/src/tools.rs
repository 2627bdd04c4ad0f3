//! `tools`: the tools for people, for the README, and as a client gets them.

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use serde_json::{Value, json};
use sessiond_bootstrap::stdout;
use sessiond_core::{FixedTargets, Limits, Registry};
use sessiond_mcp::{Family, Handler, TextStyle, ToolRow, serve, tool_table};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;

use crate::cli::Form;
use crate::serve::owner;

/// The bytes that may be under way between the two ends of a pipe in memory.
const PIPE: usize = 65_536;

/// Prints the tools.
///
/// # Errors
/// stdout cannot be written to.
pub(crate) async fn print(form: Form) -> anyhow::Result<ExitCode> {
    let text = if form.json {
        serde_json::to_string_pretty(&listed().await.context("listing the tools")?)?
    } else if form.markdown {
        markdown(&tool_table(&Family::ALL))
    } else {
        listing(&tool_table(&Family::ALL))
    };
    stdout::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The result of `tools/list` where there is every kind of target, asked as a client asks.
async fn listed() -> anyhow::Result<Value> {
    let registry = Registry::new(Arc::new(FixedTargets::new(Vec::new())), Limits::default());
    let handler = Handler::new(registry.clone(), owner(), &Family::ALL, TextStyle::Short);
    let (client, server) = tokio::io::duplex(PIPE);
    let (input, output) = tokio::io::split(server);
    let end = CancellationToken::new();
    let (served, answer) = tokio::join!(serve(handler, input, output, end.clone()), async {
        let answer = ask(client).await;
        end.cancel();
        answer
    });
    registry.shutdown().await;
    served?;
    answer
}

async fn ask(client: tokio::io::DuplexStream) -> anyhow::Result<Value> {
    let (input, mut output) = tokio::io::split(client);
    let mut lines = BufReader::new(input).lines();
    let info = json!({"name": "sessiond-mcp-stdio", "version": env!("CARGO_PKG_VERSION")});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}),
    ];
    for message in messages {
        output.write_all(format!("{message}\n").as_bytes()).await?;
    }
    while let Some(line) = lines.next_line().await? {
        let mut message: Value = serde_json::from_str(&line)?;
        if message.get("id") == Some(&json!(2)) {
            return message.get_mut("result").map(Value::take).context("the list is an error");
        }
    }
    anyhow::bail!("the list did not come")
}

fn markdown(tools: &[ToolRow]) -> String {
    let mut text = "| tool | what it does | inputs |\n| --- | --- | --- |\n".to_owned();
    for tool in tools {
        let inputs: Vec<_> = inputs(tool).map(|input| format!("`{input}`")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{}` | {} | {} |", tool.name, tool.summary, inputs.join(", "));
    }
    text
}

fn listing(tools: &[ToolRow]) -> String {
    let mut text = String::new();
    for tool in tools {
        let _ = writeln!(text, "{}\n    {}", tool.name, tool.summary);
        for input in &tool.inputs {
            let mark = if input.required { "" } else { "?" };
            let choices = match input.choices {
                [] => String::new(),
                words => format!(" One of {}.", words.join(", ")),
            };
            let _ = writeln!(text, "    {:<16} {}{choices}", format!("{}{mark}", input.name), input.about);
        }
        text.push('\n');
    }
    text.push_str(
        "? marks what may be left out. Clients see the ssh_ tools where there is an SSH host, and those from get_sessions \
         on where there is an agent platform. tools --json shows the schemas, call TOOL JSON calls one.\n",
    );
    text
}

fn inputs(tool: &ToolRow) -> impl Iterator<Item = String> {
    tool.inputs.iter().map(|input| format!("{}{}", input.name, if input.required { "" } else { "?" }))
}
