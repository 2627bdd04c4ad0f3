//! From the configuration to the SSH hosts.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessiond_core::Error;
use sessiond_pty::Foreign;
use sessiond_ssh::{
    ClientConfig, Config, Custodian, HostConfig, HostKeyPolicy, Hosts, Secret, SecretSource, Surroundings,
};

use crate::config::{BackendSettings, Configuration, HostKeys, SecretSetting, SshHostSettings};
use crate::environment::Environment;

/// Where nothing is to be read, as one says it to the OpenSSH client.
const NOTHING: &str = "/dev/null";

/// The hosts that are configured: those with settings of their own, and those of the client configuration. Reads
/// nothing yet. `None` when there are to be none.
///
/// # Errors
/// A host of the configuration has a name that none can have.
pub(crate) fn hosts(configuration: &Configuration, environment: &Environment) -> Result<Option<Hosts>, Error> {
    let settings = &configuration.ssh;
    if !settings.enabled {
        return Ok(None);
    }
    let defaults = Config::default();
    let config = Config {
        hosts: enabled(configuration).map(|(name, host)| of_host(name, host, environment)).collect(),
        client_config: client_config(settings.config.as_deref(), environment),
        any_host: settings.any_host,
        ssh_program: settings
            .program
            .as_deref()
            .map_or(defaults.ssh_program, |path| Some(environment.below_home(path))),
        host_keys: policy(settings.host_keys),
        connect_timeout: settings.connect_timeout,
        keepalive: settings.keepalive,
        max_connections: settings.max_connections,
        linger: settings.linger,
        write_stall: settings.write_stall,
        surroundings: Surroundings::new(environment.for_children(&secret_variables(configuration)))
            .in_custody(Arc::new(Reaper)),
    };
    Hosts::new(config).map(Some)
}

/// Orphans of this process are reaped by the adapter for this machine; what the other one starts is no orphan.
struct Reaper;

impl Custodian for Reaper {
    fn start(&self, start: &mut dyn FnMut() -> io::Result<u32>) -> io::Result<Box<dyn Send + Sync>> {
        let ((), foreign) = Foreign::start(|| start().map(|pid| ((), pid)))?;
        Ok(Box::new(foreign))
    }
}

/// The variables that hold credentials: no child gets them (SF01).
pub(crate) fn secret_variables(configuration: &Configuration) -> Vec<OsString> {
    let of_host = |host: &SshHostSettings| {
        let secrets = [host.password.as_ref(), host.passphrase.as_ref()];
        secrets.into_iter().flatten().filter_map(|secret| secret.variable().map(OsString::from)).collect::<Vec<_>>()
    };
    // Those of a host that is not enabled are no less secret.
    configuration.targets.values().filter_map(|target| ssh(&target.backend)).flat_map(of_host).collect()
}

fn enabled(configuration: &Configuration) -> impl Iterator<Item = (&str, &SshHostSettings)> {
    let enabled = configuration.targets.iter().filter(|(_, target)| target.enabled);
    enabled.filter_map(|(name, target)| Some((name.as_str(), ssh(&target.backend)?)))
}

fn ssh(backend: &BackendSettings) -> Option<&SshHostSettings> {
    match backend {
        BackendSettings::Ssh(host) => Some(host),
        _ => None,
    }
}

fn client_config(path: Option<&Path>, environment: &Environment) -> ClientConfig {
    match path {
        None => ClientConfig::OpenSsh,
        Some(path) if path == Path::new(NOTHING) => ClientConfig::Nothing,
        Some(path) => ClientConfig::File(environment.below_home(path)),
    }
}

fn policy(host_keys: HostKeys) -> HostKeyPolicy {
    match host_keys {
        HostKeys::Strict => HostKeyPolicy::Strict,
        HostKeys::AcceptNew => HostKeyPolicy::AcceptNew,
    }
}

fn of_host(name: &str, host: &SshHostSettings, environment: &Environment) -> HostConfig {
    let paths = |paths: &[PathBuf]| paths.iter().map(|path| environment.below_home(path)).collect();
    let secret = |setting: &Option<SecretSetting>| setting.as_ref().map(|setting| secret(setting, environment));
    HostConfig {
        name: name.to_owned(),
        description: host.description.clone(),
        host: host.host.clone(),
        port: host.port,
        user: host.user.clone(),
        identities: paths(&host.identity_files),
        certificates: paths(&host.certificate_files),
        identities_only: host.identities_only,
        agent: host.agent_socket.as_deref().map(|path| environment.below_home(path)),
        password: secret(&host.password),
        passphrase: secret(&host.passphrase),
        host_keys: host.host_keys.map(policy),
        known_hosts: paths(&host.known_hosts_files),
        key_alias: host.host_key_alias.clone(),
        jump: host.proxy_jump.clone(),
        connect_timeout: host.connect_timeout,
        keepalive: host.keepalive,
    }
}

fn secret(setting: &SecretSetting, environment: &Environment) -> SecretSource {
    match setting {
        SecretSetting::File(path) => SecretSource::File(environment.below_home(path)),
        SecretSetting::Variable(name) => {
            let value = environment.get(name).and_then(|value| value.to_str());
            SecretSource::Environment { name: name.clone(), value: value.map(|value| Secret::new(value.to_owned())) }
        }
        SecretSetting::Command(command) => SecretSource::Command(command.clone()),
    }
}
