//! Who may log in to a server: accounts that exist in its house only.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};

use crate::keys::Key;
use crate::program;

/// Where the homes are, inside the house.
const HOMES: &str = "/run/home";
/// The first id given to an account of ours, and to its group.
const FIRST_ID: u32 = 20_001;

#[derive(Clone, Debug)]
enum Authorized {
    Key(Key),
    Line(String),
}

/// An account of a server. It has a home of its own; root's is another than the machine's.
#[derive(Clone, Debug)]
pub struct Account {
    name: String,
    shell: String,
    password: Option<String>,
    authorized: Vec<Authorized>,
    files: Vec<(String, String)>,
    options: Vec<(String, String)>,
}

impl Account {
    /// An ordinary account with bash as its login shell, into which nothing lets yet.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            shell: "/bin/bash".to_owned(),
            password: None,
            authorized: Vec::new(),
            files: Vec::new(),
            options: Vec::new(),
        }
    }

    /// Root.
    pub fn root() -> Self {
        Self::new("root")
    }

    /// Another login shell, by its absolute path.
    pub fn shell(mut self, shell: &str) -> Self {
        shell.clone_into(&mut self.shell);
        self
    }

    /// Lets in whoever knows a password.
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// Lets in whoever has a key.
    pub fn authorized_key(mut self, key: &Key) -> Self {
        self.authorized.push(Authorized::Key(key.clone()));
        self
    }

    /// Adds a line to the account's authorized_keys, such as one with `cert-authority` or `command=`.
    pub fn authorized_line(mut self, line: &str) -> Self {
        self.authorized.push(Authorized::Line(line.to_owned()));
        self
    }

    /// A file in the home, by its path there, such as `.bashrc`.
    pub fn file(mut self, path: &str, content: &str) -> Self {
        self.files.push((path.to_owned(), content.to_owned()));
        self
    }

    /// A line of sshd_config(5) for this account only, such as `AuthenticationMethods`. Dropbear knows none.
    pub fn option(mut self, keyword: &str, value: &str) -> Self {
        self.options.push((keyword.to_owned(), value.to_owned()));
        self
    }

    /// Shuts the account's sessions into an empty directory, where there is no shell to run.
    pub fn chroot(self) -> Self {
        self.option("ChrootDirectory", "/run/empty")
    }

    /// The home inside the house.
    pub fn home(&self) -> PathBuf {
        Path::new(HOMES).join(&self.name)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn options(&self) -> &[(String, String)] {
        &self.options
    }

    fn authorized_keys(&self) -> Result<String> {
        let line = |entry: &Authorized| match entry {
            Authorized::Key(key) => key.public_line(),
            Authorized::Line(line) => Ok(line.clone()),
        };
        let lines: Vec<String> = self.authorized.iter().map(line).collect::<Result<_>>()?;
        Ok(lines.iter().map(|line| format!("{line}\n")).collect())
    }
}

/// An account's user id, which is its group's too.
fn id(index: usize, account: &Account) -> u32 {
    match account.name.as_str() {
        "root" => 0,
        _ => FIRST_ID.saturating_add(u32::try_from(index).unwrap_or(u32::MAX)),
    }
}

/// Writes what `setup.sh` puts in place: the account files below `etc`, and the homes below `home`.
pub(crate) fn write(state: &Path, accounts: &[Account]) -> Result<()> {
    let etc = state.join("etc");
    fs::create_dir_all(&etc)?;
    let hashes = hashes(accounts)?;
    // Root is there in any case, but gets in only where it was asked for.
    let root = Account::root();
    let all: Vec<(u32, &Account)> =
        accounts.iter().enumerate().map(|(at, account)| (id(at, account), account)).collect();
    let absent = all.iter().all(|(id, _)| *id != 0).then_some((0, &root));
    let (mut passwd, mut group, mut shadow) = (String::new(), String::new(), String::new());
    for (id, account) in all.iter().copied().chain(absent) {
        let (name, home, shell) = (&account.name, account.home(), &account.shell);
        let hash = hashes.iter().find(|(of, _)| of == name).map_or("*", |(_, hash)| hash);
        passwd.push_str(&format!("{name}:x:{id}:{id}::{}:{shell}\n", home.display()));
        group.push_str(&format!("{name}:x:{id}:\n"));
        shadow.push_str(&format!("{name}:{hash}:19000:0:99999:7:::\n"));
        make_home(&state.join("home").join(name), id, account)?;
    }
    for (file, ours, mode) in [("passwd", passwd, 0o644), ("group", group, 0o644), ("shadow", shadow, 0o640)] {
        let path = etc.join(file);
        fs::write(&path, beside_the_machines(file, ours)?).with_context(|| format!("writing {}", path.display()))?;
        fs::set_permissions(&path, PermissionsExt::from_mode(mode))?;
    }
    fs::write(etc.join("pam"), PAM)?;
    Ok(())
}

/// Passwords by way of PAM, without its delay after a wrong one and without a look at what else the machine has set up.
const PAM: &str = "\
auth required pam_unix.so nodelay
account required pam_unix.so
session required pam_permit.so
password required pam_deny.so
";

/// The machine's own entries after ours, without those that ours replace.
fn beside_the_machines(file: &str, ours: String) -> Result<String> {
    let path = Path::new("/etc").join(file);
    let theirs = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let name = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let taken: Vec<String> = ours.lines().map(name).collect();
    let rest = theirs.lines().filter(|line| !taken.contains(&name(line))).map(|line| format!("{line}\n"));
    Ok(ours.clone() + &rest.collect::<String>())
}

/// Makes a home as a login expects it.
fn make_home(home: &Path, id: u32, account: &Account) -> Result<()> {
    let put = |path: &str, content: &str, mode: u32| -> Result<()> {
        let file = home.join(path);
        for dir in file.ancestors().skip(1).take_while(|dir| dir.starts_with(home)) {
            fs::create_dir_all(dir)?;
            chown(dir, Some(id), Some(id))?;
        }
        fs::write(&file, content)?;
        fs::set_permissions(&file, PermissionsExt::from_mode(mode))?;
        chown(&file, Some(id), Some(id)).with_context(|| format!("giving away {}", file.display()))
    };
    put(".ssh/authorized_keys", &account.authorized_keys()?, 0o600)?;
    for (path, content) in &account.files {
        put(path, content, 0o644)?;
    }
    Ok(())
}

/// The passwords as crypt(3) stores them, by the names of their accounts. Perl is on every Debian and knows crypt(3);
/// it reads the passwords from stdin.
fn hashes(accounts: &[Account]) -> Result<Vec<(String, String)>> {
    // Fewer rounds than anyone would use who has something to protect: a login of a test is quick.
    const SCRIPT: &str = r#"while (<STDIN>) { chomp; print crypt($_, '$6$rounds=1000$sessiondpeer'), "\n" }"#;
    let with_password: Vec<(&str, &str)> =
        accounts.iter().filter_map(|account| Some((account.name(), account.password.as_deref()?))).collect();
    if with_password.is_empty() {
        return Ok(Vec::new());
    }
    let mut command = program::command(&program::find("perl", "perl-base")?);
    let mut perl = command.args(["-e", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = perl.stdin.take().context("perl was started without a pipe")?;
    for (_, password) in &with_password {
        writeln!(stdin, "{password}").context("giving perl a password")?;
    }
    drop(stdin);
    let printed = program::text("perl", &perl.wait_with_output().context("waiting for perl")?)?;
    Ok(with_password
        .iter()
        .zip(printed.lines())
        .map(|((name, _), hash)| ((*name).to_owned(), hash.to_owned()))
        .collect())
}
