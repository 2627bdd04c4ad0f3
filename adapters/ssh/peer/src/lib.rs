//! SSH servers that we did not write, for tests, the conformance suite and benches: a real OpenSSH or Dropbear on
//! loopback, with accounts, keys and a configuration of its own, of which nothing stays on the machine.
//!
//! A server lives in a *house*: a private mount namespace (its own accounts, homes, `/run` and `/var/log`) and a private
//! process namespace, whose first process ends when the owner does, however that comes about. With it ends everything in
//! the house: servers, sessions, what those left in the background. This takes root; without it, starting says so.
//!
//! ```
//! use sessiond_ssh_peer::{Account, Client, Keys, Sshd};
//!
//! # fn main() -> anyhow::Result<()> {
//! let keys = Keys::new()?;
//! let key = keys.ed25519("id_ed25519")?;
//! let alice = Account::new("alice").authorized_key(&key);
//! let sshd = Sshd::builder().option("MaxSessions", "10").account(alice).start()?;
//!
//! let client = Client::new()?;
//! client.host("box", &sshd, "alice", &[&format!("IdentityFile {}", key.path().display())])?;
//! let status = client.ssh(["box", "true"])?.status()?;
//! assert!(status.success(), "{}", sshd.log());
//! # Ok(())
//! # }
//! ```
//!
//! How to take it apart:
//!
//! - `house`: namespaces, their first process (`init.sh`), and the log of what the server says
//! - `account`: who may log in; `setup.sh` puts the accounts in place
//! - `sshd`, `config`: OpenSSH; `dropbear`: Dropbear; `server`: what both have
//! - `network`: servers that can be reached only through other servers
//! - `keys`: keys and certificates by `ssh-keygen`; `agent`: `ssh-agent`; `client`: the `ssh` client
//! - `cut`: a relay that stops relaying; `port`: free ports; `program`: programs that must be there
//!
//! Everything blocks, starting for some tens of milliseconds. The paths of homes inside the house are
//! [`Account::home`]; the tests find the same files under [`Server::home`]. `/tmp` is the machine's own.
#![cfg(target_os = "linux")]

mod account;
mod agent;
mod client;
mod config;
mod cut;
mod dropbear;
mod house;
mod keys;
mod log;
mod network;
mod port;
mod program;
mod server;
mod sshd;

pub use account::Account;
pub use agent::Agent;
pub use client::{Answering, Client};
pub use cut::Cut;
pub use dropbear::{Dropbear, DropbearBuilder};
pub use keys::{Key, KeyKind, Keys, Validity};
pub use server::Server;
pub use sshd::{Sshd, SshdBuilder};
