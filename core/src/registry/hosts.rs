//! Hosts: which there are, which an owner is connected to, and making and closing those connections.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use tokio::time::sleep_until;

use super::Registry;
use super::run::{Run, outcome};
use crate::backend::{Connections, ResolvedTarget, Stopped, TargetInfo};
use crate::call::Call;
use crate::capability::Capability;
use crate::error::{Error, Result, shown};
use crate::id::TargetName;
use crate::output::Reason;
use crate::owner::Owner;
use crate::service::{
    ConnectHost, Connection, DisconnectHost, HostConnected, HostDisconnected, HostList, ListConnections,
};

/// How many hosts of one owner are remembered when it is not connected to all of them. Only a server that takes any
/// host's name can come to so many.
const MAX_USED: usize = 256;

/// How many names an error lists.
const MAX_NAMED: usize = 20;

/// The hosts that each owner has used. Whatever is connected is among them, also a host that no list names.
#[derive(Default)]
pub(super) struct UsedHosts(Mutex<HashMap<Arc<str>, BTreeMap<TargetName, ResolvedTarget>>>);

impl UsedHosts {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, BTreeMap<TargetName, ResolvedTarget>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The owner is about to use this target, which may be a host.
    pub(super) fn note(&self, owner: &Owner, target: &ResolvedTarget) {
        if target.backend.connections().is_none() {
            return;
        }
        let mut all = self.lock();
        let hosts = all.entry(owner.name().clone()).or_default();
        if hosts.get(&target.info.name).is_some_and(|known| Arc::ptr_eq(&known.backend, &target.backend)) {
            return;
        }
        if hosts.len() >= MAX_USED {
            hosts.retain(|_, host| is_connected(host, owner));
        }
        hosts.insert(target.info.name.clone(), target.clone());
    }

    /// The hosts that the owner has used and may use, by name.
    fn of(&self, owner: &Owner) -> Vec<ResolvedTarget> {
        let all = self.lock();
        let hosts = all.get(owner.name()).into_iter().flat_map(BTreeMap::values);
        hosts.filter(|host| owner.reaches(&host.info.name)).cloned().collect()
    }

    /// Those that it is connected to.
    pub(super) fn connected(&self, owner: &Owner) -> Vec<ResolvedTarget> {
        self.of(owner).into_iter().filter(|host| is_connected(host, owner)).collect()
    }
}

impl Registry {
    /// The hosts that the caller may use.
    pub(super) fn hosts(&self, cx: &Call) -> HostList {
        let mut hosts = self.targets.list();
        hosts.retain(|info| info.host.is_some() && cx.owner.reaches(&info.name));
        HostList { hosts }
    }

    /// The host that a call means: the named one, else the only one that the caller may use or is connected to (CF08).
    pub(super) async fn host(&self, cx: &Call, named: Option<&TargetName>) -> Result<ResolvedTarget> {
        if let Some(name) = named.or(cx.owner.only()) {
            return self.named_host(cx, name).await;
        }
        self.only_connected(cx)?.ok_or_else(|| {
            Error::failed_precondition(
                "host_name is missing, and no host is connected: name one; ssh_host_list shows them",
            )
        })
    }

    async fn named_host(&self, cx: &Call, name: &TargetName) -> Result<ResolvedTarget> {
        if !cx.owner.reaches(name) {
            let name = shown(name.as_str());
            return Err(Error::not_found(format!("there is no host \"{name}\" here: ssh_host_list shows yours")));
        }
        let target = self.targets.resolve(name).await?;
        target.backend.capabilities().require(Capability::Connections)?;
        Ok(target)
    }

    /// The one host that the caller is connected to.
    fn only_connected(&self, cx: &Call) -> Result<Option<ResolvedTarget>> {
        let mut connected = self.used_hosts.connected(&cx.owner);
        match connected.len() {
            0 | 1 => Ok(connected.pop()),
            _ => Err(Error::failed_precondition(format!(
                "host_name is missing, and several hosts are connected: name one of {}",
                names(connected.iter().map(|host| &host.info))
            ))),
        }
    }

    /// Connects the caller to a host, or sees that it is connected.
    pub(super) async fn connect(&self, cx: &Call, request: ConnectHost) -> Result<HostConnected> {
        let name = request.target.as_ref().or(cx.owner.only()).ok_or_else(|| {
            Error::invalid_argument("host_name is missing: it names the host, and ssh_host_list shows each")
        })?;
        let target = self.named_host(cx, name).await?;
        let connections = connections(&target)?;
        self.used_hosts.note(&cx.owner, &target);
        let was_connected = is_connected(&target, &cx.owner);
        let late = "the host did not answer in time: nothing has changed; try again";
        let facts = self.within_limit(cx, connections.connect(cx), late, "no connection was asked for").await?;
        self.forget_outdated(cx, &target.info.name, connections.period(&cx.owner));
        Ok(HostConnected { target: target.info.name.clone(), was_connected, facts })
    }

    /// The caller's connections, by the names of the hosts.
    pub(super) async fn connections(&self, cx: &Call, request: ListConnections) -> Result<Vec<Connection>> {
        let hosts = match request.target.as_ref().or(cx.owner.only()) {
            Some(name) => vec![self.named_host(cx, name).await?],
            None => self.used_hosts.of(&cx.owner),
        };
        let connection = |host: ResolvedTarget| {
            let status = host.backend.connections()?.status(&cx.owner)?;
            Some(Connection { target: host.info.name, status })
        };
        Ok(hosts.into_iter().filter_map(connection).collect())
    }

    /// Stops whatever the caller has running on a host, then closes its connections.
    pub(super) async fn disconnect(&self, cx: &Call, request: DisconnectHost) -> Result<HostDisconnected> {
        let target = match request.target.as_ref().or(cx.owner.only()) {
            Some(name) => Some(self.named_host(cx, name).await?),
            None => self.only_connected(cx)?,
        };
        let Some(target) = target else {
            return Ok(HostDisconnected { target: None, was_connected: false, stopped: 0, survivors: Vec::new() });
        };
        let runs = self.table.running_on(&cx.owner, &target.info.name);
        let stopped = runs.len();
        let survivors = self.stop_all(cx, runs).await?;
        let was_connected = connections(&target)?.disconnect(cx).await;
        Ok(HostDisconnected { target: Some(target.info.name.clone()), was_connected, stopped, survivors })
    }

    /// Stops these, each verified. Returns the processes that are known to live, or not known to be gone.
    async fn stop_all(&self, cx: &Call, runs: Vec<Arc<Run>>) -> Result<Vec<u32>> {
        let stops = join_all(runs.iter().map(|run| async move {
            let mut stop = run.begin_stop(Reason::Stop, self.limits.stop_grace, &self.tasks);
            match outcome(&mut stop).await {
                Some(Ok(Stopped::Confirmed)) => Vec::new(),
                Some(Ok(Stopped::Unconfirmed { pids })) => pids,
                // What has ended meanwhile needs no stop, whatever became of it.
                _ if run.log.end().is_some() => Vec::new(),
                _ => run.process().facts().pid.into_iter().collect(),
            }
        }));
        tokio::select! {
            survivors = stops => Ok(survivors.concat()),
            () = sleep_until(cx.deadline) => {
                Err(Error::timed_out("what runs on the host is still being stopped: it is connected until then; try again"))
            }
            () = cx.cancel.cancelled() => {
                Err(Error::unavailable("the call was taken back: what runs on the host is being stopped all the same"))
            }
        }
    }
}

/// A host's connections.
fn connections(host: &ResolvedTarget) -> Result<&dyn Connections> {
    host.backend
        .connections()
        .ok_or_else(|| Error::internal("a fault of ours: this host has no connections; please report it"))
}

fn is_connected(host: &ResolvedTarget, owner: &Owner) -> bool {
    let status = host.backend.connections().and_then(|connections| connections.status(owner));
    status.is_some_and(|status| status.connected)
}

/// Names of targets for an error: the first of them, and how many more there are.
pub(super) fn names<'a>(targets: impl ExactSizeIterator<Item = &'a TargetInfo>) -> String {
    let count = targets.len();
    let mut names: Vec<_> = targets.take(MAX_NAMED).map(|target| target.name.to_string()).collect();
    if count > MAX_NAMED {
        names.push(format!("{} more", count - MAX_NAMED));
    }
    names.join(", ")
}
