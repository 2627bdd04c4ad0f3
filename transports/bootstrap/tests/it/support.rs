//! Loading a configuration from text and variables.

use std::path::PathBuf;

use sessiond_bootstrap::{Args, Bootstrap, Configuration, Environment};
use tempfile::TempDir;

/// A configuration file in a directory of its own.
pub(crate) struct Written {
    directory: TempDir,
}

impl Written {
    pub(crate) fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("config.toml"), text).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("config.toml")
    }

    pub(crate) fn load(&self, variables: &[(&str, &str)]) -> Result<Configuration, String> {
        let args = Args { config: Some(self.path()), log: None };
        load(&args, variables).map_err(|text| text.replace(&format!("{}/", self.directory.path().display()), ""))
    }
}

/// What a file with this text gives, or what it says is wrong.
pub(crate) fn from_text(text: &str) -> Result<Configuration, String> {
    Written::new(text).load(&[])
}

/// What these variables give without a file, or what they say is wrong.
pub(crate) fn from_variables(variables: &[(&str, &str)]) -> Result<Configuration, String> {
    load(&Args::default(), variables)
}

pub(crate) fn load(args: &Args, variables: &[(&str, &str)]) -> Result<Configuration, String> {
    let environment = Environment::of(variables.iter().copied());
    Bootstrap::load(args, environment).map(|bootstrap| bootstrap.configuration).map_err(|error| error.to_string())
}

/// The values that differ from the defaults, as `check` shows them.
pub(crate) fn changes(configuration: &Configuration) -> Vec<String> {
    let set = configuration.shown().into_iter().filter(|shown| shown.origin.is_some());
    set.map(|shown| format!("{} = {}", shown.key, shown.value.unwrap_or_default())).collect()
}
