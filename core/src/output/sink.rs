//! The writing end of an output log.

use std::sync::Arc;

use super::{Demand, Exit, OutputLog, Stream};
use crate::spec::WindowSize;

/// Where an adapter puts what its process prints. There is one for each process, also for one with two streams:
/// one order, one end.
///
/// Pushing never waits: retention drops what does not fit. A sink that is dropped without [`finish`](Self::finish)
/// ends its log as lost.
#[derive(Debug)]
pub struct OutputSink {
    log: Arc<OutputLog>,
    finished: bool,
}

impl OutputSink {
    /// The sink of a log. A log has one.
    pub fn new(log: Arc<OutputLog>) -> Self {
        Self { log, finished: false }
    }

    /// Adds bytes to a stream, in the order in which they were printed.
    pub fn push(&mut self, stream: Stream, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.log.push(stream, bytes);
        }
    }

    /// Says that so many bytes were printed here and never reached us. They count in every later cursor.
    pub fn lost(&mut self, stream: Stream, bytes: u64) {
        if bytes > 0 {
            self.log.push_gap(stream, bytes);
        }
    }

    /// Says that the terminal has had this size from here on, for whoever renders a screen from the log.
    pub fn resized(&mut self, size: WindowSize) {
        self.log.resized(size);
    }

    /// Whether somebody wants this output: for sources that have to be asked for it. To be asked before the start
    /// returns; readers are counted from then on.
    pub fn demand(&self) -> Demand {
        self.log.waiters.demand()
    }

    /// Ends the output. Nothing can follow.
    pub fn finish(mut self, exit: Exit) {
        self.finished = true;
        self.log.exited(exit);
    }
}

impl Drop for OutputSink {
    fn drop(&mut self) {
        if !self.finished {
            self.log.exited(Exit::Lost("the backend let go of it before it had ended".to_owned()));
        }
    }
}
