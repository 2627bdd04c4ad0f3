//! The protocol-agnostic core of sessiond: sessions, commands, and an output log with exact positions.
//!
//! The way of one call, and of one byte:
//!
//! ```text
//! call:  transport → Service → Registry (owner, limits, capability) → Backend → Session or Command
//! byte:  Session or Command → OutputSink → OutputLog → Slice → Service → transport
//! ```
//!
//! - [`Service`]: the inbound port, one verb a method; [`Registry`] implements it
//! - [`Targets`], [`Backend`], [`Session`], [`Command`]: the outbound port, which adapters implement
//! - [`OutputLog`]: what a process printed, and its end
//! - `wait`: the only loop that waits for output
//! - [`Tasks`]: the only place that spawns
//! - `fake`: a scripted backend for tests (feature `fake`)
//!
//! No serialization, no transport, no environment and no printing.

mod agent;
mod backend;
mod call;
mod capability;
mod discipline;
mod error;
mod id;
mod keys;
mod mark;
mod output;
mod owner;
mod pattern;
mod registry;
mod service;
mod spec;
mod task;
mod wait;

#[cfg(feature = "fake")]
pub mod fake;

pub use agent::{
    Agent, AgentAction, AgentRun, AgentSession, AgentSessionDetail, AgentSessionPage, AgentSessionQuery, FinishState,
    Json, ManualTask, ManualTaskSummary, PlatformId, ReasoningEvent, TokenCounts, TokenSummary, TokenTurn, TokenUsage,
};
pub use backend::{
    AgentPlatform, Availability, Backend, Command, ConnectionFacts, ConnectionStatus, Connections, Facts, FixedTargets,
    HostInfo, HostKey, InputState, JoinedTargets, Machine, PlatformInfo, Process, ResolvedTarget, Session,
    SignalTarget, Stopped, TargetInfo, TargetStatus, Targets, Written,
};
pub use call::{Call, Progress};
pub use capability::{Capabilities, Capability};
pub use discipline::{Discipline, PendingLine, TerminalKey, TerminalMode};
pub use error::{Error, ErrorKind, Reason, Result, shown};
pub use id::{Handle, NativeId, NoSessionId, SessionId, TargetName};
pub use keys::Key;
pub use mark::Mark;
pub use output::{
    Cause, Cursor, Demand, End, Exit, LogKind, OutputLog, OutputSink, Retention, Slice, Status, Stream, decode,
};
pub use owner::{Access, Owner, Permissions, no_such_command, not_found};
pub use pattern::Pattern;
pub use registry::{Census, Limits, Registry, Traffic};
pub use service::*;
pub use spec::{CommandSpec, Invocation, SessionSpec, Signal, WindowSize};
pub use task::{TaskKind, Tasks};
