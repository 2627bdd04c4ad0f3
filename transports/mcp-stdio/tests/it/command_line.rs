//! Flags, help, the tool table, and what a person sees who starts the server by hand.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Place, stderr, stdout};

#[test]
fn help_says_what_it_is_and_shows_examples() {
    let output = Place::new().run(&["--help"], "");
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0));
    for said in [
        "Sessions for AI agents over MCP on stdin and stdout",
        "claude mcp add sessiond",
        "\n  call ",
        "\n  check ",
        "\n  tools ",
        "--config <FILE>",
        "--connect <ADDRESS>",
        "--log <LEVEL>",
    ] {
        assert!(text.contains(said), "{said:?} is missing: {text}");
    }
}

#[test]
fn it_knows_its_version() {
    let output = Place::new().run(&["--version"], "");
    assert_eq!(stdout(&output), concat!("sessiond-mcp-stdio ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn what_it_does_not_know_is_refused_with_the_nearest() {
    let refused = |args: &[&str]| {
        let output = Place::new().run(args, "");
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""));
        stderr(&output).to_owned()
    };
    assert!(refused(&["--confg", "x"]).contains("'--config'"));
    assert!(refused(&["chek"]).contains("'check'"));
    assert!(refused(&["--log", "loud"]).contains("invalid value 'loud'"));
}

#[test]
fn the_tools_are_listed_for_people_and_for_programs() {
    let place = Place::new();
    let json = place.run(&["tools", "--json"], "");
    let json: Value = serde_json::from_str(stdout(&json)).unwrap();
    let tools = json["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 26);
    let (listing, table) = (place.run(&["tools"], ""), place.run(&["tools", "--markdown"], ""));
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert!(stdout(&listing).lines().any(|line| line == name), "{name}");
        assert!(stdout(&table).contains(&format!("\n| `{name}` |")), "{name}");
        assert!(tool["inputSchema"]["properties"].is_object(), "{name}");
    }
    let choices = "What to do. One of interrupt, eof, stop, signal, resize, keys.\n";
    assert!(stdout(&listing).contains(choices), "{}", stdout(&listing));
}

#[test]
fn the_readme_shows_the_tools() {
    let readme = include_str!("../../../../README.md");
    let (_, rest) = readme.split_once("<!-- tools:begin -->").unwrap();
    let (shown, _) = rest.split_once("<!-- tools:end -->").unwrap();
    let output = Place::new().run(&["tools", "--markdown"], "");
    assert_eq!(shown.trim(), stdout(&output).trim(), "put the output of `tools --markdown` there");
}

#[test]
fn a_person_at_a_terminal_is_told_how_to_register_it() {
    let place = Place::new();
    let binary = place.command(&[]);
    // `script` gives it a terminal, and ends that terminal's input when its own has ended.
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", binary.get_program().to_str().unwrap(), "/dev/null"])
        .env("HOME", place.directory.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = stdout(&output);
    assert!(output.status.success(), "{output:?}");
    for client in ["claude mcp add sessiond", "codex mcp add sessiond", "code --add-mcp", "mcp.json", "\"ssh\""] {
        assert!(text.contains(client), "{client} is missing: {text}");
    }
}
