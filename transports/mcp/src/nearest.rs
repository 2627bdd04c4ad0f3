//! Finds the name that somebody probably meant.

/// The candidate that differs least from the name; `None` when there is no candidate.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Nobody mistypes a longer name, and the comparison takes time with its square.
    const MAX: usize = 64;
    let name: String = name.chars().take(MAX).collect();
    // Half of a name is a likelier slip than any other three letters: `token` means `client_token`.
    let distance = |candidate: &str| {
        let part = candidate.contains(name.as_str()) || name.contains(candidate);
        (!(part && name.len() > 2), strsim::damerau_levenshtein(&name, candidate))
    };
    candidates.min_by_key(|candidate| distance(candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_what_was_meant() {
        let names = ["session_id", "client_token", "cursor", "wait_ms", "until", "max_bytes"];
        for (slip, meant) in [
            ("sesion_id", "session_id"),
            ("sessionId", "session_id"),
            ("token", "client_token"),
            ("wait", "wait_ms"),
            ("timeout_ms", "wait_ms"),
            ("crusor", "cursor"),
            ("maxBytes", "max_bytes"),
        ] {
            assert_eq!(nearest(slip, names.into_iter()), Some(meant), "{slip}");
        }
        assert_eq!(nearest("x", std::iter::empty()), None);
    }
}
