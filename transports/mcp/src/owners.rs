//! Who asks: the seam through which a transport says whom a request belongs to.

use rmcp::model::Extensions;
use sessiond_core::Owner;

/// Finds the owner of each request.
///
/// Standard input and output prove nobody: whoever started the process is the one owner, a constant, and [`Owner`]
/// itself serves as that. A network transport judges credentials before a request gets here, leaves the owner in the
/// request's extensions, and finds it there again.
pub trait Owners: Send + Sync + 'static {
    /// The owner of a request; `None` when the transport has let somebody in without proving who it is, and the
    /// request is refused.
    fn owner(&self, request: &Proof<'_>) -> Option<Owner>;
}

/// What the layers before have left in a request's extensions.
#[derive(Clone, Copy, Debug)]
pub struct Proof<'a>(&'a Extensions);

impl<'a> Proof<'a> {
    pub(crate) fn new(extensions: &'a Extensions) -> Self {
        Self(extensions)
    }

    /// What of this type is there. Over HTTP that is the head of the request, with extensions of its own.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&'a T> {
        self.0.get()
    }
}

impl Owners for Owner {
    fn owner(&self, _: &Proof<'_>) -> Option<Owner> {
        Some(self.clone())
    }
}
