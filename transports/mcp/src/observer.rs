//! Who watches the calls: the seam through which a transport counts and times them, and joins them to traces.

use std::time::Duration;

use tracing::Span;

use crate::owners::Proof;

/// Hears of every call of a tool that there is. It is on the way of each, so it must be quick.
///
/// A call of a tool that there is not is refused by the protocol, and is not heard of; of one that is dropped before it
/// is answered, only the span is.
pub trait Observer: Send + Sync + 'static {
    /// The span in which a call runs, made before anything of it has happened.
    ///
    /// `traceparent` is what the caller has sent in `_meta` (SEP-414), as it stands there: nobody has judged it yet.
    /// What a network transport knows of the request is in `request`.
    fn span(&self, tool: &'static str, request: &Proof<'_>, traceparent: Option<&str>) -> Span {
        let _ = (tool, request, traceparent);
        Span::none()
    }

    /// A call has its answer. `outcome` is one of a closed set of words, fit to be a label: the kind of an error
    /// (AL03), `failed` for a result that says that what was run has failed, else `ok`.
    fn answered(&self, tool: &'static str, outcome: &'static str, took: Duration);
}
