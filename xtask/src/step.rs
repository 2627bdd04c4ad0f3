//! One command of a chore: a heading, its own output untouched, and how long it took.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Runs a command under a heading.
///
/// # Errors
/// When it cannot be started or does not succeed.
pub(crate) fn run(heading: &str, command: &mut Command) -> Result<()> {
    println!("== {heading}: {}", line(command));
    timed(heading, || {
        let status = command.status().with_context(|| format!("starting {}", line(command)))?;
        if !status.success() {
            bail!("{heading} failed ({status}): {}", line(command));
        }
        Ok(())
    })
}

/// Runs a part of a chore and says how long it took when it went well.
pub(crate) fn timed(heading: &str, part: impl FnOnce() -> Result<()>) -> Result<()> {
    let begin = Instant::now();
    part()?;
    println!("== {heading}: ok in {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

/// The command as a person would type it.
pub(crate) fn line(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned();
    let mut line = name;
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_fails_is_named_with_its_command() {
        let error = run("lint", Command::new("sh").args(["-c", "exit 3"])).unwrap_err().to_string();
        assert!(error.starts_with("lint failed (exit status: 3): sh -c exit 3"), "{error}");
        assert!(run("lint", &mut Command::new("true")).is_ok());
        assert!(run("lint", &mut Command::new("no-such-program-here")).is_err());
    }
}
