//! From a configuration to a running registry, and back to nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessiond_core::{Backend, Error, FixedTargets, Registry, TargetInfo, TargetName};

use crate::args::Args;
use crate::config::{BackendSettings, Configuration, LogLevel, PtySettings};
use crate::environment::{CONFIG, Environment, LOG};
use crate::key_path::KeyPath;
use crate::problem::{Origin, Problem, Problems};
use crate::{file, logs, resolve};

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
    environment: Environment,
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
        logs::start(self.configuration.log_level, self.configuration.log_format);
    }

    /// Makes every enabled target and the registry over them. Needs a tokio runtime.
    ///
    /// # Errors
    /// A target that cannot be made, by its name.
    pub fn assemble(&self) -> Result<Assembly, Error> {
        let enabled = self.configuration.targets.iter().filter(|(_, target)| target.enabled);
        let targets = enabled
            .map(|(name, target)| {
                let kind = target.backend.name();
                let made = self.backend(&target.backend).map(|backend| (info(name, kind), backend));
                tracing::debug!(target = %name, backend = kind, made = made.is_ok(), "made a target");
                made.map_err(|error| Error::new(error.kind(), format!("target {name}: {error}")))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let registry = Registry::new(Arc::new(FixedTargets::new(targets)), self.configuration.limits.clone());
        Ok(Assembly { registry })
    }

    fn backend(&self, settings: &BackendSettings) -> Result<Arc<dyn Backend>, Error> {
        match settings {
            BackendSettings::Pty(pty) => self.pty(pty),
            #[cfg(feature = "fake")]
            BackendSettings::Fake => Ok(sessiond_core::fake::Fake::new()),
        }
    }

    fn pty(&self, settings: &PtySettings) -> Result<Arc<dyn Backend>, Error> {
        // No key names a variable with a credential in it yet.
        let mut environment = self.environment.for_children(&[]);
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

fn info(name: &TargetName, backend: &'static str) -> TargetInfo {
    TargetInfo { name: name.clone(), client_id: name.to_string(), backend }
}

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
}

impl Assembly {
    /// Stops every session and command and ends every target. Returns after little more than the grace of a stop.
    pub async fn shutdown(self) {
        self.registry.shutdown().await;
    }
}
