//! Starts an OpenSSH server to try things on by hand, with an account `alice` and root, until stdin ends.
#![allow(clippy::print_stdout, reason = "it tells a person how to get in")]

use anyhow::Result;

#[cfg(target_os = "linux")]
fn main() -> Result<()> {
    use sessiond_ssh_peer::{Account, Client, Keys, Sshd};

    let keys = Keys::new()?;
    let key = keys.ed25519("id_ed25519")?;
    let account = |account: Account| account.authorized_key(&key);
    let sshd = Sshd::builder().account(account(Account::root())).account(account(Account::new("alice"))).start()?;
    println!("its files: {}", sshd.home("").parent().unwrap_or("/".as_ref()).display());
    let client = Client::new()?;
    for user in ["alice", "root"] {
        client.host(user, &sshd, user, &[&format!("IdentityFile {}", key.path().display())])?;
        println!("ssh -F {} {user}", client.config_path().display());
    }
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<()> {
    anyhow::bail!("a server for tests needs the namespaces of Linux")
}
