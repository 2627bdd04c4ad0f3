//! One line of an OpenSSH client configuration, taken apart as OpenSSH does it (`readconf.c`, `argv_split`).

/// A line that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// The keyword, in lower case.
    pub(super) keyword: String,
    /// What follows it, word for word; `None` where a quote is left open.
    pub(super) words: Option<Vec<String>>,
    /// What follows it, as it stands: for commands.
    pub(super) rest: String,
    /// The line's number, from 1.
    pub(super) line: usize,
}

impl Statement {
    /// Takes a line apart; `None` for comments and empty lines.
    pub(super) fn parse(text: &str, line: usize) -> Option<Self> {
        let text = text.trim_matches([' ', '\t', '\r', '\n', '\u{c}']);
        if text.is_empty() || text.starts_with('#') {
            return None;
        }
        let end = text.find([' ', '\t', '=', '"']).unwrap_or(text.len());
        let (keyword, rest) = text.split_at(end);
        let rest = rest.trim_start_matches([' ', '\t']);
        // One equals sign may stand between the two.
        let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start_matches([' ', '\t']);
        Some(Self { keyword: keyword.to_ascii_lowercase(), words: words(rest), rest: rest.to_owned(), line })
    }

    /// The words, where there are any.
    pub(super) fn words(&self) -> Result<&[String], String> {
        match self.words.as_deref() {
            None => Err("a quote is left open".to_owned()),
            Some([]) => Err(format!("nothing follows {}", self.keyword)),
            Some(words) => Ok(words),
        }
    }

    /// The first word, where there is one.
    pub(super) fn word(&self) -> Result<&str, String> {
        self.words()?.first().map(String::as_str).ok_or_else(String::new)
    }
}

/// Splits at blanks outside of quotes, up to a comment; `None` where a quote is left open.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|char| matches!(char, ' ' | '\t')).is_some() {}
        match chars.peek() {
            None | Some('#') => return Some(words),
            Some(_) => words.push(word(&mut chars)?),
        }
    }
}

fn word(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut word = String::new();
    let mut quote = None;
    while let Some(char) = chars.next_if(|char| quote.is_some() || !matches!(char, ' ' | '\t')) {
        match (char, quote) {
            ('\\', _) => {
                let escaped = |next: &char| matches!(next, '\'' | '"' | '\\') || (quote.is_none() && *next == ' ');
                word.push(chars.next_if(escaped).unwrap_or('\\'));
            }
            ('"' | '\'', None) => quote = Some(char),
            (_, Some(open)) if char == open => quote = None,
            _ => word.push(char),
        }
    }
    quote.is_none().then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Option<Vec<String>>, String) {
        let statement = Statement::parse(text, 1).unwrap();
        (statement.keyword, statement.words, statement.rest)
    }

    fn expected(keyword: &str, words: &[&str], rest: &str) -> (String, Option<Vec<String>>, String) {
        (keyword.to_owned(), Some(words.iter().map(|word| (*word).to_owned()).collect()), rest.to_owned())
    }

    #[test]
    fn a_statement_is_a_keyword_and_words() {
        assert_eq!(parsed("Host a b"), expected("host", &["a", "b"], "a b"));
        assert_eq!(parsed("\t HostName=x\r"), expected("hostname", &["x"], "x"));
        assert_eq!(parsed("Port = 22"), expected("port", &["22"], "22"));
        assert_eq!(parsed("Host\"a b\" c"), expected("host", &["a b", "c"], "\"a b\" c"));
        assert_eq!(parsed("User a # b"), expected("user", &["a"], "a # b"));
        assert_eq!(parsed("User a#b"), expected("user", &["a#b"], "a#b"));
        assert_eq!(parsed("User"), expected("user", &[], ""));
    }

    #[test]
    fn quotes_and_backslashes_keep_blanks() {
        assert_eq!(
            parsed(r#"X "a b"c 'd "e' f\ g h\i "j\"k""#).1,
            expected("", &["a bc", "d \"e", "f g", "h\\i", "j\"k"], "").1
        );
        assert_eq!(parsed("X ''").1, expected("", &[""], "").1);
        assert_eq!(parsed("X 'a").1, None);
    }

    #[test]
    fn comments_and_empty_lines_say_nothing() {
        for text in ["", "  ", "# a", "\t#", "\r"] {
            assert_eq!(Statement::parse(text, 1), None, "{text:?}");
        }
    }
}
