//! `attach`: a person joins a session from their terminal.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::{Bytes, BytesMut};
use sessiond_bootstrap::{exit, stdout};
use sessiond_core::{Cursor, End, SessionSummary};
use sessiond_grpc::Item;
use sessiond_grpc::client::{GrpcClient, Input, Output, SessionRef, Shown};
use tokio::io::{AsyncReadExt, Stdin};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::terminal::{Raw, size};
use crate::{cli, found};

/// How much of what was printed before is shown: a screen or a few, however long its lines.
const SHOWN_BEFORE: u64 = 64 << 10;

/// The most that is read from the keyboard at once.
const KEYS: usize = 4096;

/// How long leaving may take while the session's program takes no input.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why somebody has left.
enum Left {
    /// They pressed the detach key, or their terminal went away.
    Detached,
    Ended(End),
}

/// Joins a session until it ends or the detach key is pressed.
///
/// # Errors
/// There is no such session, no terminal, or the server is lost.
pub(crate) async fn attach(client: &GrpcClient, attach: &cli::Attach) -> Result<ExitCode> {
    let found = found::one(client, &attach.id).await?;
    let session = SessionRef { session: found.session, target: Some(found.target.clone()) };
    let (input, output) = client.attach(&GrpcClient::call(), &session, from(&found)).await?;
    let raw = Raw::enter()?;
    say(&format!("joined session {}; {} leaves it running\r\n", found.session, attach.detach_key));
    let joined = Joined { input, output, detach: attach.detach_key.bytes(false) };
    let left = joined.stay().await;
    drop(raw);
    match left? {
        Left::Detached => {
            say(&format!("\r\nleft session {}, which goes on\r\n", found.session));
            Ok(ExitCode::SUCCESS)
        }
        Left::Ended(end) => {
            say(&format!("\r\nsession {} has ended: {}\r\n", found.session, exit::told(&end)));
            Ok(exit::exit_code(&end))
        }
    }
}

/// From where to show output.
fn from(session: &SessionSummary) -> Cursor {
    Cursor(session.output_end.0.saturating_sub(SHOWN_BEFORE).max(session.output_start.0))
}

struct Joined {
    input: Input,
    output: Output,
    /// What the detach key sends.
    detach: Vec<u8>,
}

impl Joined {
    async fn stay(mut self) -> Result<Left> {
        let mut resized = listen(SignalKind::window_change())?;
        let (mut hung_up, mut terminated) = (listen(SignalKind::hangup())?, listen(SignalKind::terminate())?);
        let mut keyboard = tokio::io::stdin();
        self.resize().await?;
        loop {
            tokio::select! {
                shown = self.output.next() => match shown? {
                    Some(Shown::Item(Item::End(end))) => return Ok(Left::Ended(end)),
                    Some(shown) => {
                        if !show(shown).await? {
                            return Ok(Left::Detached);
                        }
                    }
                    None => return Ok(Left::Detached),
                },
                typed = keys(&mut keyboard) => {
                    let (typed, stays) = self.until_detached(typed?);
                    self.input.write(typed).await?;
                    if !stays {
                        self.leave().await?;
                        return Ok(Left::Detached);
                    }
                }
                _ = resized.recv() => self.resize().await?,
                _ = hung_up.recv() => return Ok(Left::Detached),
                _ = terminated.recv() => return Ok(Left::Detached),
            }
        }
    }

    /// Leaves, once what was typed before has been handed over; not for longer than a person waits.
    async fn leave(mut self) -> Result<()> {
        self.input.detach().await?;
        let handed_over = async { while let Ok(Some(_)) = self.output.next().await {} };
        let _ = tokio::time::timeout(FAREWELL, handed_over).await;
        Ok(())
    }

    /// What was typed before the detach key, and whether they stay. Nothing typed is a terminal that has gone away.
    fn until_detached(&self, mut typed: Bytes) -> (Bytes, bool) {
        let at = typed.windows(self.detach.len().max(1)).position(|keys| keys == self.detach);
        if let Some(at) = at {
            typed.truncate(at);
        }
        let stays = at.is_none() && !typed.is_empty();
        (typed, stays)
    }

    async fn resize(&self) -> Result<()> {
        if let Some(size) = size() {
            self.input.resize(size).await?;
        }
        Ok(())
    }
}

fn listen(kind: SignalKind) -> Result<Signal> {
    signal(kind).context("listening for signals")
}

/// Waits for keys. Dropping it loses none: what was read before it was polled again is there then.
async fn keys(keyboard: &mut Stdin) -> std::io::Result<Bytes> {
    let mut typed = BytesMut::with_capacity(KEYS);
    keyboard.read_buf(&mut typed).await?;
    Ok(typed.freeze())
}

/// Shows the next thing. Returns whether anybody looks.
async fn show(shown: Shown) -> std::io::Result<bool> {
    match shown {
        Shown::Item(Item::Chunk { bytes, .. }) => stdout::pass(&bytes).await,
        Shown::Item(Item::Gap { bytes, .. }) => {
            say(&format!("\r\n[{bytes} bytes of output are no longer kept]\r\n"));
            Ok(true)
        }
        Shown::Refused(why) => {
            say(&format!("\r\n[not taken: {why}]\r\n"));
            Ok(true)
        }
        Shown::Item(Item::End(_)) => Ok(true),
    }
}

/// Says something beside the output. The terminal is raw, so a line ends with both characters.
fn say(text: &str) {
    // Nobody to read it is no failure.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
