//! Finds the name that somebody probably meant.

/// The candidate that differs least from the name, and little enough to be what was meant: a part of it or the whole
/// with something around it, or different in at most a third of its characters. A wrong hint is worse than none.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Nobody mistypes a longer name, and the comparison takes time with its square.
    const MAX: usize = 64;
    let name: String = name.chars().take(MAX).collect();
    // Half of a name is a likelier slip than any other three letters: `token` means `client_token`.
    let distance = |candidate: &str| {
        let part = candidate.contains(name.as_str()) || name.contains(candidate);
        (!(part && name.len() > 2), strsim::damerau_levenshtein(&name, candidate))
    };
    let nearest = candidates.min_by_key(|candidate| distance(candidate))?;
    let (is_no_part, differing) = distance(nearest);
    let longer = nearest.chars().count().max(name.chars().count());
    (!is_no_part || differing * 3 <= longer).then_some(nearest)
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
            ("crusor", "cursor"),
            ("maxBytes", "max_bytes"),
        ] {
            assert_eq!(nearest(slip, names.into_iter()), Some(meant), "{slip}");
        }
    }

    #[test]
    fn what_is_like_nothing_finds_nothing() {
        let names = ["session_id", "client_token", "cursor", "wait_ms"];
        for name in ["", "x", "timeout", "timeout_ms", "kill", "session_output_lines", &"z".repeat(1_000_000)] {
            assert_eq!(nearest(name, names.into_iter()), None, "{name}");
        }
        assert_eq!(nearest("x", std::iter::empty()), None);
    }
}
