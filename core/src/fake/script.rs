//! The handful of shell that the fake understands, parsed before anything runs.

use crate::error::{Error, Result};
use crate::output::Stream;
use crate::spec::Signal;

/// What a script does, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Script(Vec<Statement>);

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Statement {
    Print(Stream, Vec<u8>),
    /// Prints a variable; `$` is the process id.
    PrintVariable(Stream, String),
    PrintDirectory(Stream),
    Repeat {
        stream: Stream,
        byte: u8,
        count: usize,
    },
    Sleep(f64),
    Exit(i32),
    Status(i32),
    Cat,
    ReadLine,
    SttySize,
    Trap(Signal),
    Kill(Signal),
    Leave,
    Fail(String),
    Hang,
    Lose(u64),
    Lost(String),
    Disconnect,
    Drop,
    Unkillable,
}

impl Script {
    pub(super) fn parse(text: &str) -> Result<Self> {
        split(text)
            .into_iter()
            .filter(|words| !words.is_empty())
            .map(|words| statement(&words))
            .collect::<Result<_>>()
            .map(Self)
    }

    pub(super) fn first(&self) -> Option<&Statement> {
        self.0.first()
    }
}

impl IntoIterator for Script {
    type Item = Statement;
    type IntoIter = std::vec::IntoIter<Statement>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Statements as words; quotes keep words together, `;` and newlines part statements.
fn split(text: &str) -> Vec<Vec<String>> {
    let mut statements = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    for char in text.chars() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(char),
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, ';' | '\n') => {
                finish_word(&mut statements, &mut word);
                statements.push(Vec::new());
            }
            (None, ' ' | '\t') => finish_word(&mut statements, &mut word),
            (None, _) => word.get_or_insert_default().push(char),
        }
    }
    finish_word(&mut statements, &mut word);
    statements
}

fn finish_word(statements: &mut [Vec<String>], word: &mut Option<String>) {
    if let (Some(word), Some(statement)) = (word.take(), statements.last_mut()) {
        statement.push(word);
    }
}

fn statement(words: &[String]) -> Result<Statement> {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Nothing is forked here, so what replaces the shell is what it would have run.
    if words.first() == Some(&"exec") {
        words.remove(0);
    }
    let stream = if words.pop_if(|word| *word == ">&2").is_some() { Stream::Stderr } else { Stream::Stdout };
    let rest = |from: usize| words.get(from..).unwrap_or_default().join(" ");
    Ok(match words.as_slice() {
        [.., "&"] => Statement::Leave,
        ["echo", name] if name.len() > 1 && name.starts_with('$') => {
            Statement::PrintVariable(stream, name.trim_start_matches('$').to_owned())
        }
        ["pwd"] => Statement::PrintDirectory(stream),
        ["echo", ..] => Statement::Print(stream, format!("{}\n", rest(1)).into_bytes()),
        ["printf", text] => Statement::Print(stream, unescape(text)),
        ["seq", first, last] => {
            let (first, last): (i64, i64) = (number(first)?, number(last)?);
            let lines: String = (first..=last).map(|line| format!("{line}\n")).collect();
            Statement::Print(stream, lines.into_bytes())
        }
        ["head", "-c", count, "/dev/zero"] => Statement::Repeat { stream, byte: 0, count: number(count)? },
        ["sleep", seconds] => Statement::Sleep(number(seconds)?),
        ["exit"] => Statement::Exit(0),
        ["exit", code] => Statement::Exit(number(code)?),
        ["true"] => Statement::Status(0),
        ["false"] => Statement::Status(1),
        ["cat"] => Statement::Cat,
        ["read", ..] => Statement::ReadLine,
        ["stty", "size"] => Statement::SttySize,
        ["trap", "", name] => Statement::Trap(name.parse()?),
        ["kill", name, "$$"] => Statement::Kill(name.trim_start_matches('-').parse()?),
        [":fail", ..] => Statement::Fail(rest(1)),
        [":hang"] => Statement::Hang,
        [":lose", count] => Statement::Lose(number(count)?),
        [":lost", ..] => Statement::Lost(rest(1)),
        [":disconnect"] => Statement::Disconnect,
        [":drop"] => Statement::Drop,
        [":unkillable"] => Statement::Unkillable,
        [name, ..] => Statement::Print(Stream::Stderr, format!("sh: {name}: not found\n").into_bytes()),
        [] => Statement::Status(0),
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| Error::invalid_argument(format!("the fake understands no number {text:?}")))
}

/// The escapes of `printf`: `\n`, `\r`, `\t`, `\\`, octal `\nnn` and `\xhh`.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, after) = rest.split_at(at);
        bytes.extend(before.as_bytes());
        let (byte, length) = escape(after);
        bytes.push(byte);
        rest = after.get(length..).unwrap_or_default();
    }
    bytes.extend(rest.as_bytes());
    bytes
}

/// The byte that an escape stands for, and how many characters the escape has.
fn escape(text: &str) -> (u8, usize) {
    let digits = |from: usize, most: usize, radix: u32| {
        let length = text.bytes().skip(from).take(most).take_while(|byte| char::from(*byte).is_digit(radix)).count();
        let value = text.get(from..from + length).and_then(|digits| u8::from_str_radix(digits, radix).ok());
        value.map(|value| (value, from + length))
    };
    match text.as_bytes().get(1) {
        Some(b'n') => (b'\n', 2),
        Some(b'r') => (b'\r', 2),
        Some(b't') => (b'\t', 2),
        Some(b'\\') => (b'\\', 2),
        Some(b'x') => digits(2, 2, 16).unwrap_or((b'\\', 1)),
        _ => digits(1, 3, 8).unwrap_or((b'\\', 1)),
    }
}
