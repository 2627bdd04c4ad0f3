//! A client of a platform.

use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::Value;
use sessiond_agent_peer::Peer;

/// The folder of sessions.
pub(crate) const SESSIONS: &str = "/agent-session-manager/sessions";
/// The folder of manual tasks.
pub(crate) const ITEMS: &str = "/work-center-service/work-items";

pub(crate) struct Asking {
    pub(crate) client: Client,
    url: String,
}

impl Asking {
    pub(crate) fn of(peer: &Peer) -> Self {
        let redirect = reqwest::redirect::Policy::none();
        Self { client: Client::builder().redirect(redirect).build().unwrap(), url: peer.url() }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> Response {
        self.request(method, path).json(body).send().await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.request(Method::GET, path).send().await.unwrap().json().await.unwrap()
    }

    pub(crate) async fn status(&self, path: &str) -> u16 {
        self.request(Method::GET, path).send().await.unwrap().status().as_u16()
    }
}
