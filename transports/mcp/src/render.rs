//! Turns typed answers into structured content and text. Bytes become text here and nowhere else.

use serde_json::{Map, Value};
use sessiond_core::{End, Fired, PlatformId, Read, Wait, decode};

use crate::answer::{Answer, TextStyle};

/// The most output, in bytes, that a short text repeats.
const SHORT: usize = 4096;

/// Structured content as it grows.
#[derive(Default)]
pub(crate) struct Fields(pub(crate) Map<String, Value>);

impl Fields {
    pub(crate) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Leaves the property out when there is nothing to say.
    pub(crate) fn put_some(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// The terminal fields (SR50): the first three always, `error` when there is something to say.
    pub(crate) fn put_end(&mut self, end: &End) {
        self.put("exit_code", end.exit_code());
        self.put("timed_out", end.timed_out());
        self.put("canceled", end.canceled());
        self.put_some("error", end.error());
    }

    /// The answer of a tool that may have waited for output: with the read fields when it has, after `line`.
    pub(crate) fn with_read(mut self, line: Option<String>, read: Option<&Read>, telling: Telling) -> Answer {
        let Some(read) = read else { return Answer::new(self.0, line.unwrap_or_default()) };
        let fired = telling.until.then_some(read.fired);
        let mut read_line = read_line(read);
        match fired {
            Some(Fired::Deadline) if !telling.waits => read_line.push_str("; wait_ms is 0: looked once"),
            Some(fired) => read_line.push_str(&format!("; the wait ended by {}", fired.as_str())),
            None => {}
        }
        let line = match line {
            Some(line) => format!("{line}; {read_line}"),
            None => read_line,
        };
        let shown = self.put_read(read, telling.style);
        Answer::new(self.0, shown.under(line)).fired(fired)
    }

    /// The read fields. Returns the output for the text, when that repeats it.
    fn put_read(&mut self, read: &Read, style: TextStyle) -> Shown {
        let output = decode(&read.slice.bytes);
        let shown = Shown::of(&[("", &output)], style);
        self.put("output", output);
        self.put("next_cursor", read.slice.next.0);
        self.put("truncated", read.slice.lost > 0);
        self.put("done", read.slice.ended.is_some());
        if let Some(end) = &read.slice.ended {
            self.put_end(end);
        }
        shown
    }
}

/// How an answer that may have waited is put.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Telling {
    pub(crate) style: TextStyle,
    /// Whether the caller waited for something particular, and so hears what came.
    until: bool,
    /// Whether the caller gave that any time.
    waits: bool,
}

impl Telling {
    pub(crate) fn new(style: TextStyle, wait: &Wait) -> Self {
        Self { style, until: wait.until.is_some(), waits: !wait.time.is_zero() }
    }
}

/// What the text says after its first line, which is ours: the output itself, or how much there is.
pub(crate) enum Shown {
    Output(String),
    Elsewhere(usize),
}

impl Shown {
    /// Joins outputs, each after its heading if it has one.
    pub(crate) fn of(parts: &[(&str, &str)], style: TextStyle) -> Self {
        let total: usize = parts.iter().map(|(_, output)| output.len()).sum();
        if style == TextStyle::Short && total > SHORT {
            return Self::Elsewhere(total);
        }
        let mut text = String::with_capacity(total + 16);
        for (heading, output) in parts.iter().filter(|(_, output)| !output.is_empty()) {
            if !heading.is_empty() {
                text.push_str(heading);
                text.push('\n');
            }
            text.push_str(output);
            if !output.ends_with('\n') && parts.len() > 1 {
                text.push('\n');
            }
        }
        Self::Output(text)
    }

    /// The whole text.
    pub(crate) fn under(self, line: String) -> String {
        match self {
            Self::Output(output) if output.is_empty() => line,
            Self::Output(output) => format!("{line}\n{output}"),
            Self::Elsewhere(bytes) => format!(
                "{line}; {bytes} bytes of output are not repeated in this text: they are in structuredContent; for a \
                 client that shows text alone, mcp.text = \"full\" in the server's configuration puts them here"
            ),
        }
    }
}

/// The text of a list: its heading and one line for each item, as many as a text of this style holds.
pub(crate) fn listing(heading: String, lines: &[String], style: TextStyle) -> String {
    let mut text = heading;
    for (place, line) in lines.iter().enumerate() {
        if style == TextStyle::Short && text.len() + line.len() > SHORT {
            text.push_str(&format!("\n{} more in structuredContent", lines.len() - place));
            break;
        }
        text.push('\n');
        text.push_str(line);
    }
    text
}

/// A number of things.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// The beginning of a command: a page of long ones must not fill a context.
pub(crate) fn beginning(command: &str) -> String {
    const MAX: usize = 1024;
    match command.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", command.get(..end).unwrap_or_default()),
        None => command.to_owned(),
    }
}

/// The beginning of a name or a command, on one line.
pub(crate) fn one_line(text: &str) -> String {
    const MAX: usize = 80;
    text.chars().take(MAX).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// An id that others hand out, on one line. It is told whole, as far as any id is that can be given back.
pub(crate) fn identifier(id: &str) -> String {
    id.chars().take(PlatformId::MAX_LEN).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// What is said of processes that a command has left behind (SF04).
pub(crate) const LEFT_RUNNING: &str = "still running in the background";

/// Processes, where there are some: what they are, and their pids.
pub(crate) fn processes(what: &str, pids: &[u32]) -> Option<String> {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    (!pids.is_empty()).then(|| format!("{what}: {}", pids.join(", ")))
}

/// How a process ended, in a few words.
pub(crate) fn end_line(end: &End) -> String {
    let mut line = if end.lost() { "lost".to_owned() } else { format!("exit code {}", end.exit_code()) };
    if end.timed_out() {
        line.push_str(", timed out");
    }
    if end.canceled() {
        line.push_str(", canceled");
    }
    if let Some(error) = end.error() {
        line.push_str(", ");
        line.push_str(&error);
    }
    line
}

/// Where a read stands, in a few words.
fn read_line(read: &Read) -> String {
    let mut line = match &read.slice.ended {
        Some(end) => format!("done: {}", end_line(end)),
        None => "not done".to_owned(),
    };
    line.push_str("; next_cursor ");
    line.push_str(&read.slice.next.to_string());
    if read.slice.lost > 0 {
        line.push_str(&format!("; {} bytes before this output are no longer kept", read.slice.lost));
    }
    line
}
