//! Starts a platform to try things on by hand, until stdin ends: with a long session, and one that asks for a person.
#![allow(clippy::print_stdout, reason = "it tells a person where to look")]

use sessiond_agent_peer::{Peer, Task};

/// The messages of the long session.
const LONG: usize = 10_000;

fn main() -> std::io::Result<()> {
    let peer = Peer::start()?;
    let (long, asking) = (peer.run(), peer.run());
    peer.fill(&long, LONG);
    peer.complete(&long);
    peer.turn(&asking, "Somebody has to approve this.");
    peer.ask(&asking, &Task::new("Approve change"));
    println!("{}", peer.url());
    println!("sessions: {long} has {LONG} messages, {asking} waits for a person");
    println!("agents: script does what its inputs say, puppet and unrouted run until they are cancelled");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}
