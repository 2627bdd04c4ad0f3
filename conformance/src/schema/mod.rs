//! What callers build on, recorded by version: every tool's schema, what the server says of itself, its errors.
//!
//! 1. `collect` asks a sessiond in this process for its [`Content`], under both kinds of access; `errors` brings about
//!    one error of each kind.
//! 2. `set` is a content with the contract version that it belongs to, as it stands in `schemas/` beside `src/`.
//! 3. `diff` compares two contents: what was added, changed and removed, and what each means for a caller (`class`).
//! 4. `version` says which step of the version a change asks for, `changelog` tells the history for people.
//! 5. `published` holds our tools against the structures that others have published.
//! 6. `store` puts it together: check what is recorded, or record what is new. The binary `schemas` is its command line.
//!
//! The comparison is of content, never of versions: a version only decides whether a change of content is allowed.

mod changelog;
mod class;
mod collect;
mod diff;
mod errors;
mod published;
mod set;
mod store;
mod version;

pub use changelog::changelog;
pub use class::{Class, Entry, Kind, verdict};
pub use collect::{collect, sorted};
pub use diff::{Change, Side, contents, schema, tool};
pub use published::{deviations, published};
pub use set::{Content, Set, Tools};
pub use store::{Problem, Store, today};
pub use version::Version;

/// The version of what callers see. It is stepped by hand, with the change that asks for it; it is not the version of
/// a package.
pub const CONTRACT_VERSION: Version = Version::new(0, 3, 0);
