//! Calls of every tool with any arguments: always an answer, and every error of the closed set.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};
use sessiond_core::fake::Fake;
use sessiond_core::{Call, ErrorKind, FixedTargets, Limits, Owner, Registry, TargetName};
use sessiond_mcp::{Answer, Family, Handler, META_ERROR, TextStyle, ToolRow, tool_table};

use super::input::Input;

/// The most calls of one run.
const CALLS: usize = 6;

/// Values that mean something somewhere.
const TEXTS: [&str; 24] = [
    "local",
    "echo hi",
    "cat",
    "sleep 3",
    ":fail x",
    ":drop",
    "exit 3",
    "",
    "\0",
    "interrupt",
    "eof",
    "stop",
    "signal",
    "resize",
    "keys",
    "TERM",
    "ctrl-c",
    "running",
    "r1",
    "aGk=",
    "hi\r",
    "a+|(",
    "/tmp",
    "other",
];

static TABLE: LazyLock<Vec<ToolRow>> = LazyLock::new(|| tool_table(&Family::ALL));

/// What earlier calls have brought about, for later ones to name.
#[derive(Default)]
struct Known {
    session: String,
    handle: u64,
}

impl Known {
    fn learn(&mut self, answer: &Answer) {
        let Some(answer) = &answer.structured else { return };
        if let Some(session) = answer["session_id"].as_str() {
            session.clone_into(&mut self.session);
        }
        self.handle = answer["handle_id"].as_u64().unwrap_or(self.handle);
    }
}

/// Makes the calls that the bytes say, on a server of their own.
pub fn run(data: &[u8]) {
    // What these scripts print is as long as they say, which is not what is looked for here.
    if [&b"seq"[..], b"head"].iter().any(|word| data.windows(word.len()).any(|at| at == *word)) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let targets = FixedTargets::new(vec![(Fake::info(TargetName::new("local").unwrap()), Fake::new())]);
        let registry = Registry::new(Arc::new(targets), Limits::default());
        let mut input = Input(data);
        let owner = match input.byte() % 2 {
            0 => Owner::management("fuzz"),
            _ => Owner::scoped("fuzz", TargetName::new("local").unwrap()),
        };
        let handler = Handler::new(registry.clone(), owner.clone(), &Family::ALL, TextStyle::Short);
        let mut known = Known::default();
        for _ in 0..CALLS {
            if input.is_empty() {
                break;
            }
            let tool = &TABLE[usize::from(input.byte()) % TABLE.len()];
            let arguments = arguments(tool, &mut input, &known);
            let answer = handler.call(tool.name, arguments, &Call::new(owner.clone())).await;
            let answer = answer.expect("the table's tools are there");
            check(tool.name, &answer);
            known.learn(&answer);
        }
        registry.shutdown().await;
    });
}

fn check(tool: &str, answer: &Answer) {
    match &answer.structured {
        Some(structured) => assert!(structured.is_object() && !answer.text.is_empty(), "{tool}: {answer:?}"),
        None => {
            let kind = answer.meta.get(META_ERROR).and_then(Value::as_str);
            let known = ErrorKind::ALL.iter().any(|known| Some(known.as_str()) == kind);
            assert!(answer.is_error && known && !answer.text.is_empty(), "{tool}: {answer:?}");
            assert_ne!(kind, Some(ErrorKind::Internal.as_str()), "{tool}: a fault of ours: {answer:?}");
        }
    }
}

/// Arguments: those that the bytes write as JSON, or some of the tool's own with values of any kind.
fn arguments(tool: &ToolRow, input: &mut Input<'_>, known: &Known) -> Map<String, Value> {
    let choice = input.byte();
    if choice == b'{' {
        let text = input.piece();
        if let Ok(Value::Object(map)) = serde_json::from_slice(text) {
            return map;
        }
    }
    let mut map = Map::new();
    for (place, field) in tool.inputs.iter().enumerate() {
        // Required ones are mostly there, the others mostly not.
        let there = if field.required { choice != 0xff } else { choice >> (place % 8) & 1 == 1 };
        if there {
            map.insert(field.name.to_owned(), value(field.name, input, known, 3));
        }
    }
    if choice == 0xfe {
        map.insert(String::from_utf8_lossy(input.piece()).into_owned(), Value::Null);
    }
    map
}

fn value(name: &str, input: &mut Input<'_>, known: &Known, depth: u8) -> Value {
    match input.byte() % 16 {
        // What fits.
        0..=7 => match name {
            "session_id" => Value::from(known.session.as_str()),
            "handle_id" => Value::from(known.handle),
            "client_token" | "client_id" | "host_name" => Value::from("local"),
            "command" | "input" | "action" | "signal" | "input_base64" => Value::from(input.pick(&TEXTS)),
            "until" => Value::Object(Map::from_iter([
                ("pattern".to_owned(), Value::from(String::from_utf8_lossy(input.piece()))),
                ("quiet_ms".to_owned(), Value::from(input.byte())),
            ])),
            "keys" => (0..input.byte() % 4).map(|_| Value::from(input.pick(&TEXTS))).collect(),
            "env" => Value::Object(Map::from_iter([(input.pick(&TEXTS).to_owned(), Value::from(input.pick(&TEXTS)))])),
            _ => Value::from(input.number()),
        },
        8 => Value::Null,
        9 => Value::from(input.byte().is_multiple_of(2)),
        10 => Value::from(f64::from_bits(u64::from_be_bytes(std::array::from_fn(|_| input.byte())))),
        11 => Value::from(u64::MAX - u64::from(input.byte())),
        12 => Value::from(-i64::from(input.byte())),
        13 => Value::from(String::from_utf8_lossy(input.piece())),
        14 if depth > 0 => (0..input.byte() % 4).map(|_| value(name, input, known, depth - 1)).collect(),
        15 if depth > 0 => {
            let key = String::from_utf8_lossy(input.piece()).into_owned();
            Value::Object(Map::from_iter([(key, value(name, input, known, depth - 1))]))
        }
        _ => Value::from(input.pick(&TEXTS)),
    }
}
