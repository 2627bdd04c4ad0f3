//! The agents of the platform.

use serde_json::{Value, json};

/// An agent that can be started. It does what its inputs say (see [`Script`](crate::Script)), and otherwise only what
/// the test says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The platform's id of it.
    pub id: String,
    /// The route of its endpoint trigger; without one it is started by its id only.
    pub route: Option<String>,
    /// The JSON Schema of its inputs.
    pub schema: Option<Value>,
    /// When it last ran, in milliseconds since 1970.
    pub last_executed: Option<u64>,
}

impl Agent {
    /// An agent with an endpoint trigger of its name.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            id: format!("agent-{}", name.replace(' ', "-")),
            route: Some(name.replace(' ', "_")),
            ..Self::default()
        }
    }

    /// The agents of a new platform: `script` and `puppet`, and `unrouted` that has no endpoint.
    pub(crate) fn at_first() -> Vec<Self> {
        let schema = json!({ "type": "object", "properties": { "steps": { "type": "array" } } });
        let script = Self {
            description: Some("Does what its inputs say".to_owned()),
            schema: Some(schema),
            last_executed: Some(1_748_779_203_123),
            ..Self::new("script")
        };
        vec![script, Self::new("puppet"), Self { route: None, ..Self::new("unrouted") }]
    }

    pub(crate) fn automation(&self) -> Value {
        json!({
            "_id": format!("automation-{}", self.id), "name": self.name, "description": self.description,
            "componentType": "agents", "componentId": self.id,
        })
    }

    /// The endpoint trigger, where it has one.
    pub(crate) fn trigger(&self) -> Option<Value> {
        let route = self.route.as_ref()?;
        Some(json!({
            "_id": format!("trigger-{}", self.id), "name": format!("{} endpoint", self.name), "type": "endpoint",
            "enabled": true, "actionType": "automations", "actionId": format!("automation-{}", self.id),
            "verb": "POST", "routeName": route, "schema": self.schema, "lastExecuted": self.last_executed,
        }))
    }
}
