//! How large the turns of an agent's session are on a wire, and which of them are left out (DS45).

use crate::agent::ReasoningEvent;

/// Drops the oldest events until the rest, as a compact JSON array, takes at most `max` bytes. Returns how many.
pub(super) fn trim(events: &mut Vec<ReasoningEvent>, max: usize) -> u64 {
    const BRACKETS: usize = 2;
    let mut size = BRACKETS;
    let mut kept = 0;
    for event in events.iter().rev() {
        let comma = usize::from(kept > 0);
        size += event.json_len() + comma;
        if size > max {
            break;
        }
        kept += 1;
    }
    let dropped = events.len() - kept;
    events.drain(..dropped);
    dropped as u64
}
