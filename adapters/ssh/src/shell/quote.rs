//! Text in shell scripts: quoted for `sh`, or escaped so that any login shell hands it on unchanged.

/// A word for `sh`, which reads it back as exactly this text.
pub(crate) fn word(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for piece in text.split_inclusive('\'') {
        match piece.strip_suffix('\'') {
            Some(before) => {
                quoted.push_str(before);
                quoted.push_str("'\\''");
            }
            None => quoted.push_str(piece),
        }
    }
    quoted.push('\'');
    quoted
}

/// A script as one line of printable ASCII that `sh` evaluates to the same effect.
pub(crate) fn one_line(script: &str) -> String {
    if script.bytes().all(|byte| (b' '..=b'~').contains(&byte)) { script.to_owned() } else { evaluated(script) }
}

/// A script as one line in which no character means anything to a shell inside single quotes: no quote, newline or
/// exclamation mark, and each backslash before a digit.
///
/// `printf %b` is POSIX and a builtin of every `sh` that is met, so nothing of it stands in an argument list.
pub(crate) fn evaluated(script: &str) -> String {
    format!("eval \"$(printf %b \"{}\")\"", escaped(script))
}

/// Octal escapes for all but what is plain between double and single quotes alike.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte {
            b'"' | b'\'' | b'\\' | b'$' | b'`' | b'!' | b'^' => octal(&mut escaped, byte),
            b' '..=b'~' => escaped.push(char::from(byte)),
            _ => octal(&mut escaped, byte),
        }
    }
    escaped
}

/// Three digits always, so that a digit behind it is not taken for one of them.
fn octal(text: &mut String, byte: u8) {
    text.push_str("\\0");
    for shift in [6, 3, 0] {
        text.push(char::from(b'0' + (byte >> shift & 7)));
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const TEXTS: &[&str] = &[
        "plain",
        "it's",
        "''",
        "a\nb\n\n",
        "\\n \\0101 \\c $HOME `id` \"x\" !! ^a^b %s %b",
        "tab\tand \u{1} and \u{7f} and \u{1b}[31m",
        "zażółć 漢字 āā \u{2028} 😀",
        "ends with a backslash \\",
        "-e -n -- #~*?[]{}<>|&;()",
    ];

    fn output(shell: &str, script: &str) -> String {
        let output = Command::new(shell).args(["-c", script]).output().unwrap();
        assert!(output.status.success(), "{shell}: {script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn a_word_is_read_back_as_itself() {
        for shell in ["sh", "dash", "bash"] {
            for text in TEXTS {
                assert_eq!(output(shell, &format!("printf %s {}", word(text))), *text, "{shell}");
            }
        }
    }

    #[test]
    fn any_login_shell_hands_a_script_on_unchanged() {
        for shell in ["sh", "dash", "bash", "zsh", "fish", "tcsh"] {
            for text in TEXTS {
                let script = evaluated(&format!("printf %s {}", word(text)));
                assert_eq!(output(shell, &format!("exec sh -c '{script}'")), *text, "{shell}");
            }
        }
    }

    #[test]
    fn what_is_one_plain_line_stays_as_it_is() {
        assert_eq!(one_line("exec sh -c 'a!'"), "exec sh -c 'a!'");
        assert_eq!(one_line("a\n"), "eval \"$(printf %b \"a\\0012\")\"");
        assert_eq!(one_line("é"), "eval \"$(printf %b \"\\0303\\0251\")\"");
    }
}
