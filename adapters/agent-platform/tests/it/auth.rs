//! Logging in: every kind, once however many ask, again when it has expired, and never elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use sessiond_agent_peer::{Access, Fault, LoginBody, Peer, Route};
use sessiond_agent_platform::{Auth, Secret, SecretSource};
use sessiond_core::{Error, ErrorKind, Result};

use crate::support::{Stage, secret};

/// What is said of a login that is not let in.
fn refused() -> Error {
    Error::permission_denied("the platform refuses this server's login: check the target's auth and its secrets")
}

fn login(body: LoginBody) -> (Access, Auth) {
    let access = Access::Login { user: "admin".into(), password: "s3cret".into(), body };
    (access, Auth::Login { user: "admin".into(), password: secret("s3cret") })
}

fn oauth(expires_in: Option<u64>) -> (Access, Auth) {
    let access = Access::OAuth { client_id: "cl&ent".into(), client_secret: "s3cret +=%".into(), expires_in };
    (access, Auth::OAuth { client_id: secret("cl&ent"), client_secret: secret("s3cret +=%") })
}

fn stage((access, auth): (Access, Auth)) -> Stage {
    let stage = Stage::with(|config| config.auth = auth);
    stage.peer.require(access);
    stage
}

/// The requests for logins, and those of anything else that carried no credential.
fn logins(peer: &Peer) -> (usize, usize) {
    let is_login = |route| matches!(route, Route::Login | Route::Token);
    let requests = peer.requests();
    let (logins, others): (Vec<_>, Vec<_>) = requests.iter().partition(|seen| is_login(seen.route));
    assert!(logins.iter().all(|seen| !seen.has_credential()), "a login carries no other credential");
    (logins.len(), others.iter().filter(|seen| !seen.has_credential()).count())
}

#[tokio::test]
async fn every_kind_of_login_lets_us_in() {
    let basic = Access::Basic { user: "us:er".into(), password: "pässword".into() };
    for (what, kind, requests) in [
        ("none", (Access::Open, Auth::None), (0, 3)),
        ("token", (Access::Token("t0ken".into()), Auth::Token(secret("t0ken"))), (0, 0)),
        ("basic", (basic, Auth::Basic { user: "us:er".into(), password: secret("pässword") }), (0, 0)),
        ("nested", login(LoginBody::Nested), (1, 0)),
        ("either", login(LoginBody::Either), (1, 0)),
        ("flat", login(LoginBody::Flat), (2, 0)),
        ("oauth", oauth(None), (1, 0)),
        ("oauth that expires", oauth(Some(3600)), (1, 0)),
    ] {
        let stage = stage(kind);
        let run = stage.peer.run();
        assert_eq!(stage.describe(&run).await.unwrap().status, "RUNNING", "{what}");
        assert_eq!(logins(&stage.peer), requests, "{what}");
    }
}

#[tokio::test]
async fn ds43_a_login_that_has_expired_is_renewed_once() {
    for kind in [login(LoginBody::Either), oauth(None)] {
        let stage = stage(kind);
        let run = stage.peer.run();
        stage.describe(&run).await.unwrap();
        stage.peer.expire_logins();
        stage.peer.forget_requests();
        assert_eq!(stage.describe(&run).await.unwrap().status, "RUNNING");
        assert_eq!(logins(&stage.peer), (1, 0));
        stage.peer.fault_once(Route::Session, Fault::Status(401));
        assert_eq!(stage.describe(&run).await.unwrap().status, "RUNNING");
        stage.peer.forget_requests();
        stage.peer.fault(Route::Session, Fault::Status(401));
        assert_eq!(stage.describe(&run).await.unwrap_err(), refused());
        assert_eq!((logins(&stage.peer).0, stage.peer.count(Route::Session)), (1, 2));
        for _ in 0..5 {
            assert_eq!(stage.describe(&run).await.unwrap_err(), refused());
        }
        assert_eq!((logins(&stage.peer).0, stage.peer.count(Route::Session)), (1, 7), "that login was no help");
        stage.peer.heal();
        assert_eq!(stage.describe(&run).await.unwrap().status, "RUNNING");
    }
}

#[tokio::test]
async fn ds43_many_callers_at_once_log_in_once() {
    for kind in [login(LoginBody::Either), oauth(Some(3600))] {
        let stage = stage(kind);
        let run = stage.peer.run();
        for _ in 0..3 {
            stage.peer.forget_requests();
            let described = join_all((0..40).map(|_| stage.describe(&run))).await;
            assert!(described.iter().all(Result::is_ok));
            assert_eq!(logins(&stage.peer), (1, 0));
            stage.peer.expire_logins();
        }
    }
}

#[tokio::test]
async fn a_token_that_expires_soon_is_renewed_before_it_is_refused() {
    let stage = stage(oauth(Some(600)));
    let run = stage.peer.run();
    stage.describe(&run).await.unwrap();
    stage.describe(&run).await.unwrap();
    assert_eq!(logins(&stage.peer), (1, 0));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(575)).await;
    tokio::time::resume();
    stage.describe(&run).await.unwrap();
    assert_eq!(logins(&stage.peer), (2, 0));
    assert!(stage.peer.requests().iter().all(|seen| seen.status == Some(200)));
}

#[tokio::test]
async fn a_refused_login_is_not_tried_by_everybody() {
    let (access, _) = login(LoginBody::Either);
    let wrong = Auth::Login { user: "admin".into(), password: secret("wrong") };
    let (granting, _) = oauth(None);
    let impostor = Auth::OAuth { client_id: secret("cl&ent"), client_secret: secret("wrong") };
    for (kind, tries) in [((access, wrong), 2), ((granting, impostor), 1)] {
        let stage = stage(kind);
        let run = stage.peer.run();
        for described in join_all((0..10).map(|_| stage.describe(&run))).await {
            assert_eq!(described.unwrap_err(), refused());
        }
        assert_eq!(stage.peer.requests().len(), tries);
    }
}

#[tokio::test]
async fn a_login_that_fails_otherwise_says_how() {
    let answer = async |fault| {
        let stage = stage(oauth(None));
        stage.peer.fault(Route::Token, fault);
        stage.describe("s").await.unwrap_err().kind()
    };
    assert_eq!(answer(Fault::Status(404)).await, ErrorKind::FailedPrecondition);
    assert_eq!(answer(Fault::Status(500)).await, ErrorKind::Unavailable);
    assert_eq!(answer(Fault::Garbage).await, ErrorKind::Unavailable);
    assert_eq!(answer(Fault::Other("{\"access_token\": \"\"}")).await, ErrorKind::Unavailable);
    assert_eq!(answer(Fault::Other("{\"access_token\": \"a\\nb\"}")).await, ErrorKind::FailedPrecondition);
    assert_eq!(answer(Fault::RetryAfter(429, "3600".into())).await, ErrorKind::Unavailable);
    assert_eq!(answer(Fault::Redirect("http://127.0.0.1:9/oauth/token".into())).await, ErrorKind::FailedPrecondition);
    let (access, auth) = login(LoginBody::Either);
    let stage = stage((access, auth));
    stage.peer.fault(Route::Login, Fault::Other("\"no cookie\""));
    assert_eq!(stage.describe("s").await.unwrap_err().kind(), ErrorKind::Unavailable);
}

/// A secret that is another one each time, and says how often it was read.
#[derive(Debug)]
struct Rotating(AtomicUsize);

#[async_trait]
impl SecretSource for Rotating {
    async fn read(&self) -> Result<Secret> {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(Secret::new("old")),
            1 => Ok(Secret::new("new")),
            _ => Err(Error::failed_precondition("the variable TOKEN is not set: set it")),
        }
    }
}

#[tokio::test]
async fn a_secret_is_read_again_when_it_is_refused_and_only_then() {
    let source = Arc::new(Rotating(AtomicUsize::new(0)));
    let stage = stage((Access::Token("new".into()), Auth::Token(source.clone())));
    let run = stage.peer.run();
    for _ in 0..3 {
        assert_eq!(stage.describe(&run).await.unwrap().status, "RUNNING");
    }
    assert_eq!(source.0.load(Ordering::SeqCst), 2);
    stage.peer.require(Access::Token("newest".into()));
    let unset = Error::failed_precondition("the variable TOKEN is not set: set it");
    assert_eq!(stage.describe(&run).await.unwrap_err(), unset);
}

#[tokio::test]
async fn no_credential_is_printed() {
    let (_, auth) = oauth(None);
    let printed = format!("{auth:?} {:?}", Auth::Token(secret("t0ken")));
    assert!(!printed.contains("s3cret") && !printed.contains("t0ken"), "{printed}");
}
