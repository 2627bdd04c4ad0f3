//! What the OpenSSH client itself says of a host: `ssh -G`.

use std::io;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use sessiond_core::{Error, Result};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::settings::Settings;
use super::wish::Wish;
use crate::config::Config;
use crate::local::Program;

/// How long the client may think: it may run programs of the user's (`Match exec`).
const LIMIT: Duration = Duration::from_secs(10);

/// More than any client prints, in bytes.
const LONGEST: u64 = 1024 * 1024;

/// What `ssh -G` says of a host; `None` where there is no such program. `file` is the configuration to read instead of
/// the client's own.
///
/// It is run without a shell, and gets the host's name as one argument that cannot be an option.
///
/// # Errors
/// `failed_precondition` when the client refuses its configuration, with its words; `timed_out` when it does not
/// answer.
pub(super) async fn ask(config: &Config, program: &Path, file: Option<&Path>, wish: &Wish) -> Result<Option<Settings>> {
    let mut command = Command::new(program);
    command.arg("-G");
    if let Some(file) = file {
        command.arg("-F").arg(file);
    }
    command.args(options(wish)).arg("--").arg(&wish.name);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |why: String| Error::failed_precondition(format!("{} -G {}: {why}", program.display(), wish.name));
    let mut client = match Program::start(command, &config.surroundings) {
        Ok(client) => client,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(format!("it cannot be started: {error}"))),
    };
    let output = tokio::time::timeout(LIMIT, output(&mut client)).await.map_err(|_| {
        Error::timed_out(format!(
            "the OpenSSH client has not said within {} s what its configuration means for {}: look for a Match exec \
             that hangs",
            LIMIT.as_secs(),
            wish.name
        ))
    })?;
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() { Ok(Some(settings(&output.stdout))) } else { Err(failed(words(&output))) }
}

/// What the client prints, and how it ends; both of its streams at once, so that neither waits for the other.
async fn output(client: &mut Program) -> io::Result<Output> {
    let (stdout, stderr) = (client.child().stdout.take(), client.child().stderr.take());
    let (stdout, stderr) = tokio::try_join!(printed(stdout), printed(stderr))?;
    Ok(Output { status: client.ended().await?, stdout, stderr })
}

async fn printed(from: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    if let Some(from) = from {
        from.take(LONGEST).read_to_end(&mut all).await?;
    }
    Ok(all)
}

/// What is wished, as options; nothing of it can be taken for another option, nor for a token.
fn options(wish: &Wish) -> Vec<String> {
    let mut options = Vec::new();
    let mut set = |keyword: &str, value: &str| options.extend(["-o".to_owned(), format!("{keyword}={value}")]);
    if let Some(host) = &wish.host {
        set("HostName", &host.replace('%', "%%"));
    }
    if let Some(port) = wish.port {
        set("Port", &port.to_string());
    }
    if let Some(jump) = &wish.jump {
        set("ProxyJump", jump);
    }
    if let Some(user) = &wish.user {
        options.extend(["-l".to_owned(), user.clone()]);
    }
    options
}

/// The client's first words about what is wrong.
fn words(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.lines().filter(|line| !line.starts_with("Pseudo-terminal")).take(3).collect();
    if said.is_empty() {
        return format!("it ended with {}", output.status);
    }
    said.join("; ").chars().filter(|char| !char.is_control()).take(300).collect()
}

/// Reads what the client prints: a keyword and a value a line.
fn settings(printed: &[u8]) -> Settings {
    let mut settings = Settings::expanded();
    for line in String::from_utf8_lossy(printed).lines() {
        let Some((keyword, value)) = line.split_once(' ') else { continue };
        match Settings::keyword(keyword) {
            Some(keyword @ ("userknownhostsfile" | "globalknownhostsfile")) => {
                paths(value).into_iter().for_each(|path| settings.add(keyword, path));
            }
            Some(keyword) => settings.add(keyword, value),
            None => {}
        }
    }
    settings
}

/// Paths in one line. The client does not quote them: a blank is taken for a border where a path begins after it.
fn paths(value: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for word in value.split(' ') {
        match paths.last_mut() {
            Some(last) if last.starts_with(['/', '~']) && !word.starts_with(['/', '~']) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => paths.push(word.to_owned()),
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_blanks_stay_whole() {
        assert_eq!(paths("/a b /c ~/d e"), ["/a b", "/c", "~/d e"]);
        assert_eq!(paths("none"), ["none"]);
        assert_eq!(paths("a b"), ["a", "b"]);
    }
}
