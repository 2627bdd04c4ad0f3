//! A client of MCP on stdio that adds as little as it can: lines on pipes, blocking, nothing parsed that need not be.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// A server on pipes that has been greeted.
pub(crate) struct Client {
    server: Child,
    /// `None` once the server has been told to end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: String,
    next_id: u64,
}

impl Client {
    /// Starts a server with these arguments, with nothing but a path and these variables, and greets it.
    ///
    /// # Errors
    /// The server does not start or does not answer.
    pub(crate) fn start(program: &Path, args: &[&str], env: &[(&str, &str)]) -> Result<Self> {
        let mut server = Command::new(program)
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            // A folder without a configuration.
            .env("HOME", "/nonexistent")
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().context("the server has no stdout")?);
        let mut client = Self { server, input, output, line: String::new(), next_id: 0 };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "sessiond-bench", "version": env!("CARGO_PKG_VERSION")},
        });
        client.request("initialize", &hello.to_string())?;
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        Ok(client)
    }

    /// Asks for the list of tools.
    ///
    /// # Errors
    /// The server is gone.
    pub(crate) fn list_tools(&mut self) -> Result<&str> {
        self.request("tools/list", "{}")
    }

    /// The server's process id.
    pub(crate) fn pid(&self) -> u32 {
        self.server.id()
    }

    /// Calls a tool and returns the answer's line. `arguments` is a JSON object.
    ///
    /// # Errors
    /// The server is gone.
    pub(crate) fn call(&mut self, tool: &str, arguments: &str) -> Result<&str> {
        self.request("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
    }

    /// Calls a tool and returns its structured content.
    ///
    /// # Errors
    /// The server is gone, or the tool has failed.
    pub(crate) fn result(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        content(tool, self.call(tool, &arguments.to_string())?)
    }

    /// Calls a tool several times at once and returns the structured contents in the order of the answers.
    ///
    /// # Errors
    /// The server is gone, or a call has failed.
    pub(crate) fn results_at_once(&mut self, tool: &str, arguments: &[Value]) -> Result<Vec<Value>> {
        for arguments in arguments {
            self.ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))?;
        }
        let mut results = Vec::with_capacity(arguments.len());
        while results.len() < arguments.len() {
            results.push(content(tool, self.answer("\"id\":")?)?);
        }
        Ok(results)
    }

    /// One request is under way at a time, so the answer with its number is the only one that can come.
    fn request(&mut self, method: &str, params: &str) -> Result<&str> {
        let id = self.ask(method, params)?;
        self.answer(&format!("\"id\":{id}"))
    }

    /// Sends a request and returns its number.
    fn ask(&mut self, method: &str, params: &str) -> Result<u64> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#))?;
        Ok(id)
    }

    /// The next line that has this mark. Notifications have no id.
    fn answer(&mut self, mark: &str) -> Result<&str> {
        loop {
            self.line.clear();
            if self.output.read_line(&mut self.line)? == 0 {
                bail!("the server ended before it had answered");
            }
            if self.line.contains(mark) {
                return Ok(&self.line);
            }
        }
    }

    fn send(&mut self, line: &str) -> Result<()> {
        let input = self.input.as_mut().context("the server has been told to end")?;
        let mut message = String::with_capacity(line.len() + 1);
        message.push_str(line);
        message.push('\n');
        input.write_all(message.as_bytes()).context("writing to the server")
    }

    /// Closes the server's stdin, which ends it, and waits until it is gone.
    ///
    /// # Errors
    /// It ended badly.
    pub(crate) fn close(mut self) -> Result<()> {
        self.input = None;
        let status = self.server.wait().context("waiting for the server")?;
        if status.success() { Ok(()) } else { bail!("the server ended with {status}") }
    }
}

/// The structured content of an answer.
fn content(tool: &str, answer: &str) -> Result<Value> {
    let mut answer: Value = serde_json::from_str(answer)?;
    match answer.pointer_mut("/result/structuredContent") {
        Some(content) => Ok(content.take()),
        None => bail!("{tool} failed: {answer}"),
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // After `close` there is nothing left to kill.
        if self.input.is_some() {
            let _ = self.server.kill();
            let _ = self.server.wait();
        }
    }
}
