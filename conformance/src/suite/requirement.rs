//! The requirements in force, by id.

/// What decides a requirement, and so how often it is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// Backend and transport: proven for each pair.
    Both,
    /// The backend alone: proven in process for each.
    Backend,
    /// The transport alone: proven for each, over the scripted backend.
    Transport,
    /// Neither: proven once, in process over the scripted backend.
    Neither,
    /// The transport, of what only agent platforms have: proven for each, over an agent platform.
    Platform,
}

/// A requirement that is in force.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    /// Its id in the requirements.
    pub id: &'static str,
    /// What it asks, in a few words.
    pub sentence: &'static str,
    /// What decides it.
    pub axes: Axes,
}

const fn requirement(id: &'static str, axes: Axes, sentence: &'static str) -> Requirement {
    Requirement { id, sentence, axes }
}

/// Every requirement in force: sections A, B without CF05 and CF07, C and D; EX01, EX04.
pub const IN_FORCE: &[Requirement] = &[
    requirement("SR01", Axes::Transport, "session_read has the published name, annotations, inputs and outputs"),
    requirement("SR02", Axes::Transport, "the tool list asks for client_token; a scoped one does not"),
    requirement("SR03", Axes::Transport, "an unknown property is refused with the nearest known one"),
    requirement("SR04", Axes::Transport, "max_bytes and until are optional inputs; view is none"),
    requirement("SR05", Axes::Both, "structured content fits the output schema; an error has none"),
    requirement("SR10", Axes::Transport, "wait_ms is 0 to 20000, never clamped"),
    requirement("SR11", Axes::Transport, "a negative or broken cursor is refused"),
    requirement("SR12", Axes::Transport, "management access must name the client_token"),
    requirement("SR13", Axes::Transport, "scoped access selects its own target; another's is not found"),
    requirement("SR14", Axes::Transport, "unknown, expired, foreign and misnamed sessions get one answer"),
    requirement("SR20", Axes::Both, "a chain of reads from 0 is the whole stream"),
    requirement("SR21", Axes::Both, "reading consumes nothing and disturbs nobody"),
    requirement("SR22", Axes::Both, "a cursor past the end is refused with the end"),
    requirement("SR23", Axes::Both, "output never ends inside a character; each bad byte is one U+FFFD"),
    requirement("SR24", Axes::Both, "a held-back tail alone ends no wait"),
    requirement("SR25", Axes::Backend, "the output is the terminal's, echo included"),
    requirement("SR30", Axes::Both, "the newest 1,048,576 bytes are kept"),
    requirement("SR31", Axes::Both, "truncated says that the asked cursor was dropped, and nothing else"),
    requirement("SR32", Axes::Backend, "exactly the limit drops nothing, one more drops one"),
    requirement("SR33", Axes::Backend, "a session without a reader is neither blocked nor killed"),
    requirement("SR34", Axes::Both, "a command keeps its first 1 MiB"),
    requirement("SR40", Axes::Both, "a wait ends with output or the end; its expiry is a success"),
    requirement("SR41", Axes::Both, "a wait delays nobody, and a cancelled one ends"),
    requirement("SR50", Axes::Both, "done and the terminal fields belong together"),
    requirement("SR51", Axes::Both, "a read that stops before the last byte is not done"),
    requirement("SR52", Axes::Both, "the end comes after the last byte"),
    requirement("SR53", Axes::Both, "the exit code is the process's own, or -1"),
    requirement("SR54", Axes::Both, "timed_out and canceled only when confirmed; lost is neither"),
    requirement("SR55", Axes::Both, "a clean end has no error"),
    requirement("SR56", Axes::Backend, "children that keep the terminal end it after a bounded grace"),
    requirement("SR60", Axes::Both, "finished records expire, running ones never"),
    requirement("SR61", Axes::Both, "a restart makes every id unknown"),
    requirement("SF01", Axes::Backend, "a session starts in the documented surroundings, or not at all"),
    requirement("SF02", Axes::Both, "a write is whole, in order, and says what was taken"),
    requirement("SF03", Axes::Both, "a stop is idempotent, verified, and leaves nobody"),
    requirement("SF04", Axes::Both, "a command has a full result however it ends"),
    requirement("SF05", Axes::Both, "lists let a caller find its sessions and targets again"),
    requirement("SF06", Axes::Both, "at most 64 run, and none is evicted"),
    requirement("SF07", Axes::Both, "start, write and control read what came of them"),
    requirement("CO01", Axes::Transport, "ssh_cmd_output has the published name, inputs and outputs"),
    requirement("CO02", Axes::Both, "lines without their ends; the last unterminated piece is one"),
    requirement("CO10", Axes::Both, "the newest 50, the newest N, from K on, N from K on"),
    requirement("CO11", Axes::Both, "lines are numbered from 1, for good"),
    requirement("CO12", Axes::Both, "past the end is an empty list"),
    requirement("CO20", Axes::Both, "2 MiB of each stream are kept; a dropped line names the first one left"),
    requirement("CO21", Axes::Backend, "one endless line and nothing but newlines are bounded"),
    requirement("CO30", Axes::Both, "stdout and stderr are apart"),
    requirement("CO31", Axes::Both, "output is there while the command runs and after it, again and again"),
    requirement("CO32", Axes::Both, "handles are private, never used twice, and end with a reconnect"),
    requirement("CO33", Axes::Both, "the newest 32 KB of each stream are in the answer, which says so"),
    requirement("CO34", Axes::Both, "line totals and what was dropped are told"),
    requirement("CF01", Axes::Both, "a run waits as told, and only its time limit stops it"),
    requirement("CF02", Axes::Both, "a look at a command waits for its end, and never guesses"),
    requirement("CF03", Axes::Both, "a kill is whole, verified and told as it came out"),
    requirement("CF04", Axes::Both, "the history keeps what runs, and shows nobody's probes"),
    requirement("CF06", Axes::Both, "many commands at once, on one host and on several"),
    requirement("CF08", Axes::Both, "host_name may be left out while exactly one host is connected"),
    requirement("CF09", Axes::Both, "ssh tools take hosts only; sessions take every target"),
    requirement("DS01", Axes::Platform, "describe_session has the published name, hints, input and outputs"),
    requirement("DS10", Axes::Platform, "completed turns are kept, and nothing else"),
    requirement("DS11", Axes::Platform, "kept events are in order, each with its own text"),
    requirement("DS12", Axes::Platform, "output is the last kept text, once the session is over"),
    requirement("DS20", Axes::Platform, "times are ISO 8601 whatever the platform sends, durations its own"),
    requirement("DS30", Axes::Platform, "manual tasks are a list, none, or unknown, and never spoil the rest"),
    requirement("DS31", Axes::Platform, "manual tasks are the session's own, pending, with age and view"),
    requirement("DS40", Axes::Platform, "every page is fetched, in order, in three styles"),
    requirement("DS41", Axes::Platform, "an id is one segment of a path, and refused when it cannot be"),
    requirement("DS42", Axes::Platform, "an unknown session is not found, without the platform's address or words"),
    requirement("DS43", Axes::Platform, "logins are renewed, waits are kept, and a call has one deadline"),
    requirement("DS44", Axes::Platform, "statuses are passed through verbatim"),
    requirement("DS45", Axes::Platform, "an answer over 1 MiB drops its oldest events, and counts them"),
    requirement("DF01", Axes::Platform, "records, agents and manual tasks are reached by the right to the platform"),
    requirement("DF02", Axes::Platform, "an agent's run is a session like any other"),
    requirement("AL01", Axes::Both, "the same call gives the same result everywhere"),
    requirement("AL02", Axes::Transport, "every tool is described whole and the list is small"),
    requirement("AL03", Axes::Both, "errors are of the closed set, with kind and advice"),
    requirement("AL04", Axes::Transport, "stdout is the protocol's; children inherit no descriptor"),
    requirement("AL05", Axes::Both, "the server's end ends every session"),
    requirement("EX01", Axes::Both, "until ends a wait by pattern, quiet or end"),
    requirement("EX04", Axes::Both, "sessions are steered: interrupt, eof, resize, signals, keys"),
];

/// The requirement of an id.
pub fn find(id: &str) -> Option<&'static Requirement> {
    IN_FORCE.iter().find(|requirement| requirement.id == id)
}
