//! How a process ended: what the adapter saw, and why it came to it, as the registry knows.

use std::time::Duration;

/// How the process ended, as its adapter saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal; its name without `SIG`.
    Signaled(String),
    /// It could not be run or its target failed; why.
    Failed(String),
    /// Its target says that it was cancelled, by whomever.
    Canceled,
    /// Nobody can know: the connection or the adapter was lost; how.
    Lost(String),
}

/// Why the process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nobody had a hand in it.
    Own,
    /// Its time limit was enforced.
    TimeLimit {
        /// The limit.
        limit: Duration,
        /// Whether the target confirmed that everything is gone.
        confirmed: bool,
    },
    /// A caller stopped it.
    Stop {
        /// Whether the target confirmed that everything is gone.
        confirmed: bool,
    },
    /// The server ended.
    Shutdown {
        /// Whether the target confirmed that everything is gone.
        confirmed: bool,
    },
}

/// The end of a process: the last item of its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// How.
    pub exit: Exit,
    /// Why.
    pub cause: Cause,
}

impl End {
    /// The process's own exit code; -1 when it has none (SR53).
    pub fn exit_code(&self) -> i32 {
        match self.exit {
            Exit::Exited(code) => code,
            Exit::Signaled(_) | Exit::Failed(_) | Exit::Canceled | Exit::Lost(_) => -1,
        }
    }

    /// Whether the target enforced the time limit (SR54).
    pub fn timed_out(&self) -> bool {
        !self.lost() && matches!(self.cause, Cause::TimeLimit { confirmed: true, .. })
    }

    /// Whether the target confirmed a stop that a caller or the server's end asked for (SR54), or says of itself that
    /// it was cancelled (DF02), which a time limit asks for too.
    pub fn canceled(&self) -> bool {
        let stopped = matches!(self.cause, Cause::Stop { confirmed: true } | Cause::Shutdown { confirmed: true });
        self.exit == Exit::Canceled && !self.timed_out() || stopped && !self.lost()
    }

    /// Whether nobody can know how it ended.
    pub fn lost(&self) -> bool {
        matches!(self.exit, Exit::Lost(_))
    }

    /// What there is to say about it; `None` for a clean end (SR55).
    pub fn error(&self) -> Option<String> {
        let how = match &self.exit {
            Exit::Exited(_) | Exit::Canceled => None,
            Exit::Signaled(name) => Some(format!("ended by signal {name}")),
            Exit::Failed(why) => Some(why.clone()),
            Exit::Lost(how) => Some(format!("lost: {how}")),
        };
        let why = match &self.cause {
            Cause::Own | Cause::Stop { confirmed: true } => None,
            Cause::TimeLimit { limit, confirmed: true } => {
                Some(format!("its time limit of {} ms was reached", limit.as_millis()))
            }
            Cause::TimeLimit { limit, confirmed: false } => Some(format!(
                "its time limit of {} ms was reached, but it is not certain that everything it started is gone",
                limit.as_millis()
            )),
            Cause::Stop { confirmed: false } => {
                Some("it was stopped, but it is not certain that everything it started is gone".to_owned())
            }
            Cause::Shutdown { .. } => Some("the server ended".to_owned()),
        };
        match (how, why) {
            (Some(how), Some(why)) => Some(format!("{how}: {why}")),
            (how, why) => how.or(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(exit: Exit, cause: Cause) -> (i32, bool, bool, Option<String>) {
        let end = End { exit, cause };
        (end.exit_code(), end.timed_out(), end.canceled(), end.error())
    }

    #[test]
    fn only_what_the_target_confirmed_counts() {
        let limit = Duration::from_millis(500);
        assert_eq!(end(Exit::Exited(0), Cause::Own), (0, false, false, None));
        assert_eq!(end(Exit::Exited(3), Cause::Stop { confirmed: true }), (3, false, true, None));
        assert_eq!(
            end(Exit::Signaled("TERM".into()), Cause::Stop { confirmed: true }),
            (-1, false, true, Some("ended by signal TERM".into()))
        );
        assert_eq!(
            end(Exit::Signaled("KILL".into()), Cause::TimeLimit { limit, confirmed: true }),
            (-1, true, false, Some("ended by signal KILL: its time limit of 500 ms was reached".into()))
        );
        assert!(!end(Exit::Exited(0), Cause::TimeLimit { limit, confirmed: false }).1);
        assert!(!end(Exit::Exited(0), Cause::Stop { confirmed: false }).2);
        assert_eq!(end(Exit::Canceled, Cause::Own), (-1, false, true, None));
        assert_eq!(end(Exit::Canceled, Cause::Stop { confirmed: true }), (-1, false, true, None));
        let late = "its time limit of 500 ms was reached".to_owned();
        assert_eq!(end(Exit::Canceled, Cause::TimeLimit { limit, confirmed: true }), (-1, true, false, Some(late)));
        let lost = end(Exit::Lost("the connection broke".into()), Cause::Stop { confirmed: true });
        assert_eq!(lost, (-1, false, false, Some("lost: the connection broke".into())));
    }
}
