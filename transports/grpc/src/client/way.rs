//! The way to a server, on this machine or through a network.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::codegen::{Service, StdError};
use tonic::transport::Channel;

use super::local::Local;

/// The way. Clones share the connection.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// Over a unix socket.
    Local(Local),
    /// Over TCP, with TLS or without.
    Network(Channel),
}

impl Service<Request<Body>> for Way {
    type Response = Response<Body>;
    type Error = StdError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, StdError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StdError>> {
        match self {
            Self::Local(local) => local.poll_ready(cx),
            Self::Network(channel) => channel.poll_ready(cx).map_err(StdError::from),
        }
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        match self {
            Self::Local(local) => local.call(request),
            Self::Network(channel) => {
                let sent = channel.call(request);
                Box::pin(async move { Ok(sent.await?) })
            }
        }
    }
}
