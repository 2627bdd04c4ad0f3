//! What callers must show.

use reqwest::{Method, StatusCode};
use serde_json::json;
use sessiond_agent_peer::{Access, LoginBody, Peer, Route};

use crate::support::Asking;

#[tokio::test]
async fn a_login_gives_a_cookie_that_lasts_until_it_is_expired() {
    let peer = Peer::start().unwrap();
    let login = |body| Access::Login { user: "admin".to_owned(), password: "secret".to_owned(), body };
    peer.require(login(LoginBody::Flat));
    let asking = Asking::of(&peer);
    assert_eq!(asking.status("/whoami").await, 401);
    let nested = json!({ "user": { "username": "admin", "password": "secret" } });
    let flat = json!({ "username": "admin", "password": "secret" });
    assert_eq!(asking.send(Method::POST, "/login", &nested).await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(
        asking.send(Method::POST, "/login", &json!({ "username": "admin", "password": "x" })).await.status(),
        401
    );
    let answer = asking.send(Method::POST, "/login", &flat).await;
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let whoami = async || {
        asking.request(Method::GET, "/whoami").header("cookie", &cookie).send().await.unwrap().status().as_u16()
    };
    assert_eq!(whoami().await, 200);
    peer.expire_logins();
    assert_eq!(whoami().await, 401);
    peer.require(login(LoginBody::Nested));
    assert_eq!(asking.send(Method::POST, "/login", &nested).await.status(), 200);
    assert_eq!(peer.count(Route::Login), 4);
}

#[tokio::test]
async fn client_credentials_give_a_token() {
    let peer = Peer::start().unwrap();
    let (client_id, client_secret) = ("id".to_owned(), "secret".to_owned());
    peer.require(Access::OAuth { client_id, client_secret, expires_in: Some(60) });
    let asking = Asking::of(&peer);
    let grant = async |secret: &str| {
        let form = [("grant_type", "client_credentials"), ("client_id", "id"), ("client_secret", secret)];
        asking.request(Method::POST, "/oauth/token").form(&form).send().await.unwrap()
    };
    assert_eq!(grant("wrong").await.status(), 401);
    let granted: serde_json::Value = grant("secret").await.json().await.unwrap();
    assert_eq!(granted, json!({ "access_token": "pass-0001", "token_type": "Bearer", "expires_in": 60 }));
    let whoami = asking.request(Method::GET, "/whoami").bearer_auth("pass-0001").send().await.unwrap();
    assert_eq!(whoami.status(), 200);
    assert_eq!(peer.requests().last().unwrap().authorization.as_deref(), Some("Bearer pass-0001"));
}

#[tokio::test]
async fn a_token_and_http_basic_are_compared_whole() {
    let peer = Peer::start().unwrap();
    let asking = Asking::of(&peer);
    peer.require(Access::Token("right".to_owned()));
    for (token, status) in [("right", 200), ("righ", 401), ("", 401)] {
        let answer = asking.request(Method::GET, "/whoami").bearer_auth(token).send().await.unwrap();
        assert_eq!(answer.status(), status, "{token:?}");
    }
    peer.require(Access::Basic { user: "u".to_owned(), password: "p:w".to_owned() });
    for (password, status) in [("p:w", 200), ("p", 401)] {
        let answer = asking.request(Method::GET, "/whoami").basic_auth("u", Some(password)).send().await.unwrap();
        assert_eq!(answer.status(), status, "{password:?}");
    }
}
