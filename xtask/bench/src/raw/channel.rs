//! A bare channel of an SSH connection, with a program on a terminal: no log, no registry, no lookup.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use russh::client::{self, Handle, Handler, Msg};
use russh::keys::{PrivateKeyWithHashAlg, PublicKeyOrCertificate, load_secret_key};
use russh::{ChannelMsg, Disconnect};
use tokio::runtime::Runtime;

use crate::inside::{ECHOED, TYPED};

/// A program on a terminal of a server on this machine's loopback, and the runtime that it is talked to on.
pub(crate) struct Channel {
    runtime: Runtime,
    handle: Handle<Trusting>,
    channel: russh::Channel<Msg>,
}

/// The server was started by us a moment ago, with a key that nobody else has.
struct Trusting;

impl Handler for Trusting {
    type Error = russh::Error;

    async fn check_server_key(&mut self, _key: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        Ok(true)
    }
}

impl Channel {
    /// Connects, starts a program, and waits until it has printed just this text.
    ///
    /// # Errors
    /// It does not start, or prints something else.
    pub(crate) fn open((address, user, key): (SocketAddr, &str, &Path), command: &str, text: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let key = PrivateKeyWithHashAlg::new(Arc::new(load_secret_key(key, None)?), None);
        let (handle, mut channel) = runtime.block_on(async {
            let config = client::Config { nodelay: true, ..client::Config::default() };
            let mut handle = client::connect(Arc::new(config), address, Trusting).await?;
            let login = handle.authenticate_publickey(user, key).await?;
            ensure!(login.success(), "the bare login came to {login:?}");
            let channel = handle.channel_open_session().await?;
            channel.request_pty(false, "xterm-256color", 80, 24, 0, 0, &[]).await?;
            channel.exec(false, command).await?;
            Ok((handle, channel))
        })?;
        runtime.block_on(expect(&mut channel, text.as_bytes()))?;
        Ok(Self { runtime, handle, channel })
    }

    /// Types a line to a program that answers with it, and reads the answer, again and again, in a task of the runtime.
    /// Returns the microseconds of each.
    ///
    /// # Errors
    /// Something else comes back.
    pub(crate) fn echoes(&mut self, count: usize) -> Result<Vec<f64>> {
        self.runtime.block_on(async {
            let mut times = Vec::with_capacity(count);
            for _ in 0..count {
                let begin = Instant::now();
                self.channel.data(TYPED).await?;
                expect(&mut self.channel, ECHOED).await?;
                times.push(begin.elapsed().as_secs_f64() * 1e6);
            }
            Ok(times)
        })
    }

    /// Ends the connection.
    ///
    /// # Errors
    /// It has ended before.
    pub(crate) fn close(self) -> Result<()> {
        let Self { runtime, handle, channel } = self;
        runtime.block_on(async {
            channel.close().await?;
            handle.disconnect(Disconnect::ByApplication, "", "").await?;
            match handle.await {
                Ok(()) | Err(russh::Error::Disconnect) => Ok(()),
                Err(error) => Err(error).context("ending the bare connection"),
            }
        })
    }
}

/// Reads until the whole of `text` has come and nothing else.
async fn expect(channel: &mut russh::Channel<Msg>, text: &[u8]) -> Result<()> {
    let mut rest = text;
    while !rest.is_empty() {
        match channel.wait().await {
            Some(ChannelMsg::Data { data }) => {
                rest = rest.strip_prefix(&*data).with_context(|| format!("{data:?} came back"))?;
            }
            Some(ChannelMsg::WindowAdjusted { .. }) => {}
            other => bail!("the bare channel said {other:?}"),
        }
    }
    Ok(())
}
