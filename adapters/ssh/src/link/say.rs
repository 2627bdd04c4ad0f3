//! What a host or a program says, as it may stand in a message of ours.

/// The last `max` characters of what was said, on one line, with nothing in it that would steer a terminal.
pub(crate) fn line(said: &str, max: usize) -> String {
    let words: Vec<String> = said.split_whitespace().map(escaped).collect();
    let line = words.join(" ");
    let excess = line.chars().count().saturating_sub(max);
    line.chars().skip(excess).collect()
}

fn escaped(word: &str) -> String {
    word.chars().fold(String::with_capacity(word.len()), |mut shown, char| {
        match char {
            '\'' | '"' | '\\' => shown.push(char),
            other => shown.extend(other.escape_debug()),
        }
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn what_was_said_becomes_one_harmless_line() {
        assert_eq!(line("", 10), "");
        assert_eq!(line("  it's\r\n\tdown \"now\"\n", 40), "it's down \"now\"");
        assert_eq!(line("a\u{1b}[2Jb\0\u{202e}", 40), "a\\u{1b}[2Jb\\0\\u{202e}");
        assert_eq!(line("first and last words", 10), "last words");
    }
}
