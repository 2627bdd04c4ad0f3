//! An agent platform that does what a test tells it, for tests, the conformance suite and benches: sessions, messages,
//! manual tasks and agents over REST as Itential's platform has them, in every form that such a platform sends.
//!
//! A [`Peer`] has a thread and a runtime of its own, so that it answers whatever the test's runtime does, also while
//! that one's time stands still, and also for a program that the test has started. Everything that it does is told it
//! by ordinary calls; nothing of it happens by chance.
//!
//! ```
//! use sessiond_agent_peer::{Fault, Peer, Route, Script};
//!
//! # fn main() -> std::io::Result<()> {
//! let peer = Peer::start()?;
//! let run = peer.run();                                  // a session that runs until it is told otherwise
//! peer.turn(&run, "I have looked.");
//! peer.complete(&run);
//! peer.fault_once(Route::Messages, Fault::Status(500));  // the next request for messages fails
//!
//! // An agent whose inputs say what it does: this is a command for `session_start`.
//! let command = Script::new().say("one").pause(50).say("two").complete().command();
//! assert!(command.starts_with("script {"));
//! assert_eq!(peer.requests(), []);                       // nobody has asked anything yet
//! # Ok(())
//! # }
//! ```
//!
//! How to take it apart:
//!
//! - `peer`: the server, its beginning and its end, and what a test can tell it
//! - `world`: all that it knows, behind one lock
//! - `record`, `task`, `agent`: sessions and their messages, manual tasks, agents
//! - `script`: runs that play by themselves, driven by the clock whenever somebody looks
//! - `forms`: the forms that a platform may use, and which are used now
//! - `access`: what it asks of a caller
//! - `fault`: what can go wrong on a route
//! - `seen`: the requests that reached it
//! - `routes`: what it answers

mod access;
mod agent;
mod answer;
mod fault;
mod forms;
mod peer;
mod record;
mod routes;
mod script;
mod seen;
mod task;
mod time;
mod world;

pub use access::{Access, LoginBody};
pub use agent::Agent;
pub use fault::{Fault, LEAK};
pub use forms::{Envelope, Forms, Snapshot, Times};
pub use peer::Peer;
pub use routes::Route;
pub use script::{Script, Step};
pub use seen::Seen;
pub use task::Task;
