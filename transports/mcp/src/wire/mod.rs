//! JSON-RPC messages as lines over a reader and a writer.
//!
//! rmcp brings a transport of this kind. This one exists because a call of a tool, which is nearly all that ever
//! comes, is parsed in one pass here, where rmcp gathers it into a tree and tries one kind of message after the other;
//! because it answers a bad request under its own id; and because a caller who does not read costs neither memory
//! without bound nor the end of the server.
//!
//! - `input`: bytes to lines; `parse`: a line to a message, or to its refusal
//! - `flight`: the requests that are not answered yet
//! - `list`: the tools as text, their schemas straight from the table
//! - `output`: the queue of answers, and its writer

mod flight;
mod input;
mod list;
mod output;
mod parse;

use std::future::ready;
use std::io;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetMeta, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use sessiond_core::shown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub(crate) use self::flight::Flight;
use self::input::{Input, Next};
pub(crate) use self::list::bare;
use self::list::with_schemas;
use self::output::{Level, Outbox, STALL, Writer};
use self::parse::{Parsed, id_in, invalid, parse};

/// What a client is told that asks before it has said how it speaks.
const INITIALIZE_FIRST: &str = "initialize first: this connection begins with the request initialize, or else each \
                                request carries the _meta of protocol version 2026-07-28";

/// What a client is told whose first request cannot be read.
const BAD_INITIALIZE: &str =
    "initialize cannot be read: its params must have protocolVersion, capabilities and clientInfo";

/// The transport: takes lines in and puts answers into the queue.
pub(crate) struct Lines<R> {
    input: Input<R>,
    outbox: Outbox,
    level: watch::Receiver<Level>,
    flight: Flight,
    /// The client has said how it speaks.
    begun: bool,
    /// Fires when there is nothing more to come.
    ended: CancellationToken,
}

/// The other half: writes out what is in the queue.
pub(crate) struct Output<W> {
    writer: Writer<W>,
}

/// Waits until the last answers are out.
pub(crate) struct LastAnswers(Outbox);

/// A connection over a reader and a writer. `ended` fires when nothing more comes from the client, or nothing more
/// reaches it.
pub(crate) fn lines<R, W>(input: R, output: W, ended: CancellationToken) -> (Lines<R>, Output<W>)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let outbox = Outbox::new();
    let writer = Writer::new(output, outbox.clone());
    let flight = Flight::new(outbox.clone());
    let level = outbox.watch();
    (Lines { input: Input::new(input), outbox, level, flight, begun: false, ended }, Output { writer })
}

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Writes until it cannot, and says why.
    pub(crate) async fn run(self) -> io::Error {
        self.writer.run().await
    }
}

impl LastAnswers {
    /// Returns when they are out, or nobody takes them.
    pub(crate) async fn written(self) {
        self.0.flushed().await;
    }
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// The requests that are not answered yet.
    pub(crate) fn flight(&self) -> Flight {
        self.flight.clone()
    }

    /// To be awaited when the transport is no more.
    pub(crate) fn last_answers(&self) -> LastAnswers {
        LastAnswers(self.outbox.clone())
    }

    /// Waits until there is room for answers, and reads ahead meanwhile, or the input's end would not be seen. Returns
    /// whether to go on.
    async fn room(&mut self) -> bool {
        let now = self.outbox.level();
        if now.has_room() && !now.gone {
            return true;
        }
        loop {
            let now = *self.level.borrow_and_update();
            if now.gone || now.has_room() {
                return !now.gone;
            }
            tokio::select! {
                _ = self.level.changed() => {}
                () = self.input.fill(), if self.input.takes_more() => {}
                // The client has finished, and does not read either.
                () = tokio::time::sleep(STALL), if self.input.has_ended() => return false,
            }
        }
    }

    /// The message in a line, if there is one for rmcp.
    fn message(&mut self, line: &[u8]) -> Option<ClientJsonRpcMessage> {
        match parse(line) {
            Parsed::Message(message) => self.admit(message),
            Parsed::Refused(refusal) => self.answer(&refusal),
            Parsed::Nothing => None,
        }
    }

    /// Lets a message in that fits where the connection stands. What rmcp cannot place before a connection has begun
    /// would end it.
    fn admit(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        match &message {
            JsonRpcMessage::Request(request) => {
                if let Some(reason) = self.too_early(&request.request) {
                    return self.answer(&invalid(reason, Some(request.id.clone())));
                }
                let is_call = matches!(request.request, ClientRequest::CallToolRequest(_));
                if !self.flight.begin(&request.id, is_call) {
                    return self.answer(&in_use(&request.id));
                }
            }
            _ if !self.begun => return None,
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.flight.cancel(id);
                }
            }
            _ => {}
        }
        Some(message)
    }

    /// Why a request cannot be taken yet.
    fn too_early(&mut self, request: &ClientRequest) -> Option<&'static str> {
        match request {
            _ if self.begun => None,
            ClientRequest::InitializeRequest(_) => {
                self.begun = true;
                None
            }
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => None,
            ClientRequest::CustomRequest(custom) if custom.method == "initialize" => Some(BAD_INITIALIZE),
            // rmcp judges the rest of `_meta`.
            request if request.get_meta().protocol_version().is_some() => {
                self.begun = true;
                None
            }
            _ => Some(INITIALIZE_FIRST),
        }
    }

    /// Answers without rmcp.
    fn answer(&self, answer: &ServerJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        // Messages of ours can be serialized.
        let _ = serde_json::to_vec(answer).map(|text| self.outbox.push(text));
        None
    }
}

/// The answer to a request under the id of another one that has not ended. It goes to nobody in particular: under the
/// id itself it would be taken for the answer to the other one.
fn in_use(id: &RequestId) -> ServerJsonRpcMessage {
    let id = shown(&id.to_string());
    invalid(format!("id {id} is in use by a request that has not ended yet, so this one was not taken"), None)
}

/// The answer to a request for the tools, where they cannot be put into words. Nobody waits for nothing.
fn unlisted(id: &RequestId, error: &io::Error) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::internal_error(error.to_string(), None), Some(id.clone()))
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let ended = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let text = match ended.and_then(|id| Some((id, self.flight.end(id)?))) {
            Some((id, side)) => with_schemas(&message, side).or_else(|error| serde_json::to_vec(&unlisted(id, &error))),
            None => serde_json::to_vec(&message),
        };
        ready(text.map(|text| self.outbox.push(text)).map_err(io::Error::from))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        while self.room().await {
            // A burst of lines is no reason to let the answers to the first ones wait.
            tokio::task::consume_budget().await;
            match self.input.next() {
                Next::Line(line) => {
                    if let Some(message) = self.message(&line) {
                        return Some(message);
                    }
                }
                Next::TooLong(beginning) => {
                    let said = "a line of more than 16 MiB is not taken: send less at once";
                    self.answer(&invalid(said, id_in(&beginning)));
                }
                Next::Nothing => tokio::select! {
                    biased;
                    () = self.input.fill() => {}
                    _ = self.level.wait_for(|level| level.gone) => {}
                },
                Next::End => break,
            }
        }
        self.ended.cancel();
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
