//! What somebody who follows output gets, piece by piece.

use bytes::Bytes;
use sessiond_core::{Cursor, End};

/// The next piece of a followed stream. Chunks and gaps together are the stream, without a hole; the end is the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The next bytes. They may end inside a character.
    Chunk {
        /// Where they begin.
        start: Cursor,
        /// The bytes; never none.
        bytes: Bytes,
    },
    /// Bytes that are no longer there, because the reader was slower than the retention, or that were never kept.
    Gap {
        /// Where they were.
        start: Cursor,
        /// How many.
        bytes: u64,
    },
    /// How the process ended.
    End(End),
}
