//! A `Service` over the wire, and a small interface for other services.
//!
//! [`GrpcClient`] is a [`Service`](sessiond_core::Service): whatever works over a registry works over it. It keeps nothing
//! but a connection, which it makes anew when it has broken: ids, cursors, handles, targets and owners are the server's.
//!
//! ```no_run
//! # async fn example() -> sessiond_core::Result<()> {
//! use futures_util::StreamExt;
//! use sessiond_core::{Cursor, Invocation, Service, TargetName};
//! use sessiond_grpc::Item;
//! use sessiond_grpc::client::{GrpcClient, SessionRef, new_session};
//!
//! let client = GrpcClient::connect(&"unix:/run/user/1000/sessiond.sock".parse()?).await?;
//! let cx = GrpcClient::call();
//! let target = TargetName::new("local")?;
//! let started = client.start_session(&cx, new_session(target.clone(), Invocation::new("make test"))).await?;
//! let session = SessionRef { session: started.session, target: Some(target) };
//! let mut items = client.follow_session(&cx, &session, Cursor::START).await?;
//! while let Some(item) = items.next().await {
//!     match item? {
//!         Item::Chunk { bytes, .. } => print!("{}", String::from_utf8_lossy(&bytes)),
//!         Item::Gap { bytes, .. } => eprintln!("{bytes} bytes are gone"),
//!         Item::End(end) => println!("exit code {}", end.exit_code()),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! - [`Credentials`]: how a client proves who it is on a network (`connect`)
//! - `way`: the way to a server; `local`: the one to a unix socket
//! - `verbs`: the verbs of `Service`
//! - `follow`: output as a stream; `attach`: a terminal on a session

mod attach;
mod connect;
mod follow;
mod local;
mod verbs;
mod way;

use std::time::Duration;

use sessiond_core::{
    Call, Error, ErrorKind, Invocation, Launch, Owner, Result, SessionId, StartSession, TargetName, Wait, WindowSize,
};
use tokio::time::Instant;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Response, Status};

pub use attach::{Input, Output, Shown};
pub use connect::Credentials;
pub use follow::Items;

use local::Local;
use way::Way;

use crate::convert::{self, Decode};
use crate::{Address, check_directory, proto};

/// What one stream may send ahead of its reader, in bytes.
const STREAM_WINDOW: u32 = 1 << 20;

/// What all streams of a connection together may: as much as HTTP/2 can say, so that one whose reader has stopped takes
/// nothing from the others.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

/// How long a server may take to answer a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// A time so long that a server need not be told.
const NO_DEADLINE: Duration = sessiond_core::MAX_TIME_LIMIT;

/// A session as calls name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRef {
    /// Its id.
    pub session: SessionId,
    /// Its target; a caller who reaches one target only may leave it out.
    pub target: Option<TargetName>,
}

/// A plain session: no time limit, a terminal of 80 by 24, nothing waited for.
pub fn new_session(target: TargetName, invocation: Invocation) -> StartSession {
    StartSession {
        target: Some(target),
        client_id: None,
        what: Launch::Start(invocation),
        time_limit: None,
        size: WindowSize::default(),
        label: None,
        login: false,
        wait: Wait::default(),
    }
}

/// A sessiond at the other end of a connection. Clones share the connection.
#[derive(Clone, Debug)]
pub struct GrpcClient {
    way: Way,
    added: connect::Added,
}

/// The way to the server, which adds to each call what proves who we are and which trace it is part of.
type Wire = InterceptedService<Way, connect::Added>;

impl GrpcClient {
    /// Connects, to a server that asks for nothing or knows whose the connection is.
    ///
    /// # Errors
    /// `unavailable` when nobody answers there.
    pub async fn connect(address: &Address) -> Result<Self> {
        Self::connect_with(address, &Credentials::none()).await
    }

    /// Connects, and proves who we are with each call.
    ///
    /// # Errors
    /// `unavailable` when nobody answers there, or nobody whose certificate we trust; `failed_precondition` when the key
    /// would go through a network in the clear, or for certificates that are none.
    pub async fn connect_with(address: &Address, credentials: &Credentials) -> Result<Self> {
        let added = credentials.added(address)?;
        let nobody = |error: &dyn std::error::Error| {
            Error::unavailable(format!("no sessiond answers on {address}: {}", innermost(error)))
        };
        let way = match address {
            Address::Unix(path) => {
                let local = Local::new(path.clone());
                local.connect().await.map_err(|error| nobody(&error))?;
                Way::Local(local)
            }
            Address::Tcp(_) | Address::Tls(_) => {
                Way::Network(credentials.endpoint(address)?.connect().await.map_err(|error| nobody(&error))?)
            }
        };
        Ok(Self { way, added })
    }

    /// Connects with the first call. Needs a tokio runtime.
    ///
    /// # Errors
    /// `invalid_argument` for an address that cannot be one; `failed_precondition` as for
    /// [`connect_with`](Self::connect_with).
    pub fn lazy(address: &Address, credentials: &Credentials) -> Result<Self> {
        let added = credentials.added(address)?;
        let way = match address {
            Address::Unix(path) => Way::Local(Local::new(path.clone())),
            Address::Tcp(_) | Address::Tls(_) => Way::Network(credentials.endpoint(address)?.connect_lazy()),
        };
        Ok(Self { way, added })
    }

    /// The same, whose calls carry a `traceparent` (W3C Trace Context): this tells the one of whatever makes a call, when
    /// that is part of a trace.
    #[must_use]
    pub fn tracing(self, traceparent: fn() -> Option<String>) -> Self {
        Self { added: self.added.tracing(traceparent), ..self }
    }

    /// The way for one call.
    fn wire(&self) -> Wire {
        InterceptedService::new(self.way.clone(), self.added.clone())
    }

    /// A call to make, without a deadline of its own. Its owner counts for nothing: the server knows whose the
    /// connection is.
    pub fn call() -> Call {
        Call::new(Owner::management("remote"))
    }
}

/// Where a server of this process's user listens unless told otherwise.
pub fn own_address() -> Address {
    let runtime_dir = std::env::var_os("XDG_RUNTIME_DIR");
    Address::of_user(runtime_dir.as_deref(), &std::env::temp_dir(), uid())
}

/// Where to find it: [`own_address`], after a look at who can put something there.
///
/// # Errors
/// `permission_denied` when others can; `unavailable` when the directory is not there, so that nobody can listen.
pub fn address_of_user() -> Result<Address> {
    let address = own_address();
    if let Address::Unix(path) = &address
        && let Some(directory) = path.parent()
    {
        check_directory(directory, uid()).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::unavailable(format!("no sessiond listens on {address}")),
            _ => error,
        })?;
    }
    Ok(address)
}

/// The account that this process acts for.
pub fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// What lies at the bottom of an error: tonic's own says "transport error".
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// A message on its way, with the caller's deadline.
///
/// # Errors
/// `timed_out` when that has passed.
fn request<M>(cx: &Call, message: M) -> Result<Request<M>> {
    let left = cx.deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Error::timed_out("the deadline came before the call went out"));
    }
    let mut request = Request::new(message);
    if left < NO_DEADLINE {
        request.set_timeout(left);
    }
    Ok(request)
}

/// Waits for an answer, until the deadline or until the caller takes the call back.
async fn answer<M>(cx: &Call, sent: impl Future<Output = Result<Response<M>, Status>>) -> Result<M> {
    tokio::select! {
        answered = sent => answered.map(Response::into_inner).map_err(|status| failure(cx, &status)),
        () = cx.cancel.cancelled() => Err(Error::unavailable("the call was taken back")),
        () = passed(cx.deadline) => Err(too_late()),
    }
}

/// Waits for a deadline that a server has been told.
async fn passed(deadline: Instant) {
    if deadline.saturating_duration_since(Instant::now()) < NO_DEADLINE {
        tokio::time::sleep_until(deadline).await;
    } else {
        std::future::pending().await
    }
}

/// The error of a call. One that tonic has ended at the deadline looks as if it were taken back.
fn failure(cx: &Call, status: &Status) -> Error {
    if status.code() == tonic::Code::Cancelled && Instant::now() >= cx.deadline {
        return too_late();
    }
    convert::error::error(status)
}

fn too_late() -> Error {
    Error::timed_out("the server did not answer in time: try again")
}

/// What an answer says.
///
/// # Errors
/// `internal` when it makes no sense, which is not the caller's fault.
fn understood<M: Decode>(answer: M) -> Result<M::Value> {
    answer.decode().map_err(|error| not_understood(&error))
}

fn not_understood(error: &Error) -> Error {
    Error::internal(format!("the server's answer makes no sense here, perhaps it is newer than this client: {error}"))
}

/// A session as messages name it.
fn reference(session: &SessionRef) -> Option<proto::SessionRef> {
    convert::reference(session.session, session.target.clone())
}
