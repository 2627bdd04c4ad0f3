//! Ports of the loopback that are free just now.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result, bail};

/// Below the ports that the system gives to outgoing connections, so that a server can come back to its port.
const LOWEST: u16 = 10_240;
const COUNT: u16 = 20_480;
const TRIES: usize = 64;

/// A port that nobody listens on. Whoever asks must still expect that another takes it first.
pub(crate) fn free() -> Result<u16> {
    for _ in 0..TRIES {
        let random = getrandom::u32().context("asking for randomness")? % u32::from(COUNT);
        let port = LOWEST.saturating_add(u16::try_from(random)?);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("{TRIES} ports of the loopback were tried and none was free")
}
