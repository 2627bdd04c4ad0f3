//! The floor of a tool call over HTTP: tools that do nothing, behind rmcp's service on axum as rmcp's documentation has
//! it, on the runtime of `sessiond-mcp-http`.
//!
//! `hello` answers at once; `wait` when somebody calls `go`, or after 20 s.

use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::watch;

/// How long `wait` waits at most.
const LONGEST: Duration = Duration::from_secs(20);

/// That `go` was called is a level: a call that comes late does not miss it.
#[derive(Clone)]
struct Empty {
    go: watch::Sender<u64>,
}

impl ServerHandler for Empty {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = serde_json::json!({"type": "object"});
        let schema = Arc::new(schema.as_object().cloned().unwrap_or_default());
        let tool = |name: &'static str| Tool::new(name, "does nothing", schema.clone());
        Ok(ListToolsResult::with_all_items(["hello", "wait", "go"].map(tool).to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match request.name.as_ref() {
            "wait" => {
                let mut go = self.go.subscribe();
                let _ = tokio::time::timeout(LONGEST, go.wait_for(|count| *count > 0)).await;
            }
            "go" => self.go.send_modify(|count| *count += 1),
            _ => {}
        }
        Ok(CallToolResult::success(vec![ContentBlock::text("hi")]).into())
    }
}

#[tokio::main]
#[allow(clippy::print_stdout, reason = "whoever starts it waits for this line")]
async fn main() -> anyhow::Result<()> {
    let empty = Empty { go: watch::Sender::new(0) };
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let service =
        StreamableHttpService::new(move || Ok(empty.clone()), Arc::new(LocalSessionManager::default()), config);
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}/mcp", listener.local_addr()?);
    // As sessiond has it. Without it a session's events wait 40 ms for the acknowledgement of what was sent before.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, router).await?;
    Ok(())
}
