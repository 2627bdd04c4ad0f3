//! Who lets callers in: the metadata of a protected resource (RFC 9728).

use axum::body::Body;
use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::answers;
use crate::door::Admission;

/// The document, for a server that its clients know by this origin.
pub(crate) fn document(admission: &Admission, origin: &str) -> Response<Body> {
    let mut document = Map::new();
    document.insert("resource".to_owned(), json!(format!("{origin}{}", crate::MCP_PATH)));
    document.insert("resource_name".to_owned(), json!("sessiond"));
    document.insert("bearer_methods_supported".to_owned(), json!(["header"]));
    if let Admission::Known(identities) = admission
        && let Some(issuer) = identities.issuer()
    {
        document.insert("authorization_servers".to_owned(), json!([issuer]));
        document.insert("scopes_supported".to_owned(), json!(identities.scopes()));
    }
    answers::json(StatusCode::OK, &Value::Object(document))
}
