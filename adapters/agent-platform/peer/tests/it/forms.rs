//! The forms of one and the same thing.

use serde_json::{Value, json};
use sessiond_agent_peer::{Agent, Envelope, Peer, Snapshot, Times};

use crate::support::{Asking, SESSIONS};

const AT: u64 = 1_748_779_203_123;

#[test]
fn a_time_has_six_forms() {
    let forms = [Times::IsoMillis, Times::Iso, Times::Millis, Times::FloatMillis, Times::FloatSeconds];
    let written: Vec<String> = forms.map(|form| form.write(AT).to_string()).into();
    assert_eq!(
        written,
        [
            "\"2025-06-01T12:00:03.123Z\"",
            "\"2025-06-01T12:00:03Z\"",
            "1748779203123",
            "1748779203123.0",
            "1748779203.123"
        ]
    );
    assert!(Times::Unreadable.write(AT).is_string());
}

#[tokio::test]
async fn sessions_are_paged_by_offset_with_a_total() {
    let peer = Peer::start().unwrap();
    let ids: Vec<String> = (0..3).map(|_| peer.run()).collect();
    let asking = Asking::of(&peer);
    let page = async |query: &str| {
        let page = asking.get(&format!("{SESSIONS}?{query}")).await;
        let ids: Vec<Value> = page["data"].as_array().unwrap().iter().map(|row| row["sessionId"].clone()).collect();
        (ids, page.get("total").cloned())
    };
    assert_eq!(page("offset=1&limit=1").await, (vec![json!(ids[1])], Some(json!(3))));
    assert_eq!(page("offset=0&limit=2&sortBy=sessionId&sortOrder=desc").await.0, [json!(ids[2]), json!(ids[1])]);
    peer.forms(|forms| (forms.total, forms.largest_page) = (false, 2));
    assert_eq!(page("limit=100").await, (vec![json!(ids[0]), json!(ids[1])], None));
    assert_eq!(page("offset=3").await.0, Vec::<Value>::new());
}

#[tokio::test]
async fn messages_are_paged_by_number_without_a_total() {
    let peer = Peer::start().unwrap();
    let run = peer.run();
    for text in ["a", "b", "c"] {
        peer.turn(&run, text);
    }
    let asking = Asking::of(&peer);
    let texts = async |query: &str| {
        let page = asking.get(&format!("{SESSIONS}/{run}/messages?{query}")).await;
        let rows = page.as_array().or_else(|| page["data"].as_array()).cloned();
        rows.map(|rows| rows.iter().map(|row| row["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    let all = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    assert_eq!(texts("page=1&limit=2&sortBy=eventId&sortOrder=asc").await, all(&["a", "b"]));
    assert_eq!(texts("page=2&limit=2&sortBy=eventId&sortOrder=asc").await, all(&["c"]));
    assert_eq!(texts("page=3&limit=2&sortBy=eventId&sortOrder=asc").await, all(&[]));
    assert_eq!(texts("").await, all(&["c", "b", "a"]), "in no order when none is asked for");
    peer.forms(|forms| forms.ignores_paging = true);
    assert_eq!(texts("page=7&limit=1&sortBy=eventId").await, all(&["a", "b", "c"]));
    peer.forms(|forms| forms.messages = Envelope::Data);
    assert_eq!(texts("page=7&limit=1&sortBy=eventId").await, all(&["a", "b", "c"]));
    peer.forms(|forms| (forms.messages, forms.ignores_paging) = (Envelope::EmptyObject, false));
    assert_eq!(asking.get(&format!("{SESSIONS}/{run}/messages?page=9")).await, json!({}));
}

#[tokio::test]
async fn what_a_session_says_of_its_agent_may_be_missing() {
    let peer = Peer::start().unwrap();
    let asking = Asking::of(&peer);
    let mut told = Vec::new();
    for snapshot in [Snapshot::Whole, Snapshot::Null, Snapshot::Absent] {
        peer.forms(|forms| (forms.snapshot, forms.times) = (snapshot, Times::FloatMillis));
        let run = peer.session_of(&Agent::new("planner"), "RUNNING");
        let record = asking.get(&format!("{SESSIONS}/{run}")).await;
        assert!(record["startedAt"].is_f64() && record.get("endTime").is_none(), "{record}");
        told.push(record.get("agentSnapshot").map(|snapshot| snapshot["name"].clone()));
    }
    assert_eq!(told, [Some(json!("planner")), Some(Value::Null), None]);
}

#[tokio::test]
async fn agents_are_automations_joined_with_triggers_both_paged_by_skip() {
    let peer = Peer::start().unwrap();
    let asking = Asking::of(&peer);
    let automations =
        asking.get("/operations-manager/automations?limit=2&skip=1&equalsField=componentType&equals=agents").await;
    let names: Vec<&Value> = automations["data"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!((names, &automations["metadata"]["total"]), (vec![&json!("puppet"), &json!("unrouted")], &json!(4)));
    let triggers =
        asking.get("/operations-manager/triggers?limit=100&skip=0&equalsField=type&equals=endpoint&enabled=true").await;
    let joined: Vec<(&Value, &Value)> =
        triggers["data"].as_array().unwrap().iter().map(|row| (&row["actionId"], &row["routeName"])).collect();
    assert_eq!(
        joined,
        [(&json!("automation-agent-script"), &json!("script")), (&json!("automation-agent-puppet"), &json!("puppet"))]
    );
}
