//! Asks a sessiond in this process for all that callers see.

use serde_json::{Map, Value, json};
use sessiond_core::Owner;
use sessiond_mcp::Family;
use tokio_util::sync::CancellationToken;

use super::errors;
use super::set::{Content, Tools};
use crate::suite::client::Client;
use crate::suite::house::{BackendKind, House, Servers, TransportKind, connect};
use crate::suite::stage::{OWNER, target};

/// What stands where the server says which package it is of: that steps on its own.
const VERSION: &str = "[version]";

/// The content as it is now, with names sorted at every depth.
///
/// # Errors
/// What was asked for and did not come as it should.
pub async fn collect() -> Result<Content, String> {
    // In process nothing is started, so there is no binary.
    let house = House::new(BackendKind::Fake, TransportKind::InProcess, Servers::default());
    let mut stage = house.open().await;
    // Every family, whichever targets a stage has: what is listed depends on the kinds of targets, what it says does not.
    let client_as =
        async |owner| connect(stage.service.clone(), owner, &Family::ALL, None, CancellationToken::new()).await.0;
    let (management, scoped) =
        (client_as(Owner::management(OWNER)).await, client_as(Owner::scoped(OWNER, target())).await);
    let content = Content {
        management: tools(&management).await?,
        scoped: tools(&scoped).await?,
        initialize: initialize(&management)?,
        discover: discover(&management).await?,
        errors: errors::catalogue().await?.into_iter().map(|(kind, answer)| (kind, sorted(answer))).collect(),
    };
    scoped.close().await;
    management.close().await;
    stage.close().await;
    Ok(content)
}

/// The same value with the names of every object sorted.
pub fn sorted(value: Value) -> Value {
    match value {
        Value::Object(all) => {
            let mut all: Vec<(String, Value)> = all.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            all.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(Map::from_iter(all))
        }
        Value::Array(all) => Value::Array(all.into_iter().map(sorted).collect()),
        other => other,
    }
}

async fn tools(client: &Client) -> Result<Tools, String> {
    let mut list = ask(client, "tools/list", json!({})).await?;
    if list.get("nextCursor").is_some() {
        return Err("tools/list has a second page, which nobody reads here".to_owned());
    }
    let Some(Value::Array(all)) = list.get_mut("tools").map(Value::take) else {
        return Err(format!("tools/list has no tools: {list}"));
    };
    let mut tools = Tools::new();
    for mut tool in all {
        let Some(Value::String(name)) = tool.as_object_mut().and_then(|tool| tool.remove("name")) else {
            return Err(format!("a tool has no name: {tool}"));
        };
        if tools.insert(name.clone(), sorted(tool)).is_some() {
            return Err(format!("{name} is listed twice"));
        }
    }
    Ok(tools)
}

fn initialize(client: &Client) -> Result<Value, String> {
    without_version(client.initialized(), "/serverInfo/version")
}

async fn discover(client: &Client) -> Result<Value, String> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let answer = ask(client, "server/discover", json!({ "_meta": meta })).await?;
    without_version(answer, "/_meta/io.modelcontextprotocol~1serverInfo/version")
}

fn without_version(mut answer: Value, pointer: &str) -> Result<Value, String> {
    match answer.pointer_mut(pointer) {
        Some(version) => *version = VERSION.into(),
        None => return Err(format!("the answer has no {pointer}: {answer}")),
    }
    Ok(sorted(answer))
}

/// A request and its result.
pub(super) async fn ask(client: &Client, method: &str, params: Value) -> Result<Value, String> {
    client.request(method, params).await.map_err(|error| format!("{method}: {error}"))
}
