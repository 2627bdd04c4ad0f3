//! The shared suite over the scripted backend.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use async_trait::async_trait;
use sessiond_conformance::backend::{RULES, Subject, check};
use sessiond_core::fake::Fake;
use sessiond_core::{Backend, Invocation};

struct FakeSubject(Arc<Fake>);

#[async_trait]
impl Subject for FakeSubject {
    fn backend(&self) -> Arc<dyn Backend> {
        self.0.clone()
    }

    fn failing(&self) -> Invocation {
        Invocation::new(":fail no such place")
    }

    fn breaking(&self) -> Invocation {
        Invocation::new(":disconnect")
    }

    async fn living(&self) -> usize {
        self.0.running()
    }
}

#[tokio::test(start_paused = true)]
async fn the_scripted_backend_keeps_every_rule() {
    let checked = check(&FakeSubject(Fake::new())).await;
    assert_eq!(checked, RULES.len(), "it can do everything that a rule needs");
}
