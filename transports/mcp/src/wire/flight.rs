//! The requests that are not answered yet, and how much their answers will take.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

use super::output::Outbox;
use crate::schema::Side;

/// One connection's requests. A clone is the same connection.
#[derive(Clone)]
pub(crate) struct Flight {
    open: Arc<Mutex<HashMap<RequestId, State>>>,
    outbox: Outbox,
}

/// Where a request stands.
enum State {
    /// A call of a tool is under way.
    Called,
    /// The same, and nobody wants its answer any more: its id stays taken until it has ended, or its late answer would
    /// be taken for that of the next request of this id.
    Cancelled,
    /// A call has its answer, of so many bytes, on the way to the queue.
    Answered(u64),
    /// A list of tools is on the way to the queue, without the schemas of this side.
    Listed(Side),
    /// Any other request, which takes no time.
    Other,
}

impl Flight {
    pub(super) fn new(outbox: Outbox) -> Self {
        Self { open: Arc::default(), outbox }
    }

    /// A request has come. Returns whether its id is free.
    pub(super) fn begin(&self, id: &RequestId, is_call: bool) -> bool {
        match self.open().entry(id.clone()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                free.insert(if is_call { State::Called } else { State::Other });
                true
            }
        }
    }

    /// A request is taken back, and what it answers will not get here.
    pub(super) fn cancel(&self, id: &RequestId) {
        match self.open().get_mut(id) {
            Some(state @ (State::Called | State::Cancelled)) => {
                *state = State::Cancelled;
                return;
            }
            Some(State::Answered(_) | State::Listed(_) | State::Other) => {}
            None => return,
        }
        self.end(id);
    }

    /// The answer to a request is here. Returns which schemas are to come into it.
    pub(super) fn end(&self, id: &RequestId) -> Option<Side> {
        let state = self.open().remove(id);
        match state? {
            State::Answered(bytes) => self.outbox.expect_no_more(bytes),
            State::Listed(side) => return Some(side),
            State::Called | State::Cancelled | State::Other => {}
        }
        None
    }

    /// The tools are listed, without their schemas. Returns whether these will come into the answer.
    pub(crate) fn listed(&self, id: &RequestId, side: Side) -> bool {
        self.open().get_mut(id).map(|state| *state = State::Listed(side)).is_some()
    }

    /// Follows a call to its end.
    pub(crate) fn call(&self, id: RequestId) -> InFlight<'_> {
        InFlight { flight: self, id, answered: false }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<RequestId, State>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is under way. Dropped, it is not any more.
pub(crate) struct InFlight<'a> {
    flight: &'a Flight,
    id: RequestId,
    /// Its answer is on the way, which ends it.
    answered: bool,
}

impl InFlight<'_> {
    /// Waits until there is room for another answer. Returns whether there will be a use for it.
    pub(crate) async fn room(&self, cancelled: &CancellationToken, closing: &CancellationToken) -> bool {
        let level = self.flight.outbox.level();
        if level.has_room() || level.gone {
            return !level.gone;
        }
        // The state of this rare wait is not carried by every call.
        Box::pin(async {
            tokio::select! {
                biased;
                room = self.flight.outbox.room() => room,
                () = cancelled.cancelled() => false,
                () = closing.cancelled() => false,
            }
        })
        .await
    }

    /// The answer is made, and takes so many bytes until it is queued.
    pub(crate) fn answered(&mut self, bytes: u64) {
        if let Some(state @ State::Called) = self.flight.open().get_mut(&self.id) {
            *state = State::Answered(bytes);
            self.answered = true;
            self.flight.outbox.expect(bytes);
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let mut open = self.flight.open();
        if matches!(open.get(&self.id), Some(State::Cancelled)) {
            open.remove(&self.id);
        }
    }
}
