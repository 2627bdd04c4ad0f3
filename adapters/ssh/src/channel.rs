//! One channel of a connection: what the host says on it as events in their order, and what is said to the host.

use std::sync::Arc;

use bytes::Bytes;
use russh::client::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Pty, Sig};
use sessiond_core::{Exit, Stream, WindowSize};

/// The kind of terminal that a session has (SF01).
const TERMINAL: &str = "xterm-256color";

/// What is set on a new terminal beside the host's defaults: erasing takes whole UTF-8 characters.
const MODES: &[(Pty, u32)] = &[(Pty::IUTF8, 1)];

/// What comes from the host.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Output.
    Output(Stream, Bytes),
    /// The answer to the earliest request that has none yet.
    Answer(bool),
    /// How the process ended. Output may still follow.
    Exit(Exit),
    /// No output follows.
    Eof,
    /// Nothing follows: the channel is closed, or its connection has ended.
    Closed,
}

/// The host's side of a channel. It must be read as fast as it comes: the connection waits for its slowest channel.
pub(crate) struct Reader(ChannelReadHalf);

/// Our side of a channel.
pub(crate) struct Writer(ChannelWriteHalf<Msg>);

/// The connection has ended: whatever is said reaches nobody.
#[derive(Debug)]
pub(crate) struct Ended;

impl From<russh::Error> for Ended {
    fn from(_: russh::Error) -> Self {
        Self
    }
}

/// Both sides of an open channel.
pub(crate) fn split(channel: Channel<Msg>) -> (Reader, Arc<Writer>) {
    let (reader, writer) = channel.split();
    (Reader(reader), Arc::new(Writer(writer)))
}

impl Reader {
    /// Waits for the next event. Safe to drop.
    pub(crate) async fn next(&mut self) -> Event {
        loop {
            match self.0.wait().await {
                None | Some(ChannelMsg::Close | ChannelMsg::OpenFailure(_)) => return Event::Closed,
                Some(ChannelMsg::Data { data }) => return Event::Output(Stream::Stdout, data),
                // There is one kind of other data (RFC 4254, section 5.2).
                Some(ChannelMsg::ExtendedData { data, .. }) => return Event::Output(Stream::Stderr, data),
                Some(ChannelMsg::Success) => return Event::Answer(true),
                Some(ChannelMsg::Failure) => return Event::Answer(false),
                Some(ChannelMsg::ExitStatus { exit_status }) => return Event::Exit(exited(exit_status)),
                Some(ChannelMsg::ExitSignal { signal_name, .. }) => return Event::Exit(signaled(&signal_name)),
                Some(ChannelMsg::Eof) => return Event::Eof,
                Some(_) => {}
            }
        }
    }
}

impl Writer {
    /// Asks for a terminal; the answer is an event.
    pub(crate) async fn terminal(&self, size: WindowSize) -> Result<(), Ended> {
        let (cols, rows) = (u32::from(size.cols()), u32::from(size.rows()));
        Ok(self.0.request_pty(true, TERMINAL, cols, rows, 0, 0, MODES).await?)
    }

    /// Asks for a program; the answer is an event.
    pub(crate) async fn exec(&self, command: &str) -> Result<(), Ended> {
        Ok(self.0.exec(true, command).await?)
    }

    /// Changes the terminal's size; there is no answer.
    pub(crate) async fn resize(&self, size: WindowSize) -> Result<(), Ended> {
        Ok(self.0.window_change(u32::from(size.cols()), u32::from(size.rows()), 0, 0).await?)
    }

    /// Writes all of these one behind the other, as the host takes them, and then the end of input.
    pub(crate) async fn feed(self: Arc<Self>, pieces: [Bytes; 2]) -> Result<(), Ended> {
        for piece in pieces {
            self.0.data_bytes(piece).await?;
        }
        Ok(self.0.eof().await?)
    }

    /// Writes the beginning of `input`, as much as there is room for, and at least a byte, for which it waits. Returns
    /// how many bytes that were. There may be one writer at a time. Dropped while it waits, it has written nothing.
    pub(crate) async fn some(&self, input: &Bytes) -> Result<usize, Ended> {
        let room = self.0.writable_packet_size().await.clamp(1, input.len().max(1));
        self.0.data_bytes(input.slice(..room.min(input.len()))).await?;
        Ok(room)
    }

    /// Closes the channel: whoever runs there loses its terminal or pipes.
    pub(crate) async fn close(&self) {
        // A connection that has ended has closed it.
        let _ = self.0.close().await;
    }
}

/// What a server reports of an exit is the low byte that wait(2) tells.
fn exited(status: u32) -> Exit {
    Exit::Exited(i32::try_from(status).unwrap_or(-1))
}

/// A signal by its name without `SIG`. OpenSSH knows twelve names (RFC 4254, section 6.10) and says
/// `SIG@openssh.com` for every other.
fn signaled(signal: &Sig) -> Exit {
    let name = match signal {
        Sig::ABRT => "ABRT",
        Sig::ALRM => "ALRM",
        Sig::FPE => "FPE",
        Sig::HUP => "HUP",
        Sig::ILL => "ILL",
        Sig::INT => "INT",
        Sig::KILL => "KILL",
        Sig::PIPE => "PIPE",
        Sig::QUIT => "QUIT",
        Sig::SEGV => "SEGV",
        Sig::TERM => "TERM",
        Sig::USR1 => "USR1",
        Sig::Custom(name) if name.bytes().all(|byte| byte.is_ascii_alphanumeric()) => name,
        Sig::Custom(_) => UNKNOWN_SIGNAL,
    };
    Exit::Signaled(name.to_owned())
}

/// The name of a signal that the server has no name for.
pub(crate) const UNKNOWN_SIGNAL: &str = "unknown";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_the_names_that_people_know() {
        let name = |signal: &str| signaled(&Sig::Custom(signal.to_owned()));
        assert_eq!(signaled(&Sig::USR1), Exit::Signaled("USR1".into()));
        assert_eq!(name("USR2"), Exit::Signaled("USR2".into()));
        assert_eq!(name("SIG@openssh.com"), Exit::Signaled("unknown".into()));
    }

    #[test]
    fn an_exit_code_is_a_number() {
        assert_eq!(exited(255), Exit::Exited(255));
        assert_eq!(exited(u32::MAX), Exit::Exited(-1));
    }
}
