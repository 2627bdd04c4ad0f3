//! Which request is for what, and what it is answered.

mod agents;
mod login;
mod sessions;
mod tasks;

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::answer::Answer;
use crate::world::World;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// Any route: a fault on it is one on each that has none of its own.
    Any,
    /// `POST /login`.
    Login,
    /// `POST /oauth/token`.
    Token,
    /// `GET /whoami`.
    Whoami,
    /// `GET /agent-session-manager/sessions`.
    Sessions,
    /// `POST /agent-session-manager/sessions`.
    Start,
    /// `GET /agent-session-manager/sessions/{id}`.
    Session,
    /// `POST /agent-session-manager/sessions/{id}`.
    Control,
    /// `DELETE /agent-session-manager/sessions/{id}`.
    Delete,
    /// `GET /agent-session-manager/sessions/{id}/messages`.
    Messages,
    /// `GET /agent-session-manager/sessions/{id}/messages/{event}`.
    Message,
    /// `GET /operations-manager/automations`.
    Automations,
    /// `GET /operations-manager/triggers`.
    Triggers,
    /// `POST /operations-manager/triggers/endpoint/{route}`.
    Trigger,
    /// `GET /agent-project-service/operable-agents`.
    Operable,
    /// `GET /work-center-service/work-items`.
    Items,
    /// `GET /work-center-service/work-items/{id}`.
    Item,
    /// `GET /work-center-service/work-items/{id}/variables/incoming`.
    Incoming,
    /// `PATCH /work-center-service/work-items/{id}/complete`.
    Complete,
    /// Anything else. It is answered 404.
    Nothing,
}

/// A request, taken apart.
pub(crate) struct Asked<'a> {
    pub(crate) route: Route,
    /// The segment that names the thing asked for, decoded.
    pub(crate) id: String,
    /// The second such segment.
    pub(crate) second: String,
    pub(crate) query: &'a str,
    pub(crate) body: &'a [u8],
}

impl<'a> Asked<'a> {
    /// Takes a request apart. Only here is anything of a path decoded, and each segment for itself.
    pub(crate) fn new(method: &str, path: &str, query: &'a str, body: &'a [u8]) -> Self {
        let segments: Vec<Cow<'_, str>> = path
            .trim_start_matches('/')
            .split('/')
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy())
            .collect();
        let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        let (route, id, second) = find(method, &segments);
        Self { route, id: id.to_owned(), second: second.to_owned(), query, body }
    }

    /// A value of the query, decoded.
    pub(crate) fn value(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    /// A number of the query.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.value(name)?.parse().ok()
    }

    /// The body as JSON; null when it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(self.body).unwrap_or_default()
    }
}

/// The route of a path, and up to two segments that name things.
fn find<'a>(method: &str, segments: &[&'a str]) -> (Route, &'a str, &'a str) {
    let (route, id, second) = match (method, segments) {
        ("POST", ["login"]) => (Route::Login, "", ""),
        ("POST", ["oauth", "token"]) => (Route::Token, "", ""),
        ("GET", ["whoami"]) => (Route::Whoami, "", ""),
        ("GET", ["agent-session-manager", "sessions"]) => (Route::Sessions, "", ""),
        ("POST", ["agent-session-manager", "sessions"]) => (Route::Start, "", ""),
        ("GET", ["agent-session-manager", "sessions", id]) => (Route::Session, *id, ""),
        ("POST", ["agent-session-manager", "sessions", id]) => (Route::Control, *id, ""),
        ("DELETE", ["agent-session-manager", "sessions", id]) => (Route::Delete, *id, ""),
        ("GET", ["agent-session-manager", "sessions", id, "messages"]) => (Route::Messages, *id, ""),
        ("GET", ["agent-session-manager", "sessions", id, "messages", event]) => (Route::Message, *id, *event),
        ("GET", ["operations-manager", "automations"]) => (Route::Automations, "", ""),
        ("GET", ["operations-manager", "triggers"]) => (Route::Triggers, "", ""),
        ("POST", ["operations-manager", "triggers", "endpoint", route]) => (Route::Trigger, *route, ""),
        ("GET", ["agent-project-service", "operable-agents"]) => (Route::Operable, "", ""),
        ("GET", ["work-center-service", "work-items"]) => (Route::Items, "", ""),
        ("GET", ["work-center-service", "work-items", id]) => (Route::Item, *id, ""),
        ("GET", ["work-center-service", "work-items", id, "variables", "incoming"]) => (Route::Incoming, *id, ""),
        ("PATCH", ["work-center-service", "work-items", id, "complete"]) => (Route::Complete, *id, ""),
        _ => (Route::Nothing, "", ""),
    };
    (route, id, second)
}

/// The right answer, for whoever may have one.
pub(crate) fn answer(world: &mut World, asked: &Asked<'_>) -> Answer {
    match asked.route {
        Route::Login => login::log_in(world, asked),
        Route::Token => login::token(world, asked),
        Route::Whoami => login::whoami(),
        Route::Sessions => sessions::list(world, asked),
        Route::Start => sessions::start(world, asked),
        Route::Session => sessions::one(world, asked),
        Route::Control => sessions::control(world, asked),
        Route::Delete => sessions::delete(world, asked),
        Route::Messages => sessions::messages(world, asked),
        Route::Message => sessions::message(world, asked),
        Route::Automations => agents::automations(world, asked),
        Route::Triggers => agents::triggers(world, asked),
        Route::Trigger => agents::trigger(world, asked),
        Route::Operable => agents::operable(world),
        Route::Items => tasks::list(world, asked),
        Route::Item => tasks::one(world, asked),
        Route::Incoming => tasks::incoming(world, asked),
        Route::Complete => tasks::complete(world, asked),
        Route::Any | Route::Nothing => Answer::failure(404),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_decoded_by_itself() {
        let asked = |method: &str, path: &str| {
            let asked = Asked::new(method, path, "", b"");
            (asked.route, asked.id)
        };
        let sessions = "/agent-session-manager/sessions";
        assert_eq!(asked("GET", sessions), (Route::Sessions, String::new()));
        assert_eq!(asked("GET", &format!("{sessions}/a%2Fb%20c")), (Route::Session, "a/b c".to_owned()));
        assert_eq!(asked("GET", &format!("{sessions}/a/b")), (Route::Nothing, String::new()));
        assert_eq!(asked("GET", &format!("{sessions}/x/messages")), (Route::Messages, "x".to_owned()));
        assert_eq!(asked("POST", "/whoami"), (Route::Nothing, String::new()));
    }
}
