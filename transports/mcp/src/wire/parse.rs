//! One line: a message of the protocol, or the answer to what is none.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage,
    JsonRpcVersion2_0, RequestId, ServerJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::Value;

/// The method of a call, as nearly every client writes it. A call that is written in another way is none the worse.
const CALL: &[u8; 10] = b"tools/call";

/// What a line holds.
pub(super) enum Parsed {
    Message(ClientJsonRpcMessage),
    /// No message; the answer says so.
    Refused(ServerJsonRpcMessage),
    /// No message, and nobody who waits for an answer.
    Nothing,
}

/// A call of a tool, as a line.
#[derive(Deserialize)]
struct CallLine {
    jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    method: CallMethod,
    params: CallToolRequestParams,
}

#[derive(Deserialize)]
enum CallMethod {
    #[serde(rename = "tools/call")]
    Call,
}

/// Parses a line. A call of a tool takes one pass.
pub(super) fn parse(line: &[u8]) -> Parsed {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Parsed::Nothing;
    }
    if names_call(line)
        && let Ok(CallLine { jsonrpc: JsonRpcVersion2_0, id, method: CallMethod::Call, mut params }) =
            serde_json::from_slice(line)
    {
        let meta = params.meta.take();
        let mut request = CallToolRequest::new(params);
        if let Some(meta) = meta {
            request.extensions.insert(meta);
        }
        return Parsed::Message(ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(request), id));
    }
    match serde_json::from_slice(line) {
        // A request whose id is none reads as a notification, and its caller would wait for ever.
        Ok(JsonRpcMessage::Notification(_)) if written_id(line).is_some() => Parsed::Refused(bad_id()),
        Ok(message) => Parsed::Message(message),
        Err(_) => refuse(line),
    }
}

/// Whether a line may be a call of a tool. An attempt that fails costs more than this look, which mostly ends early.
fn names_call(line: &[u8]) -> bool {
    line.windows(CALL.len()).any(|window| window.first_chunk() == Some(CALL))
}

/// The answer to what is no message. A notification gets none.
fn refuse(line: &[u8]) -> Parsed {
    let message = match serde_json::from_slice(line) {
        Ok(Value::Object(message)) => message,
        Ok(Value::Array(_)) => {
            return Parsed::Refused(invalid("a batch is not taken: send each message on a line of its own", None));
        }
        Ok(_) => return Parsed::Refused(invalid("this is no request of the protocol: send a JSON object", None)),
        Err(error) => {
            let said = ErrorData::parse_error(format!("this line is not valid JSON: {error}"), None);
            return Parsed::Refused(ServerJsonRpcMessage::error(said, id_in(line)));
        }
    };
    let id = match message.get("id") {
        None if message.contains_key("method") => return Parsed::Nothing,
        None => None,
        Some(id) => match serde_json::from_value(id.clone()) {
            Ok(id) => Some(id),
            Err(_) => return Parsed::Refused(bad_id()),
        },
    };
    Parsed::Refused(invalid("this is no request of the protocol: check jsonrpc, method and params", id))
}

fn bad_id() -> ServerJsonRpcMessage {
    invalid("id must be a string or an integer of at most 64 bits: give each request one of its own", None)
}

/// An answer that says what is wrong with a request.
pub(super) fn invalid(message: impl Into<String>, id: Option<RequestId>) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::invalid_request(message.into(), None), id)
}

/// The id of a request that may be broken, or cut off.
pub(super) fn id_in(line: &[u8]) -> Option<RequestId> {
    written_id(line).and_then(|id| serde_json::from_slice(id).ok())
}

/// The value of the member `id` of the outermost object, as it is written in what need not be JSON.
///
/// A parser stops at the first fault, and the id may stand behind it; so this one knows strings and brackets alone.
fn written_id(line: &[u8]) -> Option<&[u8]> {
    let (mut depth, mut at) = (0_usize, 0);
    let mut name: &[u8] = b"";
    while let Some(byte) = line.get(at) {
        match byte {
            b'"' => {
                let text = string(line.get(at..).unwrap_or_default());
                name = if depth == 1 { text } else { b"" };
                at += text.len();
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 1 && name == b"\"id\"" => return line.get(at + 1..).map(value),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The string at the beginning of this, with its quotes.
fn string(text: &[u8]) -> &[u8] {
    let mut escaped = false;
    let end = text.iter().skip(1).position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    end.and_then(|end| text.get(..end + 2)).unwrap_or(text)
}

/// The string or number at the beginning of this.
fn value(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii_start();
    if text.first() == Some(&b'"') {
        return string(text);
    }
    let end = text.iter().position(|byte| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace());
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_in_what_is_broken_anywhere_else() {
        for (line, id) in [
            (&br#"{"jsonrpc":"2.0","id":5,"params":{"id":6,"x":"\ud800"}}"#[..], Some("5")),
            (br#"{"params":{"id":6,"x":"a \" b","list":[{"id":7}]},"id" : "a\"b" }"#, Some(r#"a"b"#)),
            (b"{\"params\":\"\xff\0\",\"id\":-1", Some("-1")),
            (br#"{"id":12"#, Some("12")),
            (br#"{"method":"id","x":"id","id":1.5}"#, None),
            (br#"{"method":"no id here, \"id\":5"#, None),
            (br#"[{"id":5}]"#, None),
            (b"{\"id\":", None),
            (b"\"id\":5", None),
            (b"\"", None),
            (b"{\"\\", None),
        ] {
            let found = id_in(line).map(|id| id.to_string());
            assert_eq!(found.as_deref(), id, "{}", String::from_utf8_lossy(line));
        }
    }
}
