//! What can go wrong.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use sessiond_agent_peer::{Fault, LEAK, Peer, Route};

use crate::support::{Asking, SESSIONS};

#[tokio::test]
async fn faults_come_in_turn_and_are_used_up() {
    let peer = Peer::start().unwrap();
    let asking = Asking::of(&peer);
    peer.fault_once(Route::Whoami, Fault::Status(401));
    peer.fault_times(Route::Whoami, 2, Fault::RetryAfter(429, "7".to_owned()));
    let mut seen = Vec::new();
    for _ in 0..4 {
        let answer = asking.request(Method::GET, "/whoami").send().await.unwrap();
        let after = answer.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        seen.push((answer.status().as_u16(), after));
    }
    let seven = Some("7".to_owned());
    assert_eq!(seen, [(401, None), (429, seven.clone()), (429, seven), (200, None)]);
    peer.fault(Route::Any, Fault::Status(500));
    assert_eq!((asking.status("/whoami").await, asking.status(SESSIONS).await), (500, 500));
    peer.heal();
    assert_eq!(asking.status("/whoami").await, 200);
}

#[tokio::test]
async fn a_failure_says_what_nobody_is_to_hand_on() {
    let peer = Peer::start().unwrap();
    let answer = Asking::of(&peer).request(Method::GET, "/nowhere").send().await.unwrap();
    assert_eq!(answer.status(), 404);
    assert!(answer.text().await.unwrap().contains(LEAK));
    assert_eq!(peer.requests()[0].route, Route::Nothing);
}

#[tokio::test]
async fn bodies_break_off_drip_and_are_no_json() {
    let peer = Peer::start().unwrap();
    let asking = Asking::of(&peer);
    peer.fault_once(Route::Whoami, Fault::Truncated);
    let broken = asking.request(Method::GET, "/whoami").send().await.unwrap().bytes().await;
    assert!(broken.is_err(), "{broken:?}");
    peer.fault_once(Route::Whoami, Fault::HangUp);
    assert!(asking.request(Method::GET, "/whoami").send().await.is_err());
    peer.fault_once(Route::Whoami, Fault::Garbage);
    assert!(asking.request(Method::GET, "/whoami").send().await.unwrap().json::<serde_json::Value>().await.is_err());
    peer.fault_once(Route::Whoami, Fault::Other("[]"));
    assert_eq!(asking.get("/whoami").await, json!([]));
    let pause = Duration::from_millis(5);
    peer.fault_once(Route::Whoami, Fault::Drip { bytes: 10, pause });
    let began = Instant::now();
    assert_eq!(asking.get("/whoami").await, json!({ "username": "peer", "groups": [] }));
    assert!(began.elapsed() >= 3 * pause, "it came in four pieces");
}

#[tokio::test]
async fn a_redirect_is_one_and_silence_lasts() {
    let peer = Peer::start().unwrap();
    let asking = Asking::of(&peer);
    peer.fault_once(Route::Whoami, Fault::Redirect("http://127.0.0.1:1/elsewhere".to_owned()));
    let answer = asking.request(Method::GET, "/whoami").send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["location"]),
        (302, &"http://127.0.0.1:1/elsewhere".parse().unwrap())
    );
    peer.fault_once(Route::Whoami, Fault::Never);
    let waiting = asking.request(Method::GET, "/whoami").send();
    let silent = tokio::time::timeout(Duration::from_millis(50), waiting).await;
    assert!(silent.is_err());
    peer.asked(Route::Whoami, 2).await;
    assert_eq!(peer.requests()[1].status, None, "it has never been answered");
}

#[tokio::test]
async fn a_platform_that_went_away_comes_back_at_the_same_address() {
    let peer = Peer::start().unwrap();
    let run = peer.run();
    let asking = Asking::of(&peer);
    assert_eq!(asking.status("/whoami").await, 200);
    peer.go_away();
    assert!(asking.request(Method::GET, "/whoami").send().await.is_err());
    peer.come_back().unwrap();
    assert_eq!(asking.get(&format!("{SESSIONS}/{run}")).await["status"], "RUNNING");
}
