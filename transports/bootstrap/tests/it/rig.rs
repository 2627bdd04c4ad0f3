//! Keys files, certificates and tokens for tests, and what the server makes of them.

use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sessiond_bootstrap::identity::NewKey;
use sessiond_bootstrap::network::Network;
use sessiond_bootstrap::{Args, Bootstrap, Environment};
use sessiond_core::Tasks;
use tempfile::TempDir;

/// A keys file in a directory of its own.
pub(crate) struct Keys {
    directory: TempDir,
    settings: Mutex<Vec<(String, String)>>,
}

impl Keys {
    pub(crate) fn new() -> Self {
        let keys = Self { directory: tempfile::tempdir().unwrap(), settings: Mutex::default() };
        keys.write("");
        keys.set("network.keys_file", keys.path().to_str().unwrap());
        keys
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory().join("keys.toml")
    }

    /// Sets a key of the configuration.
    pub(crate) fn set(&self, key: &str, value: &str) {
        let variable = format!("SESSIOND_{}", key.to_uppercase().replace('.', "__"));
        self.settings.lock().unwrap().push((variable, value.to_owned()));
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap()
    }

    pub(crate) fn write(&self, text: &str) {
        self.file("keys.toml", text);
    }

    /// Writes a private file there.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        use std::io::Write;
        let path = self.directory().join(name);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&path).unwrap().write_all(text.as_bytes()).unwrap();
        path
    }

    /// A key that the file knows nothing of yet.
    pub(crate) fn key(&self) -> NewKey {
        NewKey::random().unwrap()
    }

    /// A key that may do everything.
    pub(crate) fn add(&self, name: &str) -> NewKey {
        let key = self.key();
        let entry = format!("[keys.{name}]\nsha256 = '{}'\nrole = 'full'\n", key.digest());
        self.write(&format!("{}{entry}", self.text()));
        key
    }

    pub(crate) fn alice(&self) -> NewKey {
        self.add("alice")
    }

    /// Takes an entry out that [`add`](Self::add) has put in.
    pub(crate) fn remove(&self, name: &str) {
        let text = self.text();
        let start = text.find(&format!("[keys.{name}]")).unwrap();
        let end = text[start + 1..].find('[').map_or(text.len(), |next| start + 1 + next);
        self.write(&format!("{}{}", &text[..start], &text[end..]));
    }

    pub(crate) fn load(&self) -> Result<Network, String> {
        let bootstrap = Bootstrap::load(&Args::default(), Environment::of(self.settings.lock().unwrap().clone()));
        let network = bootstrap.unwrap().network(&["h2", "http/1.1"], &Tasks::new());
        network.map_err(|problems| problems.to_string())
    }

    /// A message without the directory.
    pub(crate) fn shortened(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.directory().display()), "")
    }
}

pub(crate) fn network(keys: &Keys) -> Network {
    keys.load().unwrap()
}

/// What is wrong with a keys file of this text.
pub(crate) fn refused(text: &str) -> String {
    let keys = Keys::new();
    keys.write(text);
    keys.shortened(&keys.load().unwrap_err())
}
