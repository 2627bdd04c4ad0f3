//! Which session is meant: a person types as much of an id as tells it apart.

use anyhow::{Result, bail};
use sessiond_core::{ListSessions, MAX_PAGE, Service, SessionSummary};
use sessiond_grpc::client::GrpcClient;

/// Every session of the caller, running ones first.
///
/// # Errors
/// The server refuses or is lost.
pub(crate) async fn all(client: &GrpcClient) -> Result<Vec<SessionSummary>> {
    let (mut sessions, mut page_token) = (Vec::new(), None);
    loop {
        let request = ListSessions { limit: Some(MAX_PAGE), page_token, ..ListSessions::default() };
        let page = client.list_sessions(&GrpcClient::call(), request).await?;
        sessions.extend(page.sessions);
        page_token = page.next_page_token;
        if page_token.is_none() {
            return Ok(sessions);
        }
    }
}

/// The one session whose id is or begins like this.
///
/// # Errors
/// There is none, or there are several.
pub(crate) async fn one(client: &GrpcClient, id: &str) -> Result<SessionSummary> {
    let begins = id.to_ascii_lowercase();
    let mut sessions = all(client).await?;
    sessions.retain(|summary| summary.session.to_string().starts_with(&begins));
    match (sessions.pop(), sessions.len()) {
        (Some(session), 0) => Ok(session),
        (Some(_), others) => bail!("{} sessions begin with {id}: type more of the id", others + 1),
        (None, _) => bail!("no session is or begins with {id}: `sessiond-grpc list` shows yours"),
    }
}
