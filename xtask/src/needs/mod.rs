//! What the tests and checks need beside Rust: programs to drive, clients that others wrote, programs that check.

pub(crate) mod cargo;
mod debian;
pub(crate) mod node;
mod python;

use anyhow::{Result, bail};

use crate::workspace;

/// Something that is not there.
#[derive(Debug, PartialEq, Eq)]
struct Missing {
    /// What, and what for.
    what: String,
    /// The command that installs it.
    remedy: String,
}

/// Fails with the list of what is missing and how each is installed.
pub(crate) fn check() -> Result<()> {
    let mut missing = debian::missing();
    let target = workspace::target_dir()?;
    missing.extend(python::missing(&target)?);
    missing.extend(node::missing(&target)?);
    missing.extend(cargo::missing(&target));
    match report(&missing) {
        None => Ok(()),
        Some(report) => bail!("{report}"),
    }
}

/// Installs what is missing.
pub(crate) fn install() -> Result<()> {
    debian::install()?;
    let target = workspace::target_dir()?;
    python::install(&target)?;
    node::install(&target)?;
    cargo::install(&target)
}

/// The list for a person; `None` when nothing is missing.
fn report(missing: &[Missing]) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    let mut text = String::from("the tests need what is not installed here:\n");
    for Missing { what, remedy } in missing {
        text.push_str(&format!("  {what}\n      {remedy}\n"));
    }
    text.push_str("`cargo xtask test --install` installs all of it");
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_thing_is_named_with_its_remedy() {
        assert_eq!(report(&[]), None);
        let missing = [
            Missing { what: "vim (edits a file in a session)".into(), remedy: "apt-get install vim".into() },
            Missing { what: "the Python client".into(), remedy: "python3 -m venv".into() },
        ];
        assert_eq!(
            report(&missing).as_deref(),
            Some(
                "the tests need what is not installed here:\n  \
                 vim (edits a file in a session)\n      apt-get install vim\n  \
                 the Python client\n      python3 -m venv\n\
                 `cargo xtask test --install` installs all of it"
            )
        );
    }
}
