//! The patterns of OpenSSH: `*` is anything, `?` is one character.

/// Whether a text matches a pattern, letter for letter. Takes at most the product of both lengths.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut in_text) = (0, 0);
    // Going back to the latest `*` alone is enough: what an earlier one could take, this one can too.
    let mut star: Option<(usize, usize)> = None;
    while let Some(char) = text.get(in_text) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_text));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || wanted == char => {
                at += 1;
                in_text += 1;
            }
            _ => {
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                at = place + 1;
                in_text = taken + 1;
            }
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|char| *char == '*'))
}

/// Whether a list of patterns names a text: one of them does, and none with a `!` in front.
pub(crate) fn list<'a>(patterns: impl IntoIterator<Item = &'a str>, text: &str) -> bool {
    let mut found = false;
    for pattern in patterns {
        match pattern.strip_prefix('!') {
            Some(pattern) if matches(pattern, text) => return false,
            Some(_) => {}
            None => found |= matches(pattern, text),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_the_whole_text() {
        for pattern in ["a.b", "*", "a.*", "*.b", "?.b", "a?b", "*a*b*", "**"] {
            assert!(matches(pattern, "a.b"), "{pattern}");
        }
        for pattern in ["", "a", "a.b.c", "?.?.?", "a.b?", "*b*c", "A.B"] {
            assert!(!matches(pattern, "a.b"), "{pattern}");
        }
    }

    #[test]
    fn one_negated_pattern_is_enough_to_leave_a_text_out() {
        assert!(list(["x", "*", "!c"], "a"));
        assert!(!list(["a", "!*"], "a"));
        assert!(!list(["!b"], "a"));
    }

    #[test]
    fn many_stars_take_no_time() {
        assert!(!matches(&"*a".repeat(500), &"a".repeat(499)));
        assert!(matches(&"*a".repeat(500), &"a".repeat(5000)));
    }
}
