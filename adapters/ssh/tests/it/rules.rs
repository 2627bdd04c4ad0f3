//! The shared rules of the backend traits.

use std::sync::Arc;

use async_trait::async_trait;
use sessiond_conformance::backend::{RULES, Subject, check};
use sessiond_core::{Backend, Invocation};

use crate::place::Place;

#[async_trait]
impl Subject for Place {
    fn backend(&self) -> Arc<dyn Backend> {
        self.backend.clone()
    }

    fn failing(&self) -> Invocation {
        Invocation { cwd: Some("/no/such/directory".into()), ..Invocation::new("true") }
    }

    fn breaking(&self) -> Invocation {
        // Not before the host has told that it runs.
        Invocation::new("sleep 0.5; kill -KILL $PPID")
    }

    async fn living(&self) -> usize {
        self.marked()
    }
}

#[tokio::test]
async fn every_rule_holds_that_the_capabilities_call_for() {
    assert_eq!(check(&Place::new().await).await, RULES.len());
}

#[tokio::test]
async fn every_rule_holds_for_root() {
    assert_eq!(check(&Place::root().await).await, RULES.len());
}
