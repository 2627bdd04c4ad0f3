//! The server, its beginning and its end, and what a test can tell it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::{HeaderName, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::{oneshot, watch};

use crate::access::Access;
use crate::agent::Agent;
use crate::answer::Answer;
use crate::fault::{Fault, Planned};
use crate::forms::Forms;
use crate::record::{Kind, Run};
use crate::routes::{Asked, Route, answer};
use crate::seen::Seen;
use crate::task::Task;
use crate::world::World;

/// The largest body that is taken, in bytes.
const LARGEST_BODY: usize = 8 * 1024 * 1024;

/// What the server and the test both hold.
struct Shared {
    world: Mutex<World>,
    /// Moves with every request that comes and with every one that is answered.
    arrived: watch::Sender<u64>,
}

impl Shared {
    fn world<R>(&self, act: impl FnOnce(&mut World) -> R) -> R {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        world.advance(Instant::now());
        act(&mut world)
    }
}

/// An agent platform on loopback. It ends with this value.
pub struct Peer {
    shared: Arc<Shared>,
    address: SocketAddr,
    serving: Mutex<Option<Serving>>,
}

/// The thread that serves.
struct Serving {
    end: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Peer {
    /// Starts a platform that asks for no login and has the agents `script`, `puppet` and `unrouted`.
    ///
    /// # Errors
    /// When there is no port or no thread to be had.
    pub fn start() -> io::Result<Self> {
        let world = Mutex::new(World::new());
        let shared = Arc::new(Shared { world, arrived: watch::Sender::new(0) });
        let (serving, address) = serve(shared.clone(), SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        Ok(Self { shared, address, serving: Mutex::new(Some(serving)) })
    }

    /// Where it is: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes every connection and takes no new ones. It keeps what it knows; runs that play by themselves go on.
    pub fn go_away(&self) {
        if let Some(serving) = self.serving.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = serving.end.send(());
            let _ = serving.thread.join();
        }
    }

    /// Is there again, at the same address.
    ///
    /// # Errors
    /// When somebody else has taken the port.
    pub fn come_back(&self) -> io::Result<()> {
        self.go_away();
        let (serving, _) = serve(self.shared.clone(), self.address)?;
        *self.serving.lock().unwrap_or_else(PoisonError::into_inner) = Some(serving);
        Ok(())
    }

    /// Asks this of callers from now on.
    pub fn require(&self, access: Access) {
        self.shared.world(|world| world.door.access = access);
    }

    /// Every login that was given so far is refused from now on, with a 401.
    pub fn expire_logins(&self) {
        self.shared.world(|world| world.door.expire());
    }

    /// Changes the forms that are used.
    pub fn forms(&self, change: impl FnOnce(&mut Forms)) {
        self.shared.world(|world| change(&mut world.forms));
    }

    /// This fault happens on every request of a route until [`heal`](Self::heal).
    pub fn fault(&self, route: Route, fault: Fault) {
        self.shared.world(|world| world.plan(route, Planned { fault, times: None }));
    }

    /// This fault happens on the next request of a route.
    pub fn fault_once(&self, route: Route, fault: Fault) {
        self.fault_times(route, 1, fault);
    }

    /// This fault happens on the next so many requests of a route. Faults on one route come one after the other.
    pub fn fault_times(&self, route: Route, times: usize, fault: Fault) {
        if times > 0 {
            self.shared.world(|world| world.plan(route, Planned { fault, times: Some(times) }));
        }
    }

    /// No fault is left.
    pub fn heal(&self) {
        self.shared.world(World::heal);
    }

    /// The requests that reached it, in their order.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.world(|world| world.log.all())
    }

    /// How many requests of a route reached it.
    pub fn count(&self, route: Route) -> usize {
        self.shared.world(|world| world.log.count(|seen| route == Route::Any || seen.route == route))
    }

    /// Forgets the requests so far.
    pub fn forget_requests(&self) {
        self.shared.world(|world| world.log.forget());
    }

    /// Waits until so many requests of a route have reached it, answered or not.
    pub async fn asked(&self, route: Route, times: usize) {
        let mut arrived = self.shared.arrived.subscribe();
        while self.count(route) < times {
            if arrived.changed().await.is_err() {
                return;
            }
        }
    }

    /// One more agent.
    pub fn agent(&self, agent: Agent) {
        self.shared.world(|world| world.agents.push(agent));
    }

    /// A session of `puppet` that runs until it is told otherwise; its id.
    pub fn run(&self) -> String {
        self.session("RUNNING")
    }

    /// A session of `puppet` with this status; its id.
    pub fn session(&self, status: &str) -> String {
        self.session_of(&Agent::new("puppet"), status)
    }

    /// A session of an agent with this status; its id.
    pub fn session_of(&self, agent: &Agent, status: &str) -> String {
        self.shared.world(|world| world.begin(agent, status, &json!({})))
    }

    /// A session with this record, whatever stands in it. It is asked for by this id.
    pub fn put_session(&self, id: &str, record: &Value) {
        let record = record.as_object().cloned().unwrap_or_default();
        self.shared.world(|world| world.put(Run::of(id, record)));
    }

    /// Sets a field of a session's record.
    pub fn set(&self, id: &str, field: &str, value: Value) {
        self.shared.world(|world| {
            if let Some(run) = world.run(id) {
                run.set(field, value);
            }
        });
    }

    /// Sets the status of a session and nothing else.
    pub fn set_status(&self, id: &str, status: &str) {
        self.set(id, "status", json!(status));
    }

    /// The status of a session now; `None` when there is none of this id.
    pub fn status(&self, id: &str) -> Option<String> {
        self.shared.world(|world| world.run(id).map(|run| run.status().to_owned()))
    }

    /// The ids of all sessions, in the order in which they began.
    pub fn sessions(&self) -> Vec<String> {
        self.shared.world(|world| world.runs().iter().map(|run| run.id.clone()).collect())
    }

    /// A completed turn of a session; the id of its event, empty for a session that is not there.
    pub fn turn(&self, id: &str, text: &str) -> String {
        self.tell(id, &Kind::Answered(text, "end_turn"))
    }

    /// A turn that stops for another reason, such as `tool_use`.
    pub fn turn_stopping(&self, id: &str, text: &str, reason: &str) -> String {
        self.tell(id, &Kind::Answered(text, reason))
    }

    /// A turn that fails.
    pub fn failed_turn(&self, id: &str, why: &str) -> String {
        self.tell(id, &Kind::Failed(why))
    }

    /// A call of a tool.
    pub fn tool(&self, id: &str, name: &str) -> String {
        self.tell(id, &Kind::Tool(name))
    }

    /// So many messages as a long session has them: of four, the model is asked, wants a tool, gets it, and says
    /// something.
    pub fn fill(&self, id: &str, messages: usize) {
        self.shared.world(|world| {
            for number in 0..messages {
                let said = format!("Turn {number}: interface GigabitEthernet0/{number} of router r1 is up.");
                let kind = match number % 4 {
                    0 => Kind::Pending,
                    1 => Kind::Answered("I shall look at the interface.", "tool_use"),
                    2 => Kind::Tool("show_interface"),
                    _ => Kind::Answered(&said, "end_turn"),
                };
                world.tell(id, &kind);
            }
        });
    }

    /// A message as it stands here, behind the others.
    pub fn put_message(&self, id: &str, message: Value) {
        self.shared.world(|world| {
            if let Some(run) = world.run(id) {
                run.put(message);
            }
        });
    }

    fn tell(&self, id: &str, kind: &Kind<'_>) -> String {
        self.shared.world(|world| world.tell(id, kind)).unwrap_or_default()
    }

    /// A session ends as COMPLETE.
    pub fn complete(&self, id: &str) {
        self.shared.world(|world| world.end(id, "COMPLETE", None));
    }

    /// A session ends as FAILED, for this reason.
    pub fn fail(&self, id: &str, error: &str) {
        self.shared.world(|world| world.end(id, "FAILED", Some(error)));
    }

    /// A session ends as CANCELED.
    pub fn cancel(&self, id: &str) {
        self.shared.world(|world| world.end(id, "CANCELED", None));
    }

    /// A session is gone.
    pub fn vanish(&self, id: &str) {
        self.shared.world(|world| world.vanish(id));
    }

    /// A manual task of a session; its id.
    pub fn ask(&self, session: &str, task: &Task) -> String {
        self.shared.world(|world| world.ask(session, task))
    }

    /// Completes a manual task, as a person at the platform would.
    pub fn complete_task(&self, item: &str) {
        self.shared.world(|world| world.complete(item, "success", &json!({})));
    }

    /// The record of a manual task now.
    pub fn task(&self, item: &str) -> Option<Value> {
        self.shared.world(|world| world.item(item).map(|item| item.record.clone()))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.go_away();
    }
}

/// Serves on a thread of its own until it is told to end. With its runtime end all its connections.
fn serve(shared: Arc<Shared>, address: SocketAddr) -> io::Result<(Serving, SocketAddr)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let (end, ended) = oneshot::channel::<()>();
    let thread = std::thread::Builder::new().name("agent-peer".to_owned()).spawn(move || {
        let router = Router::new().fallback(async move |request: Request| handle(&shared, request).await);
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        runtime.block_on(async {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            tokio::select! {
                _ = axum::serve(listener, service) => {}
                _ = ended => {}
            }
        });
    })?;
    Ok((Serving { end, thread }, address))
}

/// One request: it is remembered, may go wrong, must show its login, and is answered.
async fn handle(shared: &Shared, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LARGEST_BODY).await else { return Answer::failure(413).send(None) };
    let (method, path) = (parts.method.as_str(), parts.uri.path());
    let asked = Asked::new(method, path, parts.uri.query().unwrap_or_default(), &body);
    let header = |name: HeaderName| parts.headers.get(name)?.to_str().ok().map(str::to_owned);
    let port = parts.extensions.get::<ConnectInfo<SocketAddr>>().map_or(0, |info| info.0.port());
    let seen = Seen {
        route: asked.route,
        method: method.to_owned(),
        path: path.to_owned(),
        query: asked.query.to_owned(),
        authorization: header(AUTHORIZATION),
        cookie: header(COOKIE),
        body: String::from_utf8_lossy(&body).into_owned(),
        status: None,
        at: Instant::now(),
        port,
    };
    let (authorization, cookie) = (seen.authorization.clone(), seen.cookie.clone());
    let (place, fault) = shared.world(|world| (world.log.add(seen), world.fault(asked.route)));
    shared.arrived.send_modify(|count| *count += 1);
    if fault == Some(Fault::Never) {
        std::future::pending::<()>().await;
    }
    let answer = shared.world(|world| {
        let answer = if let Some(instead) = fault.as_ref().and_then(Answer::instead) {
            instead
        } else if matches!(asked.route, Route::Login | Route::Token)
            || world.door.opens(authorization.as_deref(), cookie.as_deref())
        {
            answer(world, &asked)
        } else {
            Answer::failure(401)
        };
        world.log.answered(place, answer.status);
        answer
    });
    shared.arrived.send_modify(|count| *count += 1);
    answer.send(fault.as_ref())
}
