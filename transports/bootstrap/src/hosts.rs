//! From the configuration to the SSH hosts.

use std::path::{Path, PathBuf};

use sessiond_core::Error;
use sessiond_ssh::{ClientConfig, Config, HostConfig, HostKeyPolicy, Hosts};

use crate::config::{BackendSettings, Configuration, HostKeys, SecretSetting, SshHostSettings};
use crate::environment::Environment;
use crate::secrets;

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
        surroundings: secrets::surroundings(configuration, environment),
    };
    Hosts::new(config).map(Some)
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
    let secret = |setting: &Option<SecretSetting>| setting.as_ref().map(|it| secrets::source(it, environment));
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
