//! What somebody may reach and do, as an entry of the keys file says it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use sessiond_core::{Access, Owner, Permissions, TargetName, Verb};
use toml::de::{DeTable, DeValue};

use super::key::PREFIX;
use super::keys_file::{At, in_order};
use super::moment;
use crate::nearest;

/// The words for roles.
const ROLES: [&str; 2] = ["full", "read-only"];

/// The keys that every entry can have.
const COMMON: [&str; 5] = ["role", "target", "targets", "tools", "expires"];

/// The tools by their names on the wire, with the verbs that each needs.
const TOOLS: &[(&str, &[Verb])] = &[
    ("session_read", &[Verb::ReadSession]),
    ("session_start", &[Verb::StartSession]),
    ("session_write", &[Verb::WriteSession]),
    ("session_stop", &[Verb::StopSession]),
    ("session_list", &[Verb::ListSessions]),
    ("session_control", &[Verb::ControlSession]),
    ("list_clients", &[Verb::ListTargets]),
    ("ssh_host_list", &[Verb::ListHosts]),
    ("ssh_host_disconnect", &[Verb::DisconnectHost]),
    ("ssh_conn_connect", &[Verb::ConnectHost]),
    ("ssh_conn_status", &[Verb::ListConnections]),
    ("ssh_cmd_run", &[Verb::RunCommand]),
    ("ssh_cmd_check_status", &[Verb::CheckCommand]),
    ("ssh_cmd_output", &[Verb::ReadCommand]),
    ("ssh_cmd_kill", &[Verb::KillCommand]),
    ("ssh_cmd_history", &[Verb::ListCommands]),
    ("ssh_cmd_clear_history", &[Verb::ClearCommands]),
    ("get_sessions", &[Verb::ListAgentSessions]),
    ("describe_session", &[Verb::DescribeAgentSession]),
    ("describe_session_token_usage", &[Verb::AgentTokenUsage]),
    ("get_agents", &[Verb::ListAgents]),
    // Also the word of the verb behind `session_control`. The tool it is: who is to steer agents gets no hold of terminals.
    ("control_session", &[Verb::ControlAgentSession]),
];

/// What somebody may reach and do.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Grant {
    access: Access,
    permissions: Permissions,
}

impl Grant {
    /// The owner of this name, with this grant.
    pub(super) fn owner(&self, name: Arc<str>) -> Owner {
        Owner::new(name, self.access.clone()).with_permissions(self.permissions)
    }

    /// What an entry says. `None` when it has said what is wrong.
    pub(super) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let before = fields.problems.len();
        let access = access(fields);
        let permissions = permissions(fields);
        if fields.problems.len() > before {
            return None;
        }
        if access.is_none() && permissions.is_none() {
            fields.problems.push((
                None,
                " lets nobody do anything: add role = \"full\" or \"read-only\", target, targets or tools".to_owned(),
            ));
            return None;
        }
        let access = access.unwrap_or(Access::Management);
        Some(Self { access, permissions: permissions.unwrap_or(Permissions::ALL) })
    }
}

fn access(fields: &mut Fields<'_>) -> Option<Access> {
    let one = fields.text("target").map(str::to_owned);
    let several = fields.texts("targets");
    match (one, several) {
        (Some(_), Some(_)) => {
            fields.says("targets", "and target say the same: keep one of them");
            None
        }
        (Some(name), None) => fields.target("target", &name).map(Access::Target),
        (None, Some(names)) => {
            let names: Option<BTreeSet<_>> = names.iter().map(|name| fields.target("targets", name)).collect();
            names.map(|names| Access::Targets(Arc::new(names)))
        }
        (None, None) => None,
    }
}

fn permissions(fields: &mut Fields<'_>) -> Option<Permissions> {
    let role = fields.text("role").map(str::to_owned);
    let tools = fields.texts("tools");
    if role.is_some() && tools.is_some() {
        fields.says("tools", "and role say the same: keep one of them");
        return None;
    }
    match (role.as_deref(), tools) {
        (Some("full"), _) => Some(Permissions::ALL),
        (Some("read-only"), _) => Some(Permissions::read_only()),
        (Some(_), _) => {
            // Somebody may have put a key there.
            fields.says("role", &format!("must be one of {}", ROLES.join(", ")));
            None
        }
        (None, Some(words)) => {
            let verbs: Option<Vec<_>> = words.iter().map(|word| fields.verbs(word)).collect();
            verbs.map(|verbs| verbs.into_iter().flatten().collect())
        }
        (None, None) => None,
    }
}

/// The verbs that a word permits: a tool's name, or a verb's.
fn verbs(word: &str) -> Option<Vec<Verb>> {
    let tool = TOOLS.iter().find(|(name, _)| *name == word).map(|(_, verbs)| verbs.to_vec());
    tool.or_else(|| word.parse().ok().map(|verb| vec![verb]))
}

/// Every word that [`verbs`] takes.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name).chain(Verb::ALL.into_iter().map(Verb::as_str))
}

/// A word as a message has it. A long one may be a key in the wrong place.
pub(super) fn quoted(word: &str) -> String {
    /// Longer than any word that is known here, and shorter than a key.
    const LONGEST: usize = 32;
    if word.chars().count() > LONGEST || word.contains(PREFIX) {
        "a word".to_owned()
    } else {
        format!("\"{}\"", sessiond_core::shown(word))
    }
}

/// The fields of an entry, with what is wrong with them. A value is never quoted: it may be a key in the wrong place.
pub(super) struct Fields<'a> {
    fields: Vec<(At<'a>, &'a DeValue<'a>)>,
    known: Vec<&'static str>,
    /// What is wrong, to go after the entry's name, and where that stands.
    pub(super) problems: Vec<(Option<usize>, String)>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(table: &'a DeTable<'a>, own: &[&'static str]) -> Self {
        let known = own.iter().chain(&COMMON).copied().collect();
        Self { fields: in_order(table), known, problems: Vec::new() }
    }

    fn field(&self, name: &str) -> Option<(usize, &'a DeValue<'a>)> {
        self.fields.iter().find(|(at, _)| at.name == name).map(|(at, value)| (at.offset, *value))
    }

    fn says(&mut self, name: &str, message: &str) {
        let offset = self.field(name).map(|(offset, _)| offset);
        self.problems.push((offset, format!(".{name} {message}")));
    }

    /// One line of text.
    pub(super) fn text(&mut self, name: &str) -> Option<&'a str> {
        let (_, value) = self.field(name)?;
        let text = value.as_str().filter(|text| !text.is_empty() && !text.contains(char::is_control));
        if text.is_none() {
            self.says(name, "must be one line of text");
        }
        text
    }

    /// A list of texts with something in it.
    fn texts(&mut self, name: &str) -> Option<Vec<&'a str>> {
        let (_, value) = self.field(name)?;
        let list = match value {
            DeValue::Array(list) => list.iter().map(|item| item.get_ref().as_str()).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        let list = list.filter(|list| !list.is_empty());
        if list.is_none() {
            self.says(name, "must be a list of strings with something in it");
        }
        list
    }

    fn target(&mut self, field: &str, name: &str) -> Option<TargetName> {
        let target = TargetName::new(name);
        if let Err(error) = &target {
            self.says(field, &format!("holds what no target is called: {error}"));
        }
        target.ok()
    }

    fn verbs(&mut self, word: &str) -> Option<Vec<Verb>> {
        let verbs = verbs(word);
        if verbs.is_none() {
            self.says("tools", &format!("holds {}, which is no tool{}", quoted(word), nearest::told(word, words())));
        }
        verbs
    }

    /// A moment: a date, which is its first moment in UTC, or a date with a time and an offset.
    pub(super) fn moment(&mut self, name: &str) -> Option<SystemTime> {
        let (_, value) = self.field(name)?;
        let moment = match value {
            DeValue::Datetime(moment) => moment::of(moment),
            _ => None,
        };
        if moment.is_none() {
            self.says(name, "must be a date or a time with its offset: 2027-01-01, or 2027-01-01T12:00:00Z");
        }
        moment
    }

    /// Says which fields nobody knows.
    pub(super) fn finish(&mut self) {
        let unknown: Vec<_> = self
            .fields
            .iter()
            .filter(|(at, _)| !self.known.contains(&at.name))
            .map(|(at, _)| {
                let near = nearest::told(at.name, self.known.iter().copied());
                (Some(at.offset), format!(" has {}, which is not known{near}", quoted(at.name)))
            })
            .collect();
        self.problems.extend(unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_permits_the_verbs_of_the_tool_or_the_verb_itself() {
        assert_eq!(verbs("session_read"), Some(vec![Verb::ReadSession]));
        assert_eq!(verbs("read_session"), Some(vec![Verb::ReadSession]));
        assert_eq!(verbs("execute_command"), Some(vec![Verb::ExecuteCommand]));
        assert_eq!(verbs("session_reed"), None);
        assert!(words().all(|word| verbs(word).is_some()));
    }
}
