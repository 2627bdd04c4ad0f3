//! Which turns of a run its log has been given: each once, whatever order the platform lists them in.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use sessiond_core::{OutputSink, ReasoningEvent, Stream};

/// The turns that are in the log, as hashes: a run of ten thousand turns costs a few bytes each.
#[derive(Debug, Default)]
pub(super) struct Given(HashSet<u64>);

impl Given {
    /// Gives the log the text of every turn that it does not have, in the order of the list, each on lines of its own.
    /// Returns how many that were.
    ///
    /// A turn without text is left for a later look, which may find some.
    pub(super) fn give(&mut self, turns: &[ReasoningEvent], out: &mut OutputSink) -> usize {
        let mut twins: HashSet<u64> = HashSet::new();
        let mut given = 0;
        for turn in turns {
            let Some(text) = turn.text.as_deref().filter(|text| !text.is_empty()) else { continue };
            if !self.0.insert(name(turn, &mut twins)) {
                continue;
            }
            // In one piece: who waits for a turn has its newline with it.
            let end = if text.ends_with('\n') { "" } else { "\n" };
            out.push(Stream::Stdout, format!("{text}{end}").as_bytes());
            given += 1;
        }
        given
    }
}

/// What a turn is known by: its id, else all that there is of it. Of several in one list that have no id and are the
/// same in everything, each is one of its own.
fn name(turn: &ReasoningEvent, twins: &mut HashSet<u64>) -> u64 {
    if let Some(id) = &turn.event_id {
        return hash(&(0_u8, id));
    }
    let mut nth = 0_u32;
    loop {
        let name = hash(&(1_u8, turn.sequence_number, &turn.timestamp, &turn.text, nth));
        if twins.insert(name) {
            return name;
        }
        nth += 1;
    }
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use sessiond_core::{Cursor, LogKind, OutputLog, Retention, WindowSize, decode};

    use super::*;

    fn log() -> (Arc<OutputLog>, OutputSink) {
        let log = OutputLog::new(LogKind::Session(WindowSize::default()), Retention::Newest(1 << 20));
        (log.clone(), OutputSink::new(log))
    }

    fn text(log: &OutputLog) -> String {
        decode(&log.read(Stream::Stdout, Cursor::START, usize::MAX, None).unwrap().bytes)
    }

    fn turn(id: Option<&str>, text: Option<&str>) -> ReasoningEvent {
        ReasoningEvent { event_id: id.map(str::to_owned), text: text.map(str::to_owned), ..ReasoningEvent::default() }
    }

    #[test]
    fn each_turn_is_given_once_and_ends_its_line() {
        let (log, mut out) = log();
        let mut given = Given::default();
        let first = [turn(Some("a"), Some("one")), turn(Some("b"), Some("two\n"))];
        assert_eq!(given.give(&first, &mut out), 2);
        assert_eq!(given.give(&first, &mut out), 0);
        let more = [first[0].clone(), turn(Some("c"), Some("three")), first[1].clone()];
        assert_eq!(given.give(&more, &mut out), 1);
        assert_eq!(text(&log), "one\ntwo\nthree\n");
    }

    #[test]
    fn a_turn_without_text_waits_until_it_has_some() {
        let (log, mut out) = log();
        let mut given = Given::default();
        assert_eq!(given.give(&[turn(Some("a"), None), turn(Some("b"), Some(""))], &mut out), 0);
        assert_eq!(given.give(&[turn(Some("a"), Some("late")), turn(Some("b"), None)], &mut out), 1);
        assert_eq!(text(&log), "late\n");
    }

    #[test]
    fn turns_without_an_id_are_told_apart_by_all_else() {
        let (log, mut out) = log();
        let mut given = Given::default();
        let same = [turn(None, Some("yes")), turn(None, Some("yes"))];
        assert_eq!(given.give(&same[..1], &mut out), 1);
        assert_eq!(given.give(&same, &mut out), 1);
        assert_eq!(given.give(&same, &mut out), 0);
        assert_eq!(text(&log), "yes\nyes\n");
    }

    proptest! {
        #[test]
        fn no_order_of_lists_doubles_or_loses_a_turn(
            count in 1_usize..20,
            looks in proptest::collection::vec(proptest::collection::vec(0_usize..20, 0..25), 0..8),
        ) {
            let all: Vec<_> = (0..count).map(|n| turn(Some(&n.to_string()), Some(&format!("turn {n}")))).collect();
            let (log, mut out) = log();
            let mut given = Given::default();
            for look in looks {
                let list: Vec<_> = look.into_iter().filter_map(|n| all.get(n).cloned()).collect();
                given.give(&list, &mut out);
            }
            given.give(&all, &mut out);
            let mut lines: Vec<_> = text(&log).lines().map(str::to_owned).collect();
            lines.sort();
            let mut expected: Vec<_> = (0..count).map(|n| format!("turn {n}")).collect();
            expected.sort();
            prop_assert_eq!(lines, expected);
        }
    }
}
