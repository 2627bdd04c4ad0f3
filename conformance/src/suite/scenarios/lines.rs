//! The output of commands on hosts, line by line (CO01 to CO34).

use futures_util::FutureExt;
use serde_json::json;
use sessiond_core::{
    Capability, CommandStatus, ErrorKind, Handle, ListCommands, ReadCommand, RunCommand, RunStatus, Stream, decode,
};

use crate::suite::client::ToolResult;
use crate::suite::house::House;
use crate::suite::published;
use crate::suite::scenario::{Need, Scenario, host};
use crate::suite::stage::hosts::{handle, kill, newest, run};
use crate::suite::stage::{LONG, Stage, target};

/// What is kept of each stream, in bytes.
const KEPT: usize = 2_097_152;

/// The last number of a sequence that is longer than what is kept.
const MANY: u64 = 400_000;

const ON_A_SHELL: &[Need] = &[Need::Backend(Capability::Connections), Need::Shell];

pub(super) const SCENARIOS: &[Scenario] = &[
    host("CO01", "ssh_cmd_output is what was published", |house| as_published(house).boxed()),
    host("CO01", "its inputs are refused by name, and null is the same as left out", |house| inputs(house).boxed()),
    host("CO02", "lines end at a newline, and their terminators are no part of them", |house| split(house).boxed()),
    host("CO02", "the last unterminated piece is a line that may still grow", |house| growing(house).boxed()),
    host("CO02", "each bad byte is one U+FFFD", |house| bad_bytes(house).boxed()),
    host("CO10", "the newest 50, the newest N, from K on, N from K on", |house| chosen(house).boxed()),
    host("CO11", "numbers begin with 1 and do not shift when lines are dropped", |house| numbers(house).boxed()),
    host("CO12", "past the end there is nothing, which is no error", |house| past_the_end(house).boxed()),
    host("CO20", "a dropped line is an error that names the first one left, and that one works", |house| {
        dropped(house).boxed()
    }),
    host("CO21", "one line longer than what is kept has its newest bytes", |house| one_line(house).boxed()),
    host("CO21", "nothing but newlines", |house| newlines(house).boxed()).needing(ON_A_SHELL),
    host("CO30", "each stream has its own lines, numbers and dropping", |house| apart(house).boxed()),
    host("CO31", "lines are there while the command runs and after it, again and again", |house| always(house).boxed()),
    host("CO33", "an answer holds the newest 32,768 bytes from a line's beginning on", |house| inline(house).boxed()),
    host("CO33", "a longer single line begins with a whole character", |house| one_long_line(house).boxed()),
    host("CO34", "the totals and what was dropped are told", |house| totals(house).boxed()),
];

/// Calls `ssh_cmd_output`.
async fn output(stage: &Stage, arguments: serde_json::Value) -> ToolResult {
    stage.tool("ssh_cmd_output", arguments).await
}

async fn as_published(house: House) {
    let stage = house.open().await;
    let tools = stage.client.tools().await;
    let mut listed = tools.into_iter().find(|tool| tool["name"] == "ssh_cmd_output").unwrap();
    let published = published::ssh_cmd_output();
    published::strip(&mut listed, &[]);
    for part in ["inputSchema", "outputSchema"] {
        assert_eq!(listed[part], published[part], "{part}");
    }
}

async fn inputs(house: House) {
    let stage = house.open().await;
    let handle = handle(&stage.run("seq 1 60").await).0;
    let plain = output(&stage, json!({ "handle_id": handle })).await;
    let nulls = json!({ "handle_id": handle, "lines": null, "start_line": null });
    assert_eq!(output(&stage, nulls).await, plain, "null is the same as left out");
    assert_eq!(plain.get("result").as_array().map(Vec::len), Some(50));
    for (broken, word) in [
        (json!({}), "handle_id"),
        (json!({ "handle_id": "x" }), "handle_id"),
        (json!({ "handle_id": handle, "lines": 0 }), "lines"),
        (json!({ "handle_id": handle, "lines": -1 }), "lines"),
        (json!({ "handle_id": handle, "lines": 1.5 }), "lines"),
        (json!({ "handle_id": handle, "start_line": 0 }), "start_line"),
        (json!({ "handle_id": handle, "start_line": "1" }), "start_line"),
        (json!({ "handle_id": handle, "stream": "both" }), "stderr"),
        (json!({ "handle_id": handle, "start": 1 }), "start_line"),
    ] {
        let refused = output(&stage, broken.clone()).await;
        assert_eq!(refused.kind(), Some("invalid_argument"), "{broken}: {}", refused.text);
        assert!(refused.text.contains(word), "{broken}: {}", refused.text);
    }
}

/// All lines of a command that has ended.
async fn all_of(stage: &Stage, command: &str) -> Vec<String> {
    let handle = handle(&stage.run(command).await);
    stage.lines(ReadCommand { start_line: Some(1), ..newest(handle) }).await
}

async fn split(house: House) {
    let stage = house.open().await;
    for (command, lines) in [
        (r"printf 'a\r\nb\n\nc'", vec!["a", "b", "", "c"]),
        (r"printf 'a\rb\r\r\nc\n'", vec!["a\rb\r", "c"]),
        ("printf x", vec!["x"]),
        (r"printf '\n'", vec![""]),
        ("true", vec![]),
    ] {
        assert_eq!(all_of(&stage, command).await, lines, "{command}");
    }
}

async fn growing(house: House) {
    let stage = house.open().await;
    let handle = stage.launch_until(r"printf 'one\npar'; sleep 3; printf 'tial\nend'", "par").await;
    assert_eq!(stage.check(handle, 0).await.unwrap().stdout.total, 2, "the piece counts");
    stage.ended(handle).await;
    assert_eq!(stage.lines(newest(handle)).await, ["one", "partial", "end"]);
}

async fn bad_bytes(house: House) {
    let stage = house.open().await;
    assert_eq!(
        all_of(&stage, r"printf 'a\377\376b\n\342\202\n\342\202\254'").await,
        ["a\u{fffd}\u{fffd}b", "\u{fffd}\u{fffd}", "€"]
    );
}

fn sequence(from: u64, to: u64) -> Vec<String> {
    (from..=to).map(|number| number.to_string()).collect()
}

async fn chosen(house: House) {
    let stage = house.open().await;
    let handle = handle(&stage.run("seq 1 120").await);
    let read = |lines, start_line| stage.lines(ReadCommand { lines, start_line, ..newest(handle) });
    assert_eq!(read(None, None).await, sequence(71, 120));
    assert_eq!(read(Some(5), None).await, sequence(116, 120));
    assert_eq!(read(Some(1000), None).await, sequence(1, 120), "more than there are");
    assert_eq!(read(None, Some(10)).await, sequence(10, 59));
    assert_eq!(read(None, Some(119)).await, sequence(119, 120));
    assert_eq!(read(Some(3), Some(10)).await, sequence(10, 12));
    let refused = stage.try_lines(ReadCommand { lines: Some(0), ..newest(handle) }).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
}

/// The first line of `seq 1 MANY` that is kept whole.
fn first_kept() -> u64 {
    let mut bytes = 0;
    let longer = |number: &u64| {
        bytes += number.to_string().len() + 1;
        bytes <= KEPT
    };
    MANY + 1 - (1..=MANY).rev().take_while(longer).count() as u64
}

async fn sequence_to_many(stage: &Stage) -> Handle {
    handle(&stage.run(&format!("seq 1 {MANY}")).await)
}

async fn numbers(house: House) {
    let stage = house.open().await;
    let few = handle(&stage.run("echo first; echo second").await);
    assert_eq!(stage.lines(ReadCommand { lines: Some(1), start_line: Some(1), ..newest(few) }).await, ["first"]);
    let many = sequence_to_many(&stage).await;
    for line in [first_kept(), 300_000, MANY] {
        let read = ReadCommand { lines: Some(2), start_line: Some(line), ..newest(many) };
        assert_eq!(stage.lines(read).await, sequence(line, (line + 1).min(MANY)), "line {line}");
    }
}

async fn past_the_end(house: House) {
    let stage = house.open().await;
    let handle = stage.launch_until("echo one; sleep 1000", "one").await;
    let read = |start_line| stage.lines(ReadCommand { start_line: Some(start_line), ..newest(handle) });
    assert_eq!((read(1).await, read(2).await, read(1_000_000).await), (vec!["one".to_owned()], vec![], vec![]));
    stage.kill(kill(handle)).await.unwrap();
    assert_eq!(read(2).await, Vec::<String>::new(), "after the end too");
}

async fn dropped(house: House) {
    let stage = house.open().await;
    let handle = sequence_to_many(&stage).await;
    let from = |line| ReadCommand { lines: Some(1), start_line: Some(line), ..newest(handle) };
    let first = first_kept();
    for line in [1, first - 1] {
        let error = stage.try_lines(from(line)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains(&first.to_string()), "it names line {first}: {error}");
        assert!(error.message().contains("file"), "it advises a file: {error}");
    }
    assert_eq!(stage.lines(from(first)).await, [first.to_string()]);
    assert_eq!(stage.lines(newest(handle)).await, sequence(MANY - 49, MANY), "never an error without start_line");
    let all = stage.lines(ReadCommand { lines: Some(2 * MANY), ..newest(handle) }).await;
    assert_eq!(all.first(), Some(&first.to_string()));
}

async fn one_line(house: House) {
    let stage = house.open().await;
    let answer = stage.run("head -c 67108864 /dev/zero").await;
    assert_eq!(answer.status, RunStatus::Success, "64 MiB are through in time");
    let handle = handle(&answer);
    let info = stage.check(handle, 0).await.unwrap();
    assert_eq!((info.stdout.total, info.stdout.dropped), (1, 0), "the line is there");
    for start_line in [None, Some(1)] {
        let read = stage.try_lines(ReadCommand { start_line, ..newest(handle) }).await.unwrap();
        let sizes: Vec<usize> = read.lines.iter().map(bytes::Bytes::len).collect();
        assert_eq!(sizes, [KEPT], "its newest bytes");
    }
}

async fn newlines(house: House) {
    let stage = house.open().await;
    let handle = handle(&stage.run(&format!("head -c {KEPT} /dev/zero | tr '\\0' '\\n'; echo end")).await);
    let info = stage.check(handle, 0).await.unwrap();
    assert_eq!((info.stdout.total, info.stdout.dropped), (KEPT as u64 + 1, 4), "five bytes more than are kept");
    let first = ReadCommand { lines: Some(3), start_line: Some(5), ..newest(handle) };
    assert_eq!(stage.lines(first).await, ["", "", ""]);
    assert_eq!(stage.lines(ReadCommand { lines: Some(2), ..newest(handle) }).await, ["", "end"]);
}

async fn apart(house: House) {
    let stage = house.open().await;
    let handle = handle(&stage.run(&format!("echo out; seq 1 {MANY} >&2; echo over")).await);
    let errors =
        |line| ReadCommand { stream: Stream::Stderr, lines: Some(1), start_line: Some(line), ..newest(handle) };
    assert_eq!(stage.lines(newest(handle)).await, ["out", "over"], "nothing of it was dropped");
    assert_eq!(stage.lines(errors(MANY)).await, [MANY.to_string()]);
    assert!(stage.try_lines(errors(1)).await.is_err(), "stderr has had more than is kept");
    let info = stage.check(handle, 0).await.unwrap();
    assert_eq!((info.stdout.total, info.stdout.dropped), (2, 0));
    assert_eq!((info.stderr.total, info.stderr.dropped), (MANY, first_kept() - 1));
}

async fn always(house: House) {
    let stage = house.open().await;
    let short = std::time::Duration::from_secs(1);
    for (request, status) in [
        (RunCommand { silence: short, ..run("echo a; sleep 4; echo b") }, RunStatus::IoTimeout),
        (RunCommand { wait: Some(short), ..run("echo a; sleep 4; echo b") }, RunStatus::WaitTimeout { capped: false }),
    ] {
        let early = stage.try_run(request).await.unwrap();
        let handle = handle(&early);
        assert_eq!((early.status, decode(&early.stdout.bytes).as_str()), (status, "a\n"));
        assert_eq!(stage.lines(newest(handle)).await, ["a"], "while it runs");
        let info = stage.ended(handle).await;
        assert_eq!(info.status, CommandStatus::Completed);
        for _ in 0..2 {
            assert_eq!(stage.lines(newest(handle)).await, ["a", "b"], "what came after the answer too");
        }
    }
}

async fn inline(house: House) {
    let stage = house.open().await;
    let answer = stage.run("seq 1 20000").await;
    let said = decode(&answer.stdout.bytes);
    assert!(answer.stdout.truncated && said.len() <= 32_768 && said.len() > 32_760, "{} bytes", said.len());
    let first: u64 = said.lines().next().unwrap().parse().unwrap();
    assert_eq!(said.lines().map(str::to_owned).collect::<Vec<_>>(), sequence(first, 20_000), "whole lines");
    assert_eq!(answer.stdout.first_line, first);
    let small = stage.run("seq 1 10; seq 1 20000 >&2").await;
    assert_eq!((small.stdout.truncated, small.stderr.truncated), (false, true), "each stream by itself");
    let tool = stage.tool("ssh_cmd_run", json!({ "command": "seq 1 20000", "host_name": target().as_str() })).await;
    assert_eq!(tool.get("output_truncated"), &json!(true));
    assert!(tool.get("output_note").as_str().is_some_and(|note| note.contains("ssh_cmd_output")), "{tool:?}");
    assert_eq!(tool.get("output_lines"), &json!(20_000), "of all lines");
}

async fn one_long_line(house: House) {
    let stage = house.open().await;
    let answer = stage.run(&format!("printf '{}'", "€".repeat(12_000))).await;
    assert_eq!(decode(&answer.stdout.bytes), "€".repeat(32_768 / 3));
    assert!(answer.stdout.truncated);
    let whole = stage.lines(newest(handle(&answer))).await;
    assert_eq!(whole, ["€".repeat(12_000)]);
}

async fn totals(house: House) {
    let stage = house.open().await;
    let handle = sequence_to_many(&stage).await;
    let checked = stage.check(handle, LONG).await.unwrap();
    assert_eq!((checked.stdout.total, checked.stdout.dropped), (MANY, first_kept() - 1));
    assert_eq!((checked.stderr.total, checked.stderr.dropped), (0, 0));
    let listed = stage.history(ListCommands { output_lines: Some(2), ..ListCommands::default() }).await.remove(0);
    assert_eq!((listed.info.handle, listed.info.stdout), (handle, checked.stdout));
    assert_eq!(listed.output.map(|output| output.stdout.len()), Some(2));
}
