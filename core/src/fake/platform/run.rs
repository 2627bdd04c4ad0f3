//! The handle to a run of the scripted platform.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::FakePlatform;
use crate::backend::{Facts, InputState, Process, Session, SignalTarget, Stopped, Written};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::id::NativeId;
use crate::output::Exit;
use crate::spec::{Signal, WindowSize};

/// A run that somebody follows.
pub(super) struct Follower {
    pub(super) platform: FakePlatform,
    pub(super) run: String,
}

#[async_trait]
impl Process for Follower {
    fn facts(&self) -> Facts {
        Facts { native_id: Some(NativeId(self.run.clone())), ..Facts::default() }
    }

    async fn signal(&self, _cx: &Call, _signal: Signal, _to: SignalTarget) -> Result<()> {
        Err(Error::unsupported("a run takes no signals"))
    }

    async fn stop(&self, _grace: Duration) -> Result<Stopped> {
        self.platform.request(format!("stop {}", self.run)).await?;
        let mut state = self.platform.lock();
        if let Some(run) = state.run(&self.run).filter(|run| !run.is_over()) {
            run.end(Exit::Canceled);
        }
        Ok(Stopped::Confirmed)
    }

    async fn descendants(&self) -> Vec<u32> {
        Vec::new()
    }
}

#[async_trait]
impl Session for Follower {
    async fn write(&self, _cx: &Call, _input: Bytes) -> Result<Written> {
        Err(Error::unsupported("a run takes no input"))
    }

    async fn eof(&self, _cx: &Call) -> Result<()> {
        Err(Error::unsupported("a run takes no input"))
    }

    async fn resize(&self, _cx: &Call, _size: WindowSize) -> Result<()> {
        Err(Error::unsupported("a run has no terminal"))
    }

    async fn input_state(&self, _cx: &Call) -> Option<InputState> {
        self.platform.request(format!("input {}", self.run)).await.ok()?;
        self.platform.lock().run(&self.run).and_then(|run| run.input.clone())
    }
}
