//! The pipes of a command: both output streams and its input, moved by one task.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, ioctl_fionread};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use sessiond_core::{Exit, OutputSink, Stream};
use tokio::io::Interest;
use tokio::io::unix::AsyncFdReadyGuard;
use tokio::time::Instant;

use crate::backend::Kit;
use crate::pump::{Turn, read_pipe, settle};
use crate::running::{Running, Watched, leader_exit, readable};
use crate::{clock, sys};

/// Fewer and longer reads; a system that grants less still works.
const PIPE_SIZE: usize = 256 * 1024;

/// How long a stream that is read into nothing rests after each turn.
const SPILL_PAUSE: Duration = Duration::from_millis(10);

/// What a child gets, and what we keep.
pub(crate) struct Pipes {
    child: [OwnedFd; 3],
    ours: Ours,
}

/// Our ends.
pub(crate) struct Ours {
    stdin: Option<Input>,
    stdout: Option<Watched>,
    stderr: Option<Watched>,
}

struct Input {
    pipe: Watched,
    rest: Bytes,
}

/// Opens the pipes. Everything is close-on-exec from birth.
///
/// # Errors
/// There is no free descriptor.
pub(crate) fn open(input: Bytes) -> io::Result<Pipes> {
    let (stdin_child, stdin) = if input.is_empty() {
        (File::open("/dev/null")?.into(), None)
    } else {
        let (child, ours) = pipe_with(PipeFlags::CLOEXEC)?;
        (child, Some(Input { pipe: watch(ours, Interest::WRITABLE)?, rest: input }))
    };
    let (stdout, stdout_child) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, stderr_child) = pipe_with(PipeFlags::CLOEXEC)?;
    for pipe in [&stdout, &stderr] {
        let _ = fcntl_setpipe_size(pipe, PIPE_SIZE);
    }
    let stdout = Some(watch(stdout, Interest::READABLE)?);
    let stderr = Some(watch(stderr, Interest::READABLE)?);
    Ok(Pipes { child: [stdin_child, stdout_child, stderr_child], ours: Ours { stdin, stdout, stderr } })
}

impl Pipes {
    /// What the child is to have as its standard descriptors.
    pub(crate) fn child_ends(&self) -> [BorrowedFd<'_>; 3] {
        self.child.each_ref().map(AsFd::as_fd)
    }

    /// Closes the child's ends, so that the child's own closing is seen.
    pub(crate) fn into_ours(self) -> Ours {
        self.ours
    }
}

/// The two ends of a pipe have modes of their own: ours does not block, the child's does.
fn watch(pipe: OwnedFd, interest: Interest) -> io::Result<Watched> {
    let access = if interest.is_writable() { OFlags::WRONLY } else { OFlags::RDONLY };
    fcntl_setfl(&pipe, access | OFlags::NONBLOCK)?;
    sys::watch(pipe, interest)
}

/// Moves everything until the leader has exited and both streams are at their end, then finishes the sink. Others
/// that keep a stream open are waited for during the grace of SR56.
pub(crate) async fn command(kit: Arc<Kit>, running: Arc<Running>, mut pipes: Ours, mut sink: OutputSink) {
    let exit = match running.leader() {
        Ok(leader) => pipes.until_exit(&running, &leader, &mut sink).await,
        Err(_) => Exit::Lost("it was closed at its start".to_owned()),
    };
    kit.leader_reaped();
    pipes.stdin = None;
    Box::pin(pipes.drain(&mut sink, clock::after(kit.config.linger))).await;
    running.close();
    sink.finish(exit);
    if pipes.are_open() {
        kit.spill(pipes);
    }
}

impl Ours {
    async fn until_exit(&mut self, running: &Running, leader: &Watched, sink: &mut OutputSink) -> Exit {
        loop {
            let (stream, turn) = tokio::select! {
                biased;
                exit = leader_exit(running.group.leader, leader) => return exit,
                () = writable(self.stdin.as_ref()) => {
                    self.write_input();
                    continue;
                }
                ready = ready(self.stdout.as_ref()) => (Stream::Stdout, read(ready, sink, Stream::Stdout)),
                ready = ready(self.stderr.as_ref()) => (Stream::Stderr, read(ready, sink, Stream::Stderr)),
            };
            self.after(stream, turn).await;
        }
    }

    /// Reads on until both streams are at their end, or others have held them open for the grace.
    async fn drain(&mut self, sink: &mut OutputSink, until: Instant) {
        self.settle(sink).await;
        while self.are_open() && Instant::now() < until {
            let (stream, turn) = tokio::select! {
                biased;
                ready = ready(self.stdout.as_ref()) => (Stream::Stdout, read(ready, sink, Stream::Stdout)),
                ready = ready(self.stderr.as_ref()) => (Stream::Stderr, read(ready, sink, Stream::Stderr)),
                () = tokio::time::sleep_until(until) => break,
            };
            self.after(stream, turn).await;
        }
        self.settle(sink).await;
    }

    /// Reads what both streams hold now, whatever the clock says. Mostly they are at their end then.
    async fn settle(&mut self, sink: &mut OutputSink) {
        for (pipe, stream) in [(&mut self.stdout, Stream::Stdout), (&mut self.stderr, Stream::Stderr)] {
            let Some(open) = pipe.as_ref().map(Watched::get_ref) else { continue };
            let held = ioctl_fionread(open).unwrap_or(0);
            if settle(held, || read_pipe(open, sink, stream)).await == Turn::HungUp {
                *pipe = None;
            }
        }
    }

    fn are_open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    /// Reads on into nothing until nobody holds a stream any more: whoever lives on would be killed by its next line
    /// if nobody read it (SF04). Slowly, so that a flood that nobody sees costs next to nothing.
    pub(crate) async fn spill(mut self) {
        while self.are_open() {
            let (stream, turn) = tokio::select! {
                ready = ready(self.stdout.as_ref()) => (Stream::Stdout, discard(ready)),
                ready = ready(self.stderr.as_ref()) => (Stream::Stderr, discard(ready)),
            };
            self.after(stream, turn).await;
            tokio::time::sleep(SPILL_PAUSE).await;
        }
    }

    async fn after(&mut self, stream: Stream, turn: Turn) {
        match turn {
            Turn::Empty => {}
            Turn::More => tokio::task::yield_now().await,
            Turn::HungUp => match stream {
                Stream::Stdout => self.stdout = None,
                Stream::Stderr => self.stderr = None,
            },
        }
    }

    /// Hands input over as the command takes it, and closes the pipe behind its last byte. A command that does not
    /// want it may close its end: that is no error.
    fn write_input(&mut self) {
        self.stdin.take_if(|input| {
            match rustix::io::write(input.pipe.get_ref(), &input.rest) {
                Ok(written) => input.rest.advance(written),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => input.rest.clear(),
            }
            input.rest.is_empty()
        });
    }
}

type Ready<'a> = io::Result<AsyncFdReadyGuard<'a, OwnedFd>>;

/// Never ready where there is no pipe any more.
async fn ready(pipe: Option<&Watched>) -> Ready<'_> {
    match pipe {
        Some(pipe) => readable(pipe).await,
        None => std::future::pending().await,
    }
}

/// The readiness is used up by the write that follows; one that finds no room waits for the next.
async fn writable(input: Option<&Input>) {
    match input {
        Some(input) => {
            if let Ok(mut ready) = input.pipe.writable().await {
                ready.clear_ready();
            }
        }
        None => std::future::pending().await,
    }
}

fn read(ready: Ready<'_>, sink: &mut OutputSink, stream: Stream) -> Turn {
    let Ok(mut ready) = ready else { return Turn::HungUp };
    let (turn, _) = read_pipe(ready.get_inner(), sink, stream);
    if turn == Turn::Empty {
        ready.clear_ready();
    }
    turn
}

/// Takes a pipe's worth at most.
#[inline(never)]
fn discard(ready: Ready<'_>) -> Turn {
    let Ok(mut ready) = ready else { return Turn::HungUp };
    let mut buffer = [MaybeUninit::<u8>::uninit(); 16 * 1024];
    let mut taken = 0;
    while taken < PIPE_SIZE {
        match rustix::io::read(ready.get_inner(), &mut buffer) {
            Ok(([], _)) => return Turn::HungUp,
            Ok((read, _)) => taken += read.len(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                ready.clear_ready();
                return Turn::Empty;
            }
            Err(_) => return Turn::HungUp,
        }
    }
    Turn::More
}
