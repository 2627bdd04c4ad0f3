//! Where processes cannot be held by a descriptor and orphans cannot be adopted, no stop could be verified: nothing
//! is started there, and the refusal says so.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sessiond_core::{
    Backend, Call, Capabilities, Command, CommandSpec, Error, OutputSink, Result, Session, SessionSpec, TargetStatus,
};

use crate::config::Config;

/// This machine, which cannot be one yet.
pub struct Pty(Infallible);

impl Pty {
    /// # Errors
    /// `unsupported`, always.
    pub fn new(_config: Config) -> Result<Arc<Self>> {
        Err(Error::unsupported("sessions on this machine need Linux: use a target that is elsewhere"))
    }
}

/// Says that a child of this process is none of the adapter's.
#[derive(Debug)]
pub struct Foreign(());

impl Foreign {
    /// Starts a child with `start`, which returns it and its process id.
    ///
    /// # Errors
    /// What `start` failed with.
    pub fn start<C>(start: impl FnOnce() -> io::Result<(C, u32)>) -> io::Result<(C, Self)> {
        Ok((start()?.0, Self(())))
    }
}

/// Nothing is to be prepared.
///
/// # Errors
/// None.
pub fn prepare_process() -> Result<()> {
    Ok(())
}

#[async_trait]
impl Backend for Pty {
    fn capabilities(&self) -> Capabilities {
        match self.0 {}
    }

    async fn status(&self, _cx: &Call) -> TargetStatus {
        match self.0 {}
    }

    async fn start_session(&self, _cx: &Call, _spec: SessionSpec, _out: OutputSink) -> Result<Box<dyn Session>> {
        match self.0 {}
    }

    async fn run_command(&self, _cx: &Call, _spec: CommandSpec, _out: OutputSink) -> Result<Box<dyn Command>> {
        match self.0 {}
    }

    async fn shutdown(&self, _grace: Duration) {
        match self.0 {}
    }
}
