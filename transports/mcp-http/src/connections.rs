//! Connections: served over HTTP/1.1 or HTTP/2, and let go when the server ends.

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use sessiond_bootstrap::network::{Connection, Listener};
use sessiond_core::{TaskKind, Tasks};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

/// Serves one connection.
const CONNECTION: TaskKind = TaskKind("http.connection");

/// The longest head of a request, in bytes.
const MAX_HEAD: u32 = 64 * 1024;

/// Requests at one time on one connection (HTTP/2): each waiting read is one.
const MAX_STREAMS: u32 = 1_024;

/// How often a connection (HTTP/2) is asked whether it is still there, and how long it may take to say so.
const PING: Duration = Duration::from_secs(30);

/// Accepts connections until `ending` fires. Each is served by a task of its own, until it ends; once `ending` has fired,
/// until what it has under way is answered. `head` is how long the head of a request may take.
pub(crate) async fn serve(
    mut listener: Listener,
    router: Router,
    head: Duration,
    tasks: &Tasks,
    ending: &CancellationToken,
) {
    loop {
        let connection = tokio::select! {
            connection = listener.accept() => connection,
            () = ending.cancelled() => return,
        };
        let (router, ending, cut) = (router.clone(), ending.clone(), tasks.cancelled());
        tasks.spawn(CONNECTION, async move {
            tokio::select! {
                () = converse(connection, router, head, ending) => {}
                () = cut => {}
            }
        });
    }
}

/// Answers the requests of one connection.
async fn converse(connection: Connection, router: Router, head: Duration, ending: CancellationToken) {
    let origin = connection.origin().clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(origin.clone());
        let mut router = router.clone();
        async move {
            // A router is always ready.
            let answered: Result<_, Infallible> = router.call(request.map(Body::new)).await;
            answered
        }
    });
    let builder = builder(head);
    let mut served = pin!(builder.serve_connection(TokioIo::new(connection), service));
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = ending.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        // A client that leaves, mostly.
        tracing::debug!("a connection broke: {error}");
    }
}

fn builder(head: Duration) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(MAX_HEAD as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING);
    builder
}
