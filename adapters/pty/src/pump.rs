//! From descriptors to the output log: turns of reading that are bounded by time, and the end as the last item.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use sessiond_core::{Exit, OutputSink, Stream};
use tokio::io::Interest;

use crate::backend::Kit;
use crate::running::{Running, Watched, leader_exit, readable};
use crate::{clock, sys, terminal};

/// A flood may hold the thread for so long, then others have their turn. A bound in bytes would make everybody wait
/// for as long as the slowest writer of a full terminal takes.
const TURN: Duration = Duration::from_micros(100);

/// What one read takes: a terminal gives no more than a page at once, a pipe as much as it holds.
const TERMINAL_READ: usize = 8 * 1024;
const PIPE_READ: usize = 64 * 1024;

/// How long the leader may take to exit after the terminal has hung up, before its hanging up counts as no end.
/// It only spares most sessions a descriptor in their last moment; nothing depends on its length.
const LAST_MOMENT: Duration = Duration::from_millis(5);

/// More than a terminal ever holds: 8 KiB on its way to the reader's side and 4 KiB there.
const TERMINAL_HOLDS: u64 = 64 * 1024;

/// How a turn of reading ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing is there just now.
    Empty,
    /// Time was up; there may be more.
    More,
    /// Nobody holds the other side, and all that was there has been read.
    HungUp,
}

/// Reads a terminal into the sink for a while, and tells how much. No buffer outlives the call.
///
/// Where nothing is there (any more), the kernel waits for its worker before it says so, on this thread.
pub(crate) fn read_terminal(from: &OwnedFd, sink: &mut OutputSink) -> (Turn, u64) {
    read_turn(from, sink, Stream::Stdout, &mut [MaybeUninit::uninit(); TERMINAL_READ])
}

/// The same for a pipe.
#[inline(never)]
pub(crate) fn read_pipe(from: &OwnedFd, sink: &mut OutputSink, stream: Stream) -> (Turn, u64) {
    read_turn(from, sink, stream, &mut [MaybeUninit::uninit(); PIPE_READ])
}

fn read_turn(from: &OwnedFd, sink: &mut OutputSink, stream: Stream, buffer: &mut [MaybeUninit<u8>]) -> (Turn, u64) {
    let began = Instant::now();
    let mut bytes = 0;
    loop {
        match read(from, sink, stream, buffer) {
            Got::Bytes(count) => {
                bytes += count as u64;
                if began.elapsed() >= TURN {
                    return (Turn::More, bytes);
                }
            }
            Got::Nothing => return (Turn::Empty, bytes),
            Got::End => return (Turn::HungUp, bytes),
        }
    }
}

/// Reads once what a terminal in the event queue has. That is all there is unless it fills the buffer, and the queue
/// tells of whatever comes later; asking until there is nothing would make this thread wait for the kernel's worker,
/// and with it everybody whose turn is next.
fn read_ready(from: &OwnedFd, sink: &mut OutputSink) -> Turn {
    match read(from, sink, Stream::Stdout, &mut [MaybeUninit::uninit(); TERMINAL_READ]) {
        Got::Bytes(TERMINAL_READ) => Turn::More,
        Got::Bytes(_) | Got::Nothing => Turn::Empty,
        Got::End => Turn::HungUp,
    }
}

/// What one read gave.
enum Got {
    Bytes(usize),
    Nothing,
    End,
}

fn read(from: &OwnedFd, sink: &mut OutputSink, stream: Stream, buffer: &mut [MaybeUninit<u8>]) -> Got {
    loop {
        return match rustix::io::read(from, &mut *buffer) {
            Ok(([], _)) => Got::End,
            Ok((bytes, _)) => {
                sink.push(stream, bytes);
                Got::Bytes(bytes.len())
            }
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => Got::Nothing,
            // EIO: on Linux a terminal that nobody holds says so. Whatever else it is, nothing more comes.
            Err(_) => Got::End,
        };
    }
}

/// Reads what somebody has printed by now, `held` bytes at most, however many turns that takes: no clock may cut it.
pub(crate) async fn settle(mut held: u64, mut read: impl FnMut() -> (Turn, u64)) -> Turn {
    loop {
        let (turn, bytes) = read();
        held = held.saturating_sub(bytes);
        if turn != Turn::More || held == 0 {
            return turn;
        }
        tokio::task::yield_now().await;
    }
}

/// Pumps a session's terminal until its end, then finishes the sink.
pub(crate) async fn session(kit: Arc<Kit>, running: Arc<Running>, terminal: Arc<Watched>, mut sink: OutputSink) {
    let exit = until_exit(&running, terminal, &mut sink).await;
    kit.leader_reaped();
    if let Ok(terminal) = running.terminal()
        && read_terminal(terminal.get_ref(), &mut sink).0 != Turn::HungUp
    {
        // The state of this rare wait is not carried by every idle session.
        Box::pin(linger(&terminal, &mut sink, kit.config.linger)).await;
    }
    running.close();
    sink.finish(exit);
}

/// Reads until the leader has exited, however often the terminal is let go of meanwhile.
async fn until_exit(running: &Running, mut terminal: Arc<Watched>, sink: &mut OutputSink) -> Exit {
    let Ok(leader) = running.leader() else { return Exit::Lost("it was closed at its start".to_owned()) };
    let pid = running.group.leader;
    // Held from the first time that nobody else holds the terminal.
    let mut _held = None;
    loop {
        let turn = tokio::select! {
            biased;
            exit = leader_exit(pid, &leader) => return exit,
            ready = readable(&terminal) => match ready {
                Ok(mut ready) => {
                    let turn = read_ready(ready.get_inner(), sink);
                    if turn == Turn::Empty {
                        ready.clear_ready();
                    }
                    turn
                }
                Err(error) => return Exit::Lost(format!("its terminal cannot be watched any more: {error}")),
            },
        };
        match turn {
            Turn::Empty => continue,
            Turn::More => {
                tokio::task::yield_now().await;
                continue;
            }
            Turn::HungUp => {}
        }
        match Box::pin(after_hang_up(running, &leader, &terminal)).await {
            AfterHangUp::Exited(exit) => return exit,
            AfterHangUp::Revived { again, held } => {
                terminal = again;
                _held = Some(held);
            }
        }
    }
}

enum AfterHangUp {
    Exited(Exit),
    Revived { again: Arc<Watched>, held: OwnedFd },
}

/// Nobody holds the terminal: mostly because the leader is about to exit. When it lives on, we hold the terminal
/// ourselves, because a leader may come back to it (`exec >&- 2>&-`, later `exec >/dev/tty`), and because a terminal
/// that has hung up once looks ready for ever to the event queue, which is why it is entered anew.
async fn after_hang_up(running: &Running, leader: &Watched, terminal: &Watched) -> AfterHangUp {
    let exit = leader_exit(running.group.leader, leader);
    tokio::pin!(exit);
    if let Ok(exit) = tokio::time::timeout(LAST_MOMENT, &mut exit).await {
        return AfterHangUp::Exited(exit);
    }
    let revived = terminal::hold(terminal.get_ref()).and_then(|(held, again)| {
        let again = sys::watch(again, Interest::READABLE)?;
        Ok((Arc::new(again), held))
    });
    match revived {
        Ok((again, held)) => {
            running.replace_terminal(again.clone());
            AfterHangUp::Revived { again, held }
        }
        // Without a descriptor to hold it by, what is printed after this is lost; the exit is not.
        Err(_) => AfterHangUp::Exited(exit.await),
    }
}

/// Reads on after the leader's exit while others hold the terminal, for a bounded grace (SR56). What the leader printed
/// before it, and others before the grace ends, is read also when this task gets no turn in all that time (SR52).
async fn linger(terminal: &Watched, sink: &mut OutputSink, grace: Duration) {
    let until = clock::after(grace);
    if settle(TERMINAL_HOLDS, || read_terminal(terminal.get_ref(), sink)).await == Turn::HungUp {
        return;
    }
    while tokio::time::Instant::now() < until {
        let Ok(Ok(mut ready)) = tokio::time::timeout_at(until, readable(terminal)).await else { break };
        match read_terminal(ready.get_inner(), sink).0 {
            Turn::Empty => ready.clear_ready(),
            Turn::More => {
                drop(ready);
                tokio::task::yield_now().await;
            }
            Turn::HungUp => return,
        }
    }
    settle(TERMINAL_HOLDS, || read_terminal(terminal.get_ref(), sink)).await;
}
