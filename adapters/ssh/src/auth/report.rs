//! What has been tried to log in, and the error when it was all in vain.

use russh::MethodSet;
use sessiond_core::{Error, shown};

use crate::route::Route;

/// How many keys a message names.
const NAMED: usize = 4;

/// What has been tried so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    keys: Vec<String>,
    methods: Vec<&'static str>,
    counted: Vec<&'static str>,
    refusals: usize,
    notes: Vec<String>,
}

impl Report {
    /// A key was offered.
    pub(crate) fn tried_key(&mut self, label: &str) {
        self.keys.push(label.to_owned());
    }

    /// A method was tried.
    pub(crate) fn tried(&mut self, method: &'static str) {
        self.methods.push(method);
    }

    /// The host accepted a method and wants another.
    pub(crate) fn counted(&mut self, method: &'static str) {
        self.counted.push(method);
    }

    /// The host refused an attempt.
    pub(crate) fn was_refused(&mut self) {
        self.refusals += 1;
    }

    /// Whether the host has accepted something already.
    pub(crate) fn has_counted(&self) -> bool {
        !self.counted.is_empty()
    }

    /// Something that explains a failure.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// The methods that let us in, the last one included.
    pub(crate) fn passed(&self, last: &str) -> String {
        let mut all = self.counted.clone();
        all.push(last);
        all.join(",")
    }

    /// Nothing is left to try.
    pub(crate) fn refused(&self, route: &Route, offered: &MethodSet, banner: &str) -> Error {
        let offers: Vec<&str> = offered.iter().map(<&str>::from).collect();
        let mut message = format!("{}; it still offers {}", self.begun(route), offers.join(", "));
        if !banner.is_empty() {
            message.push_str(&format!("; it says: {banner}"));
        }
        message.push_str(&format!("; {}", advice(route, &offers)));
        Error::permission_denied(message)
    }

    /// The connection has ended before its login.
    pub(crate) fn lost(&self, route: &Route, why: &str) -> Error {
        let (user, name) = (shown(&route.user), shown(&route.name));
        let lost = format!("the connection ended meanwhile ({why})");
        // A host that goes without having refused anything has other reasons to go.
        if self.refusals == 0 {
            return Error::unavailable(format!("{user} is not logged in to {name}: {lost}; try again"));
        }
        let advice = match self.keys.len() {
            0 | 1 => "try again later, or look into the host's log",
            _ => "if that was one key too many, name the right one (IdentityFile) and set IdentitiesOnly",
        };
        Error::permission_denied(format!("{}; {lost}; {advice}", self.begun(route)))
    }

    fn begun(&self, route: &Route) -> String {
        let (user, name) = (shown(&route.user), shown(&route.name));
        let mut tried = Vec::new();
        if !self.keys.is_empty() {
            tried.push(format!("publickey ({})", listed(&self.keys)));
        }
        tried.extend(self.methods.iter().map(|method| (*method).to_owned()));
        let mut message = format!("{name} does not let {user} in: ");
        match tried.is_empty() {
            true => message.push_str("there was nothing to try"),
            false => message.push_str(&format!("tried {}", tried.join(", "))),
        }
        if self.has_counted() {
            message.push_str(&format!("; it accepted {} and wants more", self.counted.join(", ")));
        }
        for note in &self.notes {
            message.push_str(&format!("; {note}"));
        }
        message
    }
}

fn listed(keys: &[String]) -> String {
    let named: Vec<&str> = keys.iter().take(NAMED).map(String::as_str).collect();
    match keys.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// What would help, of what the host offers.
fn advice(route: &Route, offers: &[&str]) -> String {
    let mut ways = Vec::new();
    if offers.contains(&"publickey") {
        ways.push(format!("put one of your public keys into {}'s authorized_keys on the host", shown(&route.user)));
        ways.push("name another key (IdentityFile, or the agent)".to_owned());
    }
    let takes_password = offers.contains(&"password") || offers.contains(&"keyboard-interactive");
    match (takes_password, &route.password) {
        (true, None) => ways.push("configure a password for this host".to_owned()),
        (true, Some(_)) => ways.push("correct the configured password".to_owned()),
        (false, _) => {}
    }
    match ways.is_empty() {
        true => "none of these can be used from here: allow publickey or password on the host".to_owned(),
        false => ways.join(", or "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_keys_is_cut() {
        let keys: Vec<String> = (1..=6).map(|n| format!("k{n}")).collect();
        assert_eq!(listed(&keys[..4]), "k1, k2, k3, k4");
        assert_eq!(listed(&keys), "k1, k2, k3, k4 and 2 more");
    }
}
