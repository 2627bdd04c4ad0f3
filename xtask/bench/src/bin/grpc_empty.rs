//! The floor of a gRPC call: sessiond's own messages served by methods that do nothing, on the runtime and the
//! transport of `sessiond-grpc`.
//!
//! It takes the path of its socket. A session's id says what a method does: `now` answers at once, `wait` when somebody
//! reads `go`, and a number follows with so many of the chunks that sessiond cuts a stream into.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use sessiond_grpc::proto::session_service_server::{SessionService, SessionServiceServer};
use sessiond_grpc::proto::*;
use tokio::sync::watch;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{Request, Response, Status, Streaming};

/// As large as a chunk of sessiond.
const CHUNK: usize = 32 << 10;

/// What there is to follow: as much as sessiond keeps, so that both read it from memory.
const KEPT: usize = 64 << 20;

/// What waits for `go`. That it was said is a level: a call that comes late does not miss it.
struct Empty {
    go: watch::Sender<u64>,
    kept: Bytes,
}

type Items<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Empty {
    async fn gone(&self) {
        let _ = self.go.subscribe().wait_for(|count| *count > 0).await;
    }
}

fn answer() -> ReadSessionResponse {
    let data = Bytes::from_static(b"ready\r\n");
    let slice = Slice { start: 0, next: 7, end: 7, lost: 0, data, ended: None };
    ReadSessionResponse { read: Some(Read { slice: Some(slice), fired: Fired::Output.into() }) }
}

fn id(session: Option<SessionRef>) -> String {
    session.unwrap_or_default().session_id
}

#[tonic::async_trait]
impl SessionService for Empty {
    async fn read_session(
        &self,
        request: Request<ReadSessionRequest>,
    ) -> Result<Response<ReadSessionResponse>, Status> {
        match id(request.into_inner().session).as_str() {
            "wait" => self.gone().await,
            "go" => self.go.send_modify(|count| *count += 1),
            _ => {}
        }
        Ok(Response::new(answer()))
    }

    type FollowSessionStream = Items<FollowSessionResponse>;

    async fn follow_session(
        &self,
        request: Request<FollowSessionRequest>,
    ) -> Result<Response<Self::FollowSessionStream>, Status> {
        use follow_session_response::Item;
        let id = id(request.into_inner().session);
        let Ok(count) = id.parse::<u64>() else {
            let mut go = self.go.subscribe();
            let end = async move {
                let _ = go.wait_for(|count| *count > 0).await;
                Ok(FollowSessionResponse { item: Some(Item::End(End::default())) })
            };
            return Ok(Response::new(Box::pin(stream::once(end))));
        };
        let mut kept = self.kept.clone();
        let items = stream::iter(0..count).map(move |number| {
            let chunk = Chunk { start: number * CHUNK as u64, data: kept.split_to(CHUNK.min(kept.len())) };
            Ok(FollowSessionResponse { item: Some(Item::Chunk(chunk)) })
        });
        Ok(Response::new(Box::pin(items)))
    }

    type AttachSessionStream = Items<AttachSessionResponse>;

    async fn attach_session(
        &self,
        _: Request<Streaming<AttachSessionRequest>>,
    ) -> Result<Response<Self::AttachSessionStream>, Status> {
        Err(Status::unimplemented("empty"))
    }

    async fn start_session(&self, _: Request<StartSessionRequest>) -> Result<Response<StartSessionResponse>, Status> {
        Err(Status::unimplemented("empty"))
    }

    async fn write_session(&self, _: Request<WriteSessionRequest>) -> Result<Response<WriteSessionResponse>, Status> {
        Err(Status::unimplemented("empty"))
    }

    async fn control_session(
        &self,
        _: Request<ControlSessionRequest>,
    ) -> Result<Response<ControlSessionResponse>, Status> {
        Err(Status::unimplemented("empty"))
    }

    async fn stop_session(&self, _: Request<StopSessionRequest>) -> Result<Response<StopSessionResponse>, Status> {
        Err(Status::unimplemented("empty"))
    }

    async fn list_sessions(&self, _: Request<ListSessionsRequest>) -> Result<Response<ListSessionsResponse>, Status> {
        Err(Status::unimplemented("empty"))
    }
}

#[tokio::main]
#[allow(clippy::print_stdout, reason = "whoever starts it waits for this line")]
async fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).ok_or_else(|| anyhow::anyhow!("the path of a socket is missing"))?;
    let listener = tokio::net::UnixListener::bind(&path)?;
    println!("listening on unix:{path}");
    let empty = Empty { go: watch::channel(0).0, kept: Bytes::from(vec![b'x'; KEPT]) };
    tonic::transport::Server::builder()
        .max_concurrent_streams(16_384)
        .add_service(SessionServiceServer::new(empty))
        .serve_with_incoming(UnixListenerStream::new(listener))
        .await?;
    Ok(())
}
