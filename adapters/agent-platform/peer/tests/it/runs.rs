//! Runs, told by the test and played by themselves; what waits for a person.

use reqwest::Method;
use serde_json::{Value, json};
use sessiond_agent_peer::{Peer, Route, Script, Task};

use crate::support::{Asking, ITEMS, SESSIONS};

async fn texts(asking: &Asking, run: &str) -> Vec<String> {
    let messages = asking.get(&format!("{SESSIONS}/{run}/messages?limit=100&sortBy=eventId")).await;
    messages.as_array().unwrap().iter().filter_map(|row| row["text"].as_str().map(str::to_owned)).collect()
}

/// Asks until the status is this one. Each question takes a moment, and a script is over after some.
async fn until(asking: &Asking, run: &str, status: &str) -> Value {
    loop {
        let record = asking.get(&format!("{SESSIONS}/{run}")).await;
        if record["status"] == status {
            return record;
        }
    }
}

#[tokio::test]
async fn a_run_does_what_the_test_says() {
    let peer = Peer::start().unwrap();
    let run = peer.run();
    let asking = Asking::of(&peer);
    peer.turn(&run, "one");
    peer.turn_stopping(&run, "two", "tool_use");
    peer.tool(&run, "ping");
    peer.failed_turn(&run, "three");
    assert_eq!(texts(&asking, &run).await, ["one", "two", "three"]);
    peer.fail(&run, "it broke");
    let record = asking.get(&format!("{SESSIONS}/{run}")).await;
    assert_eq!((&record["status"], &record["errorMessage"]), (&json!("FAILED"), &json!("it broke")));
    assert_eq!((&record["totalInputTokens"], record["durationMs"].is_u64()), (&json!(450), true));
    peer.complete(&run);
    assert_eq!(peer.status(&run).as_deref(), Some("FAILED"), "it has ended once");
    peer.vanish(&run);
    assert_eq!(asking.status(&format!("{SESSIONS}/{run}")).await, 404);
    assert_eq!(asking.status(&format!("{SESSIONS}/{run}/messages")).await, 404);
}

#[tokio::test]
async fn an_agent_plays_its_inputs_started_by_route_or_by_id() {
    let peer = Peer::start().unwrap();
    let asking = Asking::of(&peer);
    let inputs = Script::new().say("a").pause(20).say_times("line {n}", 2, 1).complete().inputs();
    let by_route = asking.send(Method::POST, "/operations-manager/triggers/endpoint/script", &inputs).await;
    let started: Value = by_route.json().await.unwrap();
    let run = started["data"]["sessionId"].as_str().unwrap();
    until(&asking, run, "COMPLETE").await;
    assert_eq!(texts(&asking, run).await, ["a", "line 1", "line 2"]);

    let body = json!({ "agentDefinitionId": "agent-unrouted", "inputs": inputs });
    let by_id: Value = asking.send(Method::POST, SESSIONS, &body).await.json().await.unwrap();
    until(&asking, by_id["sessionId"].as_str().unwrap(), "COMPLETE").await;
    let unknown = json!({ "agentDefinitionId": "agent-nobody", "inputs": {} });
    assert_eq!(asking.send(Method::POST, SESSIONS, &unknown).await.status(), 404);
}

#[tokio::test]
async fn a_run_is_cancelled_by_and_by_and_paused_at_once() {
    let peer = Peer::start().unwrap();
    let asking = Asking::of(&peer);
    let run = peer.run();
    let control = async |action: &str| {
        let answer = asking.send(Method::POST, &format!("{SESSIONS}/{run}"), &json!({ "action": action })).await;
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap()["status"].clone())
    };
    assert_eq!(control("PAUSE").await, (200, json!("PAUSED")));
    assert_eq!(control("RESUME").await, (200, json!("RUNNING")));
    peer.forms(|forms| forms.cancel_takes_ms = 20);
    assert_eq!(control("CANCEL").await, (200, json!("CANCELING")));
    until(&asking, &run, "CANCELED").await;
    assert_eq!(control("CANCEL").await.0, 409);
    assert_eq!(control("DANCE").await.0, 400);
}

#[tokio::test]
async fn a_script_waits_for_a_person() {
    let peer = Peer::start().unwrap();
    let asking = Asking::of(&peer);
    let inputs = Script::new().ask("Approve change").say("approved").complete().inputs();
    let body = json!({ "agentDefinitionId": "agent-script", "inputs": inputs });
    let started: Value = asking.send(Method::POST, SESSIONS, &body).await.json().await.unwrap();
    let run = started["sessionId"].as_str().unwrap();
    let listed = asking.get(&format!("{ITEMS}?rootExecutionId={run}")).await;
    let item = &listed["items"][0];
    assert_eq!((&item["summary"], &item["status"]), (&json!("Approve change"), &json!("pending")));
    let path = format!("{ITEMS}/{}", item["id"].as_str().unwrap());
    let incoming = asking.get(&format!("{path}/variables/incoming")).await;
    assert_eq!(incoming["incoming"]["btn_failure"], "Reject");
    assert_eq!(asking.get(&format!("{SESSIONS}/{run}")).await["status"], "RUNNING", "a human wait is no status");
    let done = asking.send(Method::PATCH, &format!("{path}/complete"), &json!({ "finishState": "success" })).await;
    assert_eq!(done.json::<Value>().await.unwrap()["status"], "completed");
    assert_eq!(asking.send(Method::PATCH, &format!("{path}/complete"), &json!({})).await.status(), 409);
    assert_eq!(asking.send(Method::POST, &format!("{path}/complete"), &json!({})).await.status(), 404);
    until(&asking, run, "COMPLETE").await;
    assert_eq!(texts(&asking, run).await, ["approved"]);
}

#[tokio::test]
async fn tasks_have_an_age_a_view_and_an_execution() {
    let peer = Peer::start().unwrap();
    let run = peer.run();
    let item = peer.ask(&run, &Task::new("Look").view("RenderJsonSchema").waiting(90_000).on("another").cannot_fail());
    let record = peer.task(&item).unwrap();
    assert_eq!(record["view"], "/work-center/view/RenderJsonSchema");
    assert_eq!((&record["execution"]["id"], &record["rootExecution"]["id"]), (&json!("another"), &json!(run)));
    peer.complete_task(&item);
    assert_eq!(peer.task(&item).unwrap()["status"], "completed");
    peer.forms(|forms| forms.no_tasks_is_404 = true);
    assert_eq!(Asking::of(&peer).status(&format!("{ITEMS}?rootExecutionId=nobody")).await, 404);
}

#[tokio::test]
async fn a_request_is_remembered_as_it_came() {
    let peer = Peer::start().unwrap();
    peer.put_session("a b/c", &json!({ "sessionId": "a b/c", "status": "RUNNING" }));
    peer.put_message("a b/c", json!({ "eventId": 7 }));
    let asking = Asking::of(&peer);
    assert_eq!(asking.get(&format!("{SESSIONS}/a%20b%2Fc/messages?limit=%35")).await, json!([{ "eventId": 7 }]));
    let seen = peer.requests().remove(0);
    assert_eq!((seen.route, seen.status, seen.has_credential()), (Route::Messages, Some(200), false));
    assert_eq!(
        (seen.path.as_str(), seen.query.as_str()),
        ("/agent-session-manager/sessions/a%20b%2Fc/messages", "limit=%35")
    );
    peer.forget_requests();
    assert_eq!(peer.requests(), []);
}
