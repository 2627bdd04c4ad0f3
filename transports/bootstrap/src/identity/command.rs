//! `key new`: makes a key, shows it once, and shows the entry of the keys file that lets it in.

use std::fmt::Write;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::key::{Digest, NewKey};
use super::keys_file;
use crate::problem::Problems;
use crate::stdout;

/// Keys of this server. For clap's `#[command(subcommand)]`.
#[derive(Clone, Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a key: print it once, and the entry for the keys file (network.keys_file) that lets it in
    ///
    /// The file gets the key's hash only, so a key that is lost is replaced, not looked up. Whoever is to use the key sends
    /// it as `authorization: Bearer KEY`. To take a key back, remove its entry and send the server SIGHUP.
    New(NewKeyArgs),
}

/// What the key is for.
#[derive(Clone, Debug, Args)]
pub struct NewKeyArgs {
    /// Whom sessions belong to that are started with it
    name: String,
    /// What it may do: full or read-only [default: full on its targets]
    #[arg(long)]
    role: Option<String>,
    /// The one target that it reaches, which calls need not name then
    #[arg(long, conflicts_with = "targets")]
    target: Option<String>,
    /// The targets that it reaches, with commas between them [default: all]
    #[arg(long, value_name = "TARGET,...", value_delimiter = ',')]
    targets: Vec<String>,
    /// The tools that it may use, with commas between them, in place of a role
    #[arg(long, value_name = "TOOL,...", value_delimiter = ',', conflicts_with = "role")]
    tools: Vec<String>,
    /// When it ceases to hold: a date, or a time with its offset
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
}

impl KeyCommand {
    /// Does it.
    ///
    /// # Errors
    /// The entry would not be taken, for every reason there is; the system has no randomness; stdout cannot be written
    /// to.
    pub fn run(&self) -> Result<ExitCode, Box<dyn std::error::Error + Send + Sync>> {
        let Self::New(args) = self;
        let key = NewKey::random()?;
        let entry = args.entry(&key.digest())?;
        stdout::print(&format!(
            "the key, which is shown only now:\n\n    {}\n\nthe entry for the keys file:\n\n{entry}\n",
            key.expose()
        ))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl NewKeyArgs {
    /// The entry, checked as the file will be.
    fn entry(&self, digest: &Digest) -> Result<String, Problems> {
        let mut entry = format!("[keys.{}]\nsha256 = \"{digest}\"\n", toml_key(&self.name));
        let texts = |list: &[String]| list.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ");
        let mut add = |key: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(entry, "{key} = {value}");
        };
        if let Some(role) = &self.role {
            add("role", quoted(role));
        }
        if let Some(target) = &self.target {
            add("target", quoted(target));
        }
        if !self.targets.is_empty() {
            add("targets", format!("[{}]", texts(&self.targets)));
        }
        if !self.tools.is_empty() {
            add("tools", format!("[{}]", texts(&self.tools)));
        }
        if let Some(expires) = &self.expires {
            add("expires", expires.clone());
        }
        keys_file::parse("the entry".as_ref(), &entry)?;
        Ok(entry)
    }
}

fn toml_key(name: &str) -> String {
    if keys_file::is_name(name) && !name.contains('.') { name.to_owned() } else { quoted(name) }
}

/// A text as TOML, and JSON, write it.
fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}
