//! The answer to `tools/list` as text: its schemas are written from the tool table, where rmcp wants JSON values.

use std::io;

use rmcp::model::{JsonObject, JsonRpcMessage, ServerJsonRpcMessage, ServerResult};

use crate::contract::Tool;
use crate::schema::Side;

/// Where a schema goes. No string holds these bytes: its quotes would be escaped.
const INPUT: &[u8] = br#""inputSchema":"#;
const OUTPUT: &[u8] = br#""outputSchema":"#;

/// What is there instead, as text.
const BARE: &[u8] = br#"{"type":"object"}"#;

/// About how much the schemas of a tool take, in bytes.
const SCHEMAS: usize = 2560;

/// What stands for a schema in the answer that [`with_schemas`] takes: an object, because rmcp leaves out the schema of
/// anything else where the client is an old one.
pub(crate) fn bare() -> JsonObject {
    [("type".to_owned(), "object".into())].into_iter().collect()
}

/// The text of an answer whose tools have [`bare`] schemas, with those of this side instead.
///
/// # Errors
/// The answer is none of that kind.
pub(super) fn with_schemas(answer: &ServerJsonRpcMessage, side: Side) -> io::Result<Vec<u8>> {
    let JsonRpcMessage::Response(response) = answer else { return Err(no_list()) };
    let ServerResult::ListToolsResult(list) = &response.result else { return Err(no_list()) };
    let bare = serde_json::to_vec(answer)?;
    let mut text = Vec::with_capacity(bare.len() + list.tools.len() * SCHEMAS);
    let mut rest = bare.as_slice();
    for listed in &list.tools {
        let tool = Tool::named(&listed.name).ok_or_else(no_list)?;
        for (name, schema) in [(INPUT, tool.input.schema(side)), (OUTPUT, tool.output.schema(Side::Output))] {
            let (before, after) = split_before(rest, name).ok_or_else(no_list)?;
            text.extend_from_slice(before);
            serde_json::to_writer(&mut text, &schema)?;
            rest = after.strip_prefix(BARE).ok_or_else(no_list)?;
        }
    }
    text.extend_from_slice(rest);
    Ok(text)
}

/// Splits before the object that has this name.
///
/// Few bytes begin an object. A search that asks the processor first what it can takes longer than all of the list where
/// the processor is a virtual one.
fn split_before<'a>(text: &'a [u8], name: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let objects = text.iter().enumerate().filter(|(_, byte)| **byte == b'{');
    objects.map(|(at, _)| text.split_at(at)).find(|(before, _)| before.ends_with(name))
}

fn no_list() -> io::Error {
    io::Error::other("a list of tools is not as rmcp writes it")
}
