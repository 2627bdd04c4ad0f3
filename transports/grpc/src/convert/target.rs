//! Targets.

use sessiond_core::{
    Availability, HostInfo, ListTargets, Machine, Result, Target, TargetInfo, TargetName, TargetStatus,
};

use super::{Decode, Encode, backend, known, target, unsaid};
use crate::proto;

impl Encode for ListTargets {
    type Message = proto::ListTargetsRequest;

    fn encode(self) -> Self::Message {
        proto::ListTargetsRequest { target: self.target.map(|name| name.to_string()), wait: Some(self.wait.encode()) }
    }
}

impl Decode for proto::ListTargetsRequest {
    type Value = ListTargets;

    fn decode(self) -> Result<ListTargets> {
        Ok(ListTargets { target: target(self.target)?, wait: self.wait.decode()?.unwrap_or_default() })
    }
}

impl Encode for Vec<Target> {
    type Message = proto::ListTargetsResponse;

    fn encode(self) -> Self::Message {
        proto::ListTargetsResponse { targets: self.into_iter().map(listed).collect() }
    }
}

impl Decode for proto::ListTargetsResponse {
    type Value = Vec<Target>;

    fn decode(self) -> Result<Vec<Target>> {
        self.targets.decode()
    }
}

fn listed(Target { info, status }: Target) -> proto::Target {
    proto::Target {
        name: info.name.to_string(),
        client_id: info.client_id,
        backend: info.backend.to_owned(),
        host: info.host.encode(),
        availability: status.availability.encode().into(),
        detail: status.detail,
        machine: status.machine.encode(),
        platform: info.platform.encode(),
    }
}

impl Decode for proto::Target {
    type Value = Target;

    fn decode(self) -> Result<Target> {
        let info = TargetInfo {
            name: TargetName::new(self.name)?,
            client_id: self.client_id,
            backend: backend(&self.backend),
            host: self.host.decode()?,
            platform: self.platform.decode()?,
        };
        let availability = known::<proto::Availability>(self.availability, "availability")?.decode()?;
        let status = TargetStatus { availability, detail: self.detail, machine: self.machine.decode()? };
        Ok(Target { info, status })
    }
}

impl Encode for HostInfo {
    type Message = proto::HostInfo;

    fn encode(self) -> proto::HostInfo {
        proto::HostInfo { description: self.description, source: self.source }
    }
}

impl Decode for proto::HostInfo {
    type Value = HostInfo;

    fn decode(self) -> Result<HostInfo> {
        Ok(HostInfo { description: self.description, source: self.source })
    }
}

impl Encode for Availability {
    type Message = proto::Availability;

    fn encode(self) -> proto::Availability {
        match self {
            Self::Online => proto::Availability::Online,
            Self::Offline => proto::Availability::Offline,
            Self::Unknown => proto::Availability::Unknown,
        }
    }
}

impl Decode for proto::Availability {
    type Value = Availability;

    fn decode(self) -> Result<Availability> {
        Ok(match self {
            Self::Unspecified => return Err(unsaid("availability")),
            Self::Online => Availability::Online,
            Self::Offline => Availability::Offline,
            Self::Unknown => Availability::Unknown,
        })
    }
}

impl Encode for Machine {
    type Message = proto::Machine;

    fn encode(self) -> proto::Machine {
        proto::Machine { os: self.os, arch: self.arch, hostname: self.hostname, shell: self.shell }
    }
}

impl Decode for proto::Machine {
    type Value = Machine;

    fn decode(self) -> Result<Machine> {
        Ok(Machine { os: self.os, arch: self.arch, hostname: self.hostname, shell: self.shell })
    }
}
