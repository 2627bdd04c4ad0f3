//! From a channel into the output log: every byte as it comes, the end as the last item, and then nothing but making
//! sure that whoever lives on is not killed by printing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sessiond_core::{Exit, OutputSink, Signal, Stream};
use tokio::time::{Instant, timeout};

use crate::channel::{Event, UNKNOWN_SIGNAL};
use crate::process::Running;
use crate::run::ProcessChannel;

/// More than a host holds of what a process has printed before its end, besides what is on its way: the pipes or the
/// terminal in between.
const HELD: u64 = 1024 * 1024;

/// A round trip that brings less than this has brought all that was waiting: a host hands on what is there in pieces
/// of some KiB. The rest is what others print meanwhile, and they may go on for ever.
const PENDING: u64 = 1024;

/// More rounds than a host needs for what it holds, whoever prints beside.
const MOST_ROUNDS: usize = 64;

/// How long a channel whose process has ended may take to be closed.
const CLOSING: Duration = Duration::from_secs(5);

/// What the children of an ended command may print to nobody, before their pipes are closed to spare the host's and
/// our own processors.
const SPILL: usize = 64 * 1024 * 1024;

/// Moves everything until the process's end, then finishes the sink.
pub(crate) async fn to_end(running: Arc<Running>, channel: ProcessChannel, sink: OutputSink) {
    let mut drain = Drain { running, channel, sink, bytes: 0, closed: false };
    drain.begin();
    let exit = drain.until_exit().await;
    let exit = match exit {
        Some(exit) => {
            drain.until_last_byte().await;
            if drain.is_complete() {
                drain.running.released();
            }
            exit
        }
        None => drain.lost(),
    };
    let Drain { channel, sink, closed, .. } = drain;
    sink.finish(exit);
    if !closed {
        // The state of these rare waits is not carried by every idle session.
        Box::pin(after_end(channel)).await;
    }
}

struct Drain {
    running: Arc<Running>,
    channel: ProcessChannel,
    sink: OutputSink,
    /// What has been moved so far.
    bytes: u64,
    closed: bool,
}

impl Drain {
    /// Moves what has come with the first line, and takes an end that has come as early.
    fn begin(&mut self) {
        for (stream, bytes) in std::mem::take(&mut self.channel.early) {
            self.push(stream, &bytes);
        }
        if self.channel.exit.is_some() {
            self.running.ended();
        }
    }

    fn push(&mut self, stream: Stream, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.sink.push(stream, bytes);
    }

    /// Takes one event.
    fn take(&mut self, event: Event) {
        match event {
            Event::Output(Stream::Stdout, bytes) => self.push(Stream::Stdout, &bytes),
            Event::Output(Stream::Stderr, bytes) => match self.channel.second.as_mut() {
                Some(second) => {
                    if let Some(output) = second.feed(&bytes).and_then(|at| bytes.get(at..)) {
                        self.push(Stream::Stderr, output);
                    }
                }
                // A terminal has one stream.
                None => self.push(Stream::Stdout, &bytes),
            },
            Event::Exit(exit) => {
                self.channel.exit.get_or_insert(exit);
                self.channel.feed.drop_rest();
                self.running.ended();
            }
            Event::Eof => self.channel.eof = true,
            Event::Closed => self.closed = true,
            Event::Answer(_) => {}
        }
    }

    async fn next(&mut self) {
        let event = self.channel.feed.next(&mut self.channel.reader).await;
        self.take(event);
    }

    /// Moves output until the process's end is told; nothing when it never will be.
    async fn until_exit(&mut self) -> Option<Exit> {
        while self.channel.exit.is_none() {
            if self.closed {
                return None;
            }
            self.next().await;
        }
        self.channel.exit.take().map(|exit| named(exit, self.running.latest_signal()))
    }

    fn is_complete(&self) -> bool {
        self.channel.eof || self.closed
    }

    /// Reads on after the end: to the end of the output, or, where others keep it open, for the grace of SR56.
    async fn until_last_byte(&mut self) {
        let until = Instant::now() + self.running.pool().host.linger;
        let at_exit = self.bytes;
        while !self.is_complete() {
            tokio::select! {
                () = self.next() => {}
                () = tokio::time::sleep_until(until) => break,
            }
        }
        // What the process itself printed is in order before whatever the host answers once it has read it; where the
        // way is slow, no clock may cut it.
        for _ in 0..MOST_ROUNDS {
            let before = self.bytes;
            if self.is_complete() || before - at_exit >= HELD {
                break;
            }
            self.round_trip().await;
            if self.bytes - before < PENDING {
                break;
            }
        }
    }

    /// Moves what comes until the host has answered.
    async fn round_trip(&mut self) {
        let link = self.channel.link.clone();
        let answer = link.round_trip();
        tokio::pin!(answer);
        while !self.is_complete() {
            tokio::select! {
                _ = &mut answer => return,
                () = self.next() => {}
            }
        }
    }

    fn lost(&self) -> Exit {
        self.running.lost();
        Exit::Lost(match self.channel.link.loss() {
            Some(why) => why,
            None => "the host closed the channel without telling how the process ended".to_owned(),
        })
    }
}

/// Servers have no name for most signals; the one that was sent to it from here is the likeliest.
fn named(exit: Exit, sent: Option<Signal>) -> Exit {
    match (exit, sent) {
        (Exit::Signaled(name), Some(sent)) if name == UNKNOWN_SIGNAL => Exit::Signaled(sent.name().to_owned()),
        (exit, _) => exit,
    }
}

/// Keeps a channel until the host closes it. A terminal that others hold is closed. The pipes of a command are read
/// into nothing instead: whoever lives on would be killed by its next line if nobody read it (SF04).
async fn after_end(mut channel: ProcessChannel) {
    let rest = async {
        let mut spilt = 0;
        loop {
            match channel.reader.next().await {
                Event::Closed => return true,
                Event::Output(_, bytes) => spilt += Bytes::len(&bytes),
                _ => {}
            }
            if spilt > SPILL {
                return false;
            }
        }
    };
    let closed = match (channel.second.is_none(), channel.eof) {
        (true, false) => false,
        (_, true) => timeout(CLOSING, rest).await.unwrap_or(false),
        (false, false) => rest.await,
    };
    if !closed {
        channel.writer.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_without_a_name_is_the_one_that_was_sent() {
        let unknown = || Exit::Signaled(UNKNOWN_SIGNAL.to_owned());
        assert_eq!(named(unknown(), Some(Signal::Xcpu)), Exit::Signaled("XCPU".to_owned()));
        assert_eq!(named(unknown(), None), unknown());
        assert_eq!(named(Exit::Signaled("TERM".to_owned()), Some(Signal::Xcpu)), Exit::Signaled("TERM".to_owned()));
        assert_eq!(named(Exit::Exited(3), Some(Signal::Xcpu)), Exit::Exited(3));
    }
}
