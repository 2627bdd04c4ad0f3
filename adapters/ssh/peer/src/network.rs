//! Networks of a server's own, and the only way into them.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::{Context, Result, bail};

use crate::program;
use crate::server::Server;
use crate::sshd::LOOPBACK;

/// Which network a server stands in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Network<'a> {
    /// That of this process.
    #[default]
    Shared,
    /// One of its own, with a door from the loopback of this process.
    Own,
    /// One of its own, joined by a cable to another server's and to nothing else.
    Behind(&'a Server),
}

/// What becomes of that.
pub(crate) struct NetworkPlan {
    /// Whether the house has its own network.
    pub(crate) own: bool,
    /// Whether a door is needed.
    pub(crate) door: bool,
    /// What the server listens on.
    pub(crate) listen: IpAddr,
    /// Where it is reached.
    pub(crate) address: IpAddr,
    /// Shell text that sets the network up. It runs while the machine's `/proc` is still there.
    pub(crate) setup: String,
}

/// The next cable's number, which is in its addresses: two ends of any network are told apart.
static CABLES: AtomicU8 = AtomicU8::new(0);

impl Network<'_> {
    pub(crate) fn plan(self) -> Result<NetworkPlan> {
        if !matches!(self, Self::Shared) {
            program::find("ip", "iproute2")?;
        }
        let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let plan = match self {
            Self::Shared => {
                NetworkPlan { own: false, door: false, listen: LOOPBACK, address: LOOPBACK, setup: String::new() }
            }
            Self::Own => NetworkPlan {
                own: true,
                door: true,
                listen: any,
                address: LOOPBACK,
                setup: "ip link set lo up\n".to_owned(),
            },
            Self::Behind(other) => {
                let cable = CABLES.fetch_add(1, Ordering::Relaxed);
                let address = IpAddr::V4(Ipv4Addr::new(10, 77, cable, 2));
                NetworkPlan { own: true, door: false, listen: any, address, setup: cable_to(other, cable)? }
            }
        };
        Ok(plan)
    }
}

/// Shell text that lays a cable into another server's network and gives both ends an address.
fn cable_to(other: &Server, cable: u8) -> Result<String> {
    let house = other.house();
    if !house.has_own_network() {
        bail!("a server can stand behind one that has a network of its own only");
    }
    let theirs = house.network_path();
    let theirs = theirs.to_str().context("a path of /proc is text")?;
    Ok(format!(
        "\
ip link set lo up
ip link add name near{cable} type veth peer name far{cable} netns {theirs}
ip address add 10.77.{cable}.2/24 dev near{cable}
ip link set near{cable} up
nsenter --net={theirs} ip address add 10.77.{cable}.1/24 dev far{cable}
nsenter --net={theirs} ip link set far{cable} up
"
    ))
}
