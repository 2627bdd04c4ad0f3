//! The binaries, told where the collector is.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A binary with nothing of the environment that the tests run in but the path, and these variables.
pub(crate) fn program(name: &str, home: &Path, variables: &[(&str, &str)]) -> Command {
    let path = Path::new(env!("CARGO_BIN_EXE_sessiond-grpc")).with_file_name(name);
    assert!(path.exists(), "{} is missing: run `cargo build --package {name} --features otlp`", path.display());
    let mut command = Command::new(path);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home)
        .env("SHELL", "/bin/sh")
        .envs(variables.iter().copied())
        .current_dir(home)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What a program says that does not do what it is to do.
fn complaint(child: &mut Child) -> String {
    let mut said = String::new();
    child.stderr.as_mut().unwrap().read_to_string(&mut said).unwrap();
    said
}

/// A server, which listens.
pub(crate) struct Upstream {
    child: Child,
    address: String,
}

impl Upstream {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let Some(address) = line.strip_prefix("listening on ") else { panic!("{line:?}, {}", complaint(&mut child)) };
        Self { address: address.trim().to_owned(), child }
    }

    /// Calls a tool that takes no arguments over HTTP, as part of the traces of the header and of the call.
    pub(crate) fn post(&self, tool: &str, header: Option<&str>, meta: Option<&str>) -> Value {
        let mut said = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        if let Some(traceparent) = meta {
            said["traceparent"] = json!(traceparent);
        }
        let params = json!({"name": tool, "_meta": said});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let address = self.address.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();
        let header = header.map(|traceparent| format!("traceparent: {traceparent}\r\n")).unwrap_or_default();
        let mut connection = TcpStream::connect(address).unwrap();
        write!(
            connection,
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
             mcp-method: tools/call\r\nmcp-name: {tool}\r\n{header}content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        let json = answer.find('{').and_then(|start| answer.get(start..=answer.rfind('}')?));
        serde_json::from_str(json.unwrap_or_default()).unwrap_or_else(|error| panic!("{answer:?}: {error}"))
    }

    /// Ends it as a service manager would.
    pub(crate) fn end(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

/// An MCP server on pipes.
pub(crate) struct Tools {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    calls: u64,
}

impl Tools {
    /// Starts it and greets it.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut tools = Self { child, input, output, calls: 0 };
        let client = json!({"name": "test", "version": "0"});
        tools.request("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}));
        writeln!(tools.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
        tools
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params});
        writeln!(self.input, "{request}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer = serde_json::from_str::<Value>(&line);
        let answer = answer.unwrap_or_else(|error| panic!("{line:?}: {error}, {}", complaint(&mut self.child)));
        assert_eq!(answer["id"], self.calls, "{answer}");
        answer["result"].clone()
    }

    /// Calls a tool, as part of a trace where one is given.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value, traceparent: Option<&str>) -> Value {
        let mut params = json!({"name": tool, "arguments": arguments});
        if let Some(traceparent) = traceparent {
            params["_meta"] = json!({"traceparent": traceparent});
        }
        self.request("tools/call", params)
    }

    /// Ends it as a client does, and returns what it has logged.
    pub(crate) fn end(mut self) -> String {
        drop(self.input);
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(self.child.wait().unwrap().success(), "{log}");
        log
    }
}
