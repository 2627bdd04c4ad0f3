//! The MCP tools of sessiond, and the handler behind every MCP transport. No socket here.
//!
//! The way of one call:
//!
//! 1. `handler` finds the owner of the request and the tool in the table
//! 2. `args` checks the arguments against the tool's field table, in full
//! 3. the tool makes a typed request of them and calls one verb of the [`Service`](sessiond_core::Service)
//! 4. `progress` keeps in touch with the caller meanwhile
//! 5. the tool, with `render`, makes structured content and a short text of the typed answer
//!
//! Which file does what:
//!
//! - `contract`: the tool table; one file per published family, one below it per tool
//! - `schema`: field tables, from which both the JSON schemas and the checks derive
//! - `answer`, `render`, `time`: what comes back
//! - `owners`: the seam through which a transport says who asks; `observer`: the one through which it watches
//! - `serve`: one connection over a reader and a writer; `wire`: its lines, its queue of answers
//! - `log`: what is said of a call to whoever runs the server

mod answer;
mod args;
mod contract;
mod handler;
mod log;
mod nearest;
mod observer;
mod owners;
mod progress;
mod render;
mod schema;
mod serve;
mod time;
mod wire;

pub use answer::{Answer, META_DIALECT, META_DROPPED_EVENTS, META_ERROR, META_FIRED, TextStyle};
pub use contract::{Family, InputRow, ToolRow, tool_table};
pub use handler::Handler;
pub use observer::Observer;
pub use owners::{Owners, Proof};
pub use serve::{serve, serve_stdio};
