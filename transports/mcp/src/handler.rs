//! The MCP handler: lists the tools, dispatches their calls, and says what the server is.

use std::pin::pin;
use std::sync::{Arc, OnceLock};

use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult, ConstString,
    ContentBlock, CustomRequest, CustomResult, ErrorCode, ErrorData, Implementation, JsonObject, ListToolsResult,
    MetaObject, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool as Listed,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};
use sessiond_core::{Call, Owner, Result, Service, Verb, shown};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use crate::answer::{Answer, TextStyle};
use crate::contract::{Family, Tool};
use crate::log::Called;
use crate::observer::Observer;
use crate::owners::{Owners, Proof};
use crate::progress::{Reporter, accompany};
use crate::schema::Side;
use crate::wire::{Flight, bare};

/// What the model is told at the start.
const INSTRUCTIONS: &str = include_str!("instructions.md");
/// What it is told besides where there are hosts.
const INSTRUCTIONS_FOR_HOSTS: &str = include_str!("instructions_hosts.md");
/// What it is told besides where there are agent platforms.
const INSTRUCTIONS_FOR_AGENTS: &str = include_str!("instructions_agents.md");

/// What a client can ask for.
const METHODS: &str = "there are tools/list, tools/call, ping, initialize and server/discover";

/// Answers MCP requests out of a [`Service`], in both eras of the protocol. A clone is the same handler, and cheap: a
/// transport without connections makes one for each request.
#[derive(Clone)]
pub struct Handler {
    shared: Arc<Shared>,
    observer: Option<Arc<dyn Observer>>,
    /// Fires when whoever calls is about to be gone.
    closing: CancellationToken,
    /// What is under way on the connection, where there is one.
    flight: Option<Flight>,
}

struct Shared {
    service: Arc<dyn Service>,
    owners: Box<dyn Owners>,
    families: Vec<Family>,
    style: TextStyle,
    /// What the server says of itself.
    info: ServerConfig,
    /// The tools for owners whose calls name their target, once one has asked.
    naming: OnceLock<Vec<Item>>,
    /// The tools for owners who have one target (SR02), likewise.
    scoped: OnceLock<Vec<Item>>,
}

impl Shared {
    /// The tools that the owner may use.
    fn tools(&self, owner: &Owner, side: Side) -> Vec<Listed> {
        let list = if side == Side::ScopedInput { &self.scoped } else { &self.naming };
        let item = |tool: &'static Tool| {
            let (input, output) = (tool.input.schema(side).values(), tool.output.schema(Side::Output).values());
            Item { verb: tool.verb, tool: listed(tool, &Arc::new(input), &Arc::new(output)) }
        };
        let all = list.get_or_init(|| Tool::all(&self.families).map(item).collect());
        all.iter().filter(|item| owner.may(item.verb)).map(|item| item.tool.clone()).collect()
    }

    /// The same, whose schemas the connection writes.
    fn without_schemas(&self, owner: &Owner) -> Vec<Listed> {
        let bare = Arc::new(bare());
        let permitted = Tool::all(&self.families).filter(|tool| owner.may(tool.verb));
        permitted.map(|tool| listed(tool, &bare, &bare)).collect()
    }
}

/// A tool as it is listed, for whoever may use its verb.
struct Item {
    verb: Verb,
    tool: Listed,
}

impl Handler {
    /// A handler that serves the tools of these families; which ones there are depends on the targets (AL02).
    ///
    /// A list is made when it is first asked for: most servers meet owners of one kind only, and one whose connection
    /// writes its own text needs none.
    pub fn new(service: Arc<dyn Service>, owners: impl Owners, families: &[Family], style: TextStyle) -> Self {
        let shared = Shared {
            service,
            owners: Box::new(owners),
            families: families.to_vec(),
            style,
            info: info(families),
            naming: OnceLock::new(),
            scoped: OnceLock::new(),
        };
        Self { shared: Arc::new(shared), observer: None, closing: CancellationToken::new(), flight: None }
    }

    /// The same handler, whose calls are watched.
    pub fn observed(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// The same handler, whose calls are taken back when the token fires: a call that waits or runs something then
    /// answers with what there is, as if its caller had cancelled it. For a server that ends.
    pub fn until(self, closing: CancellationToken) -> Self {
        Self { closing, ..self }
    }

    /// Calls a tool without any transport. A tool that fails answers with an error; so does one that is misused.
    ///
    /// # Errors
    /// `invalid_argument` when there is no such tool, naming the nearest.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>, cx: &Call) -> Result<Answer> {
        let tool = Tool::find(tool, &self.shared.families)?;
        Ok(self.run(tool, arguments, cx, self.shared.style).await)
    }

    /// Calls a tool, and tells the log and who watches.
    async fn run(&self, tool: &Tool, arguments: Map<String, Value>, cx: &Call, style: TextStyle) -> Answer {
        let called = Called::new(tool.name, &arguments);
        let answer = tool.call(&*self.shared.service, cx, arguments, style).await;
        called.answered(&answer, self.observer.as_deref());
        answer
    }

    /// The same handler for one connection, whose calls are taken back when the token fires.
    pub(crate) fn on(&self, closing: CancellationToken, flight: Flight) -> Self {
        Self { flight: Some(flight), ..self.clone() }.until(closing)
    }

    /// Answers a call once there is room for the answer, so that whoever asks without reading fills no memory.
    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<Answer, ErrorData> {
        let mut in_flight = self.flight.as_ref().map(|flight| flight.call(context.id.clone()));
        let tool = Tool::find(&request.name, &self.shared.families)
            .map_err(|error| ErrorData::invalid_params(error.message().to_owned(), None))?;
        let style = self.style(&context);
        let span = self.span(tool, &context);
        let reporter = context.meta.get_progress_token().map(|token| Reporter::new(context.peer.clone(), token));
        let cx = Call {
            owner: self.owner(&context)?,
            deadline: Instant::now() + Call::LONGEST,
            // The request's own token: firing it takes back this call alone.
            cancel: context.ct,
            progress: reporter.as_ref().map(Reporter::progress),
        };
        let call = pin!(self.run(tool, request.arguments.unwrap_or_default(), &cx, style).instrument(span));
        if let Some(in_flight) = &in_flight
            && !in_flight.room(&cx.cancel, &self.closing).await
        {
            return Err(ErrorData::internal_error("the connection ends: this call was not begun", None));
        }
        let answer = accompany(call, reporter, &self.closing, &cx.cancel).await;
        if let Some(in_flight) = &mut in_flight {
            in_flight.answered(answer.weight());
        }
        Ok(answer)
    }

    /// The span that a call runs in; none where nobody watches.
    fn span(&self, tool: &Tool, context: &RequestContext<RoleServer>) -> Span {
        let made = |observer: &Arc<dyn Observer>| {
            observer.span(tool.name, &Proof::new(&context.extensions), context.meta.get_traceparent())
        };
        self.observer.as_ref().map_or_else(Span::none, made)
    }

    fn owner(&self, context: &RequestContext<RoleServer>) -> Result<Owner, ErrorData> {
        let owner = self.shared.owners.owner(&Proof::new(&context.extensions));
        owner.ok_or_else(|| ErrorData::internal_error("nobody has proven who asks", None))
    }

    /// The configured style; all of the output for clients of a protocol without structured content.
    fn style(&self, context: &RequestContext<RoleServer>) -> TextStyle {
        let text_only =
            context.protocol_version().is_some_and(|version| version.as_str() < ProtocolVersion::V_2025_06_18.as_str());
        if text_only { TextStyle::Full } else { self.shared.style }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.shared.info.clone()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let owner = self.owner(&context)?;
        let side = if owner.only().is_none() { Side::ManagementInput } else { Side::ScopedInput };
        let written = self.flight.as_ref().is_some_and(|flight| flight.listed(&context.id, side));
        let tools = if written { self.shared.without_schemas(&owner) } else { self.shared.tools(&owner, side) };
        let list = ListToolsResult::with_all_items(tools);
        Ok(list.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.answer(request, context).await.map(|answer| result(answer).into())
    }

    /// Requests that rmcp knows no type for; a call of a tool is one of them when its parameters are malformed.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == CallToolRequestMethod::VALUE {
            return Err(ErrorData::invalid_params("name must be a string and arguments an object", None));
        }
        let said = format!("there is no method {}: {METHODS}", shown(&request.method));
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, said, None))
    }
}

fn result(answer: Answer) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
    result.structured_content = answer.structured;
    result.is_error = Some(answer.is_error);
    result.meta = (!answer.meta.is_empty()).then_some(MetaObject(answer.meta));
    result
}

fn listed(tool: &Tool, input: &Arc<JsonObject>, output: &Arc<JsonObject>) -> Listed {
    let hints = tool.hints;
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    Listed::new(tool.name, tool.about, input.clone())
        .with_title(tool.title)
        .with_raw_output_schema(output.clone())
        .with_annotations(annotations)
}

fn info(families: &[Family]) -> ServerConfig {
    let mut instructions = INSTRUCTIONS.to_owned();
    if families.contains(&Family::Ssh) {
        instructions.push_str(INSTRUCTIONS_FOR_HOSTS);
    }
    if families.contains(&Family::Agent) {
        instructions.push_str(INSTRUCTIONS_FOR_AGENTS);
    }
    let server = Implementation::new("sessiond", env!("CARGO_PKG_VERSION")).with_title("sessiond");
    ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        .with_server_info(server)
        .with_instructions(instructions)
}
