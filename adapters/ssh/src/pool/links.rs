//! The connections of a pool as plain state: how many channels each carries and takes, and the period they are in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sessiond_core::{ConnectionStatus, Error, ErrorKind};
use tokio::time::Instant;

use super::Want;
use crate::link::Link;
use crate::route::Route;

/// The number that the latest period of any owner on any host has.
static PERIODS: AtomicU64 = AtomicU64::new(0);

/// The connections of an owner to a host.
#[derive(Default)]
pub(super) struct Links {
    members: Vec<Member>,
    last: u64,
    period: Option<u64>,
    /// What an earlier period has left on the host is being ended: nothing new may start meanwhile.
    sweeping: bool,
    /// How many channels a connection of this host takes, once it has refused one.
    takes: Option<usize>,
    /// Who is dialled, once anybody has tried.
    tried: Option<(String, String, u16)>,
    /// When the latest attempt that has failed began, and why it failed.
    failed: Option<(Instant, Error)>,
    /// Why the latest connection was lost.
    lost: Option<String>,
}

/// A connection and its channels.
struct Member {
    id: u64,
    link: Arc<Link>,
    /// Those that are open or being opened.
    reserved: usize,
    /// Those that are open, and how many that were at most.
    open: usize,
    most: usize,
    /// It has refused a channel, and none of its others has ended since.
    full: bool,
    /// One of its channels has ended, and it has refused none since. The host may yet count that one: it lets go of it
    /// some time after both sides have closed it.
    settling: bool,
}

/// What a refused channel means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The host may have room by now.
    Again,
    /// There is none on this connection.
    Elsewhere,
    /// The host takes none at all.
    Never,
}

impl Member {
    fn has_room(&self, room: usize) -> bool {
        !self.full && self.reserved < room
    }
}

impl Links {
    /// Lets go of what is lost.
    fn prune(&mut self) {
        let lost = &mut self.lost;
        self.members.retain(|member| match member.link.loss() {
            Some(why) => {
                *lost = Some(why);
                false
            }
            None => true,
        });
    }

    /// How many channels of a connection are for this. One is left for scripts, where there are at least two.
    fn room(&self, want: Want) -> usize {
        match (self.takes, want) {
            (_, Want::Work) if self.sweeping => 0,
            (None, _) => usize::MAX,
            (Some(takes), Want::Aside) => takes,
            (Some(takes), Want::Work) => takes.saturating_sub(1).max(1),
        }
    }

    /// Takes room on the first connection that has some.
    pub(super) fn reserve(&mut self, want: Want) -> Option<((u64, Arc<Link>), u64)> {
        self.prune();
        let (room, period) = (self.room(want), self.period?);
        let member = self.members.iter_mut().find(|member| member.has_room(room))?;
        member.reserved += 1;
        Some(((member.id, member.link.clone()), period))
    }

    fn member(&mut self, id: u64) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.id == id)
    }

    /// A reserved channel has been opened.
    pub(super) fn opened(&mut self, id: u64) {
        if let Some(member) = self.member(id) {
            member.open += 1;
            member.most = member.most.max(member.open);
        }
    }

    /// Gives the room of a channel back.
    pub(super) fn release(&mut self, id: u64, opened: bool) {
        if let Some(member) = self.member(id) {
            member.reserved = member.reserved.saturating_sub(1);
            if opened {
                member.open = member.open.saturating_sub(1);
                member.full = false;
                member.settling = true;
            }
        }
    }

    /// A reserved channel was refused: the connection has carried as many as it takes. It takes none when this was the
    /// only one.
    pub(super) fn refused(&mut self, id: u64) -> Refused {
        let Some(member) = self.member(id) else { return Refused::Elsewhere };
        if std::mem::take(&mut member.settling) {
            return Refused::Again;
        }
        let (most, alone) = (member.most.max(1), member.reserved <= 1);
        member.full = !alone;
        self.takes = Some(self.takes.map_or(most, |known| known.max(most)));
        if alone { Refused::Never } else { Refused::Elsewhere }
    }

    /// Whether a channel could be reserved.
    pub(super) fn has_room(&mut self, want: Want) -> bool {
        self.prune();
        let room = self.room(want);
        self.members.iter().any(|member| member.has_room(room))
    }

    /// How many connections stand.
    pub(super) fn standing(&mut self) -> usize {
        self.prune();
        self.members.len()
    }

    /// A connection that stands.
    pub(super) fn first(&mut self) -> Option<Arc<Link>> {
        self.prune();
        self.members.first().map(|member| member.link.clone())
    }

    /// The host is being swept, or is clean.
    pub(super) fn set_sweeping(&mut self, sweeping: bool) {
        self.sweeping = sweeping;
    }

    /// Whether a period begins with the next connection.
    pub(super) fn is_down(&mut self) -> bool {
        self.standing() == 0
    }

    /// Adds a connection.
    pub(super) fn add(&mut self, link: Arc<Link>) {
        self.prune();
        if self.members.is_empty() {
            self.period = Some(PERIODS.fetch_add(1, Ordering::Relaxed) + 1);
        }
        self.last += 1;
        self.members.push(Member { id: self.last, link, reserved: 0, open: 0, most: 0, full: false, settling: false });
        self.failed = None;
    }

    /// Somebody dials.
    pub(super) fn tried(&mut self, route: &Route) {
        self.tried = Some((route.host.clone(), route.user.clone(), route.port));
    }

    /// An attempt that began then has failed.
    pub(super) fn failed(&mut self, begun: Instant, why: Error) {
        self.failed = Some((begun, why));
    }

    /// Why an attempt failed that began after this: whoever has waited for it since need not try the same. That another
    /// has run out of time says nothing.
    pub(super) fn failed_since(&self, since: Instant) -> Option<Error> {
        let failed = self.failed.as_ref().filter(|(begun, why)| *begun >= since && why.kind() != ErrorKind::TimedOut);
        failed.map(|(_, why)| why.clone())
    }

    /// The number of the latest period.
    pub(super) fn period(&self) -> Option<u64> {
        self.period
    }

    /// Takes them all out.
    pub(super) fn take_all(&mut self) -> Vec<Arc<Link>> {
        self.members.drain(..).map(|member| member.link).collect()
    }

    /// How they stand; nothing when nobody has tried to connect.
    pub(super) fn status(&mut self, name: &str) -> Option<ConnectionStatus> {
        self.prune();
        let first = self.members.first();
        if self.period.is_none() && self.failed.is_none() && self.tried.is_none() {
            return None;
        }
        let (host, user, port) = match &self.tried {
            Some((host, user, port)) => (host.clone(), Some(user.clone()), Some(*port)),
            None => (name.to_owned(), None, None),
        };
        let failed = self.failed.as_ref().map(|(_, why)| why.message().to_owned());
        Some(ConnectionStatus {
            host,
            user,
            port,
            connected: first.is_some(),
            since: first.map(|member| member.link.facts().since),
            channels: self.members.iter().map(|member| member.reserved).sum(),
            last_error: failed.or_else(|| self.lost.clone()),
        })
    }
}
