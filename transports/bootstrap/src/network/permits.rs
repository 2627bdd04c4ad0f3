//! How many connections there may be: in all, and from each address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts connections.
#[derive(Debug)]
pub(super) struct Permits {
    most: usize,
    most_per_address: usize,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    /// Of each address from which there is one.
    by_address: HashMap<IpAddr, usize>,
}

/// One connection's. Dropped with it.
#[derive(Debug)]
pub(super) struct Permit {
    permits: Arc<Permits>,
    /// The address that it counts for; `None` for this machine.
    from: Option<IpAddr>,
}

impl Permits {
    pub(super) fn new(most: usize, most_per_address: usize) -> Arc<Self> {
        Arc::new(Self { most, most_per_address, counts: Mutex::default() })
    }

    /// Lets one more in.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn take(self: &Arc<Self>, from: IpAddr) -> Result<Permit, &'static str> {
        let from = subnet(from);
        let from = (!from.is_loopback()).then_some(from);
        let mut counts = self.counts();
        if counts.all >= self.most {
            return Err("there are as many connections as network.max_connections allows");
        }
        if let Some(from) = from {
            let of_address = counts.by_address.entry(from).or_default();
            if *of_address >= self.most_per_address {
                return Err("its address has as many connections as network.max_connections_per_address allows");
            }
            *of_address += 1;
        }
        counts.all += 1;
        Ok(Permit { permits: Arc::clone(self), from })
    }

    /// A panic leaves nothing half done here.
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut counts = self.permits.counts();
        counts.all = counts.all.saturating_sub(1);
        let Some(from) = self.from else { return };
        if let Some(of_address) = counts.by_address.get_mut(&from) {
            *of_address -= 1;
            if *of_address == 0 {
                counts.by_address.remove(&from);
            }
        }
    }
}

/// The larger network that an IPv6 address is part of: as much as one customer gets (RFC 6177, section 2), 48 bits. `None`
/// for whoever has one address only.
pub(crate) fn site(address: IpAddr) -> Option<IpAddr> {
    match subnet(address) {
        IpAddr::V6(network) if !network.is_loopback() => {
            Some(IpAddr::V6(Ipv6Addr::from_bits(network.to_bits() >> 80 << 80)))
        }
        _ => None,
    }
}

/// What counts as one address: whoever has one of an IPv6 network has all 2^64 of them; a mapped IPv4 address is that
/// address.
pub(crate) fn subnet(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn connections_are_limited_in_all_and_from_each_address() {
        let permits = Permits::new(4, 2);
        let near = [permits.take(ip("192.0.2.1")).unwrap(), permits.take(ip("192.0.2.1")).unwrap()];
        let of_address = "its address has as many connections as network.max_connections_per_address allows";
        assert_eq!(permits.take(ip("192.0.2.1")).unwrap_err(), of_address);
        assert_eq!(permits.take(ip("::ffff:192.0.2.1")).unwrap_err(), of_address);
        let _far = permits.take(ip("192.0.2.2")).unwrap();
        let [one, _other] = near;
        drop(one);
        let _again = permits.take(ip("192.0.2.1")).unwrap();
        let _local = permits.take(ip("127.0.0.1")).unwrap();
        let in_all = "there are as many connections as network.max_connections allows";
        assert_eq!(permits.take(ip("192.0.2.3")).unwrap_err(), in_all);
    }

    #[test]
    fn this_machine_has_no_limit_of_its_own_and_nothing_is_kept_of_who_has_gone() {
        let permits = Permits::new(100, 1);
        let local: Vec<_> = (0..50).map(|_| permits.take(ip("::1")).unwrap()).collect();
        drop(permits.take(ip("2001:db8::1")).unwrap());
        let of_network = permits.take(ip("2001:db8::1")).unwrap();
        assert!(permits.take(ip("2001:db8::2")).is_err());
        assert!(permits.take(ip("2001:db8:0:1::2")).is_ok());
        drop((local, of_network));
        let counts = permits.counts();
        assert_eq!((counts.all, counts.by_address.len()), (0, 0));
    }
}
