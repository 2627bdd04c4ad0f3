//! From what the configuration says of a secret to the secret itself.
//!
//! Files and commands are read by the SSH adapter's code, which had to have it first: there is one set of rules for who
//! may read a secret's file, and one way to run a secret's command.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use sessiond_core::{Result, Tasks};
use sessiond_pty::Foreign;
use sessiond_ssh::{Custodian, Secret, SecretSource, Surroundings};

use crate::config::{BackendSettings, Configuration, SecretSetting};
use crate::environment::Environment;

/// What OpenTelemetry sends to a collector with each request, a key most of the time.
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];

/// The variables that hold credentials: no child gets them (SF01). Those of a target that is not enabled are no less
/// secret.
pub(crate) fn variables(configuration: &Configuration) -> Vec<OsString> {
    let of_collector = configuration.telemetry.otlp_endpoint.iter().flat_map(|_| HEADERS).map(OsString::from);
    let of_targets = configuration.targets.values().flat_map(|target| of_backend(&target.backend));
    let named = of_targets.chain(&configuration.connect.key);
    named.filter_map(|secret| secret.variable().map(OsString::from)).chain(of_collector).collect()
}

fn of_backend(backend: &BackendSettings) -> Vec<&SecretSetting> {
    match backend {
        BackendSettings::Ssh(host) => host.password.iter().chain(&host.passphrase).collect(),
        BackendSettings::AgentPlatform(platform) => platform.secrets().collect(),
        _ => Vec::new(),
    }
}

/// What programs find that are run on the way to a host or to a secret.
pub(crate) fn surroundings(configuration: &Configuration, environment: &Environment) -> Surroundings {
    Surroundings::new(environment.for_children(&variables(configuration))).in_custody(Arc::new(Reaper))
}

/// Orphans of this process are reaped by the adapter for this machine; what anybody else starts is no orphan.
struct Reaper;

impl Custodian for Reaper {
    fn start(&self, start: &mut dyn FnMut() -> io::Result<u32>) -> io::Result<Box<dyn Send + Sync>> {
        let ((), foreign) = Foreign::start(|| start().map(|pid| ((), pid)))?;
        Ok(Box::new(foreign))
    }
}

/// Where a secret is read from, once it is needed.
pub(crate) fn source(setting: &SecretSetting, environment: &Environment) -> SecretSource {
    match setting {
        SecretSetting::File(path) => SecretSource::File(environment.below_home(path)),
        SecretSetting::Variable(name) => {
            let value = environment.get(name).and_then(|value| value.to_str());
            SecretSource::Environment { name: name.clone(), value: value.map(|value| Secret::new(value.to_owned())) }
        }
        SecretSetting::Command(command) => SecretSource::Command(command.clone()),
    }
}

/// A platform's secret, read each time that it is asked for.
#[derive(Debug)]
pub(crate) struct OfPlatform {
    pub(crate) source: SecretSource,
    pub(crate) surroundings: Surroundings,
    pub(crate) tasks: Tasks,
}

#[async_trait]
impl sessiond_agent_platform::SecretSource for OfPlatform {
    async fn read(&self) -> Result<sessiond_agent_platform::Secret> {
        let secret = self.source.read(&self.surroundings, &self.tasks).await?;
        Ok(sessiond_agent_platform::Secret::new(secret.expose()))
    }
}
