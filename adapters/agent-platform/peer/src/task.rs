//! Manual tasks: what waits for a person.

use serde_json::{Map, Value, json};

/// A manual task, to be put on the platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its title.
    pub title: Option<String>,
    /// The view that shows it; its path ends with this.
    pub view: Option<String>,
    /// What stands above it.
    pub header: Option<String>,
    /// What it asks.
    pub message: Option<String>,
    /// What stands in it.
    pub body: Value,
    /// The words on the button for `success`.
    pub btn_success: Option<String>,
    /// The words on the button for `failure`.
    pub btn_failure: Option<String>,
    /// For how many milliseconds it has waited already.
    pub age_ms: u64,
    /// The execution that it hangs on, where that is another than the session's own.
    pub execution: Option<String>,
    /// Fields that are put over those of the record: odd types, other states.
    pub over: Map<String, Value>,
}

impl Task {
    /// A task that can be completed, with both buttons.
    pub fn new(title: &str) -> Self {
        Self {
            title: Some(title.to_owned()),
            view: Some("ViewData".to_owned()),
            header: Some(format!("{title}?")),
            message: Some("Somebody has to look at this.".to_owned()),
            body: json!("It concerns one router."),
            btn_success: Some("Approve".to_owned()),
            btn_failure: Some("Reject".to_owned()),
            age_ms: 0,
            execution: None,
            over: Map::new(),
        }
    }

    /// The same with another view.
    pub fn view(mut self, view: &str) -> Self {
        self.view = Some(view.to_owned());
        self
    }

    /// The same without a button for `failure`.
    pub fn cannot_fail(mut self) -> Self {
        self.btn_failure = Some(String::new());
        self
    }

    /// The same, having waited for so many milliseconds.
    pub fn waiting(mut self, age_ms: u64) -> Self {
        self.age_ms = age_ms;
        self
    }

    /// The same on another execution below the session.
    pub fn on(mut self, execution: &str) -> Self {
        self.execution = Some(execution.to_owned());
        self
    }

    /// The same with a field of the record as it is said here.
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.over.insert(field.to_owned(), value);
        self
    }

    /// A task as a script's `ask` describes it.
    pub(crate) fn read(value: &Value) -> Self {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let mut task = Self::new(value.as_str().or_else(|| value.get("title")?.as_str()).unwrap_or("Approve"));
        task.view = text("view").or(task.view);
        task.btn_failure = text("btn_failure").or(task.btn_failure);
        task
    }

    /// The record of it.
    pub(crate) fn record(&self, id: &str, session: &str, created: &Value) -> Value {
        let execution = self.execution.as_deref().unwrap_or(session);
        let mut record = json!({
            "id": id, "name": self.view.as_ref().map(|view| format!("Show{view}")), "summary": self.title,
            "description": null, "status": "pending",
            "view": self.view.as_ref().map(|view| format!("/work-center/view/{view}")),
            "execution": { "id": execution }, "rootExecution": { "id": session },
            "createdAt": created, "updatedAt": created, "groups": [], "variables": {},
        });
        if let Some(fields) = record.as_object_mut() {
            fields.extend(self.over.clone());
        }
        record
    }

    /// What its view is given.
    pub(crate) fn incoming(&self) -> Value {
        json!({ "incoming": {
            "header": self.header, "message": self.message, "body": self.body,
            "btn_success": self.btn_success, "btn_failure": self.btn_failure, "variables": {},
        } })
    }
}
