//! The law of large descriptions (DS45): the oldest turns go, and no more of them than must.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use sessiond_core::{AgentSessionDetail, MAX_EVENTS, ReasoningEvent};

use crate::agents::{Platforms, session};
use crate::rig::me;

fn json(event: &ReasoningEvent) -> serde_json::Value {
    serde_json::json!({
        "event_id": event.event_id,
        "sequence_number": event.sequence_number,
        "timestamp": event.timestamp,
        "text": event.text,
    })
}

fn size(events: &[ReasoningEvent]) -> usize {
    serde_json::to_vec(&events.iter().map(json).collect::<Vec<_>>()).unwrap().len()
}

/// Any text, with many characters that JSON escapes.
fn text() -> impl Strategy<Value = String> {
    let char = prop_oneof![any::<char>(), prop::char::range('\0', '\u{7f}'), Just('"'), Just('\\'), Just('/')];
    vec(char, 0..40).prop_map(String::from_iter)
}

fn event(text: impl Strategy<Value = String>) -> impl Strategy<Value = ReasoningEvent> {
    let texts = (option::of(self::text()), option::of(self::text()), option::of(text));
    (texts, option::of(any::<i64>())).prop_map(|((event_id, timestamp, text), sequence_number)| ReasoningEvent {
        event_id,
        sequence_number,
        timestamp,
        text,
    })
}

/// Texts of up to a third of what an answer may have.
fn long_text() -> impl Strategy<Value = String> {
    (text(), 0_usize..4000).prop_map(|(text, times)| text.repeat(times).chars().take(MAX_EVENTS / 6).collect())
}

async fn described(events: Vec<ReasoningEvent>, dropped: u64) -> AgentSessionDetail {
    let rig = Platforms::one();
    let output = Some("the last word".to_owned());
    let detail =
        AgentSessionDetail { output, reasoning_events: events, dropped_events: dropped, ..session("s", "COMPLETE") };
    rig.blue.put_session(detail);
    rig.describe(&me(), "s", None).await.unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

proptest! {
    #[test]
    fn a_turn_is_as_large_as_its_json(event in event(text())) {
        prop_assert_eq!(event.json_len(), serde_json::to_vec(&json(&event)).unwrap().len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_newest_turns_that_fit_stay_and_the_rest_is_counted(events in vec(event(long_text()), 0..24)) {
        let detail = block_on(described(events.clone(), 2));
        let dropped = usize::try_from(detail.dropped_events).unwrap() - 2;
        prop_assert_eq!(&detail.reasoning_events, &events[dropped..]);
        prop_assert!(size(&events[dropped..]) <= MAX_EVENTS);
        prop_assert!(dropped == 0 || size(&events[dropped - 1..]) > MAX_EVENTS, "one more would have fitted");
        prop_assert_eq!(detail.output.as_deref(), Some("the last word"));
    }
}

#[tokio::test]
async fn the_border_is_exact() {
    let of = |text: String| ReasoningEvent { text: Some(text), ..ReasoningEvent::default() };
    let first = of("a".to_owned());
    let room = MAX_EVENTS - size(&[first.clone(), of(String::new())]);
    let fits = vec![first.clone(), of("x".repeat(room))];
    assert_eq!(size(&fits), MAX_EVENTS);
    assert_eq!(described(fits.clone(), 0).await.dropped_events, 0);
    let over = vec![first, of("x".repeat(room + 1))];
    let detail = described(over.clone(), 0).await;
    assert_eq!((detail.dropped_events, &detail.reasoning_events[..]), (1, &over[1..]));
    let alone = described(vec![of("x".repeat(MAX_EVENTS))], 0).await;
    assert_eq!((alone.dropped_events, alone.reasoning_events), (1, vec![]), "one that fits nowhere is left out too");
    assert_eq!(alone.output.as_deref(), Some("the last word"));
}
