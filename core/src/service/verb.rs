//! The verbs as data: one word for each method of the inbound port, to permit it by and to name it.

use std::fmt;
use std::str::FromStr;

/// Declares the verbs from one table: what each is, its word, and whether it only reads.
macro_rules! verbs {
    ($($(#[$doc:meta])* $verb:ident = $word:literal, $effect:ident;)*) => {
        /// A method of [`Service`](super::Service).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Verb {
            $($(#[$doc])* $verb,)*
        }

        impl Verb {
            /// Every verb, in the order of the port.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$verb),*];

            /// The word for it: the name of the method.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$verb => $word,)*
                }
            }

            /// Whether it leaves everything as it is: nothing is started, steered, ended, connected or forgotten.
            pub const fn is_read_only(self) -> bool {
                match self {
                    $(Self::$verb => verbs!(@ $effect),)*
                }
            }
        }
    };
    (@ reads) => { true };
    (@ acts) => { false };
}

verbs! {
    /// [`list_targets`](super::Service::list_targets)
    ListTargets = "list_targets", reads;
    /// [`execute_command`](super::Service::execute_command)
    ExecuteCommand = "execute_command", acts;
    /// [`start_session`](super::Service::start_session)
    StartSession = "start_session", acts;
    /// [`read_session`](super::Service::read_session)
    ReadSession = "read_session", reads;
    /// [`write_session`](super::Service::write_session)
    WriteSession = "write_session", acts;
    /// [`control_session`](super::Service::control_session)
    ControlSession = "control_session", acts;
    /// [`stop_session`](super::Service::stop_session)
    StopSession = "stop_session", acts;
    /// [`list_sessions`](super::Service::list_sessions)
    ListSessions = "list_sessions", reads;
    /// [`list_hosts`](super::Service::list_hosts)
    ListHosts = "list_hosts", reads;
    /// [`connect_host`](super::Service::connect_host)
    ConnectHost = "connect_host", acts;
    /// [`list_connections`](super::Service::list_connections)
    ListConnections = "list_connections", reads;
    /// [`disconnect_host`](super::Service::disconnect_host)
    DisconnectHost = "disconnect_host", acts;
    /// [`run_command`](super::Service::run_command)
    RunCommand = "run_command", acts;
    /// [`check_command`](super::Service::check_command)
    CheckCommand = "check_command", reads;
    /// [`read_command`](super::Service::read_command)
    ReadCommand = "read_command", reads;
    /// [`read_command_output`](super::Service::read_command_output)
    ReadCommandOutput = "read_command_output", reads;
    /// [`kill_command`](super::Service::kill_command)
    KillCommand = "kill_command", acts;
    /// [`list_commands`](super::Service::list_commands)
    ListCommands = "list_commands", reads;
    /// [`clear_commands`](super::Service::clear_commands)
    ClearCommands = "clear_commands", acts;
    /// [`list_platforms`](super::Service::list_platforms)
    ListPlatforms = "list_platforms", reads;
    /// [`list_agent_sessions`](super::Service::list_agent_sessions)
    ListAgentSessions = "list_agent_sessions", reads;
    /// [`describe_agent_session`](super::Service::describe_agent_session)
    DescribeAgentSession = "describe_agent_session", reads;
    /// [`agent_token_usage`](super::Service::agent_token_usage)
    AgentTokenUsage = "agent_token_usage", reads;
    /// [`list_agents`](super::Service::list_agents)
    ListAgents = "list_agents", reads;
    /// [`start_agent`](super::Service::start_agent)
    StartAgent = "start_agent", acts;
    /// [`control_agent_session`](super::Service::control_agent_session)
    ControlAgentSession = "control_agent_session", acts;
    /// [`describe_manual_task`](super::Service::describe_manual_task)
    DescribeManualTask = "describe_manual_task", reads;
    /// [`complete_manual_task`](super::Service::complete_manual_task)
    CompleteManualTask = "complete_manual_task", acts;
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is no verb's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoVerb;

impl FromStr for Verb {
    type Err = NoVerb;

    fn from_str(word: &str) -> Result<Self, NoVerb> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == word).ok_or(NoVerb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_of_one_verb() {
        for verb in Verb::ALL {
            assert_eq!(verb.as_str().parse(), Ok(verb));
        }
        for word in ["", "read", "ReadSession", "read_session "] {
            assert_eq!(word.parse::<Verb>(), Err(NoVerb), "{word:?}");
        }
    }
}
