//! From a configuration to a running registry, and back to nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessiond_agent_platform::Platform;
use sessiond_core::{
    Backend, Error, FixedTargets, Guarded, JoinedTargets, Registry, Service, TargetInfo, TargetName, Targets, Tasks,
};

use crate::args::Args;
use crate::config::{BackendSettings, Configuration, LogLevel, PtySettings};
use crate::environment::{CONFIG, Environment, LOG};
use crate::key_path::KeyPath;
use crate::platforms::Maker;
use crate::problem::{Origin, Problem, Problems};
use crate::{file, hosts, logs, resolve, secrets, telemetry};

/// Makes the process fit to hold other processes. To be called first of all in `main`, while there is one thread.
///
/// # Errors
/// The operating system refuses; the message says what.
pub fn prepare_process() -> Result<(), Error> {
    sessiond_pty::prepare_process()
}

/// A checked configuration and the environment it was read in: all that a server is made of.
#[derive(Debug)]
pub struct Bootstrap {
    /// What holds.
    pub configuration: Configuration,
    /// The file that was read, or would have been, were it there; `None` without a home directory.
    pub file: Option<PathBuf>,
    pub(crate) environment: Environment,
}

impl Bootstrap {
    /// Reads the configuration: defaults, overlaid by the file, by variables, by flags.
    ///
    /// # Errors
    /// Every problem of the file and of the variables; a missing file only when somebody named it.
    pub fn load(args: &Args, environment: Environment) -> Result<Self, Problems> {
        let named = args.config.clone().or_else(|| environment.get(CONFIG).map(PathBuf::from));
        let is_named = named.is_some();
        let path = named.or_else(|| environment.default_file());
        let entries = path.as_deref().map(|path| file::read(path, is_named)).transpose()?.unwrap_or_default();
        let mut configuration = resolve::resolve(entries, &environment)?;
        if let Some((level, origin)) = log_level(args, &environment)? {
            configuration.log_level = level;
            configuration.origins.insert(KeyPath::of("log.level"), origin);
        }
        Ok(Self { configuration, file: path, environment })
    }

    /// Whether the file is there.
    pub fn has_file(&self) -> bool {
        self.file.as_deref().is_some_and(Path::exists)
    }

    /// Starts logging as configured.
    pub fn start_logs(&self) {
        let (level, format) = (self.configuration.log_level, self.configuration.log_format);
        logs::start_with(level, format, telemetry::Prepared::new(&self.configuration.telemetry));
    }

    /// Sends traces to their collector, where some are configured, until the owner of the tasks ends them: the last thing
    /// that a server does. Needs a tokio runtime, and logs that have been started.
    ///
    /// # Errors
    /// `failed_precondition` when traces are configured and cannot be sent at all. A collector that is not there, or goes
    /// away, is no error: it is logged, and costs calls nothing.
    pub fn export_traces(&self, tasks: &Tasks) -> Result<(), Error> {
        telemetry::export(&self.configuration.telemetry, tasks)
    }

    /// Makes every enabled target and the registry over them. Needs a tokio runtime.
    ///
    /// # Errors
    /// A target that cannot be made, by its name; there is no target at all.
    pub fn assemble(&self) -> Result<Assembly, Error> {
        let hosts =
            hosts::hosts(&self.configuration, &self.environment)?.map(|hosts| Arc::new(hosts) as Arc<dyn Targets>);
        let sources: Vec<Arc<dyn Targets>> = [Some(self.machine()?), hosts].into_iter().flatten().collect();
        let targets = JoinedTargets::new(sources);
        let (known, any_host) = (targets.list(), self.configuration.ssh.enabled && self.configuration.ssh.any_host);
        if known.is_empty() && !any_host {
            return Err(Error::failed_precondition(
                "there is nothing to run anything on: every target is disabled, and there is no SSH host",
            ));
        }
        let has_hosts = any_host || known.iter().any(|target| target.host.is_some());
        let has_platforms = known.iter().any(|target| target.platform.is_some());
        let targets = telemetry::traced_targets(Arc::new(targets));
        let registry = Registry::new(targets, self.configuration.limits.clone());
        Ok(Assembly { registry, has_hosts, has_platforms })
    }

    /// The targets that are no hosts.
    fn machine(&self) -> Result<Arc<dyn Targets>, Error> {
        let enabled = self.configuration.targets.iter().filter(|(_, target)| target.enabled);
        let made = enabled.filter_map(|(name, target)| {
            let made = self.target(name, &target.backend).transpose()?;
            tracing::debug!(target = %name, backend = target.backend.name(), made = made.is_ok(), "made a target");
            Some(made.map_err(|error| Error::new(error.kind(), format!("target {name}: {error}"))))
        });
        let targets: Arc<dyn Targets> = Arc::new(FixedTargets::new(made.collect::<Result<Vec<_>, _>>()?));
        Ok(targets)
    }

    /// One target; `None` for a host, which is made elsewhere.
    fn target(&self, name: &TargetName, settings: &BackendSettings) -> Result<Option<Target>, Error> {
        Ok(match settings {
            BackendSettings::Pty(pty) => Some((TargetInfo::new(name.clone(), settings.name()), self.pty(pty)?)),
            BackendSettings::Ssh(_) => None,
            BackendSettings::AgentPlatform(platform) => {
                let maker = Maker { configuration: &self.configuration, environment: &self.environment };
                let (config, made) = maker.make(platform)?;
                let info = TargetInfo::new(name.clone(), settings.name());
                let info = TargetInfo { platform: Some(Platform::info(&config)), ..info };
                Some((info, made as Arc<dyn Backend>))
            }
            #[cfg(feature = "fake")]
            BackendSettings::Fake => {
                use sessiond_core::fake::Fake;
                Some((Fake::info(name.clone()), Fake::new() as Arc<dyn Backend>))
            }
        })
    }

    fn pty(&self, settings: &PtySettings) -> Result<Arc<dyn Backend>, Error> {
        let mut environment = self.environment.for_children(&secrets::variables(&self.configuration));
        environment.retain(|(name, _)| name.to_str().is_none_or(|name| !settings.env.contains_key(name)));
        environment.extend(settings.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        let config = sessiond_pty::Config {
            shell: settings.shell.clone(),
            cwd: settings.cwd.as_deref().map(|path| self.environment.below_home(path)),
            environment,
            linger: settings.linger,
            write_stall: settings.write_stall,
        };
        let pty: Arc<dyn Backend> = sessiond_pty::Pty::new(config)?;
        Ok(pty)
    }
}

/// A target that is no host.
type Target = (TargetInfo, Arc<dyn Backend>);

/// The log level that a flag or the short variable asks for.
fn log_level(args: &Args, environment: &Environment) -> Result<Option<(LogLevel, Origin)>, Problem> {
    if let Some(level) = args.log {
        return Ok(Some((level, Origin::Flag("--log"))));
    }
    let Some(word) = environment.get(LOG) else { return Ok(None) };
    let origin = Origin::Variable(LOG.to_owned());
    match word.to_str().and_then(LogLevel::from_word) {
        Some(level) => Ok(Some((level, origin))),
        None => Err(Problem::at(&origin, &LOG, format!("must be one of {}", LogLevel::WORDS.join(", ")))),
    }
}

/// A running server without a transport.
pub struct Assembly {
    /// The service behind every transport.
    pub registry: Arc<Registry>,
    /// Whether there are hosts: targets that are reached over connections, whose tools are worth listing.
    pub has_hosts: bool,
    /// Whether there are agent platforms, whose tools are likewise.
    pub has_platforms: bool,
}

impl Assembly {
    /// The service for a transport whose callers are several: nobody does what their role does not permit.
    pub fn service(&self) -> Arc<dyn Service> {
        telemetry::traced(Guarded::new(self.registry.clone()))
    }

    /// The same for a transport whose one caller may do everything.
    pub fn service_for_one(&self) -> Arc<dyn Service> {
        telemetry::traced(self.registry.clone())
    }

    /// Stops every session and command and ends every target. Returns after little more than the grace of a stop.
    pub async fn shutdown(self) {
        self.registry.shutdown().await;
    }
}
