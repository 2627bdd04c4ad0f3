//! Which of the planted faults grows. A checked run is one thread, so the choice is that thread's own.
//! Also the one step that the scheduler would not see by itself.

use std::cell::Cell;

use shuttle::sync::atomic::{AtomicBool, Ordering};

/// A fault that `build.rs` plants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A wait subscribes after its look and does not look again.
    SubscribesTooLate,
    /// A wait looks, and then marks as seen what it has not looked at.
    MarksTooLate,
    /// A step of the lifecycle is not atomic.
    StepsFromThePast,
    /// The end is published before the hook has run.
    TellsTooLate,
}

thread_local! {
    static GROWING: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Whether this fault grows on this thread.
pub(crate) fn grows(fault: Fault) -> bool {
    GROWING.get() == Some(fault)
}

/// A place where the scheduler may go on with another thread.
pub(crate) fn step() {
    AtomicBool::new(false).load(Ordering::SeqCst);
}

/// Lets a fault grow on this thread while `run` runs, also when it panics.
pub fn with<R>(fault: Fault, run: impl FnOnce() -> R) -> R {
    struct Weed;
    impl Drop for Weed {
        fn drop(&mut self) {
            GROWING.set(None);
        }
    }
    let _weed = Weed;
    GROWING.set(Some(fault));
    run()
}
