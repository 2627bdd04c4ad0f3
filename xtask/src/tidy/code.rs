//! The words of a Rust file: its comments, strings and character literals become spaces, its lines stay.
//!
//! Rules about code look at this, so that a message or a test that mentions a word does not break the rule about it.

/// Blanks everything that is not code. Line breaks are kept, so line numbers stay.
pub(super) fn strip(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = literal(rest, out.chars().next_back());
        if length == 0 {
            out.push(first);
            rest = rest.split_at(first.len_utf8()).1;
            continue;
        }
        let (gone, later) = rest.split_at(length);
        out.extend(gone.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = later;
    }
    out
}

/// The length in bytes of the comment or literal that `text` begins with; 0 when it begins with code.
fn literal(text: &str, before: Option<char>) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment(text);
    }
    if text.starts_with('"') {
        return quoted(text, '"');
    }
    // `r` and `br` open a raw string only where no longer word ends with them.
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if !in_word && let Some(length) = raw_string(text) {
        return length;
    }
    if text.starts_with('\'') { character(text) } else { 0 }
}

/// Block comments nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0usize);
    loop {
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else if let Some(c) = rest.chars().next() {
            at += c.len_utf8();
        } else {
            return text.len();
        }
    }
}

/// A literal with escapes, from its opening quote to its closing one.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn raw_string(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r"].into_iter().find(|prefix| text.starts_with(prefix))?;
    let rest = text.strip_prefix(prefix)?;
    let opened = rest.trim_start_matches('#');
    let hashes = rest.len() - opened.len();
    let body = opened.strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = body.find(&close).map_or(body.len(), |at| at + close.len());
    Some(prefix.len() + hashes + 1 + end)
}

/// A character literal, or 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => quoted(text, '\''),
        (Some(c), Some('\'')) => c.len_utf8() + 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_become_spaces() {
        assert_eq!(strip("a // b\nc"), "a     \nc");
        assert_eq!(strip("a /* b /* c */ d */ e"), format!("a {} e", " ".repeat(17)));
        assert_eq!(strip(r#"f("x\"y", 'z', '\'', b'q')"#), "f(      ,    ,     , b   )");
        assert_eq!(strip("r#\"a\"b\"# c"), "         c");
        assert_eq!(strip("\"a\nb\" c"), "  \n   c");
    }

    #[test]
    fn code_stays_as_it_is() {
        for code in
            ["fn f<'a>(x: &'a str) -> &'a str { x }", "for r in 0..9 {}", "let bar = r#type;", "'label: loop {}"]
        {
            assert_eq!(strip(code), code);
        }
    }

    #[test]
    fn what_is_never_closed_ends_with_the_file() {
        assert_eq!(strip("a /* b"), "a     ");
        assert_eq!(strip("a \"b"), "a   ");
        assert_eq!(strip("r\"b"), "   ");
    }
}
