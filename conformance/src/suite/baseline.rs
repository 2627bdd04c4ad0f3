//! Known gaps: rows that do not hold yet, each with its reason. Strict both ways.

use super::house::{BackendKind, TransportKind};

/// The known gaps as they stand in the project.
const TEXT: &str = include_str!("../../baseline.txt");

/// One known gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The requirement's id, or `*`.
    pub id: String,
    /// The backend's name, or `*`.
    pub backend: String,
    /// The transport's name, or `*`.
    pub transport: String,
    /// Why it does not hold yet.
    pub why: String,
}

/// Reads the known gaps.
///
/// # Errors
/// A line that is none, or one that is stale: both its backend and its transport exist.
pub fn gaps() -> Result<Vec<Gap>, String> {
    parse(TEXT)
}

fn parse(text: &str) -> Result<Vec<Gap>, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(gap).collect()
}

fn gap(line: &str) -> Result<Gap, String> {
    let mut words = line.splitn(4, ' ').map(str::to_owned);
    let (Some(id), Some(backend), Some(transport), Some(why)) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(format!("the baseline has the line {line:?}: it must be REQUIREMENT BACKEND TRANSPORT why"));
    };
    let backend_exists = backend == "*" || BackendKind::ALL.iter().any(|kind| kind.as_str() == backend);
    let transport_exists = transport == "*" || TransportKind::ALL.iter().any(|kind| kind.as_str() == transport);
    if backend_exists && transport_exists {
        return Err(format!("the baseline is stale: {line:?} is about what exists, so it must hold or fail by itself"));
    }
    Ok(Gap { id, backend, transport, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_baseline_of_the_project_is_in_order() {
        assert!(gaps().is_ok());
    }

    #[test]
    fn a_gap_of_what_exists_is_stale() {
        for line in ["SR20 pty stdio later", "* * stdio later", "SR20 fake * later"] {
            assert!(parse(line).unwrap_err().contains("stale"), "{line}");
        }
        assert!(parse("SR20 pty").unwrap_err().contains("must be"));
        assert_eq!(parse("# nothing\n\n* elsewhere * later on").unwrap()[0].why, "later on");
    }
}
