//! The way to a host, hop by hop, within the time there is.

use std::time::SystemTime;

use sessiond_core::{Call, Error, Result, Tasks, shown};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::dial::{self, Proxy};
use super::hop::{Hop, Leg, Stage};
use super::{Link, LinkFacts};
use crate::route::{Route, Via};

/// Connects along a route. See [`Link::open`].
pub(super) async fn open(route: &Route, cx: &Call, tasks: &Tasks) -> Result<Link> {
    let stage = Stage::default();
    let own = Instant::now() + route.connect_timeout;
    let opened = tokio::select! {
        opened = tokio::time::timeout_at(own.min(cx.deadline), connect(route, tasks, &stage)) => opened,
        () = cx.cancel.cancelled() => return Err(Error::timed_out("the call was taken back: nothing is connected")),
    };
    opened.unwrap_or_else(|_| Err(too_late(route, own <= cx.deadline, &stage)))
}

fn too_late(route: &Route, is_own: bool, stage: &Stage) -> Error {
    let (name, stage) = (shown(&route.name), stage.get());
    if is_own {
        let limit = route.connect_timeout.as_secs_f32();
        return Error::unavailable(format!(
            "{name} is not connected after {limit} s, which went by while {stage}: check that it is up, or raise \
             ConnectTimeout"
        ));
    }
    Error::timed_out(format!("{name} is not connected when the call's time is up, while {stage}: try again with more"))
}

async fn connect(route: &Route, tasks: &Tasks, stage: &Stage) -> Result<Link> {
    let way = way(route);
    let mut hops: Vec<Hop> = Vec::with_capacity(way.len());
    for route in way {
        let leg = match hops.last() {
            Some(hop) => hop.forward(route).await?,
            None => first_leg(route, tasks, stage).await?,
        };
        hops.push(Hop::over(leg, route, tasks, stage).await?);
    }
    let hop = hops.pop().ok_or_else(|| Error::internal("a way without a hop"))?;
    let facts = facts(route, &hop)?;
    Ok(Link { hop, carriers: hops, facts, tasks: tasks.clone() })
}

/// All hosts of the way, the last of which is the route's own.
fn way(route: &Route) -> Vec<&Route> {
    let mut way = match &route.via {
        Via::Direct | Via::Command(_) => Vec::new(),
        Via::Jump(hops) => hops.iter().collect(),
    };
    // What leads to the first hop comes before it; the others are reached from the one before.
    while let Some(Via::Jump(before)) = way.first().map(|first| &first.via) {
        if before.is_empty() {
            break;
        }
        way.splice(0..0, before);
    }
    way.push(route);
    way
}

async fn first_leg(route: &Route, tasks: &Tasks, stage: &Stage) -> Result<Leg> {
    let cut = CancellationToken::new();
    let (name, host, port) = (shown(&route.name), shown(&route.host), route.port);
    if let Via::Command(line) = &route.via {
        stage.set(|name| format!("starting the proxy command of {name}"), route);
        let started = Proxy::start(line, &route.surroundings, cut.clone(), tasks);
        let (carrier, proxy) = started.map_err(|error| {
            Error::unavailable(format!("the proxy command of {name} cannot be started: {error}; correct ProxyCommand"))
        })?;
        return Ok(Leg { carrier, address: None, proxy: Some(proxy), cut });
    }
    stage.set(|name| format!("connecting to {name} at {host} port {port}"), route);
    let dialled = dial::tcp(&route.host, port).await;
    let (carrier, address) = dialled.map_err(|why| {
        Error::unavailable(format!(
            "{name} cannot be reached: {host} port {port} {why}; check that it is up, and its address and port"
        ))
    })?;
    Ok(Leg { carrier, address: Some(address), proxy: None, cut })
}

fn facts(route: &Route, hop: &Hop) -> Result<LinkFacts> {
    let seen = hop.seen.get();
    Ok(LinkFacts {
        user: route.user.clone(),
        host: route.host.clone(),
        port: route.port,
        server_version: seen.server,
        cipher: seen.cipher,
        // The protocol has come this far only because the key was judged.
        host_key: seen.host_key.ok_or_else(|| Error::internal("the host's key was not judged"))?,
        auth_method: hop.auth_method.clone(),
        hops: way(route).into_iter().rev().skip(1).rev().map(shown_hop).collect(),
        since: SystemTime::now(),
    })
}

fn shown_hop(route: &Route) -> String {
    let Route { user, host, port, .. } = route;
    match host.contains(':') {
        true => format!("{user}@[{host}]:{port}"),
        false => format!("{user}@{host}:{port}"),
    }
}
