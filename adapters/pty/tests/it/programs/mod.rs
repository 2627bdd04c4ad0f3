//! Real programs, driven as a person would: shells, programs that own the whole screen, and those that ask for secrets.

mod screens;
mod secrets;
mod shells;

use std::path::Path;
use std::sync::Arc;

use sessiond_core::{Key, SessionSpec, WindowSize};
use sessiond_pty::{Config, Pty};

use crate::support::{Directory, Terminal, config, session_spec};

/// A user with a home of their own: no program finds the settings of this machine's user there, or leaves any.
struct User {
    pty: Arc<Pty>,
    home: Directory,
}

impl User {
    fn new(name: &str) -> Self {
        Self::with_shell(name, "/bin/bash")
    }

    fn with_shell(name: &str, shell: impl AsRef<Path>) -> Self {
        let home = Directory::new(name);
        let mut config = Config { shell: Some(shell.as_ref().to_owned()), cwd: Some(home.text().into()), ..config() };
        config.environment.retain(|(name, _)| name != "HOME");
        config.environment.push(("HOME".into(), home.text().into()));
        Self { pty: Pty::new(config).unwrap(), home }
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.home.path(name), content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.path(name)).unwrap()
    }

    async fn run(&self, command: &str) -> Terminal {
        self.start(command, WindowSize::default(), false).await
    }

    async fn start(&self, command: &str, size: WindowSize, login: bool) -> Terminal {
        let spec = SessionSpec { size, login, ..session_spec(sessiond_core::Invocation::new(command)) };
        Terminal::start(&self.pty, spec).await.unwrap()
    }
}

/// What named keys send, in the form that the program has asked for.
fn keys(terminal: &Terminal, names: &[&str]) -> String {
    let application = terminal.log.application_keys();
    let bytes = names.iter().flat_map(|name| name.parse::<Key>().unwrap().bytes(application)).collect();
    String::from_utf8(bytes).unwrap()
}

/// Presses named keys and waits for what they bring.
async fn press(terminal: &Terminal, names: &[&str], pattern: &str) -> String {
    terminal.dialog(&keys(terminal, names), pattern).await
}

/// Where a program is on the path of the tests.
fn path_of(program: &str) -> std::path::PathBuf {
    crate::support::needs(program);
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|path| path.exists()).unwrap()
}
