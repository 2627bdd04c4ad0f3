//! What a host asks in keyboard-interactive authentication (RFC 4256), and what a configured password answers.

use russh::client::Prompt;

/// What to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Nothing is asked.
    Nothing,
    /// The password.
    Password,
    /// Nothing that is configured answers this; the question.
    Unknown(String),
}

/// What answers a host's questions. `only_way` says that it takes the password in no other way: then any one question
/// whose answer is not to be seen is taken for it, whatever language it is in.
pub(crate) fn answer(prompts: &[Prompt], only_way: bool) -> Answer {
    match prompts {
        [] => Answer::Nothing,
        [one] if !one.echo && (only_way || asks_for_password(&one.prompt)) => Answer::Password,
        [first, ..] => Answer::Unknown(crate::link::say::line(&first.prompt, 60)),
    }
}

fn asks_for_password(prompt: &str) -> bool {
    prompt.to_lowercase().contains("password")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompts(all: &[(&str, bool)]) -> Vec<Prompt> {
        all.iter().map(|(prompt, echo)| Prompt { prompt: (*prompt).into(), echo: *echo }).collect()
    }

    #[test]
    fn a_password_answers_only_what_asks_for_it() {
        let ask = |all: &[(&str, bool)], only_way| answer(&prompts(all), only_way);
        assert_eq!(ask(&[], false), Answer::Nothing);
        assert_eq!(ask(&[("Password: ", false)], false), Answer::Password);
        assert_eq!(ask(&[("(alice@box) PASSWORD:", false)], false), Answer::Password);
        assert_eq!(ask(&[("Passwort: ", false)], false), Answer::Unknown("Passwort:".into()));
        assert_eq!(ask(&[("Passwort: ", false)], true), Answer::Password);
        assert_eq!(ask(&[("Verification code: ", false)], false), Answer::Unknown("Verification code:".into()));
    }

    #[test]
    fn a_password_is_never_shown_nor_given_twice() {
        assert_eq!(answer(&prompts(&[("Password: ", true)]), true), Answer::Unknown("Password:".into()));
        let both = prompts(&[("New password: ", false), ("Again: ", false)]);
        assert_eq!(answer(&both, true), Answer::Unknown("New password:".into()));
    }
}
