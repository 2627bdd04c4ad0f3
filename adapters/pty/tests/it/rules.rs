//! The shared rules of the backend traits.

use std::sync::Arc;

use async_trait::async_trait;
use sessiond_conformance::backend::{RULES, Subject, check};
use sessiond_core::{Backend, Capability, Invocation};
use sessiond_pty::Pty;

use crate::support::{alone, children, pty};

struct Local(Arc<Pty>);

#[async_trait]
impl Subject for Local {
    fn backend(&self) -> Arc<dyn Backend> {
        self.0.clone()
    }

    fn failing(&self) -> Invocation {
        Invocation { cwd: Some("/no/such/directory".into()), ..Invocation::new("true") }
    }

    async fn living(&self) -> usize {
        children().len()
    }
}

#[test]
fn every_rule_holds_that_the_capabilities_call_for() {
    alone("rules::every_rule_holds_that_the_capabilities_call_for", &[], async {
        let pty = pty();
        let called_for = RULES.iter().filter(|(_, capability, _)| *capability != Capability::Connections).count();
        assert_eq!(check(&Local(pty)).await, called_for);
    });
}
