//! From the configuration to the agent platforms.

use std::path::PathBuf;
use std::sync::Arc;

use sessiond_agent_platform::{Auth, Platform, PlatformConfig, SecretSource, Tls};
use sessiond_core::{Error, Result, Tasks};

use crate::config::{Configuration, PlatformAuth, PlatformSettings, SecretSetting};
use crate::environment::Environment;
use crate::secrets;

/// What is needed to make a platform.
pub(crate) struct Maker<'a> {
    pub(crate) configuration: &'a Configuration,
    pub(crate) environment: &'a Environment,
}

impl Maker<'_> {
    /// A platform of these settings. Nothing is asked yet.
    ///
    /// # Errors
    /// An address that is none; certificates that cannot be read.
    pub(crate) fn make(&self, settings: &PlatformSettings) -> Result<(PlatformConfig, Arc<Platform>)> {
        let config = self.config(settings)?;
        let platform = Platform::new(&config)?;
        Ok((config, platform))
    }

    fn config(&self, settings: &PlatformSettings) -> Result<PlatformConfig> {
        let path = |path: &Option<PathBuf>| path.as_deref().map(|path| self.environment.below_home(path));
        let url = needed(settings.url.as_ref(), "url")?;
        Ok(PlatformConfig {
            auth: self.auth(settings)?,
            token_header: settings.token_header.clone(),
            tls: Tls {
                ca_file: path(&settings.ca_file),
                client_cert_file: path(&settings.client_cert_file),
                client_key_file: path(&settings.client_key_file),
            },
            timeout: settings.timeout,
            keepalive: settings.keepalive,
            requests_per_second: settings.requests_per_second,
            lost_after: settings.lost_after,
            ..PlatformConfig::new(url, *needed(settings.dialect.as_ref(), "dialect")?)
        })
    }

    fn auth(&self, settings: &PlatformSettings) -> Result<Auth> {
        let user = || needed(settings.user.as_ref(), "user").cloned();
        Ok(match settings.auth {
            PlatformAuth::None => Auth::None,
            PlatformAuth::Token => Auth::Token(self.secret(settings.token.as_ref(), "token")?),
            PlatformAuth::Basic => {
                Auth::Basic { user: user()?, password: self.secret(settings.password.as_ref(), "password")? }
            }
            PlatformAuth::Login => {
                Auth::Login { user: user()?, password: self.secret(settings.password.as_ref(), "password")? }
            }
            PlatformAuth::OAuth => Auth::OAuth {
                client_id: self.secret(settings.client_id.as_ref(), "client_id")?,
                client_secret: self.secret(settings.client_secret.as_ref(), "client_secret")?,
            },
        })
    }

    fn secret(&self, setting: Option<&SecretSetting>, name: &str) -> Result<Arc<dyn SecretSource>> {
        let source = secrets::source(needed(setting, name)?, self.environment);
        let surroundings = secrets::surroundings(self.configuration, self.environment);
        Ok(Arc::new(secrets::OfPlatform { source, surroundings, tasks: Tasks::new() }))
    }
}

/// A setting that has been found to be there when the configuration was checked.
fn needed<'a, T>(setting: Option<&'a T>, name: &str) -> Result<&'a T> {
    setting.ok_or_else(|| Error::failed_precondition(format!("{name} is not set: set it")))
}
